"""The addresses that this host uses as resolvers and time servers, by the files of its services.

A camera may have the same address. The table `main` then gets no route to the camera, because that would
direct the host's own requests to it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

_FILES: Final = (
    "/etc/resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/NetworkManager/no-stub-resolv.conf",
    "/etc/systemd/resolved.conf",
    "/etc/systemd/timesyncd.conf",
    "/etc/chrony/chrony.conf",
    "/etc/chrony.conf",
    "/etc/ntp.conf",
    "/etc/ntpsec/ntp.conf",
)
_FOLDERS: Final = (
    ("/etc/systemd/resolved.conf.d", ".conf"),
    ("/run/systemd/resolved.conf.d", ".conf"),
    ("/etc/systemd/timesyncd.conf.d", ".conf"),
    ("/run/systemd/timesyncd.conf.d", ".conf"),
    ("/etc/chrony/conf.d", ".conf"),
    ("/etc/chrony/sources.d", ".sources"),
    ("/run/chrony-dhcp", ""),
    ("/run/systemd/netif/links", ""),
)
_LARGEST_BYTES: Final = 65_536
"""Of a file that is read; more is ignored."""
_SERVER: Final = re.compile(
    r"\s*(?:(?:nameserver|server|peer|pool)\s+|(?:DNS|FallbackDNS|NTP|FallbackNTP)\s*=)([^#;]*)"
)
_ADDRESS: Final = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9.])")
_OLD_NS: Final = 2_000_000_000
"""A file that was changed less than this before it was read is read again the next time: another change may
have given it the same times."""

_Version = tuple[int, int, int, int, int]
_known: dict[str, tuple[_Version, frozenset[IPv4Address]]] = {}
"""The addresses found in each file, with the version that was read: they are looked up while a link waits,
and hardly ever change."""


def used_addresses(root: Path = Path("/")) -> frozenset[IPv4Address]:
    """The addresses in the files below `root`; a file that cannot be read names none."""
    found: dict[str, frozenset[IPv4Address]] = {}
    for file in _files(str(root).rstrip("/")):
        with suppress(OSError):
            found[file] = _servers_of(file)
    for file in _known.keys() - found.keys():
        del _known[file]
    return frozenset().union(*found.values())


def _servers_of(file: str) -> frozenset[IPv4Address]:
    status = Path(file).stat()
    version = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    known = _known.get(file)
    if known is not None and known[0] == version:
        return known[1]
    with Path(file).open("rb") as opened:
        text = opened.read(_LARGEST_BYTES).decode(errors="replace")
    servers = frozenset(servers_in(text.splitlines()))
    _known.pop(file, None)
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _OLD_NS:
        _known[file] = version, servers
    return servers


def servers_in(lines: Iterable[str]) -> set[IPv4Address]:
    """The IPv4 addresses of resolvers and time servers in the lines of such a file."""
    found = set()
    for line in lines:
        server = _SERVER.match(line)
        for address in _ADDRESS.findall(server[1]) if server else ():
            with suppress(ValueError):
                found.add(IPv4Address(address))
    return found


def _files(root: str) -> Iterable[str]:
    for name in _FILES:
        yield f"{root}{name}"
    for folder, suffix in _FOLDERS:
        with suppress(OSError):
            for entry in os.scandir(f"{root}{folder}"):
                if entry.name.endswith(suffix):
                    yield entry.path
