"""An archive as large as the planet's, of which little is on the disk: `python -m tests.http.tiles.planet
FILE [LEAVES]`.

Each leaf has 44,000 entries, a tile each, like those of a planet by Protomaps; 5,000 of them are 220
million tiles down to zoom 14, in a file of 110 GB that takes some 60 MB: tiles are holes, but for some
that are written.
"""

from __future__ import annotations

import gzip
import io
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from pmtiles.tile import (
    Compression,
    Entry,
    TileType,
    serialize_directory,
    serialize_header,
    tileid_to_zxy,
    write_varint,
)

from tests.http.tiles.making import PNG, Place

LEAVES = 5_000
ENTRIES = 44_000
_WRITTEN_EACH = 50
"""Leaves, of which one has a tile that is written."""


def write_planet(path: Path, leaves: int = LEAVES) -> dict[Place, bytes]:
    """Write it; the tiles that are no holes."""
    lengths = [300 + 37 * number % 401 for number in range(ENTRIES)]
    size = sum(lengths)
    packed_lengths = b"".join(map(_varint, lengths))
    entries: list[Entry] = []
    packed = []
    offset = 0
    for number in range(leaves):
        data = gzip.compress(_leaf(number, packed_lengths, size), 1)
        entries.append(Entry(number * ENTRIES, offset, len(data), 0))
        offset += len(data)
        packed.append(data)
    root = serialize_directory(entries)
    metadata = gzip.compress(b'{"name": "Planet"}')
    tiles_offset = 127 + len(root) + len(metadata) + offset
    total = leaves * ENTRIES
    header = {
        "version": 3, "root_offset": 127, "root_length": len(root),
        "metadata_offset": 127 + len(root), "metadata_length": len(metadata),
        "leaf_directory_offset": 127 + len(root) + len(metadata), "leaf_directory_length": offset,
        "tile_data_offset": tiles_offset, "tile_data_length": leaves * size,
        "addressed_tiles_count": total, "tile_entries_count": total, "tile_contents_count": total,
        "clustered": True, "internal_compression": Compression.GZIP,
        "tile_compression": Compression.NONE, "tile_type": TileType.PNG,
        "min_zoom": 0, "max_zoom": tileid_to_zxy(total - 1)[0],
        "min_lon_e7": -1800000000, "min_lat_e7": -850000000,
        "max_lon_e7": 1800000000, "max_lat_e7": 850000000,
        "center_zoom": 0, "center_lon_e7": 0, "center_lat_e7": 0,
    }  # fmt: skip
    chance = random.Random(8)
    written: dict[Place, bytes] = {}
    with path.open("wb") as file:
        file.write(serialize_header(header) + root + metadata)
        file.writelines(packed)
        file.truncate(tiles_offset + leaves * size)
        for number in range(0, leaves, _WRITTEN_EACH):
            at = chance.randrange(ENTRIES)
            data = (PNG + f"{number}/{at}".encode()).ljust(lengths[at], b".")
            file.seek(tiles_offset + number * size + sum(lengths[:at]))
            file.write(data)
            written[tileid_to_zxy(number * ENTRIES + at)] = data
    return written


def _leaf(number: int, lengths: bytes, size: int) -> bytes:
    """A directory whose tiles follow one another, as what a clustered archive has."""

    def columns() -> Iterator[bytes]:
        yield _varint(ENTRIES)
        yield _varint(number * ENTRIES) + b"\1" * (ENTRIES - 1)
        yield b"\1" * ENTRIES
        yield lengths
        yield _varint(number * size + 1) + bytes(ENTRIES - 1)

    return b"".join(columns())


def _varint(number: int) -> bytes:
    data = io.BytesIO()
    write_varint(data, number)
    return data.getvalue()


if __name__ == "__main__":
    write_planet(Path(sys.argv[1]), *map(int, sys.argv[2:]))
