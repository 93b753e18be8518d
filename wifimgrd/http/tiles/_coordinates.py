"""Tiles by number: zoom, column and row, and their place on PMTiles' curve."""

from __future__ import annotations

import re
from typing import Final

DEEPEST: Final = 30
"""The highest zoom that is served; the ids of PMTiles end with the next one."""
_BITS: Final = 4
"""Bits of column and row that one step along the curve processes."""


_NUMBER: Final = re.compile(r"[0-9]+", re.ASCII)
_ENDING: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9.]{0,11}", re.ASCII)
_MOST_DIGITS: Final = 20
"""A number with more digits is beyond any zoom; Python refuses to read some thousands."""


def place_of(*numbers: str) -> tuple[int, int, int] | None:
    """Zoom, column and row as in an address; None if they are not numbers."""
    if not all(_NUMBER.fullmatch(number) for number in numbers):
        return None
    z, x, y = (int(number) if len(number) <= _MOST_DIGITS else 1 << 99 for number in numbers)
    return z, x, y


def without_ending(row: str) -> str:
    """A row as in an address, without `.png` and the like."""
    number, dot, ending = row.partition(".")
    return number if _ENDING.fullmatch(dot + ending) else row


def exists(z: int, x: int, y: int) -> bool:
    """Whether the numbers are those of a tile of the world."""
    return 0 <= z <= DEEPEST and 0 <= x < 1 << z and 0 <= y < 1 << z


def first_id(z: int) -> int:
    """The id of a zoom's first tile: all tiles of lower zooms come before it."""
    return ((1 << 2 * z) - 1) // 3


def _step(state: int, right: int, down: int) -> tuple[int, int]:
    """One step of Hilbert's curve: a quadrant's number, and how the curve lies in it. The state has
    a bit for mirrored (2) and one for transposed (1)."""
    if state & 2:
        right, down = 1 - right, 1 - down
    if state & 1:
        right, down = down, right
    if not down:
        state ^= 3 if right else 1
    return (3 * right) ^ down, state


def _steps(state: int, columns: int, rows: int) -> tuple[int, int]:
    """Several steps, the highest bit first."""
    number = 0
    for bit in reversed(range(_BITS)):
        quadrant, state = _step(state, columns >> bit & 1, rows >> bit & 1)
        number = number << 2 | quadrant
    return number, state


_TABLE: Final = tuple(
    _steps(state, columns, rows)
    for state in range(4)
    for columns in range(1 << _BITS)
    for rows in range(1 << _BITS)
)
"""The results of several steps, by state, columns and rows."""


def tile_id(z: int, x: int, y: int) -> int:
    """A tile's number along Hilbert's curve, after all tiles of lower zooms."""
    shift = (z + 3) & ~3
    state = (shift - z) & 1  # each step before the first bit would transpose the curve
    place = 0
    while shift:
        shift -= 4
        number, state = _TABLE[state << 8 | (x >> shift & 15) << 4 | y >> shift & 15]
        place = place << 8 | number
    return ((1 << 2 * z) - 1) // 3 + place


def zoom_of_id(number: int) -> int:
    """The zoom of a tile's number."""
    return ((3 * number + 1).bit_length() - 1) // 2
