"""When the daemon is pinged, and when it counts as frozen, on a clock that jumps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.client._heartbeat import NOTICED_S, PING_LIMIT_S, PING_PERIOD_S, Heartbeat
from wifimgrd.runtime.tasks import Tasks

SHOWN_S = 8.0
"""So soon the page and `wifimgrctl watch` are to show that nothing is known any more."""
HOUR_S = 3600.0


class Daemon:
    """Answers pings until it is frozen."""

    def __init__(self) -> None:
        self.running = asyncio.Event()
        self.running.set()
        self.processor = asyncio.Event()
        """Is there for what waits for the answer."""
        self.processor.set()
        self.pings = 0
        self.silences: list[float] = []
        self.heartbeat = Heartbeat(self.ping, self.fell_silent, Tasks("test"))
        self.heartbeat.set_current(True)

    async def ping(self, on_answer: Callable[[], None]) -> None:
        self.pings += 1
        await self.running.wait()
        on_answer()
        await self.processor.wait()

    def fell_silent(self) -> None:
        self.silences.append(asyncio.get_running_loop().time())
        self.heartbeat.set_current(False)


Run = Callable[[Callable[[Daemon], Coroutine[Any, Any, None]]], None]


@pytest.fixture
def loop() -> VirtualTimeLoop:
    return VirtualTimeLoop()


@pytest.fixture
def run(loop: VirtualTimeLoop) -> Iterator[Run]:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:

        def with_daemon(test: Callable[[Daemon], Coroutine[Any, Any, None]]) -> None:
            async def whole() -> None:
                await test(Daemon())

            runner.run(whole())

        yield with_daemon


@pytest.mark.parametrize("held_s", [0.0, 0.5, PING_PERIOD_S - 0.1, PING_PERIOD_S + 0.1, 10.0])
def test_a_frozen_daemon_is_noticed_in_time(run: Run, held_s: float) -> None:
    async def test(daemon: Daemon) -> None:
        loop = asyncio.get_running_loop()
        with daemon.heartbeat.held():
            await asyncio.sleep(held_s)
            frozen_s = loop.time()
            daemon.running.clear()
            await asyncio.sleep(60)
        [noticed_s] = daemon.silences
        assert noticed_s - frozen_s <= NOTICED_S

    run(test)


def test_it_is_shown_in_time() -> None:
    assert NOTICED_S == PING_PERIOD_S + PING_LIMIT_S
    assert NOTICED_S < SHOWN_S


def test_who_begins_to_rely_on_a_frozen_daemon_notices_it_in_time(run: Run) -> None:
    async def test(daemon: Daemon) -> None:
        daemon.running.clear()
        await asyncio.sleep(60)
        began_s = asyncio.get_running_loop().time()
        with daemon.heartbeat.held():
            await asyncio.sleep(60)
        [noticed_s] = daemon.silences
        assert noticed_s - began_s <= NOTICED_S

    run(test)


def test_without_anybody_nothing_wakes_up(run: Run, loop: VirtualTimeLoop) -> None:
    async def test(daemon: Daemon) -> None:
        with daemon.heartbeat.held():
            await asyncio.sleep(1)
        async with daemon.heartbeat.answering():
            pass
        waits = loop.waits
        await asyncio.sleep(HOUR_S)
        assert loop.waits == waits + 1
        assert daemon.pings == 0

    run(test)


def test_who_leaves_during_a_ping_leaves_nothing(run: Run, loop: VirtualTimeLoop) -> None:
    async def test(daemon: Daemon) -> None:
        daemon.running.clear()
        with daemon.heartbeat.held():
            await asyncio.sleep(PING_PERIOD_S + 1)
        assert daemon.pings == 1
        waits = loop.waits
        await asyncio.sleep(HOUR_S)
        assert loop.waits == waits + 1
        assert daemon.silences == []

    run(test)


def test_while_nothing_is_known_nobody_is_pinged(run: Run) -> None:
    async def test(daemon: Daemon) -> None:
        daemon.heartbeat.set_current(False)
        with daemon.heartbeat.held():
            await asyncio.sleep(HOUR_S)
            assert daemon.pings == 0
            daemon.heartbeat.set_current(True)
            await asyncio.sleep(HOUR_S)
            assert daemon.pings > 0

    run(test)


def test_there_is_one_ping_for_all(run: Run) -> None:
    async def test(daemon: Daemon) -> None:
        with ExitStack() as holders:
            for _ in range(50):
                holders.enter_context(daemon.heartbeat.held())
                await asyncio.sleep(0.01)
            await asyncio.sleep(HOUR_S)
        assert daemon.pings == HOUR_S / PING_PERIOD_S
        assert daemon.silences == []

    run(test)


def test_a_call_to_a_frozen_daemon_ends_early(run: Run) -> None:
    async def test(daemon: Daemon) -> None:
        daemon.running.clear()
        began_s = asyncio.get_running_loop().time()
        with pytest.raises(TimeoutError):
            async with daemon.heartbeat.answering():
                await asyncio.sleep(HOUR_S)
        assert asyncio.get_running_loop().time() - began_s == NOTICED_S

    run(test)


def test_a_slow_call_goes_on_while_the_daemon_answers(run: Run) -> None:
    async def test(daemon: Daemon) -> None:
        async with daemon.heartbeat.answering():
            await asyncio.sleep(HOUR_S)
        assert daemon.silences == []

    run(test)


def test_an_answer_in_a_busy_loop_counts(run: Run) -> None:
    async def test(daemon: Daemon) -> None:
        daemon.processor.clear()
        with daemon.heartbeat.held():
            await asyncio.sleep(60)
        assert daemon.silences == []

    run(test)


def test_a_process_that_was_stopped_itself_blames_nobody(run: Run, loop: VirtualTimeLoop) -> None:
    async def test(daemon: Daemon) -> None:
        with daemon.heartbeat.held():
            daemon.running.clear()
            await asyncio.sleep(PING_PERIOD_S + 1)
            assert daemon.pings == 1
            loop.skip(HOUR_S)  # Ctrl-Z, with the answer on its way
            await asyncio.sleep(0.1)
            daemon.running.set()
            await asyncio.sleep(60)
        assert daemon.pings > 1
        assert daemon.silences == []

    run(test)
