#!/bin/bash
# build_uml_kernel.sh OUT_DIR WORK_DIR SOURCE: User-Mode Linux with mac80211_hwsim from Debian 12's kernel source
# (Debian's own user-mode-linux has no WLAN). About 4.5 minutes on two cores.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); out=$1 work=$2 source=$3
rm -rf "$work" "$out"; mkdir -p "$work" "$out"
tar xf "$source" -C "$work" --strip-components=1
cd "$work"
for change in uml l2cap; do patch -p1 <"$here/$change.patch"; done
make -s ARCH=um x86_64_defconfig
./scripts/kconfig/merge_config.sh -m .config "$here/uml.frag"
make -s ARCH=um olddefconfig
make -s ARCH=um -j"$(nproc)" linux modules
"$here/check_uml_kernel.sh" "$PWD/linux"
make -s ARCH=um modules_install INSTALL_MOD_PATH="$out"
rm -f "$out"/lib/modules/*/{build,source}
cp linux "$out/linux-uml"
strip -g "$out/linux-uml"
rm -rf "$work"
