"""Netlink messages and their attributes: https://man7.org/linux/man-pages/man7/netlink.7.html."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

ERROR: Final = 2
DONE: Final = 3
HEADER: Final = struct.Struct("=IHHII")
"""struct nlmsghdr: length with this header, type, flags, sequence number, port."""
_ATTRIBUTE: Final = struct.Struct("=HH")
"""struct nlattr: length with this header, type."""
_TYPE_MASK: Final = 0x3FFF
"""The other bits of an attribute's type are flags."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the kernel."""

    kind: int
    body: bytes
    port: int
    """The netlink port of whose request it is about; 0 is the kernel's."""


def messages(data: bytes) -> Iterator[Message]:
    """The messages of one datagram; a truncated one ends it."""
    offset = 0
    while offset + HEADER.size <= len(data):
        length, kind, _, _, port = HEADER.unpack_from(data, offset)
        if not HEADER.size <= length <= len(data) - offset:
            return
        yield Message(kind, data[offset + HEADER.size : offset + length], port)
        offset += (length + 3) & ~3


def attributes(body: bytes, offset: int = 0) -> dict[int, bytes]:
    """The attributes from an offset of a message, or of another attribute, on."""
    found = {}
    while offset + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, offset)
        if not _ATTRIBUTE.size <= length <= len(body) - offset:
            break
        found[kind & _TYPE_MASK] = body[offset + _ATTRIBUTE.size : offset + length]
        offset += (length + 3) & ~3
    return found


def attribute(kind: int, value: bytes) -> bytes:
    """An attribute of a request."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + b"\0" * (-len(value) % 4)


def request(kind: int, flags: int, body: bytes) -> bytes:
    """A request."""
    return HEADER.pack(HEADER.size + len(body), kind, flags, 1, 0) + body
