"""When a camera is asked for the time: a series of questions at first, and two every ten minutes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from wifimgrd.camera._connection import SessionLimits
from wifimgrd.camera.conversations import Clock
from wifimgrd.camera.drivers.clock_bounds import ClockBounds
from wifimgrd.camera.drivers.protocol import MICROSECONDS, Driver, Nonsense
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.runtime.tasks import Tasks

_LATE_US: Final = 20_000
"""A question that is later says less."""


class ClockSeries:
    """Asks for the time. Each question has a turn of its own: a command waits for one answer at most."""

    def __init__(
        self,
        driver: Driver,
        turn: asyncio.Lock,
        connect: Callable[[], Awaitable[object]],
        ask: Callable[[], Awaitable[bool]],
        fail: Callable[[Exception], None],
        tasks: Tasks,
        steady: Clock,
        limits: SessionLimits,
    ) -> None:
        """`connect` and `ask` are called with the turn: `ask` reads the clock once, and is false if it cannot
        be read. `fail` is told why a series has ended early. `steady` is the clock of the answers."""
        self._driver = driver
        self._turn = turn
        self._connect = connect
        self._ask = ask
        self._fail = fail
        self._tasks = tasks
        self._steady = steady
        self._limits = limits
        self._due_s = 0.0
        """When the next series begins, by the loop's clock."""
        self._task: asyncio.Task[None] | None = None

    @property
    def is_due(self) -> bool:
        """Whether to begin a series now: never while the camera records."""
        is_free = not self._driver.reading.is_recording and self._task is None
        return is_free and asyncio.get_running_loop().time() >= self._due_s

    def forget(self) -> None:
        """The clock may be another one from now on, and is asked for soon."""
        self._end()
        self._driver.clock, self._due_s = ClockBounds(), 0.0

    async def begin(self) -> None:
        """Begin a series, with the turn: a camera of whose clock nothing is known is asked at once."""
        self._wait_for_next()
        is_first = self._driver.clock.last is None
        self._driver.clock = self._driver.clock.begun(self._steady())
        if not is_first or await self._ask():
            self._start()

    def go_on(self) -> None:
        """The clock was read once, after it was set: go on with that series."""
        self._wait_for_next()
        if self._driver.clock.series is not None:
            self._start()

    def _wait_for_next(self) -> None:
        self._due_s = asyncio.get_running_loop().time() + self._limits.clock_s

    def _start(self) -> None:
        self._task = self._tasks.start("clock", self._run())

    def _end(self) -> None:
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    async def _run(self) -> None:
        try:
            await self._finish()
        except (WifimgrdError, Nonsense, OSError) as error:
            self._fail(error)
        finally:
            if self._task is asyncio.current_task():
                self._task = None

    async def _finish(self) -> None:
        """Ask until the series is over."""
        asked = 1
        while not self._driver.clock.is_over and asked < self._limits.clock_questions:
            due_us = self._driver.clock.due_us(self._steady())
            await asyncio.sleep((due_us - self._steady()) / MICROSECONDS)
            async with self._turn:
                if self._driver.reading.is_recording:
                    self._due_s = 0.0  # as soon as it is idle
                    return
                await self._connect()
                is_late = self._steady() - due_us > _LATE_US  # by the connection, or somebody else's turn
                if not is_late and not await self._ask():
                    return
                asked += 1
