"""Threads that read tiles for the short way: answers go back to the event loop in batches, since
waking it up costs more than reading."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from wifimgrd.http.tiles._tile import Tile

_THREADS: Final = 2
_BATCH: Final = 16
_BATCH_S: Final = 0.001
"""The longest time that an answer waits for the next one of its batch."""

Place = tuple[int, int, int]
Result = Tile | Exception | None
Read = Callable[[int, int, int], Tile | None]
Take = Callable[[Result], None]
_Job = tuple[Read, Place, Take]


class Readers:
    """Reads in threads, which start with the first job."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def submit(self, read: Read, place: Place, take: Take) -> None:
        """Read a tile in a thread, and call `take` with the result in the event loop."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._threads = [Thread(target=self._work, name="tiles", daemon=True) for _ in range(_THREADS)]
            for thread in self._threads:
                thread.start()
        self._jobs.put((read, place, take))

    def stop(self) -> None:
        """Let the threads end after their present jobs."""
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            results: list[tuple[Take, Result]] = []
            until = time.monotonic() + _BATCH_S
            while job is not None:
                results.append((job[2], _result(job)))
                if len(results) == _BATCH or time.monotonic() > until:
                    break
                try:
                    job = self._jobs.get_nowait()
                except Empty:
                    break
            self._give(results)
            if job is None:
                return

    def _give(self, results: list[tuple[Take, Result]]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_start_batch, results)


def _result(job: _Job) -> Result:
    read, place, _ = job
    try:
        return read(*place)
    except Exception as error:  # noqa: BLE001 - the application gets it again, and reports it
        return error


def _start_batch(results: list[tuple[Take, Result]]) -> None:
    for take, result in results:
        take(result)
