"""The IPv4 addresses that are in use around this host, from the kernel and the files of its services.

Read over rtnetlink, which needs no privilege: https://man7.org/linux/man-pages/man7/rtnetlink.7.html.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from ipaddress import IPv4Address
from typing import Final

from wifimgrd.domain.leases import HostAddresses
from wifimgrd.netlink.messages import DONE, ERROR, attributes, messages, request
from wifimgrd.runtime.used_addresses import used_addresses

_NEW_ADDRESS, _GET_ADDRESS, _NEW_NEIGHBOUR, _GET_NEIGHBOUR = 20, 22, 28, 30
_NEW_ROUTE, _GET_ROUTE = 24, 26
_REQUEST_DUMP: Final = 0x0001 | 0x0300
_ADDRESS: Final = struct.Struct("=BBBBI")
"""struct ifaddrmsg: family, prefix length, flags, scope, interface index."""
_NEIGHBOUR: Final = struct.Struct("=BBHIHBB")
"""struct ndmsg: family, padding, interface index, state, flags, type."""
_ROUTE_BYTES: Final = 12
"""struct rtmsg, of which nothing is needed."""
_HOP: Final = struct.Struct("=HBBi")
"""struct rtnexthop: length, flags, weight, interface index."""
_IFA_ADDRESS, _IFA_LOCAL, _NDA_DST = 1, 2, 1
_RTA_OIF, _RTA_GATEWAY, _RTA_MULTIPATH = 4, 5, 9
_ANSWERED: Final = 0x02 | 0x04 | 0x08 | 0x10 | 0x80
"""NUD_REACHABLE, STALE, DELAY, PROBE, PERMANENT: the host there has a known hardware address."""
_BUFFER_BYTES: Final = 65536


def host_addresses(cameras: Collection[str]) -> HostAddresses:
    """Read them; `cameras` are the interfaces of cameras, which are left out. Raises OSError."""
    own, neighbours = dict[IPv4Address, str](), dict[IPv4Address, str]()
    for body in _dump(_GET_ADDRESS, _NEW_ADDRESS):
        found = attributes(body, _ADDRESS.size)
        _add(own, _ADDRESS.unpack_from(body)[4], found.get(_IFA_LOCAL, found.get(_IFA_ADDRESS)))
    for body in _dump(_GET_NEIGHBOUR, _NEW_NEIGHBOUR):
        _, _, _, index, state, _, _ = _NEIGHBOUR.unpack_from(body)
        if state & _ANSWERED:
            _add(neighbours, index, attributes(body, _NEIGHBOUR.size).get(_NDA_DST))
    for body in _dump(_GET_ROUTE, _NEW_ROUTE):  # a gateway that nothing was sent to is no neighbour yet
        for index, gateway in _gateways(body):
            _add(neighbours, index, gateway)
    return HostAddresses(
        {address: name for address, name in own.items() if name not in cameras},
        {address: name for address, name in neighbours.items() if name not in cameras},
        used_addresses(),
    )


def has_address(index: int) -> bool:
    """Whether an interface has an IPv4 address; raises OSError."""
    return any(_ADDRESS.unpack_from(body)[4] == index for body in _dump(_GET_ADDRESS, _NEW_ADDRESS))


def _gateways(route: bytes) -> Iterator[tuple[int, bytes | None]]:
    """The gateways of a route, with the indices of their interfaces."""
    found = attributes(route, _ROUTE_BYTES)
    if (interface := found.get(_RTA_OIF)) is not None:
        yield struct.unpack("=I", interface)[0], found.get(_RTA_GATEWAY)
    hops, offset = found.get(_RTA_MULTIPATH, b""), 0
    while offset + _HOP.size <= len(hops):
        length, _, _, index = _HOP.unpack_from(hops, offset)
        if length < _HOP.size:
            break
        yield index, attributes(hops[offset : offset + length], _HOP.size).get(_RTA_GATEWAY)
        offset += (length + 3) & ~3


def _add(found: dict[IPv4Address, str], index: int, octets: bytes | None) -> None:
    if octets is not None and len(octets) == 4:
        with suppress(OSError):  # the interface has just gone
            found[IPv4Address(octets)] = socket.if_indextoname(index)


def _dump(kind: int, answer: int) -> Iterator[bytes]:
    """The bodies of all IPv4 entries of a kind; the kernel answers at once."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.setblocking(False)
        netlink.send(request(kind, _REQUEST_DUMP, bytes([socket.AF_INET]) + bytes(15)))
        while True:
            for message in messages(netlink.recv(_BUFFER_BYTES)):
                if message.kind == DONE:
                    return
                if message.kind == ERROR:
                    raise OSError("the kernel refused to list addresses")
                if message.kind == answer:
                    yield message.body
