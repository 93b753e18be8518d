"""One tile, what can go wrong with it, and what its octets are."""

from __future__ import annotations

from typing import Final, NamedTuple

VECTOR: Final = "application/vnd.mapbox-vector-tile"
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
}
"""Media types by what metadata and file names say."""
FORMAT_OF_TYPE: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/avif": "avif",
    "image/gif": "gif",
    VECTOR: "pbf",
}
"""What a tile's address ends with."""
LARGEST_TILE: Final = 32 << 20
"""Octets; what says that it is larger is damaged."""


class Tile(NamedTuple):
    """A tile as it is stored."""

    octets: bytes
    media_type: str
    encoding: str
    """Content coding of the octets: empty, `gzip`, `br` or `zstd`."""
    tag: str
    """Names these octets: what they come from and which tile they are."""
    source: str
    """The type of the source that has it, as in the configuration."""


class NotReadyError(Exception):
    """The answer is not in memory; `fetch` gets it without making others wait."""


class DamagedError(Exception):
    """A file is not what it should be; the text says what."""

    source = ""
    """The type of the source, as in the configuration, once that is known."""

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing
        """It may be well again without a change to the file itself."""


class UnavailableError(Exception):
    """A source cannot be asked now."""

    source = ""
    """The type of the source, as in the configuration, once that is known."""

    def __init__(self, message: str, *, late: bool = False) -> None:
        super().__init__(message)
        self.late = late
        """It took too long; else it refused or failed."""


def media_type_of(octets: bytes, otherwise: str) -> str:
    """The media type that the first octets give away."""
    match octets[:4]:
        case b"\x89PNG":
            return "image/png"
        case b"RIFF" if octets[8:12] == b"WEBP":
            return "image/webp"
        case b"GIF8":
            return "image/gif"
        case start if start[:3] == b"\xff\xd8\xff":
            return "image/jpeg"
        case _:
            return "image/avif" if octets[4:12] in (b"ftypavif", b"ftypavis") else otherwise


def encoding_of(octets: bytes) -> str:
    """The content coding that the first octets give away; Brotli has no mark."""
    if octets[:3] == b"\x1f\x8b\x08":
        return "gzip"
    return "zstd" if octets[:4] == b"\x28\xb5\x2f\xfd" else ""
