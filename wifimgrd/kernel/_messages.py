"""Netlink messages and their attributes: https://man7.org/linux/man-pages/man7/netlink.7.html."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

ERROR: Final = 2
DONE: Final = 3
HEADER: Final = struct.Struct("=IHHII")
"""struct nlmsghdr: length with this header, type, flags, sequence number, port."""
NUMBER: Final = struct.Struct("=I")
"""The value of most attributes."""
REQUEST: Final = 0x0001
ACKNOWLEDGE: Final = 0x0004
INTERRUPTED: Final = 0x0010
"""NLM_F_DUMP_INTR: what is listed was changed meanwhile, so that entries may be missing or twice there."""
DUMP: Final = 0x0300
_CAPPED: Final = 0x0100
"""Of an acknowledgement: the request is not repeated in it, but for its header."""
_EXPLAINED: Final = 0x0200
"""Of an acknowledgement: attributes follow."""
_EXPLANATION: Final = 1
_ATTRIBUTE: Final = struct.Struct("=HH")
"""struct nlattr: length with this header, type."""
_CODE: Final = struct.Struct("=i")
"""The start of struct nlmsgerr: 0, or a negative errno."""
_RECEIVE_TIMEOUT_64: Final = 66
_TYPE_MASK: Final = 0x3FFF
"""The other bits of an attribute's type are flags."""


class Message(NamedTuple):
    """One message of the kernel."""

    kind: int
    body: bytes
    port: int
    """The netlink port of whose request it is about; 0 is the kernel's."""
    flags: int = 0
    sequence: int = 0
    """That of the request which it answers."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The kernel's verdict on a request, in an acknowledgement or the end of a list."""

    code: int
    """0, or an errno."""
    explanation: str = ""
    """The kernel's own words, where it has any."""


def messages(data: bytes) -> Iterator[Message]:
    """The messages of one datagram; a truncated one ends it."""
    offset = 0
    while offset + HEADER.size <= len(data):
        length, kind, flags, sequence, port = HEADER.unpack_from(data, offset)
        if not HEADER.size <= length <= len(data) - offset:
            return
        yield Message(kind, data[offset + HEADER.size : offset + length], port, flags, sequence)
        offset += (length + 3) & ~3


def answer_in(message: Message) -> Answer | None:
    """The verdict on the whole request in a message; None for a message that is a part of the answer."""
    if message.kind > DONE:  # which is nearly each
        return None
    if message.kind not in (ERROR, DONE) or len(message.body) < _CODE.size:
        return Answer(0) if message.kind == DONE else None
    (code,) = _CODE.unpack_from(message.body)
    offset = _CODE.size
    if message.kind == ERROR and len(message.body) >= offset + HEADER.size:
        repeated = HEADER.size if message.flags & _CAPPED else HEADER.unpack_from(message.body, offset)[0]
        offset += (repeated + 3) & ~3
    found = attributes(message.body, offset) if message.flags & _EXPLAINED else {}
    return Answer(-code, text(found.get(_EXPLANATION, b"")))


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


def attribute(kind: int, value: bytes | int | str) -> bytes:
    """An attribute of a request: bytes, a number of 32 bits, or a text with its NUL."""
    if isinstance(value, int):
        value = NUMBER.pack(value)
    elif isinstance(value, str):
        value = value.encode() + b"\0"
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + b"\0" * (-len(value) % 4)


def number(value: bytes | None, default: int = 0) -> int:
    """The number in an attribute; `default` where there is no such attribute."""
    return default if value is None else int(NUMBER.unpack(value)[0])


def text(value: bytes | None) -> str:
    """The text in an attribute; empty where there is no such attribute."""
    return "" if value is None else value.rstrip(b"\0").decode(errors="replace")


def request(kind: int, flags: int, body: bytes, sequence: int = 1) -> bytes:
    """A request."""
    return HEADER.pack(HEADER.size + len(body), kind, flags, sequence, 0) + body


def limit_wait(netlink: socket.socket, seconds: int) -> None:
    """Have each read of a socket end with BlockingIOError where the kernel does not answer so long. A time
    limit of Python's would cost a system call before each of the socket's."""
    netlink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, time_limit(socket.SO_RCVTIMEO, seconds))


def time_limit(option: int, seconds: int) -> bytes:
    """The value of SO_RCVTIMEO, whose number says which it is: on 32 bits with times of 64, as Debian 13's
    armhf has them, it is SO_RCVTIMEO_NEW, and takes 64 bits (linux/socket.h, asm-generic/socket.h)."""
    return struct.pack("=qq" if option == _RECEIVE_TIMEOUT_64 else "@ll", seconds, 0)
