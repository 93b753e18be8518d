#!/bin/bash
# guest_setup.sh ROOT: turns a plain Debian tree into the lab's guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); root=$(realpath "$1")
units=$root/etc/systemd/system
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
echo wifimgrd-lab >"$root/etc/hostname"
echo '127.0.0.1 localhost wifimgrd-lab' >"$root/etc/hosts"
: >"$root/etc/fstab"
sed -i 's/^root:[^:]*:/root::/' "$root/etc/shadow"

# Boot only what the tests meet: each program that a boot starts costs 20-100 ms. (systemd-sysctl stays: it sets
# rp_filter as on any Debian host.) The Wi-Fi managers are started by the tests, never at boot.
ln -sf /lib/systemd/system/multi-user.target "$units/default.target"
mask() { for unit; do ln -sf /dev/null "$units/$unit"; done; }
mask getty@tty1.service getty.target serial-getty@ttyS0.service systemd-logind.service systemd-user-sessions.service
mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
mask systemd-tmpfiles-clean.timer systemd-timesyncd.service systemd-networkd-wait-online.service
mask NetworkManager-wait-online.service hostapd.service
mask systemd-firstboot.service systemd-sysusers.service systemd-hwdb-update.service systemd-machine-id-commit.service
mask systemd-pcrphase.service systemd-pcrphase-sysinit.service systemd-random-seed.service systemd-pstore.service
mask systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-initctl.socket
mask ldconfig.service systemd-journal-catalog-update.service systemd-update-done.service   # trixie
mask systemd-udev-load-credentials.service systemd-tmpfiles-setup-dev-early.service run-lock.mount tmp.mount
mask systemd-remount-fs.service systemd-journal-flush.service systemd-modules-load.service kmod-static-nodes.service
mask modprobe@{dm_mod,loop,drm,configfs,efi_pstore,fuse}.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount
mask sys-kernel-config.mount sys-kernel-debug.mount dev-hugepages.mount dev-mqueue.mount sys-fs-fuse-connections.mount
# The generators run at each daemon-reload too, and none has anything to generate here.
mkdir -p "$root/etc/systemd/system-generators"
for generator in "$root"/lib/systemd/system-generators/*; do
  ln -sf /dev/null "$root/etc/systemd/system-generators/$(basename "$generator")"
done
# Of the devices that the guest was born with (its terminals, mostly), only these are anybody's business.
mkdir -p "$units/systemd-udev-trigger.service.d"
cat >"$units/systemd-udev-trigger.service.d/lab.conf" <<'UNIT'
[Service]
ExecStart=
ExecStart=-udevadm trigger --action=add --subsystem-match=net --subsystem-match=misc --subsystem-match=rfkill
UNIT
find "$units" -path '*.wants/*' \( -name 'NetworkManager*' -o -name 'iwd*' -o -name 'wpa_supplicant*' \
  -o -name 'networking.service' -o -name 'systemd-networkd*' \) -delete
# These aliases went with the links above; D-Bus activation needs them.
ln -sf /lib/systemd/system/wpa_supplicant.service "$units/dbus-fi.w1.wpa_supplicant1.service"
ln -sf /lib/systemd/system/NetworkManager-dispatcher.service "$units/dbus-org.freedesktop.nm-dispatcher.service"

mkdir -p "$root"/{host,out,oldroot,etc/systemd/journald.conf.d,etc/modprobe.d}
printf '[Journal]\nStorage=volatile\nRateLimitBurst=0\n' >"$root/etc/systemd/journald.conf.d/lab.conf"
echo 'options mac80211_hwsim radios=0' >"$root/etc/modprobe.d/hwsim.conf"
install -m644 "$here/guest_usb_disguise.rules" "$root/etc/udev/rules.d/70-lab-usb.rules"
install -m755 "$here/guest_uml_init" "$root/lab-init"
install -m755 "$here/guest_run_command" "$root/usr/local/sbin/lab-run-command"
install -m644 "$here/guest_run_command.service" "$units/lab-run-command.service"
mkdir -p "$units/multi-user.target.wants"
ln -sf ../lab-run-command.service "$units/multi-user.target.wants/lab-run-command.service"
