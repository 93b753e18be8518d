"""The missing tiles of a box: squares of the grid whose tiles follow one another on PMTiles'
curve, so that a source marks its tiles in an array, and the rest is arithmetic on octets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, Self

from wifimgrd.http.tiles.coordinates import Box, first_id, tile_id

_SIDE_BITS: Final = 10
"""A square has at most a million tiles, an octet each."""


class Span(NamedTuple):
    """First and last column, first and last row."""

    left: int
    right: int
    top: int
    bottom: int

    @property
    def tiles(self) -> int:
        """How many tiles it has."""
        return (self.right - self.left + 1) * (self.bottom - self.top + 1)


class Square(NamedTuple):
    """The part of a span that lies in one square of the grid."""

    z: int
    first: int
    """The lowest id of the square's tiles."""
    bits: int
    """The side is 2 to the power of it."""
    span: Span

    @classmethod
    def at(cls, z: int, bits: int, column: int, row: int, span: Span) -> Self:
        """A square by its own column and row among squares of its size."""
        return cls(z, _first(z, bits, column, row), bits, span)

    @property
    def tiles(self) -> int:
        """Tiles of the whole square."""
        return 1 << 2 * self.bits

    @property
    def in_span(self) -> bytearray:
        """A 1 for each tile that lies in the span, along the curve."""
        in_span = bytearray(self.tiles)
        side = 1 << self.bits
        _mark(self, in_span, self.bits, self.span.left & -side, self.span.top & -side)
        return in_span

    def missing(self, there: bytearray) -> bytes:
        """A 1 for each tile of the span that is not marked."""
        missing = int.from_bytes(self.in_span, "little") & ~int.from_bytes(there, "little")
        return missing.to_bytes(self.tiles, "little")


def squares(box: Box, z: int) -> Iterator[Square]:
    """The squares that a box touches, each with its part of the box."""
    bits = min(z, _SIDE_BITS)
    last = (1 << bits) - 1
    for left, right, top, bottom in box.spans(z):
        for column in range(left >> bits, (right >> bits) + 1):
            for row in range(top >> bits, (bottom >> bits) + 1):
                x, y = column << bits, row << bits
                span = Span(max(left, x), min(right, x + last), max(top, y), min(bottom, y + last))
                yield Square.at(z, bits, column, row, span)


def positions(marks: bytes | bytearray) -> Iterator[int]:
    """Where the 1s are."""
    at = marks.find(1)
    while at >= 0:
        yield at
        at = marks.find(1, at + 1)


def _first(z: int, bits: int, column: int, row: int) -> int:
    """The lowest id in a square: the curve goes through each square as through one tile of a lower zoom."""
    above = z - bits
    return first_id(z) + ((tile_id(above, column, row) - first_id(above)) << 2 * bits)


def _mark(square: Square, in_span: bytearray, bits: int, x: int, y: int) -> None:
    """Mark the part of the span in a square within the square: all of it, none of it, or its quarters."""
    left, right, top, bottom = square.span
    last = (1 << bits) - 1
    if x > right or x + last < left or y > bottom or y + last < top:
        return
    if left <= x and x + last <= right and top <= y and y + last <= bottom:
        at = _first(square.z, bits, x >> bits, y >> bits) - square.first
        in_span[at : at + (1 << 2 * bits)] = b"\1" * (1 << 2 * bits)
        return
    half = 1 << bits - 1
    for quarter_x in (x, x + half):
        for quarter_y in (y, y + half):
            _mark(square, in_span, bits - 1, quarter_x, quarter_y)
