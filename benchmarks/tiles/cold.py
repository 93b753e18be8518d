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

from pmtiles.tile import tileid_to_zxy

from benchmarks import progress
from benchmarks.table import Row, Target
from tests.http.tiles.planet import ENTRIES, LEAVES, write_planet
from wifimgrd.config.configuration import TileSource
from wifimgrd.http.tiles.tilesets import Tilesets
from wifimgrd.runtime import logging as log
from wifimgrd.runtime.tasks import Tasks

_TILES: Final = 3000
_TILES_OF_PLANET: Final = 500
_READERS: Final = 16
_TICK_S: Final = 0.001
_AT_MOST_MS: Final = 20.0


async def cold_reads(sources: dict[str, Path], places: list[tuple[int, int, int]]) -> list[Row]:
    """A row for each kind of file."""
    log.configure(logging.WARNING)
    rows = []
    for kind, path in sources.items():
        progress.say(f"tiles: {kind} with a cold page cache")
        rows.append(await _row(kind, kind, path, random.Random(5).sample(places, _TILES)))
    return rows


async def planet_reads(folder: Path) -> list[Row]:
    """The same with an archive of 220 million tiles, each of whose tiles needs a leaf directory read."""
    progress.say("tiles: an archive as large as the planet's")
    path = folder / "planet.pmtiles"
    await asyncio.to_thread(write_planet, path)
    chance = random.Random(6)
    places = [tileid_to_zxy(chance.randrange(LEAVES * ENTRIES)) for _ in range(_TILES_OF_PLANET)]
    return [await _row("planet", "pmtiles", path, places)]


async def _row(name: str, kind: str, path: Path, places: list[tuple[int, int, int]]) -> Row:
    tilesets = Tilesets([TileSource(name, kind, path)], Tasks("bench"))
    await tilesets.start()
    await asyncio.to_thread(_drop, path)
    asked = len(places)
    late_ms, was_cold = await _lateness(tilesets, name, places)
    await tilesets.stop()
    return Row(
        "tiles",
        f"event loop stands still, cold, {name}",
        "ms",
        [late_ms],
        target=Target("ours", _AT_MOST_MS),
        note=f"{was_cold} of {asked} tiles were not in memory",
    )


async def _lateness(tilesets: Tilesets, name: str, places: list[tuple[int, int, int]]) -> tuple[float, int]:
    tileset = tilesets.by_name[name]
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
    """What this process has read from the disk, in bytes."""
    told = Path("/proc/self/io").read_text().partition("\nread_bytes: ")[2]
    return int(told.split(None, 1)[0])


def _drop(path: Path) -> None:
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    os.sync()
    for file in files:
        fd = os.open(file, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
