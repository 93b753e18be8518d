"""PMTiles version 3 (https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md): header and
directories, checked before they are used."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from operator import add, gt
from struct import Struct
from typing import Final, NamedTuple, Self

from wifimgrd.http.tiles._coordinates import first_id, zoom_of_id
from wifimgrd.http.tiles._tile import LARGEST_TILE, MLT, VECTOR, DamagedError

HEADER_LENGTH: Final = 127
DIRECTORY_LIMIT: Final = 16 << 20
"""Bytes of one directory, decompressed."""
ENTRY_LIMIT: Final = 1 << 20
"""Entries of one directory; the usual tools write some thousands."""
_PIECE: Final = 1 << 12
"""Bytes whose numbers are read at once."""
_LONGEST: Final = 10
"""Bytes of a number of 64 bits."""
_NUMBER: Final = re.compile(rb"[\x80-\xff]*[\x00-\x7f]")
_HEADER: Final = Struct("<7sB11Q6B4iB2i")
_ENCODINGS: Final = {1: "", 2: "gzip", 3: "br", 4: "zstd"}
_TYPES: Final = {
    0: "", 1: VECTOR, 2: "image/png", 3: "image/jpeg", 4: "image/webp", 5: "image/avif", 6: MLT,
}  # fmt: skip


class Section(NamedTuple):
    """A part of the file."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Header:
    """The first bytes of the file."""

    root: Section
    metadata: Section
    leaves: Section
    tiles: Section
    addressed: int
    """Tiles; those with the same content are counted each. 0 = not stated."""
    internal: str
    """Compression of directories and metadata."""
    encoding: str | None
    """Compression of tiles; None = not stated."""
    media_type: str
    """Empty = not stated."""
    minzoom: int
    maxzoom: int
    bounds: tuple[float, float, float, float]
    center: tuple[float, float, float]

    @classmethod
    def of(cls, data: bytes, size: int) -> Self:
        """Read it; `size` is the whole file's. Raises DamagedError."""
        if len(data) < HEADER_LENGTH or data[:7] != b"PMTiles":
            raise DamagedError("it is not a PMTiles archive")
        if data[7] != 3:
            raise DamagedError(f"it is PMTiles version {data[7]}, not 3")
        fields = _HEADER.unpack(data[:HEADER_LENGTH])
        numbers = fields[2:10]
        root, metadata, leaves, tiles = (Section(*numbers[at : at + 2]) for at in (0, 2, 4, 6))
        for name, section in (("root", root), ("metadata", metadata), ("leaves", leaves), ("tiles", tiles)):
            if section.offset + section.length > size:
                raise DamagedError(f"it is cut off: its {name} section ends behind its {size} bytes")
        _, internal, encoding, kind, lowest, highest = fields[13:19]
        if internal not in _ENCODINGS:
            raise DamagedError(f"its directories have the unknown compression {internal}")
        if encoding not in _ENCODINGS and encoding != 0:
            raise DamagedError(f"its tiles have the unknown compression {encoding}")
        if kind not in _TYPES:
            raise DamagedError(f"its tiles have the unknown type {kind}")
        if not lowest <= highest <= 31:
            raise DamagedError(f"its zooms {lowest} to {highest} are not a range")
        west, south, east, north = (number / 1e7 for number in fields[19:23])
        return cls(
            root, metadata, leaves, tiles, fields[10], _ENCODINGS[internal], _ENCODINGS.get(encoding),
            _TYPES[kind], lowest, highest, (west, south, east, north),
            (fields[24] / 1e7, fields[25] / 1e7, float(fields[23])),
        )  # fmt: skip


class Entry(NamedTuple):
    """A run of tiles with the same content, or, with run 0, a leaf directory."""

    first: int
    run: int
    offset: int
    length: int


