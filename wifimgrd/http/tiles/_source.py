"""The methods of every source of tiles, and the summary that each has of itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

from wifimgrd.http.tiles._files import Identity
from wifimgrd.http.tiles._tile import FORMAT_OF_TYPE, UNKNOWN, VECTOR, DamagedError, Tile, media_type_of


@dataclass(frozen=True, slots=True)
class Summary:
    """A source's metadata of its tiles; empty if it has none."""

    media_type: str = ""
    minzoom: int = 0
    maxzoom: int = 30
    bounds: tuple[float, float, float, float] | None = None
    """West, south, east, north."""
    center: tuple[float, float, float] | None = None
    """Longitude, latitude, zoom."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """`name`, `description`, `attribution`, `version`, `legend`, `template`."""
    vector_layers: list[object] | None = None
    count: int | None = None
    """The number of tiles, if the file itself states it."""

    def as_json(self) -> dict[str, object]:
        """The most important values, for operators."""
        return {
            "format": FORMAT_OF_TYPE.get(self.media_type), "minzoom": self.minzoom, "maxzoom": self.maxzoom,
            "count": self.count,
        }  # fmt: skip


METADATA_LIMIT: Final = 1 << 20
"""Bytes of a file's metadata, uncompressed: it is parsed at once, and much larger then."""
_LAYERS: Final = 1000
"""Layers in metadata: TileJSON has each, and a generated style has several times as many."""


def layers_of(metadata: Mapping[str, object]) -> list[object] | None:
    """The layers of vector tiles, None if the metadata does not list any; raises DamagedError."""
    layers = metadata.get("vector_layers")
    if not isinstance(layers, list):
        return None
    if len(layers) > _LAYERS:
        raise DamagedError(f"its metadata has {len(layers)} layers, more than {_LAYERS}")
    return layers


def type_of_tiles(stated: str, first: bytes, vector_layers: object) -> str:
    """The media type of a file's tiles: as it states, else by its first tile, uncompressed. Vector tiles have
    no magic number, but their files list layers."""
    return stated or media_type_of(first, UNKNOWN if vector_layers is None else VECTOR)


class FileSource(Protocol):
    """Tiles in a file or a folder that is open; it keeps the content that it was opened on, even if
    the file is replaced."""

    identity: Identity
    summary: Summary

    @property
    def remarks(self) -> Sequence[str]:
        """Things that `verify` found beside tiles, and that are not errors."""

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """A tile, None if there is none; raises NotReadyError if that needs the disk. Never waits."""

    def read(self, z: int, x: int, y: int) -> Tile | None:
        """A tile; blocks on the disk: for threads; raises DamagedError."""

    def verify(self, counts: dict[int, int]) -> Iterator[tuple[int, int]]:
        """Check all of it and count the tiles of each zoom; the progress and the total are reported
        from time to time. Raises DamagedError."""


def json_object(text: object) -> dict[str, object]:
    """The object in a JSON text, empty if it is another value; raises DamagedError."""
    try:
        value = json.loads(text, parse_constant=_refuse)  # type: ignore[arg-type]
    except (TypeError, ValueError, RecursionError):
        raise DamagedError("its metadata is not JSON") from None
    return value if isinstance(value, dict) else {}


def unfolded(metadata: dict[str, object]) -> dict[str, object]:
    """Metadata with the part that MBTiles has in a text of its own, `json`; converted archives keep it so."""
    with suppress(DamagedError):
        return json_object(metadata.get("json") or "{}") | metadata
    return metadata


def _refuse(constant: str) -> None:
    """Refuse NaN and the infinities, which Python reads and no browser reads in an answer."""
    raise ValueError(constant)


TEXTS = ("name", "description", "attribution", "version", "legend", "template")


def texts_of(metadata: Mapping[str, object]) -> dict[str, str]:
    """The texts that TileJSON defines."""
    return {key: text for key in TEXTS if isinstance(text := metadata.get(key), str)}


def numbers_of(value: object, count: int) -> tuple[float, ...] | None:
    """Finite numbers, `count` of them, from a list or from a text with commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or len(items) != count:
        return None
    try:
        numbers = tuple(float(item) for item in items)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if all(abs(number) <= 1000 for number in numbers) else None


def bounds_of(value: object) -> tuple[float, float, float, float] | None:
    """Valid bounds, from a list or from a text with commas."""
    numbers = numbers_of(value, 4)
    if numbers is None:
        return None
    west, south, east, north = numbers
    fits = -180 <= west <= 180 and -180 <= east <= 180 and -90 <= south <= north <= 90
    return (west, south, east, north) if fits else None


def center_of(value: object) -> tuple[float, float, float] | None:
    """A centre with its zoom."""
    numbers = numbers_of(value, 3)
    return None if numbers is None else (numbers[0], numbers[1], numbers[2])


def zoom_of(value: object, otherwise: int) -> int:
    """A zoom as a number or as text."""
    try:
        zoom = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return otherwise
    return zoom if 0 <= zoom <= 30 else otherwise
