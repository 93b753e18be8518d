#!/bin/bash
# guest_wheels.sh ROOT: unpacks the wheels of guest_bumble.txt into the guest's /opt/bumble, those of
# guest_open_gopro.txt and guest_insta360.txt into /opt/open_gopro and /opt/insta360, for the guest's Python; nothing is
# installed on the host. pip takes them from where it is configured to.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); root=$(realpath "$1")
version=$(basename "$(readlink "$root/usr/bin/python3")"); version=${version#python}
abi=cp${version/./}
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
for name in bumble open_gopro insta360; do
  python3 -m pip download --quiet --no-deps --only-binary :all: --disable-pip-version-check \
    --python-version "$version" --implementation cp --abi "$abi" --abi abi3 --abi none \
    --platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 --platform any \
    --dest "$folder/$name" --requirement "$here/guest_$name.txt"
  mkdir -p "$root/opt/$name"
  for wheel in "$folder/$name"/*.whl; do python3 -m zipfile -e "$wheel" "$root/opt/$name"; done
done
