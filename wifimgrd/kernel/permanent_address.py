"""Read an adapter's permanent MAC address from the kernel by rtnetlink.

Netlink also works in a sandbox that forbids ethtool's ioctl; udev's events need it anyway. rtnetlink(7);
IFLA_PERM_ADDRESS is in linux/if_link.h since Linux 5.6.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

from wifimgrd.kernel.messages import attribute, attributes, messages, request

_LINK: Final = struct.Struct("=BxHiII")
"""struct ifinfomsg: family, hardware type, index, flags, change mask."""
_RTM_NEWLINK: Final = 16
_RTM_GETLINK: Final = 18
_NLM_F_REQUEST: Final = 1
_IFLA_IFNAME: Final = 3
_IFLA_PERM_ADDRESS: Final = 54
_IFNAMSIZ: Final = 16
_LARGEST: Final = 1 << 16
_ANSWER_S: Final = 1.0
"""The kernel replies before the request returns; this is for a kernel that does not."""
_LENGTH: Final = 6


def permanent_address(name: str) -> bytes:
    """The permanent address of a network interface; empty where it has none, or does not exist."""
    octets = name.encode()
    if not 0 < len(octets) < _IFNAMSIZ:
        return b""
    body = _LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + attribute(_IFLA_IFNAME, octets + b"\0")
    try:
        with socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
        ) as route:
            route.settimeout(_ANSWER_S)
            route.sendto(request(_RTM_GETLINK, _NLM_F_REQUEST, body), (0, 0))
            return permanent_address_in(route.recv(_LARGEST))
    except OSError:
        return b""


def permanent_address_in(answer: bytes) -> bytes:
    """The permanent address in the kernel's reply; empty where it has none."""
    link = next(messages(answer), None)
    if link is None or link.kind != _RTM_NEWLINK:
        return b""
    address = attributes(link.body, _LINK.size).get(_IFLA_PERM_ADDRESS, b"")
    return address if len(address) == _LENGTH else b""
