#!/bin/bash
# install_checkout.sh: in the guest, as root: installs a copy of the checkout (/host, copied to /src) as a user has it,
# with commands in PATH, systemd units, users and bus policy.
set -euo pipefail
mkdir -p /src
tar -c -C /host --exclude='./.*' --exclude=__pycache__ --exclude='*.egg-info' --exclude=./build --exclude=./dist \
  --exclude=./tests/lab/out . | tar -x -C /src
cd /src
python3 -m pip install --quiet --no-deps --no-build-isolation --no-index --break-system-packages \
  --root-user-action=ignore --disable-pip-version-check .
shopt -s nullglob
for file in systemd/*.sysusers.conf; do systemd-sysusers "$PWD/$file" >/dev/null; done
for file in systemd/*.service systemd/*.socket; do install -m644 "$file" /etc/systemd/system/; done
for file in dbus-policy/*.conf; do install -m644 "$file" /etc/dbus-1/system.d/; done
systemctl daemon-reload
busctl call --quiet org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig
