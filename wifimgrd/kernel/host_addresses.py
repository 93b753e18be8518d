"""The IPv4 addresses that are in use around this host, from the kernel and the files of its services."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Address

from wifimgrd.domain.leases import SHORTEST_BROADCAST, HostAddresses
from wifimgrd.kernel.addresses import list_addresses
from wifimgrd.kernel.links import name_of
from wifimgrd.kernel.neighbours import list_neighbours
from wifimgrd.kernel.routes import list_routes
from wifimgrd.runtime.used_addresses import used_addresses


def host_addresses(cameras: Collection[str]) -> HostAddresses:
    """Read them; `cameras` are the interfaces of cameras, which are left out. Raises OSError."""
    own, neighbours = dict[IPv4Address, str](), dict[IPv4Address, str]()
    for one in list_addresses():
        _add(own, one.index, one.address, cameras)
    for neighbour in list_neighbours():
        if neighbour.is_known:
            _add(neighbours, neighbour.index, neighbour.address, cameras)
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
