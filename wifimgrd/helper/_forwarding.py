"""IPv4 forwarding of interfaces, for hosts of the networks that share the cameras.

The kernel has one setting per interface on which packets arrive: the LAN's and the cameras'. Where it is
off, it is switched on, and the nftables table has those interfaces in a set and drops all packets that are
not to or from a shared camera. Where it is on already, the host is a router and its own firewall decides.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Collection, Iterable
from contextlib import suppress
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

import structlog

from wifimgrd.kernel.links import name_of
from wifimgrd.kernel.routes import MAIN, list_routes, route_to
from wifimgrd.kernel.rtnetlink import KernelError

_log = structlog.get_logger()

_SETTINGS: Final = Path("/proc/sys/net/ipv4/conf")
_OFF, _ON = "0", "1"


class Forwarding:
    """The interfaces whose forwarding this process has switched on."""

    def __init__(self) -> None:
        self._opened: dict[int, str] = {}

    @property
    def opened(self) -> frozenset[int]:
        """The indices of those interfaces."""
        return frozenset(self._opened)

    @property
    def is_on(self) -> bool:
        """Whether it is on for all of them, as other programs can switch it off."""
        for interface in self._opened.values():
            with suppress(OSError):
                if _setting(interface).read_text().strip() == _OFF:
                    return False
        return True

    def wanted(self, interfaces: Iterable[str]) -> dict[int, str]:
        """Those of these interfaces that need this process: forwarding is off, or was switched on by it."""
        found = {}
        for interface in interfaces:
            with suppress(OSError):
                index = socket.if_nametoindex(interface)
                if index in self._opened or _setting(interface).read_text().strip() == _OFF:
                    found[index] = interface
        return found

    def close(self, keep: Iterable[int] = ()) -> None:
        """Switch off what this process has switched on, before the nftables rules for it are removed."""
        for index in self.opened - set(keep):
            with suppress(OSError):  # the interface is gone, or has another name since
                _setting(socket.if_indextoname(index)).write_text(_OFF)
            del self._opened[index]

    def open(self, wanted: dict[int, str]) -> None:
        """Switch forwarding on; the nftables rules for these interfaces must be in place."""
        for index, interface in wanted.items():
            try:
                _setting(interface).write_text(_ON)
            except OSError as error:
                _log.warning("forwarding_unchanged", interface=interface, reason=error.strerror)
            else:
                self._opened[index] = interface

    def remember(self, listing: str) -> None:
        """Adopt the interfaces that an earlier run had switched on, from the output of `nft list set`."""
        for interface in re.findall(r'"([^"]+)"', listing):
            with suppress(OSError):
                self._opened[socket.if_nametoindex(interface)] = interface


def ingress_interfaces(shared: Collection[IPv4Network]) -> set[str]:
    """The interfaces on which packets of these networks' hosts arrive, by the routes to them. Raises
    KernelError."""
    found = set()
    routes = list_routes(MAIN) if shared else []
    for network in shared:
        for route in routes:
            if route.destination.prefixlen and route.destination.overlaps(network):
                found.add(route.index)
        with suppress(KernelError):  # there is no way
            found.add(route_to(network.network_address + 1).index)
    return {name for index in found if (name := name_of(index))}


def _setting(interface: str) -> Path:
    return _SETTINGS / interface / "forwarding"
