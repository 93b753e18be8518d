"""A PMTiles archive: directories are read when they are needed, and a bounded number is kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, Final

from wifimgrd.http.tiles.coordinates import first_id, tile_id
from wifimgrd.http.tiles.decompress import decompress
from wifimgrd.http.tiles.files import File
from wifimgrd.http.tiles.pmtiles_directory import (
    DIRECTORY_LIMIT,
    HEADER_LENGTH,
    Directory,
    Entry,
    Header,
    Section,
)
from wifimgrd.http.tiles.source import Summary, bounds_of, json_object, texts_of
from wifimgrd.http.tiles.tile import (
    LARGEST_TILE,
    UNKNOWN,
    DamagedError,
    NotReadyError,
    Tile,
    encoding_of,
    media_type_of,
)

KEPT_ENTRIES: Final = 1 << 20
"""Entries of leaf directories in memory, 24 MB."""
_DEEPEST_LEAF: Final = 4
_METADATA_LIMIT: Final = 16 << 20


class PMTilesSource:
    """Tiles in an archive."""

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
        self._root = self._directory(header.root)
        metadata = self._metadata()
        layers = metadata.get("vector_layers")
        self.summary = Summary(
            media_type=header.media_type,
            minzoom=header.minzoom,
            maxzoom=header.maxzoom,
            bounds=bounds_of(header.bounds),
            center=header.center,
            texts=texts_of(metadata),
            vector_layers=layers if isinstance(layers, list) else None,
        )
        self._look_at_one()

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """A tile whose directories are kept and whose octets are in memory."""
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
            raise NotReadyError  # and `read` says what is wrong
        octets = self._file.read_now(self._tiles_offset + entry.offset, entry.length)
        return self._tile(bytes(octets), z, x, y)

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

    def zooms(self) -> dict[int, int]:
        """Tiles per zoom, by a walk through the directories."""
        counts: dict[int, int] = {}
        for entry in self._entries():
            at, end = entry.first, entry.first + entry.run
            while at < end:
                z = ((3 * at + 1).bit_length() - 1) // 2
                behind = min(end, first_id(z + 1))
                counts[z] = counts.get(z, 0) + behind - at
                at = behind
        return counts

    def verify(self) -> Iterator[tuple[int, int]]:
        """Every directory is read, every tile lies where tiles are."""
        seen = 0
        total = self._header.addressed or 1
        for entry in self._entries():
            self._place(entry)
            if seen >> 16 != (seen + entry.run) >> 16:
                yield min(seen, total), total
            seen += entry.run
        if self._header.addressed not in (0, seen):
            raise DamagedError(f"it has {seen} tiles, and says that it has {self._header.addressed}")
        yield total, total

    def _tile(self, octets: bytes, z: int, x: int, y: int) -> Tile:
        encoding = self._header.encoding
        if encoding is None:
            encoding = encoding_of(octets)
        media_type = self._header.media_type or UNKNOWN
        if not encoding:
            media_type = media_type_of(octets, media_type)
        return Tile(octets, media_type, encoding, f"{self._tag}-{z}-{x}-{y}")

    def _place(self, entry: Entry) -> Section:
        if entry.offset + entry.length > self._tiles_length:
            raise DamagedError(f"its tile number {entry.first} lies behind its tiles")
        if entry.length > LARGEST_TILE:
            raise DamagedError(f"its tile number {entry.first} has {entry.length} octets")
        return Section(self._tiles_offset + entry.offset, entry.length)

    def _content(self, entry: Entry) -> bytes:
        return self._file.read(*self._place(entry))

    def _leaf(self, entry: Entry) -> Directory:
        """A leaf directory, from memory or from the disk; the oldest make room for it."""
        with self._lock:
            leaf = self._leaves.get(entry.offset)
            if leaf is not None:
                return leaf
            leaf = self._unkept_leaf(entry)
            self._kept += len(leaf)
            while self._leaves and self._kept > KEPT_ENTRIES:
                self._kept -= len(self._leaves.popitem(last=False)[1])
            self._leaves[entry.offset] = leaf
            return leaf

    def _unkept_leaf(self, entry: Entry) -> Directory:
        if entry.offset + entry.length > self._header.leaves.length:
            raise DamagedError("a leaf directory lies behind the leaf directories")
        return self._directory(Section(self._header.leaves.offset + entry.offset, entry.length))

    def _directory(self, section: Section) -> Directory:
        if section.length > DIRECTORY_LIMIT:
            raise DamagedError(f"a directory has {section.length} octets")
        octets = self._file.read(*section)
        return Directory(decompress(octets, self._header.internal, DIRECTORY_LIMIT))

    def _entries(self) -> Iterator[Entry]:
        """Every entry with tiles; each must come after the last, so that no walk goes in circles."""
        behind = 0
        for entry in self._walk(self._root, 0):
            if entry.first < behind:
                raise DamagedError(f"its directories have the tile number {entry.first} twice")
            behind = entry.first + entry.run
            yield entry

    def _walk(self, directory: Directory, depth: int) -> Iterator[Entry]:
        """What leads to tiles, leaf by leaf; a leaf is let go once it is through."""
        if depth > _DEEPEST_LEAF:
            raise DamagedError("its directories are nested too deeply")
        for entry in directory:
            if entry.run:
                yield entry
            else:
                yield from self._walk(self._unkept_leaf(entry), depth + 1)

    def _metadata(self) -> dict[str, Any]:
        section = self._header.metadata
        if not section.length:
            return {}
        if section.length > _METADATA_LIMIT:
            raise DamagedError(f"its metadata has {section.length} octets")
        return json_object(decompress(self._file.read(*section), self._header.internal, _METADATA_LIMIT))

    def _look_at_one(self) -> None:
        """Read the first tile, by every directory on the way to it."""
        entry = next(iter(self._root))
        for _ in range(_DEEPEST_LEAF):
            if entry.run:
                break
            entry = next(iter(self._leaf(entry)))
        if not entry.run:
            raise DamagedError("its directories are nested too deeply")
        decompress(self._content(entry), self._header.encoding or "", LARGEST_TILE)
