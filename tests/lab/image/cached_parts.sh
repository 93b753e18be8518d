# Sourced by build.sh and boot.sh: where each cached part of the lab lives. A part's name carries a hash of all that
# it is made from, so that another checkout with the same recipe finds it, and a changed recipe makes a new one.
# Needs $ENGINE (uml, tcg or nspawn); gives $CACHE, $SUITE, $PACKAGES and the paths below.
IMAGE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/wifimgrd-lab}
SUITE=${LAB_SUITE:-bookworm}
hash_of() { sha256sum | cut -c1-12; }

PACKAGES=$(sed 's/#.*//' "$IMAGE/packages.txt" | xargs | tr ' ' ,)
[ "$ENGINE" != tcg ] || PACKAGES=$PACKAGES,linux-image-amd64   # UML brings its own kernel, nspawn uses the host's
packages_key=$(echo "$SUITE $PACKAGES" | hash_of)
guest_key=$( (echo "$packages_key"; cat "$IMAGE"/guest_*) | hash_of)
kernel_key=$(cat "$IMAGE/build_uml_kernel.sh" "$IMAGE"/{uml.frag,uml.patch,l2cap.patch} | hash_of)

PACKAGES_TAR=$CACHE/packages-$SUITE-$packages_key.tar   # a plain Debian tree, as mmdebstrap leaves it
ROOTFS=$CACHE/rootfs-$SUITE-$guest_key                  # the same, unpacked and made the lab's guest
UML=$CACHE/uml-$kernel_key                              # linux-uml and lib/modules: built from source, ...
[ -z "${LAB_KERNEL:-}" ] || UML=$CACHE/uml-$(cat "$LAB_KERNEL" "$IMAGE"/{check_uml_kernel.sh,uml.frag} | hash_of)   # ... or handed over, and then of the hand-over
DISK=$CACHE/tcg-$SUITE-$guest_key                       # vmlinuz, initrd.img and root.erofs for QEMU
