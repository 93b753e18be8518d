#!/bin/bash
# install_checkout.sh: in the guest, as root: installs a copy of the checkout (/host, copied to /src) as a user has it,
# with commands in PATH, systemd units, users, bus policy and polkit rules, where the Debian package has them.
set -euo pipefail
mkdir -p /src
tar -c -C /host --exclude='./.*' --exclude=__pycache__ --exclude='*.egg-info' --exclude=./build --exclude=./dist \
  --exclude=./tests/lab/out --exclude=./frontend/node_modules . | tar -x -C /src
cd /src
python3 -m pip install --quiet --no-deps --no-build-isolation --no-index --break-system-packages \
  --root-user-action=ignore --disable-pip-version-check .
shopt -s nullglob
for file in systemd/*.sysusers.conf; do systemd-sysusers "$PWD/$file" >/dev/null; done
for file in systemd/*.tmpfiles.conf; do systemd-tmpfiles --create "$PWD/$file"; done
install -m644 systemd/*.service systemd/*.socket /etc/systemd/system/
install -D -m644 -t /etc/systemd/system/wpa_supplicant.service.d systemd/wpa_supplicant.service.d/*.conf
install -D -m644 -t /etc/systemd/network systemd/*.link
install -m644 dbus-policy/*.conf /etc/dbus-1/system.d/
install -m644 dbus-policy/*.service /usr/share/dbus-1/system-services/
install -m644 dbus-policy/*.policy /usr/share/polkit-1/actions/
install -m644 dbus-policy/*.rules /usr/share/polkit-1/rules.d/
# It looks at a file of rules as soon as that is there, and not again once it may be read.
systemctl try-restart polkit.service
systemctl daemon-reload
udevadm control --reload
busctl call --quiet org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig
