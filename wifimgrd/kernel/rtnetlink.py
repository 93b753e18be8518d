"""Lists of the kernel's IPv4 network state, which need no privilege, and changes, which need CAP_NET_ADMIN:
https://man7.org/linux/man-pages/man7/rtnetlink.7.html."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import Final

from wifimgrd.kernel.messages import DONE, ERROR, Message, messages, request

_REQUEST_DUMP: Final = 0x0001 | 0x0300
_REQUEST_ACKNOWLEDGED: Final = 0x0001 | 0x0004
_ERROR_CODE: Final = struct.Struct("=i")
_BUFFER_BYTES: Final = 65536


def dump(kind: int, answer: int, header_size: int) -> Iterator[bytes]:
    """The bodies of all IPv4 entries of a kind, which begin with a header of that size. The kernel answers at
    once. Raises OSError."""
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
    ) as netlink:
        netlink.setblocking(False)
        netlink.send(request(kind, _REQUEST_DUMP, bytes([socket.AF_INET]) + bytes(header_size - 1)))
        while True:
            for message in messages(netlink.recv(_BUFFER_BYTES)):
                if message.kind == DONE:
                    return
                if message.kind == ERROR:
                    raise _error(message)
                if message.kind == answer:
                    yield message.body


def change(kind: int, body: bytes) -> None:
    """Change one entry. The kernel answers at once. Raises OSError where it refuses."""
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
    ) as netlink:
        netlink.setblocking(False)
        netlink.send(request(kind, _REQUEST_ACKNOWLEDGED, body))
        for message in messages(netlink.recv(_BUFFER_BYTES)):
            if message.kind == ERROR and (error := _error(message)).errno:
                raise error


def _error(message: Message) -> OSError:
    """The error of a reply; its number is 0 in an acknowledgement."""
    (code,) = _ERROR_CODE.unpack_from(message.body)
    return OSError(-code, os.strerror(-code))
