#!/bin/bash
# build_initrd.sh ROOTFS OUT_DIR: vmlinuz, and an initrd (busybox and the few modules that it takes) that mounts
# root.erofs under an overlay in memory and the shared folders by 9p.
set -euo pipefail
rootfs=$1 out=$2
kernel=$(basename "$(ls -d "$rootfs"/lib/modules/*)")
tree=$(mktemp -d); trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{bin,dev,proc,sys,mnt,new,modules}
cp /bin/busybox "$tree/bin/busybox"
for applet in sh mount umount insmod switch_root mkdir sleep; do ln -s busybox "$tree/bin/$applet"; done
for module in virtio_pci virtio_blk erofs overlay 9pnet_virtio 9p virtio_rng; do
  modprobe -d "$rootfs" -S "$kernel" --show-depends $module | awk '$1 == "insmod" { print $2 }' | while read -r file; do
    name=$(basename "$file")
    [ -e "$tree/modules/$name" ] || { cp "$file" "$tree/modules/$name"; echo "$name" >>"$tree/modules/order"; }
  done
done
cat >"$tree/init" <<'INIT'
#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module"; done </modules/order
mount -t tmpfs -o size=75% tmpfs /mnt
mkdir -p /mnt/lower /mnt/upper /mnt/work
tries=0
until mount -t erofs -o ro /dev/vda /mnt/lower; do
  tries=$((tries + 1)); [ $tries -lt 50 ] || exec sh; sleep 0.1
done
mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work overlay /new || exec sh
for share in out host; do mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none $share /new/$share; done
umount /proc /sys
mount -o move /dev /new/dev
exec switch_root /new /sbin/init
INIT
chmod +x "$tree/init"
(cd "$tree"; find . | cpio -o -H newc --quiet | gzip -1) >"$out/initrd.img"
cp "$rootfs/boot/vmlinuz-$kernel" "$out/vmlinuz"
