"""The IPv4 addresses that are in use around this host, from the kernel and the files of its services."""

from __future__ import annotations

import socket
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Interface
from typing import Final

from wifimgrd.domain.leases import SHORTEST_BROADCAST, HostAddresses
from wifimgrd.kernel.messages import attributes
from wifimgrd.kernel.routes import list_routes
from wifimgrd.kernel.rtnetlink import dump
from wifimgrd.runtime.used_addresses import used_addresses

_NEW_ADDRESS, _GET_ADDRESS, _NEW_NEIGHBOUR, _GET_NEIGHBOUR = 20, 22, 28, 30
_ADDRESS: Final = struct.Struct("=BBBBI")
"""struct ifaddrmsg: family, prefix length, flags, scope, interface index."""
_NEIGHBOUR: Final = struct.Struct("=BBHIHBB")
"""struct ndmsg: family, padding, interface index, state, flags, type."""
_IFA_ADDRESS, _IFA_LOCAL, _IFA_BROADCAST, _NDA_DST = 1, 2, 4, 1
_ANSWERED: Final = 0x02 | 0x04 | 0x08 | 0x10 | 0x80
"""NUD_REACHABLE, STALE, DELAY, PROBE, PERMANENT: the host there has a known hardware address."""


def host_addresses(cameras: Collection[str]) -> HostAddresses:
    """Read them; `cameras` are the interfaces of cameras, which are left out. Raises OSError."""
    own, neighbours = dict[IPv4Address, str](), dict[IPv4Address, str]()
    for index, address in own_addresses():
        _add(own, index, address, cameras)
    for body in dump(_GET_NEIGHBOUR, _NEW_NEIGHBOUR, _NEIGHBOUR.size):
        _, _, _, index, state, _, _ = _NEIGHBOUR.unpack_from(body)
        if state & _ANSWERED and (neighbour := _ipv4(attributes(body, _NEIGHBOUR.size).get(_NDA_DST))):
            _add(neighbours, index, neighbour, cameras)
    for route in list_routes():  # a gateway that nothing was sent to is no neighbour yet
        for hop in (route, *route.get("nexthops", ())):
            if "gateway" in hop and "dev" in hop and hop["dev"] not in cameras:
                neighbours[IPv4Address(hop["gateway"])] = hop["dev"]
    return HostAddresses(own, neighbours, used_addresses())


def first_address(index: int) -> IPv4Address | None:
    """The first IPv4 address of an interface, if it has one; raises OSError."""
    return next((address for of, address in own_addresses() if of == index), None)


def broadcast_addresses(index: int) -> frozenset[IPv4Address]:
    """The broadcast addresses of an interface: those that its addresses were given, and those of their
    networks. Raises OSError."""
    found = set()
    for body in dump(_GET_ADDRESS, _NEW_ADDRESS, _ADDRESS.size):
        _, prefix, _, _, of = _ADDRESS.unpack_from(body)
        given = attributes(body, _ADDRESS.size)
        if of == index and (address := _ipv4(given.get(_IFA_LOCAL, given.get(_IFA_ADDRESS)))) is not None:
            network = IPv4Interface((address, prefix)).network
            if prefix <= SHORTEST_BROADCAST:
                found.add(network.broadcast_address)
            if (broadcast := _ipv4(given.get(_IFA_BROADCAST))) is not None:
                found.add(broadcast)
    return frozenset(found)


def own_addresses() -> Iterator[tuple[int, IPv4Address]]:
    """Each IPv4 address of the host, with the index of its interface; raises OSError."""
    for body in dump(_GET_ADDRESS, _NEW_ADDRESS, _ADDRESS.size):
        found = attributes(body, _ADDRESS.size)
        if (address := _ipv4(found.get(_IFA_LOCAL, found.get(_IFA_ADDRESS)))) is not None:
            yield _ADDRESS.unpack_from(body)[4], address


def _ipv4(octets: bytes | None) -> IPv4Address | None:
    return IPv4Address(octets) if octets is not None and len(octets) == 4 else None


def _add(found: dict[IPv4Address, str], index: int, address: IPv4Address, left_out: Collection[str]) -> None:
    """Add what another interface may have, too."""
    with suppress(OSError):  # the interface has just gone
        if (name := socket.if_indextoname(index)) not in left_out:
            found[address] = name
