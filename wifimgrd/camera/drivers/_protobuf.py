"""The part of protobuf's wire format that the messages need: https://protobuf.dev/programming-guides/encoding/."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wifimgrd.camera.drivers.protocol import Nonsense

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_LONGEST_VARINT: Final = 10
_FIELDS: Final = 512
"""In one message; an answer with all options has some 100."""
_MASK: Final = (1 << 64) - 1


def varint(value: int) -> bytes:
    """A number; a negative one takes ten bytes."""
    value &= _MASK
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def number(field: int, value: int) -> bytes:
    """A field with a number."""
    return varint(field << 3 | _VARINT) + varint(value)


def message(field: int, content: bytes) -> bytes:
    """A field with a message, or with bytes."""
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


def numbers(field: int, values: Iterable[int]) -> bytes:
    """A field with a list of numbers, packed."""
    return message(field, b"".join(varint(value) for value in values))


class Fields:
    """The fields of a message: the last value of each counts, one of another type is missing."""

    def __init__(self, data: bytes) -> None:
        """Raises Nonsense."""
        self._values: dict[int, int | bytes] = {}
        self._contents: list[tuple[int, bytes]] = []
        at, count = 0, 0
        while at < len(data):
            key, at = _varint(data, at)
            count += 1
            if count > _FIELDS or not key >> 3:
                raise Nonsense("what the camera sent is not a protobuf message")
            at = self._take(key, data, at)

    def _take(self, key: int, data: bytes, at: int) -> int:
        match key & 7:
            case 0:
                self._values[key >> 3], at = _varint(data, at)
            case 1:
                at += 8
            case 2:
                size, at = _varint(data, at)
                self._values[key >> 3] = content = data[at : at + size]
                self._contents.append((key >> 3, content))
                at += size
            case 5:
                at += 4
            case _:
                raise Nonsense("what the camera sent is not a protobuf message")
        if at > len(data):
            raise Nonsense("the camera sent a protobuf message without its end")
        return at

    def number(self, field: int) -> int:
        """An unsigned number; one that is not sent is 0."""
        found = self._values.get(field, 0)
        return found if isinstance(found, int) else 0

    def signed(self, field: int) -> int:
        """A number that may be negative."""
        found = self.number(field)
        return found - (1 << 64) if found >> 63 else found

    def has(self, field: int) -> bool:
        """Whether it was sent."""
        return field in self._values

    def content(self, field: int) -> bytes:
        """The bytes of a text; empty if there is none."""
        found = self._values.get(field, b"")
        return found if isinstance(found, bytes) else b""

    def contents(self, field: int) -> list[bytes]:
        """The bytes of each text of a field that is repeated."""
        return [content for one, content in self._contents if one == field]

    def message(self, field: int) -> Fields | None:
        """The message in a field; None if there is none. Raises Nonsense."""
        return Fields(self.content(field)) if isinstance(self._values.get(field), bytes) else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= len(data):
            raise Nonsense("the camera sent a protobuf message without its end")
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & _MASK, at + place + 1
    raise Nonsense("the camera sent a number without an end")
