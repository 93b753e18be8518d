"""Tilesets written by other people's tools: the `pmtiles` package, and sqlite3 by the letter of MBTiles."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer

Place = tuple[int, int, int]
PNG = b"\x89PNG\r\n\x1a\n"


def picture(z: int, x: int, y: int, of: str = "") -> bytes:
    """What looks like a PNG from outside, each another one."""
    return PNG + f"{of}/{z}/{x}/{y}|".encode() * (5 + (x + 3 * y) % 7)


def vector(z: int, x: int, y: int) -> bytes:
    """What a vector tile's bytes look like when packed."""
    return gzip.compress(f"{z}/{x}/{y}".encode() * 20, mtime=0)


def pyramid(deepest: int, of: str = "", *, without: Iterable[Place] = ()) -> dict[Place, bytes]:
    """All tiles of the world down to a zoom, but some."""
    left_out = set(without)
    return {
        (z, x, y): picture(z, x, y, of)
        for z in range(deepest + 1)
        for x in range(1 << z)
        for y in range(1 << z)
        if (z, x, y) not in left_out
    }


METADATA = {"name": "World", "attribution": "nobody", "vector_layers": [{"id": "water", "fields": {}}]}


def write_pmtiles(
    path: Path,
    tiles: Mapping[Place, bytes],
    *,
    kind: TileType = TileType.PNG,
    compression: Compression = Compression.NONE,
    metadata: Mapping[str, Any] = METADATA,
) -> Path:
    """An archive, by the `pmtiles` package."""
    with path.open("wb") as file:
        writer = Writer(file)
        for place in sorted(tiles, key=lambda one: zxy_to_tileid(*one)):
            writer.write_tile(zxy_to_tileid(*place), tiles[place])
        header = {
            "tile_type": kind,
            "tile_compression": compression,
            "min_lon_e7": int(-10e7),
            "min_lat_e7": int(-20e7),
            "max_lon_e7": int(30e7),
            "max_lat_e7": int(40e7),
            "center_zoom": 2,
            "center_lon_e7": int(10e7),
            "center_lat_e7": int(5e7),
        }
        writer.finalize(header, dict(metadata))
    return path


def write_mbtiles(path: Path, tiles: Mapping[Place, bytes], *, view: bool = False, **metadata: str) -> Path:
    """A database; with `view`, the way that shares equal pictures."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE metadata (name TEXT, value TEXT)")
        texts = {"name": "World", "format": "png", "bounds": "-10,-20,30,40", "center": "10,5,2", **metadata}
        connection.executemany("INSERT INTO metadata VALUES (?, ?)", texts.items())
        if view:
            connection.executescript(
                "CREATE TABLE map (zoom_level INT, tile_column INT, tile_row INT, tile_id TEXT);"
                "CREATE TABLE images (tile_data BLOB, tile_id TEXT);"
                "CREATE UNIQUE INDEX map_index ON map (zoom_level, tile_column, tile_row);"
                "CREATE UNIQUE INDEX images_id ON images (tile_id);"
                "CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data"
                " FROM map JOIN images ON images.tile_id = map.tile_id;"
            )
            rows = [(z, x, (1 << z) - 1 - y, f"{z}/{x}/{y}") for z, x, y in tiles]
            connection.executemany("INSERT INTO map VALUES (?, ?, ?, ?)", rows)
            pairs = [(data, "/".join(map(str, place))) for place, data in tiles.items()]
            connection.executemany("INSERT INTO images VALUES (?, ?)", pairs)
        else:
            connection.executescript(
                "CREATE TABLE tiles (zoom_level INT, tile_column INT, tile_row INT, tile_data BLOB);"
                "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);"
            )
            values = [(z, x, (1 << z) - 1 - y, data) for (z, x, y), data in tiles.items()]
            connection.executemany("INSERT INTO tiles VALUES (?, ?, ?, ?)", values)
    connection.close()
    return path


def write_folder(path: Path, tiles: Mapping[Place, bytes], ending: str = "png", **metadata: Any) -> Path:
    """A folder of files, as mb-util leaves it."""
    for (z, x, y), data in tiles.items():
        folder = path / str(z) / str(x)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{y}.{ending}").write_bytes(data)
    if metadata:
        (path / "metadata.json").write_text(json.dumps(metadata))
    return path
