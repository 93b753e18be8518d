"""Long lists of dictionaries in the wire format of D-Bus, which the library is too slow for: some 25 times.

https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-marshaling
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

ROWS_SIGNATURE: Final = "aa{sv}"
_NUMBERS: Final = {"t": ("<Q", 8), "u": ("<I", 4), "y": ("<B", 1)}
_PADDING: Final = tuple(bytes(count) for count in range(8))

Value = tuple[str, object]
"""The signature of a value (`s`, `t`, `u` or `y`) and the value."""


class PackedRows(bytes):
    """The body of a message of the signature ROWS_SIGNATURE."""

    __slots__ = ()


def pack_rows(rows: Iterable[Mapping[str, Value]]) -> PackedRows:
    """Pack dictionaries; what D-Bus cannot carry in a text is left out or replaced."""
    out = bytearray(4)
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
                octets = value.replace("\0", "").encode("utf-8", "replace")
                out += _PADDING[-len(out) & 3]
                out += struct.pack("<I", len(octets))
                out += octets
                out.append(0)
            else:
                layout, size = _NUMBERS[signature]
                out += _PADDING[-len(out) & (size - 1)]
                out += struct.pack(layout, value)
        struct.pack_into("<I", out, place, len(out) - start)
    struct.pack_into("<I", out, 0, len(out) - 4)
    return PackedRows(out)


@lru_cache(maxsize=64)
def _head(name: str, signature: str) -> bytes:
    """A dictionary entry's key, and the signature of the variant behind it."""
    key, kind = name.encode(), signature.encode()
    return struct.pack("<I", len(key)) + key + b"\0" + bytes([len(kind)]) + kind + b"\0"
