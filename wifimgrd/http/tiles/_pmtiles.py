"""A PMTiles archive: directories are read when they are needed, and a bounded number is cached."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Final

from wifimgrd.http.tiles._coordinates import tile_id
from wifimgrd.http.tiles._decompress import decompress
from wifimgrd.http.tiles._files import File
from wifimgrd.http.tiles._pmtiles_directory import (
    DIRECTORY_LIMIT,
    HEADER_LENGTH,
    Directory,
    Entry,
    Header,
    Section,
)
from wifimgrd.http.tiles._source import (
    METADATA_LIMIT,
    Summary,
    bounds_of,
    json_object,
    layers_of,
    texts_of,
    type_of_tiles,
    unfolded,
)
from wifimgrd.http.tiles._tile import (
    LARGEST_TILE,
    DamagedError,
    NotReadyError,
    Tile,
    encoding_of,
    media_type_of,
)

KEPT_ENTRIES: Final = 1 << 20
"""Entries of leaf directories in memory, 24 MB."""
_DEEPEST_LEAF: Final = 4


class PMTilesSource:
    """Tiles in an archive."""

    remarks = ()

    def __init__(self, path: Path) -> None:
        self._file = File(path)
        self.identity = self._file.identity
        self._tag = self.identity.tag
        self._lock = Lock()
        self._leaves: OrderedDict[int, Directory] = OrderedDict()
        self._kept = 0
        header = Header.of(self._file.read(0, min(HEADER_LENGTH, self._file.size)), self._file.size)
        self._header = header
        self._tiles_offset, self._tiles_length = header.tiles
        self._root = Directory(self._directory_bytes(header.root))
        metadata = self._metadata()
        layers = layers_of(metadata)
        self._media_type = type_of_tiles(header.media_type, self._first_tile(), layers)
        self.summary = Summary(
            media_type=self._media_type,
            minzoom=header.minzoom,
            maxzoom=header.maxzoom,
            bounds=bounds_of(header.bounds),
            center=header.center,
            texts=texts_of(metadata),
            vector_layers=layers,
            count=header.addressed or None,
        )

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """A tile whose directories are cached and whose bytes are in memory."""
        tile = tile_id(z, x, y)
        entry = self._root.find(tile)
        depth = 0
        while entry is not None and not entry.run:
            leaf = self._leaves.get(entry.offset)
            depth += 1
            if leaf is None or depth > _DEEPEST_LEAF:
                raise NotReadyError
            entry = leaf.find(tile)
        if entry is None:
            return None
        if entry.offset + entry.length > self._tiles_length or entry.length > LARGEST_TILE:
            raise NotReadyError  # and `read` raises the error
        data = self._file.read_now(self._tiles_offset + entry.offset, entry.length)
        return self._tile(bytes(data), z, x, y)

    def read(self, z: int, x: int, y: int) -> Tile | None:
        """A tile from the disk."""
        tile = tile_id(z, x, y)
        entry = self._root.find(tile)
        for _ in range(_DEEPEST_LEAF):
            if entry is None or entry.run:
                break
            entry = self._leaf(entry).find(tile)
        if entry is None:
            return None
        if not entry.run:
            raise DamagedError("its directories lead nowhere")
        return self._tile(self._content(entry), z, x, y)

    def verify(self, counts: dict[int, int]) -> Iterator[tuple[int, int]]:
        """Every directory can be read, its tiles come after the last one's, all in the tile section."""
        total = self._header.addressed
        behind = 0
        for directory, span in self._bottom(self._root, 0):
            behind = directory.survey(span, behind, self._tiles_length, counts)
            seen = sum(counts.values())
            yield min(seen, total or 1), total or 1
        if total not in (0, sum(counts.values())):
            raise DamagedError(f"it has {sum(counts.values())} tiles, and says that it has {total}")
        yield 1, 1

    def _tile(self, data: bytes, z: int, x: int, y: int) -> Tile:
        encoding = self._header.encoding
        if encoding is None:
            encoding = encoding_of(data)
        media_type = self._media_type
        if not encoding:
            media_type = media_type_of(data, media_type)
        return Tile(data, media_type, encoding, f"{self._tag}-{z}-{x}-{y}", "pmtiles")

    def _place(self, entry: Entry) -> Section:
        if entry.offset + entry.length > self._tiles_length:
            raise DamagedError(f"its tile number {entry.first} lies behind its tiles")
        if entry.length > LARGEST_TILE:
            raise DamagedError(f"its tile number {entry.first} has {entry.length} bytes")
        return Section(self._tiles_offset + entry.offset, entry.length)

    def _content(self, entry: Entry) -> bytes:
        return self._file.read(*self._place(entry))

    def _leaf(self, entry: Entry) -> Directory:
        """A leaf directory, from memory or from the disk; the oldest are dropped before it is made."""
        with self._lock:
            leaf = self._leaves.get(entry.offset)
            if leaf is not None:
                return leaf
            data = self._leaf_bytes(entry)
            self._kept += Directory.count_of(data)
            while self._leaves and self._kept > KEPT_ENTRIES:
                self._kept -= len(self._leaves.popitem(last=False)[1])
            try:
                leaf = self._leaves[entry.offset] = Directory(data)
            except DamagedError:
                self._kept -= Directory.count_of(data)
                raise
            return leaf

    def _unkept_leaf(self, entry: Entry) -> Directory:
        return Directory(self._leaf_bytes(entry))

    def _leaf_bytes(self, entry: Entry) -> bytes:
        if entry.offset + entry.length > self._header.leaves.length:
            raise DamagedError("a leaf directory lies behind the leaf directories")
        return self._directory_bytes(Section(self._header.leaves.offset + entry.offset, entry.length))

    def _directory_bytes(self, section: Section) -> bytes:
        if section.length > DIRECTORY_LIMIT:
            raise DamagedError(f"a directory has {section.length} bytes")
        data = self._file.read(*section)
        return decompress(data, self._header.internal, DIRECTORY_LIMIT)

    def _bottom(self, directory: Directory, depth: int) -> Iterator[tuple[Directory, slice]]:
        """The parts of directories with entries for tiles, in order; a leaf is released after its use."""
        _check_depth(depth)
        if not directory.has_leaves:
            yield directory, slice(0, len(directory))
            return
        for at, entry in enumerate(directory):
            if entry.run:
                yield directory, slice(at, at + 1)
            else:
                yield from self._bottom(self._unkept_leaf(entry), depth + 1)

    def _metadata(self) -> dict[str, object]:
        section = self._header.metadata
        if not section.length:
            return {}
        if section.length > METADATA_LIMIT:
            raise DamagedError(f"its metadata has {section.length} bytes")
        data = decompress(self._file.read(*section), self._header.internal, METADATA_LIMIT)
        return unfolded(json_object(data))

    def _first_tile(self) -> bytes:
        """The first tile, uncompressed, by every directory on the path to it; raises DamagedError."""
        entry = next(iter(self._root))
        for _ in range(_DEEPEST_LEAF):
            if entry.run:
                break
            entry = next(iter(self._leaf(entry)))
        if not entry.run:
            raise DamagedError("its directories are nested too deeply")
        data = self._content(entry)
        encoding = self._header.encoding
        return decompress(data, encoding_of(data) if encoding is None else encoding, LARGEST_TILE)


def _check_depth(depth: int) -> None:
    if depth > _DEEPEST_LEAF:
        raise DamagedError("its directories are nested too deeply")
