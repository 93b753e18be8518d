"""PMTiles version 3 (https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md): header and
directories, checked before anything is believed."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple, Self

from wifimgrd.http.tiles.tile import VECTOR, DamagedError

HEADER_LENGTH: Final = 127
DIRECTORY_LIMIT: Final = 8 << 20
"""Octets of one directory, unpacked."""
ENTRY_LIMIT: Final = 1 << 20
"""Entries of one directory; writers make some thousands."""
_HEADER: Final = Struct("<7sB11Q6B4iB2i")
_ENCODINGS: Final = {1: "", 2: "gzip", 3: "br", 4: "zstd"}
_TYPES: Final = {1: VECTOR, 2: "image/png", 3: "image/jpeg", 4: "image/webp", 5: "image/avif"}


class Section(NamedTuple):
    """A part of the file."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Header:
    """The first octets of the file."""

    root: Section
    metadata: Section
    leaves: Section
    tiles: Section
    addressed: int
    """Tiles, those that share content counted each; 0 = not said."""
    internal: str
    """Compression of directories and metadata."""
    encoding: str | None
    """Compression of tiles; None = not said."""
    media_type: str
    minzoom: int
    maxzoom: int
    bounds: tuple[float, float, float, float]
    center: tuple[float, float, float]

    @classmethod
    def of(cls, octets: bytes, size: int) -> Self:
        """Read it; `size` is the whole file's. Raises DamagedError."""
        if len(octets) < HEADER_LENGTH or octets[:7] != b"PMTiles":
            raise DamagedError("it is no PMTiles archive")
        if octets[7] != 3:
            raise DamagedError(f"it is PMTiles version {octets[7]}, not 3")
        fields = _HEADER.unpack(octets[:HEADER_LENGTH])
        numbers = fields[2:10]
        root, metadata, leaves, tiles = (Section(*numbers[at : at + 2]) for at in (0, 2, 4, 6))
        for name, section in (("root", root), ("metadata", metadata), ("leaves", leaves), ("tiles", tiles)):
            if section.offset + section.length > size:
                raise DamagedError(f"it is cut off: its {name} section ends behind its {size} octets")
        _, internal, encoding, kind, lowest, highest = fields[13:19]
        if internal not in _ENCODINGS:
            raise DamagedError(f"its directories have the unknown compression {internal}")
        if encoding not in _ENCODINGS and encoding != 0:
            raise DamagedError(f"its tiles have the unknown compression {encoding}")
        if not lowest <= highest <= 31:
            raise DamagedError(f"its zooms {lowest} to {highest} are none")
        west, south, east, north = (number / 1e7 for number in fields[19:23])
        return cls(
            root, metadata, leaves, tiles, fields[10], _ENCODINGS[internal], _ENCODINGS.get(encoding),
            _TYPES.get(kind, ""), lowest, highest, (west, south, east, north),
            (fields[24] / 1e7, fields[25] / 1e7, float(fields[23])),
        )  # fmt: skip


class Entry(NamedTuple):
    """A run of tiles with one content, or, with run 0, a leaf directory."""

    first: int
    run: int
    offset: int
    length: int


class Directory:
    """Entries in arrays: 24 octets each, found by halving."""

    __slots__ = ("_firsts", "_lengths", "_offsets", "_runs")

    def __init__(self, octets: bytes) -> None:
        """Read the unpacked octets of a directory; raises DamagedError."""
        numbers = varints(octets)
        try:
            count = next(numbers)
            if not 0 < count <= ENTRY_LIMIT:
                raise DamagedError(f"a directory has {count} entries")
            self._firsts = array("Q", _running(numbers, count))
            self._runs = array("I", (next(numbers) for _ in range(count)))
            self._lengths = array("I", (next(numbers) for _ in range(count)))
            self._offsets = array("Q", _places(numbers, self._lengths))
        except (RuntimeError, StopIteration):  # what a generator makes of the end of another
            raise DamagedError("a directory is cut off") from None
        except OverflowError:
            raise DamagedError("a directory has numbers that are none of a file") from None
        if 0 in self._lengths:
            raise DamagedError("a directory has an entry without content")

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


def varints(octets: bytes) -> Iterator[int]:
    """The numbers that octets say, seven bits an octet, the lowest first."""
    number = shift = 0
    for octet in octets:
        if octet < 128:
            if shift:
                yield number | octet << shift
                number = shift = 0
            else:
                yield octet
        else:
            number |= (octet & 127) << shift
            shift += 7
            if shift > 63:
                raise DamagedError("a directory has a number of more than 64 bits")


def _running(deltas: Iterator[int], count: int) -> Iterator[int]:
    """Sums of what each entry lies behind the last one, which is at least one."""
    number = next(deltas)
    yield number
    for _ in range(count - 1):
        delta = next(deltas)
        if not delta:
            raise DamagedError("a directory names a tile twice")
        number += delta
        yield number


def _places(numbers: Iterator[int], lengths: array[int]) -> Iterator[int]:
    """Offsets: one more than they are, or 0 for right behind the last one."""
    offset = behind = 0
    for at, length in enumerate(lengths):
        number = next(numbers)
        if number == 0 and at == 0:
            raise DamagedError("a directory's first entry lies behind nothing")
        offset = behind if number == 0 else number - 1
        behind = offset + length
        yield offset
