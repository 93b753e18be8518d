"""One tile, its possible errors, and the format of its bytes."""

from __future__ import annotations

from typing import Final, NamedTuple

VECTOR: Final = "application/vnd.mapbox-vector-tile"
MLT: Final = "application/vnd.maplibre-vector-tile"
"""MapLibre tiles (https://maplibre.org/maplibre-tile-spec/); the media type is not registered yet."""
VECTOR_TYPES: Final = frozenset({VECTOR, MLT})
"""TileJSON, blank tiles and the map with a style distinguish these from pictures."""
UNKNOWN: Final = "application/octet-stream"

TYPE_OF_FORMAT: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "avif": "image/avif",
    "gif": "image/gif",
    "pbf": VECTOR,
    "mvt": VECTOR,
    VECTOR: VECTOR,
    "application/x-protobuf": VECTOR,
    "application/protobuf": VECTOR,
    "mlt": MLT,
    MLT: MLT,
    "application/vnd.maplibre-tile": MLT,
}
"""Media types by the names of formats in metadata and file names, and in the headers of tile servers."""
FORMAT_OF_TYPE: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/avif": "avif",
    "image/gif": "gif",
    VECTOR: "pbf",
    MLT: "mlt",
}
"""The names of formats in TileJSON and in the suffixes of tiles' addresses; each type here is in the API's
description."""
EMPTY: Final = "is empty, and served as a missing tile"
"""The words of a check for a tile without bytes."""
LARGEST_TILE: Final = 32 << 20
"""Bytes; an entry with a larger size is damaged."""


class Tile(NamedTuple):
    """A tile as it is stored."""

    data: bytes
    media_type: str
    encoding: str
    """Content coding of the bytes: empty, `gzip`, `deflate`, `br` or `zstd`."""
    tag: str
    """Identifies these bytes: the source's content and the tile."""
    source: str
    """The type of the source that has it, as in the configuration."""


class NotReadyError(Exception):
    """The answer is not in memory; `fetch` gets it without blocking others."""


class DamagedError(Exception):
    """A file is damaged; the text says how."""

    source = ""
    """The type of the source, as in the configuration, once that is known."""

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing
        """The error may end without a change to the file itself."""


class SlowError(DamagedError):
    """Nothing is read of a file for a while, because a query of it took too long."""


class UnavailableError(Exception):
    """A source cannot be used now."""

    source = ""
    """The type of the source, as in the configuration, once that is known."""

    def __init__(self, message: str, *, late: bool = False) -> None:
        super().__init__(message)
        self.late = late
        """It did not answer in time; else it refused or failed."""


def media_type_of(data: bytes, otherwise: str) -> str:
    """The media type by the first bytes."""
    match data[:4]:
        case b"\x89PNG":
            return "image/png"
        case b"RIFF" if data[8:12] == b"WEBP":
            return "image/webp"
        case b"GIF8":
            return "image/gif"
        case start if start[:3] == b"\xff\xd8\xff":
            return "image/jpeg"
        case _:
            return "image/avif" if data[4:12] in (b"ftypavif", b"ftypavis") else otherwise


def vector_encoding(media_type: str) -> dict[str, str]:
    """The member `encoding` that a vector source of MapLibre needs, in a style or in its TileJSON, unless its
    tiles are Mapbox's."""
    return {"encoding": "mlt"} if media_type == MLT else {}


def encoding_of(data: bytes) -> str:
    """The content coding by the first bytes; Brotli has no magic number. zlib's format is `deflate`
    (RFC 9110, 8.4.1.2); its header for the fastest compression, 78 01, also begins tiles of MapLibre."""
    if data[:3] == b"\x1f\x8b\x08":
        return "gzip"
    if data[:2] in (b"\x78\x5e", b"\x78\x9c", b"\x78\xda"):
        return "deflate"
    return "zstd" if data[:4] == b"\x28\xb5\x2f\xfd" else ""
