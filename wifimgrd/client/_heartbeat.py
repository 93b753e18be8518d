"""Whether the daemon answers: it is pinged while somebody relies on what it has said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from wifimgrd.runtime.tasks import Tasks

PING_PERIOD_S: Final = 2.5
"""From an answer to the next ping. The first one is sent so long after somebody began to rely on the daemon,
since most commands are answered before that."""
PING_LIMIT_S: Final = 5.0
"""How long the answer to a ping may take."""
NOTICED_S: Final = PING_PERIOD_S + PING_LIMIT_S
"""The time within which a daemon that no longer answers is noticed."""
_LATE_S: Final = 1.0
"""A time-out that comes so late shows that this process did not run either, e.g. because it was stopped by
Ctrl-Z: the answer may be there, unread."""


Ping = Callable[[Callable[[], None]], Awaitable[None]]
"""Asks the daemon, and calls what it gets as soon as the answer is there; returns then, or once the daemon is
known to have gone, which others report."""


class Heartbeat:
    """Pings the daemon while that is needed; otherwise there is neither a timer nor a task."""

    def __init__(self, ping: Ping, on_silence: Callable[[], None], tasks: Tasks) -> None:
        """`on_silence` is called when a ping was not answered in time."""
        self._ping = ping
        self._on_silence = on_silence
        self._tasks = tasks
        self._holders = 0
        self._is_current = False
        self._calls: set[asyncio.Timeout] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._pinging: asyncio.Task[bool] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Ping the daemon meanwhile, as long as what it has said is current."""
        self._holders += 1
        self._update()
        try:
            yield
        finally:
            self._holders -= 1
            self._update()

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """Ping the daemon while it is called; raises TimeoutError as soon as a ping is not answered."""
        async with asyncio.timeout(None) as call:
            self._calls.add(call)
            self._update()
            try:
                yield
            finally:
                self._calls.discard(call)
                self._update()

    def set_current(self, is_current: bool) -> None:
        """The daemon's data is current from now on, or no longer is."""
        self._is_current = is_current
        self._update()

    def _update(self) -> None:
        is_needed = bool(self._calls) or (self._is_current and self._holders > 0)
        if not is_needed:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._pinging is not None:
                self._pinging.cancel()
                self._pinging = None
        elif self._timer is None and self._pinging is None:
            self._timer = asyncio.get_running_loop().call_later(PING_PERIOD_S, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._pinging = self._tasks.start("ping", self._is_answered())
        self._pinging.add_done_callback(self._pinged)

    async def _is_answered(self) -> bool:
        loop = asyncio.get_running_loop()
        due_s, answered = loop.time() + PING_LIMIT_S, asyncio.Event()
        try:
            async with asyncio.timeout_at(due_s):
                await self._ping(answered.set)
        except TimeoutError:  # in a busy loop perhaps in the same moment as the answer
            return answered.is_set() or loop.time() >= due_s + _LATE_S
        return True

    def _pinged(self, pinging: asyncio.Task[bool]) -> None:
        if pinging is not self._pinging or pinging.cancelled():
            return  # it is no longer needed, or the process ends
        self._pinging = None
        if pinging.exception() is None and not pinging.result():
            self._notice()
        self._update()

    def _notice(self) -> None:
        calls = tuple(self._calls)
        self._on_silence()
        for call in calls:
            if not call.expired():
                call.reschedule(asyncio.get_running_loop().time())
