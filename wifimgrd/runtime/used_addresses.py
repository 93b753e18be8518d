"""The addresses that this host uses as resolvers and time servers, by the files of its services.

A camera may have the same address. The table `main` then gets no route to the camera, because that would
direct the host's own requests to it.
"""

from __future__ import annotations

import re
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
    ("/etc/systemd/resolved.conf.d", "*.conf"),
    ("/run/systemd/resolved.conf.d", "*.conf"),
    ("/etc/systemd/timesyncd.conf.d", "*.conf"),
    ("/run/systemd/timesyncd.conf.d", "*.conf"),
    ("/etc/chrony/conf.d", "*.conf"),
    ("/etc/chrony/sources.d", "*.sources"),
    ("/run/chrony-dhcp", "*"),
    ("/run/systemd/netif/links", "*"),
)
_LARGEST_OCTETS: Final = 65_536
"""Of a file that is read; more is ignored."""
_SERVER: Final = re.compile(
    r"\s*(?:(?:nameserver|server|peer|pool)\s+|(?:DNS|FallbackDNS|NTP|FallbackNTP)\s*=)([^#;]*)"
)
_ADDRESS: Final = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9.])")


def used_addresses(root: Path = Path("/")) -> frozenset[IPv4Address]:
    """The addresses in the files below `root`; a file that cannot be read names none."""
    found: set[IPv4Address] = set()
    for file in _files(root):
        with suppress(OSError), file.open("rb") as opened:
            found |= servers_in(opened.read(_LARGEST_OCTETS).decode(errors="replace").splitlines())
    return frozenset(found)


def servers_in(lines: Iterable[str]) -> set[IPv4Address]:
    """The IPv4 addresses of resolvers and time servers in the lines of such a file."""
    found = set()
    for line in lines:
        server = _SERVER.match(line)
        for address in _ADDRESS.findall(server[1]) if server else ():
            with suppress(ValueError):
                found.add(IPv4Address(address))
    return found


def _files(root: Path) -> Iterable[Path]:
    for name in _FILES:
        yield root / name.lstrip("/")
    for folder, pattern in _FOLDERS:
        with suppress(OSError):
            yield from sorted((root / folder.lstrip("/")).glob(pattern))
