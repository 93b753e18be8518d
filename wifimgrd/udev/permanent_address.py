"""The MAC address that is burnt into an adapter, asked of the kernel by rtnetlink.

A sandbox that forbids ethtool's ioctl leaves netlink, which udev's events need anyway. rtnetlink(7);
IFLA_PERM_ADDRESS is in linux/if_link.h since Linux 5.6.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

_HEADER: Final = struct.Struct("=IHHII")
"""struct nlmsghdr: length, type, flags, sequence number, port."""
_LINK: Final = struct.Struct("=BxHiII")
"""struct ifinfomsg: family, hardware type, index, flags, change mask."""
_ATTRIBUTE: Final = struct.Struct("=HH")
"""struct nlattr: length, type."""
_RTM_NEWLINK: Final = 16
_RTM_GETLINK: Final = 18
_NLM_F_REQUEST: Final = 1
_IFLA_IFNAME: Final = 3
_IFLA_PERM_ADDRESS: Final = 54
_IFNAMSIZ: Final = 16
_TYPE_MASK: Final = 0x3FFF
"""The other bits of an attribute's type are flags."""
_LARGEST: Final = 1 << 16
_ANSWER_S: Final = 1.0
"""The kernel answers before the request returns; this is for a kernel that does not."""
_LENGTH: Final = 6


def permanent_address(name: str) -> bytes:
    """The permanent address of a network interface; empty where it has none, or is not there."""
    octets = name.encode()
    if not 0 < len(octets) < _IFNAMSIZ:
        return b""
    wanted = _attribute(_IFLA_IFNAME, octets + b"\0")
    body = _LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + wanted
    request = _HEADER.pack(_HEADER.size + len(body), _RTM_GETLINK, _NLM_F_REQUEST, 1, 0) + body
    try:
        with socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
        ) as route:
            route.settimeout(_ANSWER_S)
            route.sendto(request, (0, 0))
            return permanent_address_in(route.recv(_LARGEST))
    except OSError:
        return b""


def permanent_address_in(answer: bytes) -> bytes:
    """The permanent address in the kernel's answer; empty where it has none."""
    if len(answer) < _HEADER.size + _LINK.size or _HEADER.unpack_from(answer)[1] != _RTM_NEWLINK:
        return b""
    at, end = _HEADER.size + _LINK.size, min(len(answer), _HEADER.unpack_from(answer)[0])
    while at + _ATTRIBUTE.size <= end:
        length, kind = _ATTRIBUTE.unpack_from(answer, at)
        if length < _ATTRIBUTE.size:
            return b""
        if kind & _TYPE_MASK == _IFLA_PERM_ADDRESS:
            address = answer[at + _ATTRIBUTE.size : min(at + length, end)]
            return address if len(address) == _LENGTH else b""
        at += length + -length % 4
    return b""


def _attribute(kind: int, value: bytes) -> bytes:
    length = _ATTRIBUTE.size + len(value)
    return _ATTRIBUTE.pack(length, kind) + value + bytes(-length % 4)
