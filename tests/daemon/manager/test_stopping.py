"""What the hub does when it stops, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest

from tests.daemon.manager.conftest import make_bench
from tests.daemon.manager.test_power import paired, status
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.manager._reconciling import Reconciling
from wifimgrd.domain.device import DeviceState, HeldLink
from wifimgrd.domain.errors import BackendUnavailable, WifimgrdError


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


@pytest.mark.parametrize("moment_s", [0.0, 0.05, 0.3, 0.7])
@pytest.mark.parametrize("what", ["wake", "connect", "sleep", "pair", "search", "create"])
def test_a_stop_ends_what_runs_over_bluetooth_and_the_next_daemon_goes_on(what: str, moment_s: float) -> None:
    async def whole() -> None:
        first = make_bench()
        await first.hub.start()
        device = await paired(first)
        hub, address = first.hub, status(first, device).device.bluetooth_address
        works: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
            "wake": lambda: hub.bluetooth.wake(device, wait=True),
            "connect": lambda: hub.connections.connect(device, wait=True, wake=True),
            "sleep": lambda: hub.bluetooth.sleep(device, wait=True),
            "pair": lambda: hub.bluetooth.pair(device, wait=True),
            "search": lambda: hub.bluetooth.search(5),
            "create": lambda: hub.create({"bluetooth_address": address}),
        }
        command = asyncio.create_task(works[what]())
        await asyncio.sleep(moment_s)
        await hub.stop()
        await asyncio.wait((command,), timeout=10)
        assert command.done()
        if not command.cancelled():
            assert isinstance(command.exception(), WifimgrdError | None)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        second = make_bench(store=first.store, world=first.world).hub
        await second.start()
        await second.bluetooth.search(1)
        await second.bluetooth.wake(device, wait=True)
        await second.connections.connect(device, wait=True)
        await second.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(whole())


def test_links_that_could_not_be_read_are_not_read_again_after_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test() -> None:
        bench = make_bench()
        requests = []

        reconcile_soon = Reconciling.reconcile_soon

        def requested(reconciling: Reconciling) -> None:
            requests.append(True)
            reconcile_soon(reconciling)

        async def links() -> Sequence[HeldLink]:
            raise BackendUnavailable("it does not answer")

        monkeypatch.setattr(Reconciling, "reconcile_soon", requested)
        bench.world.backend.links = links  # type: ignore[method-assign]
        await bench.hub.start()
        await bench.hub.stop()
        assert requests
        requests.clear()
        await asyncio.sleep(10)
        assert requests == []

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())
