"""IPv4 routes of the kernel. The numbers are those of include/uapi/linux/rtnetlink.h."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from wifimgrd.kernel._messages import attribute, attributes, number
from wifimgrd.kernel.addresses import ipv4
from wifimgrd.kernel.links import name_of
from wifimgrd.kernel.rtnetlink import Action, KernelError, listed, looked_up

NEW_ROUTE, DELETE_ROUTE, _GET_ROUTE = 24, 25, 26
_HEADER: Final = struct.Struct("=BBBBBBBBI")
"""struct rtmsg: family, lengths of destination and source, type of service, table, protocol, scope, type,
flags."""
_HOP: Final = struct.Struct("=HBBi")
"""struct rtnexthop: length, flags, weight, interface index."""
_DESTINATION, _INTERFACE, _GATEWAY, _METRIC, _SOURCE, _HOPS, _TABLE = 1, 4, 5, 6, 7, 9, 15
_HOST_PREFIX: Final = 32
_REMEMBERED: Final = 1024
MAIN: Final = 254
LOCAL: Final = 255
TABLES: Final = {253: "default", MAIN: "main", LOCAL: "local"}
"""The tables that have names."""
BY_KERNEL, BY_HAND, BY_DHCP = 2, 3, 16
"""Routing protocols: who has added a route."""
_EVERYWHERE, _LINK, _HOST, _ANY = 0, 253, 254, 255
"""Scopes."""


class RouteKind(IntEnum):
    """The treatment of a packet."""

    UNKNOWN = 0
    UNICAST = 1
    LOCAL = 2
    BROADCAST = 3
    ANYCAST = 4
    MULTICAST = 5
    BLACKHOLE = 6
    UNREACHABLE = 7
    PROHIBIT = 8
    THROW = 9

    @classmethod
    def _missing_(cls, _: object) -> RouteKind:
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class Hop:
    """One of several ways of a route."""

    index: int
    gateway: IPv4Address | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """A route."""

    destination: IPv4Network
    index: int = 0
    """Of its interface; 0 where it has none, or several hops."""
    gateway: IPv4Address | None = None
    table: int = MAIN
    kind: RouteKind = RouteKind.UNICAST
    protocol: int = BY_HAND
    metric: int = 0
    source: IPv4Address | None = None
    """The own address that packets get."""
    hops: tuple[Hop, ...] = ()

    @property
    def ways(self) -> tuple[Hop, ...]:
        """Through which interfaces and gateways it leads."""
        return self.hops or ((Hop(self.index, self.gateway),) if self.index or self.gateway else ())

    def __str__(self) -> str:
        words = ["route"]
        if self.kind is not RouteKind.UNICAST:
            words.append(self.kind.name.lower())
        words.append(str(self.destination if self.destination.prefixlen < _HOST_PREFIX else self._host))
        if self.gateway is not None:
            words.append(f"via {self.gateway}")
        if self.index:
            words.append(f"dev {name_of(self.index) or self.index}")
        if self.metric:
            words.append(f"metric {self.metric}")
        if self.table != MAIN:
            words.append(f"table {TABLES.get(self.table, self.table)}")
        return " ".join(words)

    @property
    def _host(self) -> IPv4Address:
        return self.destination.network_address

    def encode(self, action: Action) -> tuple[int, bytes]:
        """See Entry. Of one with several hops, which is never added, all others identify it."""
        is_deleted = action is Action.DELETE
        scope = _ANY if is_deleted else self._scope
        prefix = self.destination.prefixlen
        body = _HEADER.pack(socket.AF_INET, prefix, 0, 0, 0, self.protocol, scope, self.kind, 0)
        body += attribute(_TABLE, self.table)
        if prefix:
            body += attribute(_DESTINATION, self._host.packed)
        if self.index:
            body += attribute(_INTERFACE, self.index)
        if self.gateway is not None:
            body += attribute(_GATEWAY, self.gateway.packed)
        if self.metric:
            body += attribute(_METRIC, self.metric)
        if self.source is not None:
            body += attribute(_SOURCE, self.source.packed)
        return DELETE_ROUTE if is_deleted else NEW_ROUTE, body

    @property
    def _scope(self) -> int:
        """How far the destination is, as iproute2 assumes it."""
        match self.kind:
            case RouteKind.LOCAL:
                return _HOST
            case RouteKind.BROADCAST | RouteKind.MULTICAST | RouteKind.ANYCAST:
                return _LINK
            case RouteKind.UNICAST if self.gateway is None:
                return _LINK
        return _EVERYWHERE


def list_routes(table: int | None = None, kind: RouteKind = RouteKind.UNKNOWN) -> list[Route]:
    """The routes of all tables, or only of one, of all kinds or only of one: the kernel leaves out the
    others. Raises KernelError."""
    wanted = _HEADER.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, kind, 0)
    if table is not None:
        wanted += attribute(_TABLE, table)
    try:
        return [route_in(body) for body in listed(_GET_ROUTE, NEW_ROUTE, wanted)]
    except KernelError as error:
        if table is not None and error.errno == errno.ENOENT:  # it has never had a route
            return []
        raise


def route_to(address: IPv4Address) -> Route:
    """The way that a packet of this host takes; raises KernelError where there is none."""
    header = _HEADER.pack(socket.AF_INET, _HOST_PREFIX, 0, 0, 0, 0, 0, 0, 0)
    return route_in(looked_up(_GET_ROUTE, NEW_ROUTE, header + attribute(_DESTINATION, address.packed)))


@lru_cache(maxsize=_REMEMBERED)
def host_network(address: IPv4Address) -> IPv4Network:
    """The destination of a route to one address."""
    return IPv4Network((address, _HOST_PREFIX))


@lru_cache(maxsize=_REMEMBERED)
def route_in(body: bytes) -> Route:
    """The route that a message is about. Most routes are listed, or reported, again and again."""
    _, prefix, _, _, table, protocol, _, kind, _ = _HEADER.unpack_from(body)
    found = attributes(body, _HEADER.size)
    return Route(
        IPv4Network((ipv4(found.get(_DESTINATION)) or IPv4Address(0), prefix), strict=False),
        number(found.get(_INTERFACE)),
        ipv4(found.get(_GATEWAY)),
        number(found.get(_TABLE), table),
        RouteKind(kind),
        protocol,
        number(found.get(_METRIC)),
        ipv4(found.get(_SOURCE)),
        tuple(_hops(found.get(_HOPS, b""))),
    )


def _hops(hops: bytes) -> Iterator[Hop]:
    offset = 0
    while offset + _HOP.size <= len(hops):
        length, _, _, index = _HOP.unpack_from(hops, offset)
        if length < _HOP.size:
            break
        yield Hop(index, ipv4(attributes(hops[offset : offset + length], _HOP.size).get(_GATEWAY)))
        offset += (length + 3) & ~3
