"""Small Debians of the tests' own: made once, and kept beside the machines of the system tests."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

AUTHORITIES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
"""The host's, which may have one more, of a proxy."""
PROXIES: Final = tuple(
    f"{name}={value}" for name, value in os.environ.items() if name.lower().endswith("_proxy")
)
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wifimgrd-system"
_ENTER: Final = """
root=$1
mount --make-rprivate /
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir -p "$root/tmp/home"
mount --bind "$2" "$root/tmp/home"
cp /etc/resolv.conf "$root/etc/resolv.conf"
hostname localhost
echo "127.0.0.1 localhost" >"$root/etc/hosts"
exec chroot "$root" env -i HOME=/tmp/home PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:3}"
"""


def in_root(root: Path, home: Path, *command: str) -> list[str]:
    """A command, perhaps with variables before it, in a root with the host's network and with `home` as
    /tmp/home. What it starts ends with it, also where it is killed."""
    enter = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "bash", "-euc", _ENTER, "bash"]
    return [*enter, str(root), str(home), *command]


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, a root or what goes into one; `make` is called with the folder to make it in,
    where there is none yet, and one at a time."""
    root = _CACHE / name
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            making = _CACHE / f"{name}.new"
            subprocess.run(["rm", "-rf", making], check=True)
            make(making)
            making.rename(root)
    root.touch()
    return root


def smallest(suite: str, folder: Path, *packages: str) -> None:
    """Make the smallest Debian of a suite, with packages, in a folder."""
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}", suite]
    subprocess.run([*command, str(folder)], check=True)
