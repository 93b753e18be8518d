"""The .network file that systemd-networkd applies to a link: the helper's own, or another one of the host's.

networkd applies the first matching file by name, whatever folder it is in, with the drop-ins of its full
name: systemd 252 and 257 have none for shorter names, or for all files. It reads them when it is started or
reloaded, by whichever program. https://www.freedesktop.org/software/systemd/man/252/systemd.network.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from wifimgrd.proxies.networkd.definitions import LinkDescription

NETWORKS: Final = Path("/run/systemd/network")
"""The folder of the helper's files."""
PREFIX: Final = "05-wifimgrd-"
"""Before the names of most other .network files."""
SUFFIX: Final = ".network"
FOLDERS: Final = (
    Path("/etc/systemd/network"),
    NETWORKS,
    Path("/usr/local/lib/systemd/network"),
    Path("/usr/lib/systemd/network"),
    Path("/lib/systemd/network"),
)
"""Of networkd; a file takes the place of those of the same name in later folders."""
_UNMANAGED: Final = re.compile(r"(?im)^\s*Unmanaged\s*=\s*(1|y|yes|t|true|on)\s*$", re.ASCII)
_LEFT_ALONE: Final = "unmanaged"
"""The AdministrativeState of a link that networkd applies no file to."""


def own_file(interface: str, folder: Path = NETWORKS) -> Path:
    """The helper's file for an interface."""
    return folder / f"{PREFIX}{interface}{SUFFIX}"


def other_configuration(
    interface: str, description: LinkDescription, own: Path | None = None, folders: Sequence[Path] = FOLDERS
) -> str | None:
    """The file that networkd applies to an interface instead of the helper's file, or besides it, and the
    remedy, as a sentence; empty if networkd applies only the helper's file, None if it applies none yet.

    `description` is networkd's of the link, `own` the helper's file.
    """
    own = own or own_file(interface)
    applied, state = description.get("NetworkFile"), description.get("AdministrativeState")
    if applied == str(own):
        dropins = _dropins(description, own, folders)
        return f"systemd-networkd applies {dropins[0]} to {interface}: remove that file" if dropins else ""
    if not applied and (state != _LEFT_ALONE or not own.exists()):
        return None
    other = applied or _file_that_leaves_alone(own, folders)
    if not other:
        return f"systemd-networkd does not apply {own}: `networkctl status {interface}` may say why"
    if Path(other).name == own.name:
        return f"systemd-networkd takes {other} for the hub's file of {interface}: remove that file"
    what = f"applies {other} to {interface}" if applied else f"leaves {interface} alone by {other}"
    return (
        f"systemd-networkd {what}, before the hub's own file: exclude {interface} in its [Match], or rename "
        f"it so that it sorts after {own.name}; then `networkctl reload`"
    )


def _dropins(description: LinkDescription, own: Path, folders: Iterable[Path]) -> list[str]:
    """The drop-ins of the helper's file, by networkd's word; systemd 252's says nothing about them."""
    reported = description.get("NetworkFileDropins")
    return [str(file) for file in _dropins_in(own, folders)] if reported is None else reported


def _dropins_in(own: Path, folders: Iterable[Path]) -> Iterator[Path]:
    found: dict[str, Path] = {}
    for folder in folders:
        with suppress(OSError):
            for file in sorted((folder / f"{own.name}.d").glob("*.conf")):
                found.setdefault(file.name, file)
    for _, file in sorted(found.items()):
        with suppress(OSError):
            if file.stat().st_size > 0:  # an empty one, or a link to /dev/null, only masks others
                yield file


def _file_that_leaves_alone(own: Path, folders: Iterable[Path]) -> str:
    """The file by which networkd leaves a link unmanaged, which networkd does not name: one in the place of
    the helper's file, or the first before it with Unmanaged=yes; empty if there is none."""
    found: dict[str, Path] = {}
    for folder in folders:
        with suppress(OSError):
            for file in folder.glob(f"*{SUFFIX}"):
                found.setdefault(file.name, file)
    if found.get(own.name, own).parent != own.parent:
        return str(found[own.name])
    for name, file in sorted(found.items()):
        if name < own.name:
            with suppress(OSError):
                if _UNMANAGED.search(file.read_text(errors="replace")):
                    return str(file)
    return ""
