"""Supervised background tasks: named, and with their errors logged.

A process has one tree of `Tasks`, with a part for each part of the program. Work that runs once is
started; its unexpected errors are logged. Work that must always run is kept: it is restarted after a pause
when it ends or fails, and the pauses grow up to a limit until it has run for a while. Work that a process
depends on is required: its end ends the process. The watchdog checks the tree for kept tasks that are gone
and checks that hang.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_T = TypeVar("_T")

_DOUBLINGS: Final = 16
_STOP_S: Final = 5.0
"""How long cancelled tasks may take to end."""

Running = Coroutine[Any, Any, _T]
"""A call of an `async def`, which returns a _T."""
Work = Callable[[], Running[None]]
Check = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses between attempts, in seconds: they double from `first_s` to `last_s`, and start over once an
    attempt has run for `reset_s`."""

    first_s: float
    last_s: float
    reset_s: float = 30.0
    spread: float = 0.0
    """By which share of it a pause may be longer, at random: many clients of one server come back apart."""

    def pause_s(self, failures: int) -> float:
        """The pause after this many failures in a row, at least one."""
        pause_s = min(self.last_s, self.first_s * 2.0 ** min(failures - 1, _DOUBLINGS))
        return pause_s * (1 + self.spread * random.random())  # noqa: S311 - no secret


class Kept:
    """A task that is restarted when it ends, until `cancel`."""

    def __init__(self, name: str, work: Work, backoff: Backoff, *, until_done: bool) -> None:
        self.name = name
        self.cancelled = False
        self._work = work
        self._backoff = backoff
        self._until_done = until_done
        self._retry_event = asyncio.Event()
        self.expected: tuple[type[Exception], ...] = ()
        self.quiet = False

    def cancel(self) -> None:
        """Cancel it without a restart."""
        self.cancelled = True
        self.task.cancel()

    def retry_now(self) -> None:
        """End the current pause early, or the next one where it is running."""
        self._retry_event.set()

    @property
    def is_missing(self) -> bool:
        """Whether it ended without `cancel`, and will not be restarted."""
        return self.task.done() and not self.cancelled and not (self._until_done and self._is_success())

    def _is_success(self) -> bool:
        return not self.task.cancelled() and self.task.exception() is None

    def begin(self, full_name: str) -> None:
        """Start it."""
        self.task = asyncio.create_task(self._run(full_name), name=full_name)

    async def _run(self, full_name: str) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            self._retry_event.clear()
            began_s = loop.time()
            error: BaseException | None = None
            try:
                await self._work()
                if self._until_done:
                    return
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # An awaitable that it waited for was cancelled, not the task itself.
                error = asyncio.CancelledError("what it waited for was cancelled")
            except Exception as failure:  # noqa: BLE001 - the task is restarted after any error
                error = failure
            if loop.time() - began_s >= self._backoff.reset_s:
                failures = 0
            failures += 1
            pause_s = self._backoff.pause_s(failures)
            self._report(full_name, error, failures, pause_s)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._retry_event.wait()

    def _report(self, name: str, error: BaseException | None, failures: int, pause_s: float) -> None:
        """Log the first failure, and repeated ones at a lower level, until the work has run for a while."""
        if error is not None and not isinstance(error, self.expected):
            if failures == 1:
                _log().error("task_failed", task=name, retry_s=pause_s, exc_info=error)
        elif not self.quiet:
            log = _log().warning if failures == 1 else _log().debug
            log("task_ended", task=name, reason=str(error or "it returned"), retry_s=pause_s)


