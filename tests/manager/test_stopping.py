"""What the hub does when it stops, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.manager.conftest import make_bench
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.domain.device import DeviceState


def test_the_store_is_closed_last_since_all_others_may_still_write() -> None:
    async def test() -> None:
        bench = make_bench()
        stopped = []

        def noted(name: str, stop: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
            async def run() -> None:
                await stop()
                stopped.append(name)

            return run

        adapters, backend, store = bench.world.adapters, bench.world.backend, bench.store
        adapters.stop = noted("adapters", adapters.stop)  # type: ignore[method-assign, assignment]
        backend.stop = noted("backend", backend.stop)  # type: ignore[method-assign, assignment]
        store.close = noted("store", store.close)  # type: ignore[method-assign, assignment]
        await bench.hub.start()
        await bench.connected()
        await bench.hub.stop()
        assert stopped == ["adapters", "backend", "store"]
        assert store.is_closed

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_an_attempt_ends_before_the_store_is_closed() -> None:
    async def test() -> None:
        bench = make_bench()
        await bench.hub.start()
        device = await bench.create()
        assert bench.state(device) is DeviceState.CONNECTING
        await bench.hub.stop()
        assert bench.store.is_closed
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())
