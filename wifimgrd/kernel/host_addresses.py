"""The IPv4 addresses that are in use around this host, from the kernel and the files of its services."""

from __future__ import annotations

import socket
import struct
from collections.abc import Collection
from ipaddress import IPv4Address
from typing import Final

from wifimgrd.domain.leases import SHORTEST_BROADCAST, HostAddresses
from wifimgrd.kernel._messages import attributes
from wifimgrd.kernel.addresses import ipv4, list_addresses
from wifimgrd.kernel.links import name_of
from wifimgrd.kernel.routes import list_routes
from wifimgrd.kernel.rtnetlink import listed
from wifimgrd.runtime.used_addresses import used_addresses

_NEW_NEIGHBOUR, _GET_NEIGHBOUR = 28, 30
_NEIGHBOUR: Final = struct.Struct("=BBHIHBB")
"""struct ndmsg: family, padding, interface index, state, flags, type."""
_NDA_DST: Final = 1
_ANSWERED: Final = 0x02 | 0x04 | 0x08 | 0x10 | 0x80
"""NUD_REACHABLE, STALE, DELAY, PROBE, PERMANENT: the host there has a known hardware address."""


def host_addresses(cameras: Collection[str]) -> HostAddresses:
    """Read them; `cameras` are the interfaces of cameras, which are left out. Raises OSError."""
    own, neighbours = dict[IPv4Address, str](), dict[IPv4Address, str]()
    for one in list_addresses():
        _add(own, one.index, one.address, cameras)
    for body in listed(_GET_NEIGHBOUR, _NEW_NEIGHBOUR, _NEIGHBOUR.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0)):
        _, _, _, index, state, _, _ = _NEIGHBOUR.unpack_from(body)
        if state & _ANSWERED:
            _add(neighbours, index, ipv4(attributes(body, _NEIGHBOUR.size).get(_NDA_DST)), cameras)
    for route in list_routes():  # a gateway that nothing was sent to is not a neighbour yet
        for way in route.ways:
            _add(neighbours, way.index, way.gateway, cameras)
    return HostAddresses(own, neighbours, used_addresses())


def broadcast_addresses(index: int) -> frozenset[IPv4Address]:
    """The broadcast addresses of an interface: those that its addresses were given, and those of their
    networks. Raises OSError."""
    addresses = list_addresses(index)
    given = {one.broadcast for one in addresses if one.broadcast is not None}
    return frozenset(
        given.union(one.network.broadcast_address for one in addresses if one.prefix <= SHORTEST_BROADCAST)
    )


def _add(
    found: dict[IPv4Address, str], index: int, address: IPv4Address | None, left_out: Collection[str]
) -> None:
    """Add what another interface may have, too; one that has just gone has nothing."""
    if address is not None and (name := name_of(index)) and name not in left_out:
        found[address] = name
