"""A small world for MapLibre: a vector tile, a picture, glyphs and a sprite, written by hand.

https://github.com/mapbox/vector-tile-spec, and glyphs.proto of the same family.
"""

from __future__ import annotations

import json
import struct
import subprocess
import zlib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from pmtiles.tile import Compression, TileType

from tests.http.tiles.making import write_pmtiles

RED = (200, 30, 30)
FONT = "Plain Regular"
_EXTENT = 4096
_POINT, _LINE, _POLYGON = 1, 2, 3


FRONTEND = Path(__file__).parents[2] / "frontend"
_ENCODE = """
import { build } from "esbuild";
const built = await build({ entryPoints: ["@maplibre/mlt"], bundle: true, format: "esm", write: false });
const { encodeTile } = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
process.stdout.write(encodeTile(JSON.parse(process.argv[1])));
"""


def write_world(folder: Path) -> None:
    """`vector.pmtiles`: water in the west, a place called A in the north-east; `contours.pmtiles`: a line in
    the east, at the equator; `raster.pmtiles`: all red; `resources`: a font that has the letter A."""
    water = _layer("water", [_feature(_POLYGON, _ring((0, 0), (2048, 0), (2048, 4096), (0, 4096)))])
    place = _layer("place", [_feature(_POINT, _move(3072, 1024), tags=(0, 0))], key="name", value="A")
    line = _layer("contour", [_feature(_LINE, [*_move(2048, 2048), 10, *_zigzag(2048, 0)])])
    _write_vector(folder / "vector.pmtiles", water + place, ["water", "place"])
    _write_vector(folder / "contours.pmtiles", line, ["contour"])
    write_pmtiles(folder / "raster.pmtiles", {(0, 0, 0): _picture(256, RED)})
    fonts = folder / "resources" / "fonts" / FONT
    fonts.mkdir(parents=True)
    (fonts / "0-255.pbf").write_bytes(_glyphs())
    (folder / "resources" / "sprite.json").write_text(json.dumps({}))
    (folder / "resources" / "sprite.png").write_bytes(_picture(1, RED))


def write_maplibre_world(folder: Path) -> None:
    """`mlt.pmtiles`, `contours-mlt.pmtiles`: water and line as MapLibre tiles, by MapLibre's own encoder."""
    water = {"type": "Polygon", "coordinates": [[[0, 0], [2048, 0], [2048, 4096], [0, 4096]]]}
    line = {"type": "LineString", "coordinates": [[2048, 2048], [4096, 2048]]}
    _write_vector(folder / "mlt.pmtiles", _encoded("water", water), ["water"], TileType.MLT)
    _write_vector(folder / "contours-mlt.pmtiles", _encoded("contour", line), ["contour"], TileType.MLT)


def _encoded(layer: str, geometry: Mapping[str, object]) -> bytes:
    layers = [{"name": layer, "features": [{"geometry": geometry}]}]
    command = ["node", "--input-type=module", "-e", _ENCODE, json.dumps(layers)]
    return subprocess.run(command, cwd=FRONTEND, capture_output=True, check=True).stdout


def _write_vector(path: Path, tile: bytes, layers: list[str], kind: TileType = TileType.MVT) -> None:
    metadata = {"name": path.stem, "vector_layers": [{"id": one, "fields": {}} for one in layers]}
    packed = {(0, 0, 0): tile}
    write_pmtiles(path, packed, kind=kind, compression=Compression.NONE, metadata=metadata)


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _delimited(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _packed(field: int, values: list[int]) -> bytes:
    return _delimited(field, b"".join(map(_varint, values)))


def _zigzag(*values: int) -> list[int]:
    return [value << 1 ^ value >> 31 for value in values]


def _move(x: int, y: int) -> list[int]:
    return [9, *_zigzag(x, y)]


def _ring(*points: tuple[int, int]) -> list[int]:
    """Exterior, so clockwise where y points down."""
    steps = [(x - u, y - v) for (u, v), (x, y) in pairwise(points)]
    lines = [number for step in steps for number in _zigzag(*step)]
    return [*_move(*points[0]), 2 | len(steps) << 3, *lines, 15]


def _feature(kind: int, geometry: list[int], tags: tuple[int, ...] = ()) -> bytes:
    return (_packed(2, list(tags)) if tags else b"") + _number(3, kind) + _packed(4, geometry)


def _layer(name: str, features: list[bytes], key: str = "", value: str = "") -> bytes:
    content = _number(15, 2) + _delimited(1, name.encode())
    content += b"".join(_delimited(2, one) for one in features)
    if key:
        content += _delimited(3, key.encode()) + _delimited(4, _delimited(1, value.encode()))
    return _delimited(3, content + _number(5, _EXTENT))


def _glyphs() -> bytes:
    """One glyph: a filled square of 24 points, with the border of 3 that signed distances need."""
    side = 24
    bitmap = bytes([255]) * (side + 6) ** 2
    glyph = _number(1, ord("A")) + _delimited(2, bitmap) + _number(3, side) + _number(4, side)
    glyph += _number(5, 0) + _number(6, 0) + _number(7, side)
    stack = _delimited(1, FONT.encode()) + _delimited(2, b"0-255") + _delimited(3, glyph)
    return _delimited(1, stack)


def _picture(side: int, colour: tuple[int, int, int]) -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(colour) * side) * side)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
