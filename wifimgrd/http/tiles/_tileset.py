"""One tileset: its sources in order; files among them may appear, change and disappear."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Final, Protocol

import structlog

from wifimgrd.http.tiles._files import Identity, identity_of
from wifimgrd.http.tiles._folder import FolderSource
from wifimgrd.http.tiles._mbtiles import MBTilesSource
from wifimgrd.http.tiles._pmtiles import PMTilesSource
from wifimgrd.http.tiles._source import FileSource, Summary
from wifimgrd.http.tiles._tile import DamagedError, NotReadyError, SlowError, Tile, UnavailableError

_NOTHING: Final = "there is nothing at this path"
_SETTLED_S: Final = 2.0
"""A file that was modified this long ago may be modified again within one tick of its clock. One whose time
is further ahead is from a host with another clock."""
OPENERS: Final[Mapping[str, Callable[[Path], FileSource]]] = MappingProxyType(
    {"folder": FolderSource, "mbtiles": MBTilesSource, "pmtiles": PMTilesSource}
)

_log = structlog.get_logger("wifimgrd.tiles")


class Slot(Protocol):
    """A source's place in a tileset."""

    kind: str
    place: str
    """Path or address."""

    @property
    def reason(self) -> str:
        """Why it cannot be used; empty if it can."""

    @property
    def trouble(self) -> str:
        """The reason, or why it gives no tiles for a while; empty if it does."""

    @property
    def summary(self) -> Summary | None:
        """The summary of its tiles, if it can be used."""

    @property
    def tag(self) -> str:
        """Identifies its present content."""

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """A tile without waiting, None if there is none; raises NotReadyError."""

    async def fetch(self, z: int, x: int, y: int) -> Tile | None:
        """A tile, which may take long; raises UnavailableError."""


class FileSlot:
    """A path for a file or a folder of tiles, which may be missing."""

    def __init__(self, tileset: str, kind: str, path: Path, workers: Executor, stopped: Event) -> None:
        """`stopped`: nothing is to be opened or read from then on."""
        self.tileset = tileset
        self.kind = kind
        self.place = str(path)
        self.reason = "it was not opened yet"
        self.source: FileSource | None = None
        self._path = path
        self._workers = workers
        self._stopped = stopped
        self._seen: Identity | None = None
        self._damaged_tag = ""

    @property
    def summary(self) -> Summary | None:
        """Of the file that is open."""
        return None if self.source is None else self.source.summary

    @property
    def trouble(self) -> str:
        """Of the path, or of the database that is open."""
        return self.reason or (self.source.trouble if isinstance(self.source, MBTilesSource) else "")

    @property
    def tag(self) -> str:
        """Of the file that is open."""
        return "" if self.source is None else self.source.identity.tag

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """A tile that is in memory."""
        return None if self.source is None else self.source.peek(z, x, y)

    async def fetch(self, z: int, x: int, y: int) -> Tile | None:
        """A tile, from the disk if necessary."""
        source = self.source
        if source is None:
            return None
        try:
            return await asyncio.get_running_loop().run_in_executor(self._workers, source.read, z, x, y)
        except DamagedError as error:
            if self._damaged_tag != self.tag:  # once for each file
                self._damaged_tag = self.tag
                _log.warning("tile_damaged", tileset=self.tileset, path=self.place, reason=str(error))
            is_slow = isinstance(error, SlowError)
            raise UnavailableError(
                str(error) if is_slow else f"the tileset's file is damaged: {error}"
            ) from None

    def has_changed(self) -> bool:
        """Whether the path has another file than at the last check. Blocks on the disk."""
        try:
            identity = identity_of(self._path)
        except OSError:
            return True
        return identity != self._seen or (identity is None and self.reason != _NOTHING)

    def examine(self) -> bool:
        """Check the path, and open the file if it is new; returns whether the served tiles have
        changed. Blocks on the disk: for a thread."""
        before = self.tag
        try:
            identity = identity_of(self._path)
        except OSError as error:
            self._refuse(f"it cannot be accessed: {error.strerror}")
            return False
        if identity is None:
            self._seen = self.source = None
            self._refuse(_NOTHING)
        elif identity != self._seen:
            self._open(identity)
        return self.tag != before

    def _open(self, identity: Identity) -> None:
        try:
            opener = OPENERS[self.kind]
            if opener is MBTilesSource:  # the one whose reading may never end by itself
                source: FileSource = MBTilesSource(self._path, self._stopped)
            else:
                source = opener(self._path)
        except (DamagedError, OSError) as error:
            settled = abs(time.time() - identity[3] / 1e9) > _SETTLED_S
            lasting = isinstance(error, DamagedError) and not error.passing
            self._seen = identity if settled and lasting else None
            if self.source is not None and self.source.identity.inode == identity.inode:
                self.source = None  # overwritten in place: the old content is gone
            self._refuse(str(error))
            return
        except Exception:  # noqa: BLE001 - the other tilesets are not to suffer
            _log.error("tileset_failed", tileset=self.tileset, path=self.place, exc_info=True)
            self._seen = identity
            self._refuse("it cannot be read, and the log says more")
            return
        self._seen = source.identity
        self.source, self.reason = source, ""
        _log.info("tileset_opened", tileset=self.tileset, path=self.place, version=self.tag)

    def _refuse(self, reason: str) -> None:
        if reason != self.reason:
            keeps = "the old one" if self.source is not None else "nothing"
            _log.warning(
                "tileset_refused", tileset=self.tileset, path=self.place, reason=reason, serves=keeps
            )
        self.reason = reason


