"""Long lists in the wire format of D-Bus, which the library is too slow for: some 25 times.

https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-marshaling
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Final

ROWS_SIGNATURE: Final = "aa{sv}"
SAMPLES_SIGNATURE: Final = "ta(tyy)"
LEVELS_SIGNATURE: Final = "ta(ty)"
_SAMPLE: Final = struct.Struct("<QBB6x")
_LEVEL: Final = struct.Struct("<QB7x")
_NUMBERS: Final = {"t": ("<Q", 8), "x": ("<q", 8), "u": ("<I", 4), "i": ("<i", 4), "y": ("<B", 1)}
_PADDING: Final = tuple(bytes(count) for count in range(8))

Value = tuple[str, object]
"""The signature of a value (`s`, `t`, `x`, `u`, `i`, `y` or `aa{sv}`) and the value."""


class PackedBody(bytes):
    """The body of a message."""

    __slots__ = ()
    signature: ClassVar[str]
    empty: ClassVar[Sequence[object]]
    """A body of the same signature."""


class PackedRows(PackedBody):
    """A list of dictionaries."""

    __slots__ = ()
    signature = ROWS_SIGNATURE
    empty: ClassVar[Sequence[object]] = ([],)


class PackedSamples(PackedBody):
    """A step in time, and two values at each of some moments."""

    __slots__ = ()
    signature = SAMPLES_SIGNATURE
    empty: ClassVar[Sequence[object]] = (0, [])


class PackedLevels(PackedBody):
    """A step in time, and one value at each of some moments."""

    __slots__ = ()
    signature = LEVELS_SIGNATURE
    empty: ClassVar[Sequence[object]] = (0, [])


def pack_rows(rows: Iterable[Mapping[str, Value]]) -> PackedRows:
    """Pack dictionaries; what D-Bus cannot carry in a text is left out or replaced."""
    out = bytearray()
    _add_rows(out, rows)
    return PackedRows(out)


def _add_rows(out: bytearray, rows: Iterable[Mapping[str, Value]]) -> None:
    out += _PADDING[-len(out) & 3]
    array = len(out)
    out += b"\0\0\0\0"
    for row in rows:
        out += _PADDING[-len(out) & 3]
        place = len(out)
        out += b"\0\0\0\0"
        out += _PADDING[-len(out) & 7]
        start = len(out)
        for name, (signature, value) in row.items():
            out += _PADDING[-len(out) & 7]
            out += _head(name, signature)
            if isinstance(value, str):
                data = value.replace("\0", "").encode("utf-8", "replace")
                out += _PADDING[-len(out) & 3]
                out += struct.pack("<I", len(data))
                out += data
                out.append(0)
            elif isinstance(value, list):
                _add_rows(out, value)
            else:
                layout, size = _NUMBERS[signature]
                out += _PADDING[-len(out) & (size - 1)]
                out += struct.pack(layout, value)
        struct.pack_into("<I", out, place, len(out) - start)
    struct.pack_into("<I", out, array, len(out) - array - 4)


def pack_samples(step: int, samples: Iterable[tuple[int, int, int]]) -> PackedSamples:
    """Pack a step, and the time and two small numbers of each sample."""
    return PackedSamples(_after_step(step, b"".join(itertools.starmap(_SAMPLE.pack, samples))[:-6]))


def pack_levels(step: int, levels: Iterable[tuple[int, int]]) -> PackedLevels:
    """Pack a step, and the time and one small number of each sample."""
    return PackedLevels(_after_step(step, b"".join(itertools.starmap(_LEVEL.pack, levels))[:-7]))


def _after_step(step: int, structs: bytes) -> bytes:
    """A step and an array of structs. None has padding after the last: that comes before a struct only."""
    return struct.pack("<QI4x", step, len(structs)) + structs


@lru_cache(maxsize=64)
def _head(name: str, signature: str) -> bytes:
    """A dictionary entry's key, and the signature of the variant behind it."""
    key, kind = name.encode(), signature.encode()
    return struct.pack("<I", len(key)) + key + b"\0" + bytes([len(kind)]) + kind + b"\0"
