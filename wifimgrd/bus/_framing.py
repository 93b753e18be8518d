"""Splits a stream of bytes into D-Bus messages; reads the sender of a message before the rest of its header.

https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-messages
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

LARGEST: Final = 256 * 1024
"""Bytes of a call or signal; the calls to wifimgrd and the signals it subscribes to are far smaller."""

CALL: Final = 1
REPLY: Final = 2
ERROR: Final = 3
SIGNAL: Final = 4
NO_REPLY_EXPECTED: Final = 1
_ENDIAN: Final = {ord("l"): "<", ord("B"): ">"}
_LARGEST_OF_ALL: Final = 128 << 20
_LARGEST_HEAD: Final = 4 * LARGEST
"""Bytes of a header that are kept to find the sender of a message that is too large."""

FIXED: Final = 16
"""Bytes before the header's fields."""
_SENDER: Final = 7
_DEEPEST: Final = 64
"""Containers in each other: 32 arrays and 32 structs."""
_MOST: Final = 1000
"""Values outside of arrays, which are passed over as a whole; there are nine fields in the specification."""
_ALIGNMENTS: Final = {
    **dict.fromkeys("ygv", 1),
    **dict.fromkeys("nq", 2),
    **dict.fromkeys("biuhsoa", 4),
    **dict.fromkeys("xtd({", 8),
}
_FIXED_SIZES: Final = {"y": 1, "n": 2, "q": 2, "b": 4, "i": 4, "u": 4, "h": 4, "x": 8, "t": 8, "d": 8}
_TEXTS: Final = frozenset(b"so")
_STRING: Final = ord("s")
_WORDS: Final = {"<": struct.Struct("<I"), ">": struct.Struct(">I")}
_BEGIN: Final = struct.Struct("BBB")
"""Of a field: its code, and how long its signature is and begins."""
_CLOSING: Final = {"(": ")", "{": "}"}


class StreamBroken(Exception):
    """The data is not a D-Bus message, and the start of the next one is not known."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A message whose body is not parsed yet."""

    kind: int
    flags: int
    serial: int
    sender: str
    """The sender, as set by the message bus; empty if it is not set, or if no reply can be sent."""
    data: bytes
    """Empty if the message was too large."""
    descriptors: tuple[int, ...] = ()
    """Its file descriptors; the receiver of the message closes them."""


class Framing:
    """Splits a stream of bytes into messages."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._held = bytearray()
        self._begin = 0
        """Bytes that are not part of a returned message yet."""
        self._to_skip = 0

    @property
    def between_messages(self) -> bool:
        """Whether the last byte ended a message, or belongs to a message that is skipped."""
        return len(self._held) == self._begin

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Return the complete messages, each of them once, also if processing an earlier one fails;
        raises StreamBroken."""
        skipped = min(self._to_skip, len(data))
        self._to_skip -= skipped
        self._held += data[skipped:]
        try:
            while (cut := self._cut()) is not None:
                frame, size = cut
                held = len(self._held) - self._begin
                self._to_skip = max(0, size - held)
                self._begin += min(size, held)
                yield frame
        finally:
            del self._held[: self._begin]
            self._begin = 0

    def _cut(self) -> tuple[Frame, int] | None:
        """The next message and its size; None if it is not complete."""
        begin = self._begin
        held = len(self._held) - begin
        if held < FIXED:
            return None
        order, kind = self._held[begin], self._held[begin + 1]
        if order not in _ENDIAN:
            raise StreamBroken("a message of no known byte order came")
        fixed = struct.unpack_from(_ENDIAN[order] + "xxBxIII", self._held, begin)
        flags, body, serial, fields = fixed
        head = FIXED + fields + -fields % 8
        size = head + body
        if size > _LARGEST_OF_ALL:
            raise StreamBroken("a message came that is larger than any may be")
        too_large = size > self._largest and kind not in (REPLY, ERROR)
        if too_large and head > _LARGEST_HEAD:
            return Frame(kind, flags, serial, "", b""), size
        if held < (head if too_large else size):
            return None
        sender = sender_of(bytes(self._held[begin : begin + head]), _ENDIAN[order])
        whole = b"" if too_large else bytes(self._held[begin : begin + size])
        return Frame(kind, flags, serial, sender, whole), size


