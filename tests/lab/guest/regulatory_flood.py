"""So many messages of the kernel about the regulatory domain that a program that does not read them misses
what comes after.

https://docs.kernel.org/networking/netlink_spec/nl80211.html, https://docs.kernel.org/userspace-api/netlink/intro.html
"""

import socket
import struct

from .deadline import poll_until
from .netlink_sockets import netlink_sockets

_GENERIC = 16
_CONTROLLER, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 0x10, 3, 1, 2
_REQUEST_REGULATORY_DOMAIN, _ALPHA2 = 27, 33
_REQUEST_AND_ACKNOWLEDGE = 5
_PORT_OF_PROCESS = (1 << 22) - 1
"""The part of a netlink port in which libnl puts the process's number."""
_AT_A_TIME = 30


def flood(process: int) -> None:
    """Return once the kernel sends a stopped process nothing more before that has read what waits for it."""
    before = _missed(process)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC) as netlink:
        netlink.bind((0, 0))
        answer = _ask(netlink, _CONTROLLER, _GET_FAMILY, _FAMILY_NAME, b"nl80211\0")
        start = answer.index(struct.pack("=HH", 6, _FAMILY_ID)) + 4
        (nl80211,) = struct.unpack_from("=H", answer, start)

        def overflowed() -> bool:
            for _ in range(_AT_A_TIME):
                for country in (b"DE\0", b"US\0", b"JP\0"):
                    _ask(netlink, nl80211, _REQUEST_REGULATORY_DOMAIN, _ALPHA2, country)
            return _missed(process) > before

        poll_until(overflowed, "a socket that has no room left", 30)
        _ask(netlink, nl80211, _REQUEST_REGULATORY_DOMAIN, _ALPHA2, b"00\0")


def _ask(netlink: socket.socket, family: int, command: int, attribute: int, value: bytes) -> bytes:
    body = struct.pack("=BBHHH", command, 1, 0, 4 + len(value), attribute) + value + b"\0" * (-len(value) % 4)
    netlink.send(struct.pack("=IHHII", 16 + len(body), family, _REQUEST_AND_ACKNOWLEDGE, 1, 0) + body)
    return netlink.recv(65536)


def _missed(process: int) -> int:
    """How many messages of generic netlink did not fit."""
    return sum(
        one.drops
        for one in netlink_sockets()
        if one.protocol == _GENERIC and one.port & _PORT_OF_PROCESS == process
    )