class Tasks:
    """The tasks of one part of a process."""

    def __init__(self, name: str, _parent: Tasks | None = None) -> None:
        self.name = name
        self._parent = _parent
        self._parts: dict[Tasks, None] = {}
        """In the order of their creation."""
        self._once: set[asyncio.Task[object]] = set()
        self._kept: list[Kept] = []
        self._checks: dict[str, Check] = {}
        self._required: list[asyncio.Task[object]] = []
        self._required_ended = asyncio.Event()

    def part(self, name: str) -> Tasks:
        """The tasks of a sub-part, which are stopped with this one at the latest."""
        part = Tasks(f"{self.name}/{name}", self)
        self._parts[part] = None
        return part

    def start(
        self, name: str, work: Running[_T], *, expected: tuple[type[BaseException], ...] = ()
    ) -> asyncio.Task[_T]:
        """Run something once; an error is logged, unless it is one that the caller expects."""
        task = asyncio.create_task(work, name=f"{self.name}/{name}")
        self._once.add(task)

        def ended(_: asyncio.Task[_T]) -> None:
            self._once.discard(task)
            if not task.cancelled() and (error := task.exception()) and not isinstance(error, expected):
                _log().error("task_failed", task=task.get_name(), exc_info=error)

        task.add_done_callback(ended)
        return task

    def keep(
        self,
        name: str,
        work: Work,
        backoff: Backoff,
        *,
        expected: tuple[type[Exception], ...] = (),
        quiet: bool = False,
        until_done: bool = False,
    ) -> Kept:
        """Run something permanently: it is restarted when it returns or raises.

        Errors of the `expected` kinds are logged in a line, others with their traceback; `quiet` is for work
        that logs its expected errors itself. With `until_done` it is not restarted once it has returned.
        """
        kept = Kept(name, work, backoff, until_done=until_done)
        kept.expected, kept.quiet = expected, quiet
        kept.begin(f"{self.name}/{name}")
        self._kept = [one for one in self._kept if not one.task.done() or one.is_missing]
        self._kept.append(kept)
        return kept

    def require(self, name: str, work: Running[object]) -> None:
        """Run something that the process depends on; see `until_required_ends`."""
        task = self.start(name, work)
        self._once.discard(task)  # `settle` must not wait for it
        self._required.append(task)
        task.add_done_callback(lambda _: self._root._required_ended.set())

    async def until_required_ends(self, *events: asyncio.Event) -> None:
        """Return once a required task of the tree has ended, or one of the events is set."""
        waits = [asyncio.create_task(event.wait()) for event in (self._root._required_ended, *events)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def check(self, name: str, check: Check) -> None:
        """Add a check to the watchdog: it passes if it returns or raises in time."""
        self._checks[name] = check

    async def find_dead(self, timeout_s: float) -> list[str]:
        """The names of kept tasks that are gone, and of checks that do not return or raise in time.

        A check that raises in time passes, too.
        """
        parts = list(self._walk())
        names = [f"{part.name}/{name}" for part in parts for name in part._checks]
        checks = [check for part in parts for check in part._checks.values()]
        results = await asyncio.gather(*(_passes(check, timeout_s) for check in checks))
        failed = [name for name, passed in zip(names, results, strict=True) if not passed]
        failed += [kept.task.get_name() for part in parts for kept in part._kept if kept.is_missing]
        return failed

    def cancel(self) -> None:
        """Cancel all tasks, and detach this part from the rest of the tree."""
        self._checks.clear()
        for kept in self._kept:
            kept.cancel()
        for task in (*self._once, *self._required):
            task.cancel()
        for part in list(self._parts):
            part.cancel()
        if self._parent is not None and self in self._parent._parts:
            del self._parent._parts[self]
            for task in self._running():  # the parent's `stop` waits for these, too
                self._parent._once.add(task)
                task.add_done_callback(self._parent._once.discard)

    async def stop(self) -> None:
        """Cancel all tasks, and wait until they have ended; never raises."""
        running = self._running()
        self.cancel()
        if running:
            _, late = await asyncio.wait(running, timeout=_STOP_S)
            for task in late:
                _log().error("task_does_not_stop", task=task.get_name())

    async def settle(self, timeout_s: float | None = None) -> None:
        """Wait until no task that runs once is left, or for `timeout_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while running := self._once - {asyncio.current_task()}:
                    await asyncio.wait(running)

    @property
    def _root(self) -> Tasks:
        return self if self._parent is None else self._parent._root

    def _walk(self) -> Iterator[Tasks]:
        yield self
        for part in self._parts:
            yield from part._walk()

    def _running(self) -> set[asyncio.Task[object]]:
        current = asyncio.current_task()
        found: set[asyncio.Task[object]] = set()
        for part in self._walk():
            found |= part._once | set(part._required)
            found |= {kept.task for kept in part._kept}
        return {task for task in found if not task.done() and task is not current}


async def _passes(check: Check, timeout_s: float) -> bool:
    deadline = asyncio.timeout(timeout_s)
    with suppress(Exception):
        async with deadline:
            await check()
    return not deadline.expired()


def _log() -> FilteringBoundLogger:
    import structlog  # noqa: PLC0415 - the command line has no log, and no time to import it

    log: FilteringBoundLogger = structlog.get_logger("wifimgrd.tasks")
    return log