class Directory:
    """Entries in arrays: 24 bytes each, found by binary search."""

    __slots__ = ("_firsts", "_lengths", "_offsets", "_runs")

    def __init__(self, data: bytes) -> None:
        """Read the decompressed bytes of a directory; raises DamagedError."""
        count = self.count_of(data)
        numbers = Numbers(data)
        next(numbers.take(1))
        try:
            self._firsts = _running(numbers, count)
            self._runs, self._lengths = array("I"), array("I")
            for part in numbers.take(count):
                self._runs.extend(part)
            for part in numbers.take(count):
                if 0 in part:
                    raise DamagedError("a directory has an entry without content")
                self._lengths.extend(part)
            self._offsets = _places(numbers, self._lengths)
        except OverflowError:
            raise DamagedError("a directory has numbers that no file can have") from None

    @staticmethod
    def count_of(data: bytes) -> int:
        """The number of entries that a directory states; raises DamagedError."""
        count = next(Numbers(data[:_LONGEST]).take(1))[0]
        if not 0 < count <= ENTRY_LIMIT:
            raise DamagedError(f"a directory has {count} entries")
        return count

    @property
    def has_leaves(self) -> bool:
        """Whether any entry points to a leaf directory."""
        return 0 in self._runs

    def __len__(self) -> int:
        return len(self._firsts)

    def __iter__(self) -> Iterator[Entry]:
        return map(Entry, self._firsts, self._runs, self._offsets, self._lengths)

    def find(self, tile: int) -> Entry | None:
        """The entry that has a tile, or the leaf that may have it."""
        at = bisect_right(self._firsts, tile) - 1
        if at < 0:
            return None
        first, run = self._firsts[at], self._runs[at]
        if run and tile - first >= run:
            return None
        return Entry(first, run, self._offsets[at], self._lengths[at])

    def survey(self, part: slice, behind: int, size: int, counts: dict[int, int]) -> int:
        """Check entries with tiles, which must start at the id `behind` or later and fit into `size` bytes;
        count their tiles by zoom, and return the id after them. Raises DamagedError."""
        firsts, runs, lengths = self._firsts[part], self._runs[part], self._lengths[part]
        if firsts[0] < behind or any(map(gt, map(add, firsts, runs), firsts[1:])):
            raise DamagedError(f"its directories have a tile twice, after number {firsts[0]}")
        if max(map(add, self._offsets[part], lengths)) > size:
            raise DamagedError(f"a tile after number {firsts[0]} lies behind its tiles")
        if max(lengths) > LARGEST_TILE:
            raise DamagedError(f"a tile after number {firsts[0]} has {max(lengths)} bytes")
        at = 0
        while at < len(firsts):
            z = zoom_of_id(firsts[at])
            stop = bisect_left(firsts, first_id(z + 1), at) - 1
            counts[z] = counts.get(z, 0) + sum(runs[at:stop])
            _count_run(firsts[stop], runs[stop], counts)  # it may extend into the next zoom
            at = stop + 1
        return firsts[-1] + runs[-1]


def _count_run(at: int, run: int, counts: dict[int, int]) -> None:
    end = at + run
    while at < end:
        z = zoom_of_id(at)
        stop = min(end, first_id(z + 1))
        counts[z] = counts.get(z, 0) + stop - at
        at = stop


class Numbers:
    """The numbers in bytes, seven bits a byte, the lowest first.

    Some thousands at a time, with the loops inside Python's own functions: that is faster, and still no
    call holds the interpreter's lock for long.
    """

    def __init__(self, data: bytes) -> None:
        self._pieces = _pieces(data)
        self._left: Sequence[int] = b""

    def take(self, count: int) -> Iterator[Sequence[int]]:
        """The next numbers, in blocks; raises DamagedError if they end too soon."""
        while count:
            if not self._left:
                self._left = next(self._pieces, b"")
                if not self._left:
                    raise DamagedError("a directory is cut off")
            part, self._left = self._left[:count], self._left[count:]
            count -= len(part)
            yield part


class _Values(dict[bytes, int]):
    """Numbers by their bytes; the short ones are cached."""

    def __missing__(self, data: bytes) -> int:
        number = 0
        for byte in reversed(data[: _LONGEST + 1]):
            number = number << 7 | byte & 127
        if number >> 64 or len(data) > _LONGEST:
            raise DamagedError("a directory has a number of more than 64 bits")
        if len(data) <= 2:
            self[data] = number
        return number


_value = _Values().__getitem__


def _pieces(data: bytes) -> Iterator[Sequence[int]]:
    at = 0
    while at < len(data):
        piece = data[at : at + _PIECE]
        if piece.isascii():  # each byte is a number
            yield piece
        else:
            end = len(piece)
            while end and piece[end - 1] > 127:
                end -= 1
            piece = piece[:end]
            if not piece:  # the rest has no end
                return
            yield list(map(_value, _NUMBER.findall(piece)))
        at += len(piece)


def _running(numbers: Numbers, count: int) -> array[int]:
    """Sums of the differences of the entries; each difference is at least one."""
    firsts = array("Q", list(next(numbers.take(1))))
    for part in numbers.take(count - 1):
        if 0 in part:
            raise DamagedError("a directory names a tile twice")
        firsts.extend(islice(accumulate(part, initial=firsts[-1]), 1, None))
    return firsts


def _places(numbers: Numbers, lengths: array[int]) -> array[int]:
    """Offsets: stored plus one, or 0 for directly behind the last one."""
    [first] = next(numbers.take(1))
    if first == 0:
        raise DamagedError("a directory's first entry lies behind nothing")
    offsets = array("Q", [first - 1])
    for part in numbers.take(len(lengths) - 1):
        before = lengths[len(offsets) - 1 : len(offsets) - 1 + len(part)]
        if any(part):
            offset = offsets[-1]
            for number, length in zip(part, before, strict=True):
                offset = number - 1 if number else offset + length
                offsets.append(offset)
        else:
            offsets.extend(islice(accumulate(before, initial=offsets[-1]), 1, None))
    return offsets
