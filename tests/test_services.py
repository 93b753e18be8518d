"""When `make run` takes a process for hanging, on a clock that jumps."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.virtual_time import VirtualTimeLoop
from tools.services import Watchdog

LIMIT_S = 30.0
HOUR_S = 3600.0


class Guarded:
    """A process by its notifications, and whether it is taken for hanging."""

    def __init__(self, loop: VirtualTimeLoop, address: Path) -> None:
        self._loop = loop
        self._address = address
        self.watchdog = Watchdog(address, LIMIT_S)
        self.guarding = asyncio.create_task(self.watchdog.until_silent())

    def notify(self, message: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(message, str(self._address))

    def stop_all(self, seconds: float) -> None:
        """This process is stopped for so long."""
        self._loop.skip(seconds)

    async def hangs_after(self, limit_s: float) -> bool:
        """Whether it is taken for hanging within some time."""
        await asyncio.wait([self.guarding], timeout=limit_s)
        return self.guarding.done()


Run = Callable[[Callable[[Guarded], Coroutine[Any, Any, None]]], None]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    loop = VirtualTimeLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:

        def with_process(test: Callable[[Guarded], Coroutine[Any, Any, None]]) -> None:
            async def whole() -> None:
                guarded = Guarded(loop, tmp_path / "notify")
                await asyncio.sleep(0.1)
                await test(guarded)
                guarded.guarding.cancel()
                await asyncio.wait([guarded.guarding])
                guarded.watchdog._socket.close()

            runner.run(whole())

        yield with_process


def test_a_process_that_says_nothing_any_more_hangs(run: Run) -> None:
    async def test(process: Guarded) -> None:
        for message in (b"STATUS=starting\nREADY=1", b"WATCHDOG=1"):
            process.notify(message)
            assert not await process.hangs_after(LIMIT_S - 1)
        process.notify(b"STATUS=one device")  # which is no sign of life
        assert await process.hangs_after(2)

    run(test)


def test_one_that_starts_has_all_the_time(run: Run) -> None:
    async def test(process: Guarded) -> None:
        process.notify(b"STATUS=starting")
        assert not await process.hangs_after(HOUR_S)

    run(test)


@pytest.mark.parametrize("late_s", [0.5, HOUR_S])
def test_what_it_said_while_its_watchdog_was_stopped_counts(run: Run, late_s: float) -> None:
    async def test(process: Guarded) -> None:
        process.notify(b"READY=1")
        await asyncio.sleep(1)
        process.stop_all(LIMIT_S + late_s)
        process.notify(b"WATCHDOG=1")
        assert not await process.hangs_after(LIMIT_S - 1)
        assert await process.hangs_after(LIMIT_S)

    run(test)


def test_one_that_was_stopped_with_its_watchdog_has_its_time_again(run: Run) -> None:
    async def test(process: Guarded) -> None:
        process.notify(b"READY=1")
        await asyncio.sleep(1)
        process.stop_all(HOUR_S)
        assert not await process.hangs_after(LIMIT_S - 1)

    run(test)
