"""The countries that the kernel knows rules of radio for, by the database that it loads."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

DATABASE: Final = Path("/lib/firmware/regulatory.db")
"""Of Debian's `wireless-regdb`; its format is in the kernel's net/wireless/reg.c."""
_HEADER: Final = struct.Struct(">4sI")
_COUNTRY: Final = struct.Struct(">2sH")
_FORMAT: Final = (b"RGDB", 20)


def known_countries() -> frozenset[str] | None:
    """The codes of the countries; None where there is no database that can be read."""
    try:
        octets = DATABASE.read_bytes()
    except OSError:
        return None
    if len(octets) < _HEADER.size or _HEADER.unpack_from(octets) != _FORMAT:
        return None
    codes = set()
    for at in range(_HEADER.size, len(octets) - _COUNTRY.size + 1, _COUNTRY.size):
        code, rules = _COUNTRY.unpack_from(octets, at)
        if not rules:  # the end of the list
            break
        codes.add(code.decode("ascii", "replace"))
    return frozenset(codes)
