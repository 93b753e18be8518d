#!/bin/bash
# build.sh [uml|tcg|nspawn]: makes what boot.sh needs, from nothing, on Debian 12 as root. What exists is kept.
#   LAB_CACHE   where it goes (default ${XDG_CACHE_HOME:-~/.cache}/wifimgrd-lab)
#   LAB_SUITE   bookworm (default) or trixie: the guest's Debian
#   LAB_KERNEL  a prebuilt UML kernel, a tarball of linux-uml and lib/modules: saves its build
set -euo pipefail
ENGINE=${1:-${LAB_ENGINE:-uml}}
case $ENGINE in uml | tcg | nspawn) ;; *) echo "build.sh: unknown engine $ENGINE" >&2; exit 2 ;; esac
source "$(dirname "$0")/image/cached_parts.sh"
export DEBIAN_FRONTEND=noninteractive
mkdir -p "$CACHE"
exec 9>"$CACHE/lock"
flock 9                                     # two runs at once: the second finds all of it made

step() { echo "[lab build +${SECONDS}s] $*"; }
logged() { "$@" >"$CACHE/build.log" 2>&1 || { tail -n 20 "$CACHE/build.log" >&2; exit 1; }; }
need() {                                    # Debian packages on the host
  local missing=() package
  for package; do dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package"); done
  [ ${#missing[@]} = 0 ] && return
  step "apt-get install ${missing[*]}"
  logged apt-get update
  logged apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "${missing[@]}"
}

KERNEL_SOURCE=linux-source-6.1
fetch_kernel_source() {                     # into this folder, from Debian 12, whichever Debian this host has
  local folder=$1 apt
  rm -rf "$folder"; mkdir -p "$folder"/{lists,archives}/partial
  for suite in "debian bookworm" "debian-security bookworm-security"; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/${suite% *} ${suite#* } main"
  done >"$folder/sources.list"
  apt=(apt-get -qq -o APT::Sandbox::User=root -o APT::Architecture=amd64 -o APT::Architectures::=amd64
    -o Dir::State::lists="$folder/lists" -o Dir::Cache::archives="$folder/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Acquire::Languages=none)
  logged "${apt[@]}" update
  (cd "$folder" && logged "${apt[@]}" download $KERNEL_SOURCE)
  dpkg-deb --fsys-tarfile "$folder/$KERNEL_SOURCE"_*.deb | tar x -C "$folder" --strip-components=3 "./usr/src/$KERNEL_SOURCE.tar.xz"
}

need procps util-linux                      # boot.sh's pkill, setsid, taskset
case $ENGINE in nspawn) need systemd-container ;; tcg) need qemu-system-x86 ;; esac

if [ $ENGINE = uml ] && [ ! -e "$UML" ]; then
  if [ -n "${LAB_KERNEL:-}" ]; then
    need xz-utils
    step "UML kernel: unpack $LAB_KERNEL"
    rm -rf "$UML.new"; mkdir "$UML.new"; tar xf "$LAB_KERNEL" -C "$UML.new"
    "$IMAGE/check_uml_kernel.sh" "$UML.new/linux-uml" \
      || { echo "build.sh: LAB_KERNEL=$LAB_KERNEL is refused; without LAB_KERNEL one is built" >&2; exit 2; }
  else
    need build-essential patch flex bison bc xz-utils kmod libelf-dev libssl-dev debian-archive-keyring
    step "UML kernel: fetch its source"
    fetch_kernel_source "$CACHE/uml-source"
    step "UML kernel: build (minutes)"
    logged bash "$IMAGE/build_uml_kernel.sh" "$UML.new" "$CACHE/uml-build" "$CACHE/uml-source/$KERNEL_SOURCE.tar.xz"
    rm -rf "$CACHE/uml-source"
  fi
  rm -f "$UML"                              # a link to what is no more
  mv -T "$UML.new" "$UML"
fi
if [ $ENGINE = uml ] && [ ! -e "$CACHE/uml-$kernel_key" ]; then
  ln -sfn "$(basename "$UML")" "$CACHE/uml-$kernel_key"     # what was handed over serves without LAB_KERNEL, too
fi

if [ ! -e "$ROOTFS" ]; then
  if [ ! -e "$PACKAGES_TAR" ]; then
    need mmdebstrap
    step "$SUITE packages: mmdebstrap"
    # INITRD=No: Debian's kernel, where it is among the packages, gets a smaller initrd from build_initrd.sh.
    INITRD=No logged mmdebstrap --variant=minbase --components=main --include="$PACKAGES" --format=tar \
      --aptopt='Acquire::Languages "none"' --dpkgopt='path-exclude=/usr/share/doc/*' \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      "$SUITE" "$PACKAGES_TAR.new"
    mv "$PACKAGES_TAR.new" "$PACKAGES_TAR"
  fi
  step "root file system"
  rm -rf "$ROOTFS.new"; mkdir "$ROOTFS.new"
  tar xf "$PACKAGES_TAR" -C "$ROOTFS.new"
  logged bash "$IMAGE/guest_setup.sh" "$ROOTFS.new"
  step "Python packages: pip"
  need python3-pip
  logged bash "$IMAGE/guest_wheels.sh" "$ROOTFS.new"
  mv "$ROOTFS.new" "$ROOTFS"
fi

if [ $ENGINE = tcg ] && [ ! -e "$DISK" ]; then
  need erofs-utils busybox-static cpio kmod
  step "initrd and disk for QEMU"
  rm -rf "$DISK.new"; mkdir "$DISK.new"
  logged bash "$IMAGE/build_initrd.sh" "$ROOTFS" "$DISK.new"
  logged mkfs.erofs -d0 "$DISK.new/root.erofs" "$ROOTFS"
  mv "$DISK.new" "$DISK"
fi
# What no recipe has asked for in two weeks goes.
parts=("$ROOTFS" "$PACKAGES_TAR"); case $ENGINE in uml) parts+=("$(realpath "$UML")") ;; tcg) parts+=("$DISK") ;; esac
touch -c "${parts[@]}"
find "$CACHE" -mindepth 1 -maxdepth 1 \( -name 'rootfs-*' -o -name 'packages-*' -o -name 'uml-*' -o -name 'tcg-*' \) \
  -mtime +14 -exec rm -rf {} +
step "ready: $ENGINE, $SUITE, in $CACHE"
