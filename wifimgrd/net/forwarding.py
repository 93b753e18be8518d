"""Which interfaces pass packets on, for hosts of the networks that share the cameras.

The kernel's switch is one per interface that packets come in by: the LAN's and the cameras'. Where it is off
it is set on, and the nftables table holds those interfaces in a set and drops all that is not to or from a
shared camera; where it is on already, the host is a router and its own firewall decides.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

import structlog

from wifimgrd.net import iproute
from wifimgrd.net.commands import CommandError

_log = structlog.get_logger()

_SETTINGS: Final = Path("/proc/sys/net/ipv4/conf")
_OFF, _ON = "0", "1"


class Forwarding:
    """The interfaces whose switch is set on by us."""

    def __init__(self) -> None:
        self._opened: dict[int, str] = {}

    @property
    def opened(self) -> frozenset[int]:
        """Their indices."""
        return frozenset(self._opened)

    def wanted(self, interfaces: Iterable[str]) -> dict[int, str]:
        """Which of these interfaces are ours to open: those that are off, or are on by us."""
        found = {}
        for interface in interfaces:
            with suppress(OSError):
                index = socket.if_nametoindex(interface)
                if index in self._opened or _setting(interface).read_text().strip() == _OFF:
                    found[index] = interface
        return found

    def close(self, keep: Iterable[int] = ()) -> None:
        """Set off what is on by us, before what guards it is taken away."""
        for index in self.opened - set(keep):
            with suppress(OSError):  # the interface is gone, or has another name since
                _setting(socket.if_indextoname(index)).write_text(_OFF)
            del self._opened[index]

    def open(self, wanted: dict[int, str]) -> None:
        """Set on, once they are guarded."""
        for index, interface in wanted.items():
            try:
                _setting(interface).write_text(_ON)
            except OSError as error:
                _log.warning("forwarding_unchanged", interface=interface, reason=error.strerror)
            else:
                self._opened[index] = interface

    def remember(self, listing: str) -> None:
        """Take over what an earlier life had opened, as `nft list set` names it."""
        for interface in re.findall(r'"([^"]+)"', listing):
            with suppress(OSError):
                self._opened[socket.if_nametoindex(interface)] = interface


def doors(shared: Iterable[IPv4Network]) -> set[str]:
    """The interfaces by which hosts of these networks are reached, and so come in."""
    found = set()
    routes = iproute.listed("route", "show") if shared else []
    for network in shared:
        for route in routes:
            with suppress(ValueError, KeyError):
                if IPv4Network(route["dst"]).overlaps(network):
                    found.add(str(route["dev"]))
        with suppress(CommandError):
            for route in iproute.listed("route", "get", str(network.network_address + 1)):
                found.add(str(route["dev"]))
    return found


def _setting(interface: str) -> Path:
    return _SETTINGS / interface / "forwarding"
