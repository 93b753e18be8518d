"""The one thread that uses a file, and writes that are gathered for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Generic, Protocol, TypeVar

_T = TypeVar("_T")

_JOB_S: Final = 60.0
"""A job that takes longer hangs; a disk that is slow or held by another program takes seconds."""
_APART_S: Final = 0.5
"""On average between two batches, since each costs the flash whole pages."""
_BURST: Final = 8
"""So many are written at once all the same: somebody may have been told what is in them."""
_RETRY_S: Final = 10.0
"""Until background writes that failed are tried again, if nothing else is written before."""


class Worker:
    """Runs jobs in the order of the calls, in one thread."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.get_running_loop()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._began_s: float | None = None
        """When the job that runs began, by the monotonic clock; None while none runs."""

    def run(self, job: Callable[[], _T]) -> asyncio.Future[_T]:
        """The result of a job, which is run whatever becomes of its caller: it may write what others have
        recorded."""
        running = self.loop.run_in_executor(self._executor, self._timed, job)
        running.add_done_callback(_retrieve)
        return asyncio.shield(running)

    async def gets_on(self) -> None:
        """Return at once, unless the job that runs hangs; then, once that has ended."""
        began_s = self._began_s
        if began_s is not None and time.monotonic() - began_s > _JOB_S:
            await self.run(lambda: None)

    def shut_down(self) -> None:
        """Take no further jobs; those that are queued are run."""
        self._executor.shutdown(wait=False)

    def _timed(self, job: Callable[[], _T]) -> _T:
        self._began_s = time.monotonic()
        try:
            return job()
        finally:
            self._began_s = None


def _retrieve(done: asyncio.Future[Any]) -> None:
    """Take the error of a job, which its caller gets too, unless that was cancelled."""
    if not done.cancelled():
        done.exception()


class Gatherable(Protocol):
    """Writes that are made together."""

    def __bool__(self) -> bool:
        """Whether there is anything to write."""


_Batch = TypeVar("_Batch", bound=Gatherable)


class Gathering(Generic[_Batch]):
    """Background writes, gathered until they are due. One batch is written at a time: what is due meanwhile
    joins the one that waits, however long the disk takes."""

    def __init__(self, worker: Worker, empty: type[_Batch], write: Callable[[_Batch], bool]) -> None:
        """`write` is run by the worker, never raises, and returns False if it has to be tried again."""
        self.batch = empty()
        """The gathered writes; after adding to them, call `write_within`."""
        self._worker = worker
        self._empty = empty
        self._write = write
        self._timer: asyncio.TimerHandle | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._paid_s = 0.0
        """Until when, by the loop's clock, the batches that were written would last at the average pace."""
        self._is_finished = False
        self._is_writing = False
        self._is_due = False
        """The batch waits for the one that is being written."""

    def write_within(self, seconds: float) -> None:
        """Write the batch after that time at the latest, or later where many were written in quick
        succession."""
        loop = self._worker.loop
        now = loop.time()
        at = max(now + seconds, self._paid_s - _BURST * _APART_S)
        if self._timer is not None and self._timer.when() <= at:
            return
        self._stop_timer()
        if at > now:
            self._timer = loop.call_at(at, self._write_now)
        else:
            self._write_now()

    def try_again(self) -> None:
        """Something could not be written, and `write` has it: call it again later, whatever is gathered."""
        if self._retry is None and not self._is_finished:
            self._retry = self._worker.loop.call_later(_RETRY_S, self._write_now)

    def write_taken(self, batch: _Batch) -> None:
        """Write a batch, in a job of the caller's."""
        if batch and not self._write(batch):
            self._worker.loop.call_soon_threadsafe(self.try_again)

    def take(self) -> _Batch:
        """The batch, for a job of the caller's that writes it."""
        self._stop_timer()
        self._is_due = False
        batch, self.batch = self.batch, self._empty()
        return batch

    def finish(self) -> _Batch:
        """The last batch, for a job of the caller's that writes it; nothing is written in the background any
        more."""
        self._is_finished = True
        if self._retry is not None:
            self._retry.cancel()
        return self.take()

    def _write_now(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._is_writing:
            self._stop_timer()
            self._is_due = True
            return
        batch = self.take()
        self._paid_s = max(self._paid_s, self._worker.loop.time()) + _APART_S
        self._is_writing = True
        self._worker.run(lambda: self._write(batch)).add_done_callback(self._written)

    def _written(self, done: asyncio.Future[bool]) -> None:
        self._is_writing = False
        if self._is_finished or done.cancelled():  # the loop is being closed
            return
        if not done.result():
            self.try_again()
        if self._is_due:
            self._write_now()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
