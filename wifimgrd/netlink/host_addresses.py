"""The IPv4 addresses that are in use around this host, from the kernel and the files of its services."""

from __future__ import annotations

import socket
import struct
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Address
from typing import Final

from wifimgrd.domain.leases import HostAddresses
from wifimgrd.netlink.messages import attributes
from wifimgrd.netlink.routes import list_routes
from wifimgrd.netlink.rtnetlink import dump
from wifimgrd.runtime.used_addresses import used_addresses

_NEW_ADDRESS, _GET_ADDRESS, _NEW_NEIGHBOUR, _GET_NEIGHBOUR = 20, 22, 28, 30
_ADDRESS: Final = struct.Struct("=BBBBI")
"""struct ifaddrmsg: family, prefix length, flags, scope, interface index."""
_NEIGHBOUR: Final = struct.Struct("=BBHIHBB")
"""struct ndmsg: family, padding, interface index, state, flags, type."""
_IFA_ADDRESS, _IFA_LOCAL, _NDA_DST = 1, 2, 1
_ANSWERED: Final = 0x02 | 0x04 | 0x08 | 0x10 | 0x80
"""NUD_REACHABLE, STALE, DELAY, PROBE, PERMANENT: the host there has a known hardware address."""


def host_addresses(cameras: Collection[str]) -> HostAddresses:
    """Read them; `cameras` are the interfaces of cameras, which are left out. Raises OSError."""
    own, neighbours = dict[IPv4Address, str](), dict[IPv4Address, str]()
    for body in dump(_GET_ADDRESS, _NEW_ADDRESS):
        found = attributes(body, _ADDRESS.size)
        _add(own, _ADDRESS.unpack_from(body)[4], found.get(_IFA_LOCAL, found.get(_IFA_ADDRESS)))
    for body in dump(_GET_NEIGHBOUR, _NEW_NEIGHBOUR):
        _, _, _, index, state, _, _ = _NEIGHBOUR.unpack_from(body)
        if state & _ANSWERED:
            _add(neighbours, index, attributes(body, _NEIGHBOUR.size).get(_NDA_DST))
    for route in list_routes():  # a gateway that nothing was sent to is no neighbour yet
        for hop in (route, *route.get("nexthops", ())):
            if "gateway" in hop and "dev" in hop:
                neighbours[IPv4Address(hop["gateway"])] = hop["dev"]
    return HostAddresses(
        {address: name for address, name in own.items() if name not in cameras},
        {address: name for address, name in neighbours.items() if name not in cameras},
        used_addresses(),
    )


def has_address(index: int) -> bool:
    """Whether an interface has an IPv4 address; raises OSError."""
    return any(_ADDRESS.unpack_from(body)[4] == index for body in dump(_GET_ADDRESS, _NEW_ADDRESS))


def _add(found: dict[IPv4Address, str], index: int, octets: bytes | None) -> None:
    if octets is not None and len(octets) == 4:
        with suppress(OSError):  # the interface has just gone
            found[IPv4Address(octets)] = socket.if_indextoname(index)
