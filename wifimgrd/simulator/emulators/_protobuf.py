"""The little of protobuf's encoding that Insta360's messages need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

_VARINT: Final = 0
_BYTES: Final = 2
_FIXED: Final = {1: 8, 5: 4}
_MAX_FIELDS: Final = 256
_MASK_64: Final = (1 << 64) - 1

Value = int | bytes


class MalformedMessage(ValueError):
    """These bytes are not a message."""


def encode(fields: Iterable[tuple[int, Value | str]]) -> bytes:
    """A message of fields: numbers (also negative ones), bytes, texts, messages."""
    message = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            message += _varint(number << 3 | _VARINT) + _varint(value & _MASK_64)
        else:
            data = value.encode() if isinstance(value, str) else value
            message += _varint(number << 3 | _BYTES) + _varint(len(data)) + data
    return bytes(message)


def packed(numbers: Iterable[int]) -> bytes:
    """Numbers as the value of a repeated field."""
    return b"".join(_varint(number & _MASK_64) for number in numbers)


def decode(message: bytes) -> list[tuple[int, Value]]:
    """The fields of a message; raises MalformedMessage."""
    fields: list[tuple[int, Value]] = []
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        kind = key & 7
        value: Value
        if kind == _VARINT:
            value, at = _read_varint(message, at)
        else:
            if kind == _BYTES:
                size, at = _read_varint(message, at)
            elif (size := _FIXED.get(kind, -1)) < 0:
                raise MalformedMessage
            value = message[at : at + size]
            at += size
            if at > len(message):
                raise MalformedMessage
        if not key >> 3 or len(fields) == _MAX_FIELDS:
            raise MalformedMessage
        fields.append((key >> 3, value))
    return fields


def numbers_of(fields: Iterable[tuple[int, Value]], number: int) -> Iterator[int]:
    """The values of a repeated field of numbers, packed or not; raises MalformedMessage."""
    for key, value in fields:
        if key != number:
            continue
        if isinstance(value, int):
            yield value
            continue
        at = 0
        while at < len(value):
            one, at = _read_varint(value, at)
            yield one


def signed(value: int) -> int:
    """A number of 32 or 64 bits as one with a sign."""
    return value - (1 << 64) if value >> 63 else value


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise MalformedMessage
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value & _MASK_64, at
    raise MalformedMessage