class Malformed(Exception):
    """The header is none."""


def sender_of(head: bytes, endian: str) -> str:
    """Who sent a message, as the message bus says; empty where it does not, or the header is malformed.

    `head` is the fixed part and the fields, `endian` as in `struct`. Unknown fields are passed over.
    """
    try:
        return _Fields(head, endian).sender()
    except (Malformed, struct.error, UnicodeDecodeError):
        return ""


class _Fields:
    """Reads the array of fields: a code and a variant each."""

    def __init__(self, head: bytes, endian: str) -> None:
        self._head = head
        self._word = _WORDS[endian]
        self._left = _MOST
        self._at = FIXED
        self._end: int = FIXED + self._word.unpack_from(head, FIXED - 4)[0]
        if self._end > len(head):
            raise Malformed

    def sender(self) -> str:
        senders = []
        while self._at < self._end:
            self._count()
            self._at += -self._at % 8
            code, length, kind = _BEGIN.unpack_from(self._head, self._at)
            if length == 1 and kind in _TEXTS:  # all but two of those that a bus passes on
                self._at += 4
                text = self._take(self._length())
                self._take(1)
                if code == _SENDER and kind == _STRING:
                    senders.append(text.decode("ascii"))
            else:
                self._at += 1
                self._skip_one(self._signature())
        if self._at > self._end:
            raise Malformed
        # Of two, one would be the client's own.
        return senders[0] if len(senders) == 1 else ""

    def _count(self) -> None:
        self._left -= 1
        if not self._left:
            raise Malformed

    def _take(self, size: int) -> bytes:
        begin = self._at
        if size > self._end - begin:
            raise Malformed
        self._at = begin + size
        return self._head[begin : self._at]

    def _align(self, size: int) -> None:
        self._take(-self._at % size)

    def _length(self) -> int:
        at = self._at + -self._at % 4
        self._at = at + 4
        return int(self._word.unpack_from(self._head, at)[0])

    def _signature(self) -> str:
        [length] = self._take(1)
        signature = self._take(length).decode("ascii")
        self._take(1)
        return signature

    def _skip_one(self, signature: str, depth: int = 0) -> None:
        """Pass over a value of one complete type."""
        if self._skip(signature, 0, depth) != len(signature):
            raise Malformed

    def _skip(self, signature: str, at: int, depth: int) -> int:
        """Pass over a value of the type that begins at `at`; returns where the next type begins."""
        kind = signature[at : at + 1]
        if kind not in _ALIGNMENTS or not kind or depth > _DEEPEST:
            raise Malformed
        self._count()
        self._align(_ALIGNMENTS[kind])
        if kind in _FIXED_SIZES:
            self._take(_FIXED_SIZES[kind])
        elif kind in "so":
            self._take(self._length() + 1)
        elif kind == "g":
            self._signature()
        elif kind == "v":
            self._skip_one(self._signature(), depth + 1)
        elif kind == "a":
            size = self._length()
            item = signature[at + 1 : at + 2]
            self._align(_ALIGNMENTS.get(item, 1))
            self._take(size)
            return _end_of_type(signature, at + 1)
        else:
            at += 1
            while signature[at : at + 1] != _CLOSING[kind]:
                at = self._skip(signature, at, depth + 1)
        return at + 1


def _end_of_type(signature: str, at: int) -> int:
    """Where the type that begins there ends in a signature."""
    while signature[at : at + 1] == "a":
        at += 1
    kind = signature[at : at + 1]
    if kind not in _ALIGNMENTS or not kind:
        raise Malformed
    at += 1
    open_ones = [_CLOSING[kind]] if kind in _CLOSING else []
    while open_ones:
        kind = signature[at : at + 1]
        if not kind:
            raise Malformed
        if kind == open_ones[-1]:
            open_ones.pop()
        elif kind in _CLOSING:
            open_ones.append(_CLOSING[kind])
        at += 1
    return at
