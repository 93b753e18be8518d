"""When a device failed, and when it was connected last."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench, make_bench
from tests.store_in_memory import StoreInMemory
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.domain.device import Device, DeviceId, DeviceState
from wifimgrd.domain.errors import DeviceNotReachable


def device_of(bench: Bench, device_id: DeviceId) -> Device:
    return bench.story.devices[device_id].device


def test_a_failure_has_the_time_of_its_end(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        device = await bench.create()
        with pytest.raises(DeviceNotReachable):
            await bench.hub.connections.connect(device, wait=True)
        now = device_of(bench, device)
        assert now.failure is not None
        assert now.failure.at_us > now.last_attempt_us > 0
        assert now.last_disconnection_us == 0

    on_bench(test)


def test_an_error_keeps_its_time_until_a_success_clears_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        device = await bench.create()
        with pytest.raises(DeviceNotReachable):
            await bench.hub.connections.connect(device, wait=True)
        failure = device_of(bench, device).failure
        await bench.hub.connections.disconnect(device)
        assert device_of(bench, device).failure == failure
        bench.world.power_on_camera(b"SIM-CAM-1")
        await bench.hub.connections.connect(device, wait=True)
        assert device_of(bench, device).failure is None

    on_bench(test)


def test_a_disconnect_sets_the_last_disconnection_and_no_error(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        assert device_of(bench, device).last_disconnection_us == 0
        connected_us = device_of(bench, device).last_success_us
        await bench.hub.connections.disconnect(device)
        now = device_of(bench, device)
        assert now.last_disconnection_us > now.last_success_us == connected_us
        assert now.failure is None

    on_bench(test)


def test_a_link_that_drops_sets_the_last_disconnection_at_once(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        await asyncio.sleep(1)
        assert bench.state(device) is DeviceState.CONNECTING
        dropped_us = device_of(bench, device).last_disconnection_us
        assert dropped_us > device_of(bench, device).last_success_us
        await asyncio.sleep(12)
        now = device_of(bench, device)
        assert now.last_disconnection_us == dropped_us
        assert now.failure is not None
        assert now.failure.at_us > dropped_us

    on_bench(test)


def test_a_link_that_ended_while_the_hub_was_stopped_has_the_time_at_which_that_was_found() -> None:
    async def test() -> None:
        store = StoreInMemory()
        bench = make_bench(store=store)
        await bench.hub.start()
        device = await bench.connected()
        await bench.hub.stop()
        later = make_bench(store=store)
        await later.hub.start()
        now = store.devices[device]
        assert now.last_disconnection_us > 0
        await later.hub.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())
