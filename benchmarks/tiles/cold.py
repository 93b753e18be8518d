"""How long the event loop stands still while tiles come from the disk: their files are dropped from
the page cache, and a ticker beside the readers tells how late it is woken up."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
from pathlib import Path
from typing import Final

from benchmarks import progress
from benchmarks.table import Row, Target
from wifimgrd import log
from wifimgrd.config import TileSource
from wifimgrd.http.tiles.library import Library

_TILES: Final = 3000
_READERS: Final = 16
_TICK_S: Final = 0.001
_AT_MOST_MS: Final = 20.0


async def cold_reads(sources: dict[str, Path], places: list[tuple[int, int, int]]) -> list[Row]:
    """A row for each kind of file."""
    log.configure(logging.WARNING)
    rows = []
    for kind, path in sources.items():
        progress.say(f"tiles: {kind} with a cold page cache")
        library = Library([TileSource(kind, kind, path)])
        await library.look()
        await asyncio.to_thread(_drop, path)
        late_ms, was_cold = await _lateness(library, kind, random.Random(5).sample(places, _TILES))
        await library.stop()
        rows.append(
            Row(
                "tiles",
                f"event loop stands still, cold, {kind}",
                "ms",
                [late_ms],
                target=Target("ours", _AT_MOST_MS),
                note=f"{was_cold} of {_TILES} tiles were not in memory",
            )
        )
    return rows


async def _lateness(library: Library, name: str, places: list[tuple[int, int, int]]) -> tuple[float, int]:
    tileset = library.tilesets[name]
    latest = 0.0
    cold = 0
    finished = asyncio.Event()

    async def tick() -> None:
        nonlocal latest
        while not finished.is_set():
            began = time.perf_counter()
            await asyncio.sleep(_TICK_S)
            latest = max(latest, time.perf_counter() - began - _TICK_S)

    async def read() -> None:
        nonlocal cold
        while places:
            place = places.pop()
            before = _read_from_disk()
            if await tileset.fetch(*place) is None:
                raise AssertionError(f"{place} is missing")
            cold += _read_from_disk() > before

    ticking = asyncio.create_task(tick())
    await asyncio.gather(*(read() for _ in range(_READERS)))
    finished.set()
    await ticking
    return latest * 1000, cold


def _read_from_disk() -> int:
    """What this process has read from the disk, in octets."""
    told = Path("/proc/self/io").read_text().partition("\nread_bytes: ")[2]
    return int(told.split(None, 1)[0])


def _drop(path: Path) -> None:
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    os.sync()
    for file in files:
        fd = os.open(file, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
