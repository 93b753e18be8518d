"""All tilesets, kept up to date with the files on disk."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Final, TypeVar, TypeVarTuple

from wifimgrd.config.configuration import TileSource
from wifimgrd.http.tiles._readers import Readers
from wifimgrd.http.tiles._tileset import FileSlot, Slot, Tileset
from wifimgrd.http.tiles._upstream import UpstreamSlot
from wifimgrd.runtime.tasks import Backoff, Tasks

CHECK_S: Final = 1.0
"""The interval of the checks of the paths: a renamed file is served within two seconds. Mounts,
links and network shares send no notification of changes, so that only polling works for all."""
_SWITCH_S: Final = 0.001
"""How long a thread that decompresses or parses may delay the event loop. Python's own 5 ms add up
if several threads have work."""
_START_S: Final = 10.0
"""The time for files to open before the shim serves without them."""
_WORKERS: Final = 4
_UNPACKERS: Final = 2

Values = TypeVarTuple("Values")
Result = TypeVar("Result")
Listener = Callable[[dict[str, object]], None]


class Tilesets:
    """The tilesets by name."""

    def __init__(self, sources: Sequence[TileSource], tasks: Tasks) -> None:
        self.readers = Readers()
        self._workers = ThreadPoolExecutor(_WORKERS, "tiles")
        self._unpackers = ThreadPoolExecutor(_UNPACKERS, "unpack")
        self._stopped = Event()
        self._files: list[FileSlot] = []
        self._upstreams: list[UpstreamSlot] = []
        self._listeners: list[Listener] = []
        self._tasks = tasks
        self._opening: dict[FileSlot, asyncio.Task[None]] = {}
        grouped: dict[str, list[TileSource]] = {}
        for source in sources:
            grouped.setdefault(source.tileset, []).append(source)
        self.by_name: Mapping[str, Tileset] = {
            name: Tileset(name, [self._slot(one) for one in of_it], of_it[0].missing)
            for name, of_it in grouped.items()
        }
        self.default = sources[0].tileset
        """The tileset of the platform's own route."""

    async def start(self) -> None:
        """Open the files, and check them from then on; files that take long are opened later."""
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_S))
        opening = await self._open_changed()
        if opening:
            await asyncio.wait(opening, timeout=_START_S)
        if self._files:
            self._tasks.keep("check files", self._watch_folder, Backoff(first_s=CHECK_S, last_s=60.0))

    async def stop(self) -> None:
        """Close everything."""
        self._stopped.set()
        await self._tasks.stop()
        for upstream in self._upstreams:
            await upstream.stop()
        self.readers.stop()
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._unpackers.shutdown(wait=False, cancel_futures=True)

    def subscribe(self, listener: Listener) -> None:
        """Call the listener for each tileset that has changed, with the data of `tileset.updated`."""
        self._listeners.append(listener)

    def get(self, name: str) -> Tileset | None:
        """A tileset that can be used."""
        tileset = self.by_name.get(name)
        return tileset if tileset is not None and tileset.is_there else None

    async def work(self, what: Callable[[*Values], Result], *values: *Values) -> Result:
        """Run a function in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, what, *values)

    async def unpack(self, what: Callable[[*Values], Result], *values: *Values) -> Result:
        """Run a function that needs much processor time in a thread that reads no files."""
        return await asyncio.get_running_loop().run_in_executor(self._unpackers, what, *values)

    async def check_files(self) -> None:
        """Check all paths once, open changed files, and notify the listener."""
        await asyncio.gather(*await self._open_changed())

    async def _open_changed(self) -> list[asyncio.Task[None]]:
        """Start to open changed files: each by itself, since one can take long."""
        closed = [slot for slot in self._files if slot not in self._opening]
        begun = []
        for slot in await self.work(_changed, closed):
            self._opening[slot] = self._tasks.start("open", self._open(slot))
            begun.append(self._opening[slot])
        return begun

    async def _open(self, slot: FileSlot) -> None:
        try:
            if await self.work(slot.examine):
                self._notify(self.by_name[slot.tileset])
        finally:
            del self._opening[slot]

    def _notify(self, tileset: Tileset) -> None:
        data = {"tileset": tileset.name, "available": tileset.is_there, "version": tileset.tag or None}
        for listener in self._listeners:
            listener(data)

    async def _watch_folder(self) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            await self._open_changed()

    def _slot(self, source: TileSource) -> Slot:
        if source.path is None:
            upstream = UpstreamSlot(source.tileset, source.url or "")
            self._upstreams.append(upstream)
            return upstream
        slot = FileSlot(source.tileset, source.type, source.path, self._workers, self._stopped)
        self._files.append(slot)
        return slot

    def counts(self) -> dict[tuple[str, str, str], int]:
        """The requests so far, by tileset, type of source and result."""
        return {
            (name, source, outcome): count
            for name, tileset in self.by_name.items()
            for (outcome, source), count in tileset.counts.items()
        }

    def report(self) -> list[dict[str, object]]:
        """The state of each tileset."""
        return [tileset.report() for tileset in self.by_name.values()]


def _changed(slots: Sequence[FileSlot]) -> list[FileSlot]:
    return [slot for slot in slots if slot.has_changed()]
