"""A folder of files `z/x/y.ext`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wifimgrd.http.tiles._coordinates import DEEPEST, exists
from wifimgrd.http.tiles._files import Folder, Identity
from wifimgrd.http.tiles._source import (
    METADATA_LIMIT,
    Summary,
    bounds_of,
    center_of,
    json_object,
    layers_of,
    texts_of,
    zoom_of,
)
from wifimgrd.http.tiles._tile import (
    EMPTY,
    LARGEST_TILE,
    TYPE_OF_FORMAT,
    UNKNOWN,
    DamagedError,
    Tile,
    encoding_of,
    media_type_of,
)


class FolderSource:
    """Tiles in a folder, each a file; a replaced file is served at once."""

    def __init__(self, path: Path) -> None:
        self.remarks: tuple[str, ...] = ()
        self._folder = Folder(path)
        self.identity = self._folder.identity
        levels = sorted(int(name) for name in self._numbers("."))
        self._ending = self._find_ending(levels)
        metadata = self._metadata()
        self._media_type = _media_type(self._ending) or UNKNOWN
        self.summary = Summary(
            media_type=self._media_type,
            minzoom=zoom_of(metadata.get("minzoom"), levels[0]),
            maxzoom=zoom_of(metadata.get("maxzoom"), levels[-1]),
            bounds=bounds_of(metadata.get("bounds")),
            center=center_of(metadata.get("center")),
            texts=texts_of(metadata),
            vector_layers=layers_of(metadata),
        )

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """A tile whose file is in memory."""
        found = self._folder.read_now(f"{z}/{x}/{y}{self._ending}", LARGEST_TILE)
        return None if found is None else self._tile(bytes(found[0]), found[1])

    def read(self, z: int, x: int, y: int) -> Tile | None:
        """A tile from the disk."""
        found = self._folder.read(f"{z}/{x}/{y}{self._ending}", LARGEST_TILE)
        return None if found is None else self._tile(found[0], found[1])

    def verify(self, counts: dict[int, int]) -> Iterator[tuple[int, int]]:
        """Check each file: it can be read, has content, and its numbers are in the world."""
        others = set[str]()
        levels = sorted(int(name) for name in self._numbers("."))
        folders = [(level, column) for level in levels for column in self._numbers(str(level))]
        for done, (level, column) in enumerate(folders):
            rows = []
            for row, ending in self._files(level, column):
                if ending == self._ending:
                    rows.append(row)
                elif _media_type(ending):
                    raise DamagedError(
                        f"{level}/{column}/{row}{ending} is not served: only tiles {self._ending} are"
                    )
                else:
                    others.add(ending)
            for row in rows:
                if not exists(level, int(column), row):
                    raise DamagedError(f"{level}/{column}/{row}{self._ending} lies outside the world")
                tile = self.read(level, int(column), row)
                if tile is None:
                    raise DamagedError(f"{level}/{column}/{row}{self._ending} {EMPTY}")
            counts[level] = counts.get(level, 0) + len(rows)
            yield done + 1, len(folders)
        self.remarks = tuple(f"files {ending} are not tiles, and not served" for ending in sorted(others))

    def _tile(self, data: bytes, status: os.stat_result) -> Tile | None:
        if not data:
            return None
        encoding = encoding_of(data)
        tag = Identity.of(status).tag
        return Tile(data, media_type_of(data, self._media_type), encoding, tag, "folder")

    def _numbers(self, below: str) -> list[str]:
        """Folders with a number as their name."""
        try:
            names = self._folder.names(below)
        except OSError as error:
            raise DamagedError(f"{below} cannot be read: {error.strerror}") from None
        found = [name for name in names if name.isascii() and name.isdecimal() and len(name) <= 10]
        return [name for name in found if below != "." or int(name) <= DEEPEST]

    def _files(self, level: int, column: str) -> list[tuple[int, str]]:
        """The files with a number as their name: that, and the rest of it."""
        try:
            names = self._folder.names(f"{level}/{column}")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DamagedError(f"{level}/{column} cannot be read: {error.strerror}") from None
        parts = [name.partition(".") for name in names]
        return [
            (int(stem), dot + ending) for stem, dot, ending in parts if stem.isascii() and stem.isdecimal()
        ]

    def _find_ending(self, levels: list[int]) -> str:
        """The suffix of the tiles' names, by the first folder with files: that of a known format, if there is
        one. gdal2tiles writes `0.kml` beside `0.png`."""
        for level in levels:
            for column in self._numbers(str(level)):
                endings = sorted({ending for _, ending in self._files(level, column)})
                if endings:
                    return next(filter(_media_type, endings), endings[0])
        raise DamagedError("it has no files z/x/y.ext")

    def _metadata(self) -> dict[str, object]:
        """`metadata.json`, if a tool has written one."""
        with suppress(DamagedError):
            found = self._folder.read("metadata.json", METADATA_LIMIT)
            return {} if found is None else json_object(found[0])
        return {}


def _media_type(ending: str) -> str:
    """The media type of files with this suffix, also if they are compressed (`.mvt.gz`); empty if unknown."""
    return TYPE_OF_FORMAT.get(ending.removeprefix(".").removesuffix(".gz").lower(), "")