FOUND: Final = "found"
MISSING: Final = "missing"
FAILED: Final = "failed"
"""The possible results of a request for a tile."""
NO_SOURCE: Final = ""
"""In place of a source's type if no source has the tile."""


@dataclass(frozen=True, slots=True)
class Tileset:
    """Sources under one name."""

    name: str
    slots: Sequence[Slot]
    missing: int | str
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Requests for its tiles, by result and the type of the source that caused it."""

    def __post_init__(self) -> None:
        self.counts[MISSING, NO_SOURCE] = 0
        self.counts.update({(outcome, slot.kind): 0 for slot in self.slots for outcome in (FOUND, FAILED)})

    @property
    def summaries(self) -> list[Summary]:
        """The sources that can be used, in order."""
        return [summary for slot in self.slots if (summary := slot.summary) is not None]

    @property
    def is_there(self) -> bool:
        """Whether any source can be used."""
        return any(slot.summary is not None for slot in self.slots)

    @property
    def tag(self) -> str:
        """Identifies the present content of all sources."""
        return ".".join(slot.tag for slot in self.slots if slot.tag)

    @property
    def media_type(self) -> str:
        """The format of its tiles, by the first source whose summary has it."""
        return next((summary.media_type for summary in self.summaries if summary.media_type), "")

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """A tile without waiting, None if no source has it; raises NotReadyError."""
        for slot in self.slots:
            tile = slot.peek(z, x, y)
            if tile is not None:
                return tile
        return None

    @property
    def is_on_disk(self) -> bool:
        """Whether all its sources are files."""
        return all(isinstance(slot, FileSlot) for slot in self.slots)

    def read(self, z: int, x: int, y: int) -> Tile | None:
        """A tile of the first file that has it; blocks on the disk: for threads."""
        for slot in self.slots:
            source = slot.source if isinstance(slot, FileSlot) else None
            tile = None if source is None else source.read(z, x, y)
            if tile is not None:
                return tile
        return None

    async def fetch(self, z: int, x: int, y: int) -> Tile | None:
        """A tile of the first source that has it; raises UnavailableError if none has it and a source that
        could not be used may have it."""
        trouble: UnavailableError | None = None
        for slot in self.slots:
            try:
                tile = slot.peek(z, x, y)
            except NotReadyError:
                try:
                    tile = await slot.fetch(z, x, y)
                except UnavailableError as error:
                    error.source = slot.kind
                    trouble = trouble or error
                    continue
            if tile is not None:
                return tile
        if trouble is not None:
            raise trouble
        return None

    def report(self) -> dict[str, object]:
        """The state of its sources, for people and programs."""
        return {
            "tileset": self.name,
            "available": self.is_there,
            "version": self.tag or None,
            "missing": self.missing,
            "sources": [
                {
                    "type": slot.kind,
                    "place": slot.place,
                    "ok": not slot.trouble,
                    "reason": slot.trouble or None,
                    "summary": None if slot.summary is None else slot.summary.as_json(),
                }
                for slot in self.slots
            ],
        }
