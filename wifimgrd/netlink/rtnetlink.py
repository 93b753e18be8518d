"""Lists of the kernel's IPv4 network state, which needs no privilege:
https://man7.org/linux/man-pages/man7/rtnetlink.7.html."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import Final

from wifimgrd.netlink.messages import DONE, ERROR, messages, request

_REQUEST_DUMP: Final = 0x0001 | 0x0300
_ERROR_CODE: Final = struct.Struct("=i")
_BUFFER_BYTES: Final = 65536


def dump(kind: int, answer: int) -> Iterator[bytes]:
    """The bodies of all IPv4 entries of a kind; the kernel answers at once. Raises OSError."""
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
    ) as netlink:
        netlink.setblocking(False)
        netlink.send(request(kind, _REQUEST_DUMP, bytes([socket.AF_INET]) + bytes(15)))
        while True:
            for message in messages(netlink.recv(_BUFFER_BYTES)):
                if message.kind == DONE:
                    return
                if message.kind == ERROR:
                    (code,) = _ERROR_CODE.unpack_from(message.body)
                    raise OSError(-code, os.strerror(-code))
                if message.kind == answer:
                    yield message.body
