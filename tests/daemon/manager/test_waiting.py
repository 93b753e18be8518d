"""A device that is to be connected as soon as an interface is free: when that happens, and what ends it."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench, make_bench
from tests.store_in_memory import StoreInMemory
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus
from wifimgrd.domain.errors import Cancelled, NoInterfaceAvailable

ADAPTERS = ("wlan0", "wlan1", "wlan2")


async def on_one_adapter(bench: Bench) -> DeviceId:
    """Camera 1 is connected on the only adapter."""
    for adapter in ADAPTERS[1:]:
        bench.world.unplug_adapter(adapter)
    return await bench.connected(1)


async def waiting(bench: Bench, number: int, **fields: object) -> DeviceId:
    """A device whose first attempt was refused, and which waits for an adapter."""
    device = await bench.create(number, **fields)
    await bench.hub.connections.connect(device, wait=False, when_free=True)
    assert since(bench, device)
    return device


def since(bench: Bench, device_id: DeviceId) -> int:
    return bench.story.devices[device_id].device.waiting_since_us


def test_where_an_interface_is_free_the_option_changes_nothing(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create()
        await bench.hub.connections.disconnect(device)
        await bench.hub.connections.connect(device, wait=True, when_free=True)
        assert bench.state(device) is DeviceState.CONNECTED
        assert not since(bench, device)

    on_bench(test)


def test_where_none_is_free_the_device_waits_without_a_failure(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await on_one_adapter(bench)
        device = await bench.create(2)
        attempt_us = bench.story.devices[device].device.last_attempt_us
        bench.story.forget()
        await bench.hub.connections.connect(device, wait=True, when_free=True)
        assert bench.story.reported == ["2 disconnected"]
        assert since(bench, device)
        assert bench.story.devices[device].device.last_attempt_us == attempt_us

    on_bench(test)


def test_it_is_connected_as_soon_as_an_interface_is_free(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        holder = await on_one_adapter(bench)
        device = await waiting(bench, 2)
        await bench.hub.connections.disconnect(holder)
        await asyncio.sleep(1)
        assert bench.state(device) is DeviceState.CONNECTED
        assert not since(bench, device)

    on_bench(test)


def test_it_is_connected_when_an_adapter_is_plugged_in(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await on_one_adapter(bench)
        device = await waiting(bench, 2)
        bench.world.plug_adapter("wlan1")
        await asyncio.sleep(1)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_the_higher_priority_goes_first_then_the_earlier(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        holder = await on_one_adapter(bench)
        later_but_important = [await waiting(bench, 2), await waiting(bench, 3)]
        later_but_important.append(await waiting(bench, 4, priority=5))
        second, third, first = later_but_important
        await bench.hub.connections.disconnect(holder)
        await asyncio.sleep(1)
        order = []
        for _ in range(3):
            (connected,) = [one for one in bench.story.devices if bench.state(one) is DeviceState.CONNECTED]
            order.append(connected)
            await bench.hub.connections.disconnect(connected)
            await asyncio.sleep(1)
        assert order == [first, second, third]

    on_bench(test)


def test_a_priority_that_is_changed_counts_at_once(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        holder = await on_one_adapter(bench)
        first, second = await waiting(bench, 2), await waiting(bench, 3)
        await bench.hub.update(second, {"priority": 1})
        await bench.hub.connections.disconnect(holder)
        await asyncio.sleep(1)
        assert bench.state(second) is DeviceState.CONNECTED
        assert since(bench, first)

    on_bench(test)


def test_lost_and_waiting_devices_share_one_order(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        lost = await on_one_adapter(bench)
        bench.world.unplug_adapter("wlan0")
        await asyncio.sleep(5)
        late = await waiting(bench, 2)
        important = await waiting(bench, 3, priority=1)
        bench.world.plug_adapter("wlan0")
        await asyncio.sleep(3)
        assert bench.state(important) is DeviceState.CONNECTED
        await bench.hub.connections.disconnect(important)
        await asyncio.sleep(3)
        assert bench.state(lost) is DeviceState.CONNECTED
        assert since(bench, late)

    on_bench(test)


@pytest.mark.parametrize("ending", ["disconnect", "remove"])
def test_a_disconnect_and_a_removal_end_it(on_bench: RunOnBench, ending: str) -> None:
    async def test(bench: Bench) -> None:
        holder = await on_one_adapter(bench)
        device = await waiting(bench, 2)
        if ending == "disconnect":
            bench.story.forget()
            await bench.hub.connections.disconnect(device)
            assert bench.story.reported == ["2 disconnected"]
            assert not since(bench, device)
        else:
            await bench.hub.remove(device)
        bench.story.forget()
        await bench.hub.connections.disconnect(holder)
        await asyncio.sleep(60)
        assert not [reported for reported in bench.story.reported if reported.startswith("2 ")]

    on_bench(test)


def test_an_attempt_that_fails_is_its_outcome(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        holder = await on_one_adapter(bench)
        device = await waiting(bench, 2)
        bench.world.power_off_camera(b"SIM-CAM-2", orderly=True)
        bench.story.forget()
        await bench.hub.connections.disconnect(holder)
        await asyncio.sleep(60)
        assert [reported for reported in bench.story.reported if reported.startswith("2 ")] == [
            "2 connecting",
            "2 failed device-not-reachable",
            "2 disconnected",
        ]
        assert not since(bench, device)

    on_bench(test)


def test_a_disconnect_of_its_attempt_cancels_it_and_ends_the_waiting(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        holder = await on_one_adapter(bench)
        device = await waiting(bench, 2)
        bench.world.set_fault("slow-join", {"seconds": 5})
        await bench.hub.connections.disconnect(holder)
        await asyncio.sleep(1)
        assert bench.state(device) is DeviceState.CONNECTING
        joined = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await asyncio.sleep(0.1)
        await bench.hub.connections.disconnect(device)
        with pytest.raises(Cancelled):
            await joined
        await asyncio.sleep(60)
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert not since(bench, device)

    on_bench(test)


def test_a_connect_without_the_option_is_refused_and_leaves_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        holder = await on_one_adapter(bench)
        device = await waiting(bench, 2)
        before = since(bench, device)
        with pytest.raises(NoInterfaceAvailable):
            await bench.hub.connections.connect(device, wait=False)
        assert since(bench, device) == before
        await bench.hub.connections.disconnect(holder)
        await asyncio.sleep(1)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_who_waits_and_asks_again_keeps_the_place(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await on_one_adapter(bench)
        device = await waiting(bench, 2)
        before = since(bench, device)
        await bench.hub.connections.connect(device, wait=False, when_free=True)
        assert since(bench, device) == before

    on_bench(test)


def test_it_does_not_need_auto_reconnect(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        holder = await on_one_adapter(bench)
        device = await waiting(bench, 2)
        await bench.hub.update(device, {"auto_reconnect": False})
        await bench.hub.connections.disconnect(holder)
        await asyncio.sleep(1)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


@pytest.mark.parametrize("during", ["waiting", "attempt"])
def test_a_restart_keeps_it(during: str) -> None:
    async def test() -> None:
        store = StoreInMemory()
        bench = make_bench(store=store)
        await bench.hub.start()
        holder = await on_one_adapter(bench)
        device = await waiting(bench, 2)
        if during == "attempt":
            bench.world.set_fault("slow-join", {"seconds": 5})
            await bench.hub.connections.disconnect(holder)
            await asyncio.sleep(1)
            assert bench.state(device) is DeviceState.CONNECTING
        await bench.hub.stop()
        assert store.devices[device].waiting_since_us
        later = make_bench(store=store)
        later.story.devices = {one: DeviceStatus(known) for one, known in store.devices.items()}
        await later.hub.start()
        await asyncio.sleep(1)
        (status,) = [one for one in later.hub.device_statuses() if one.device.id == device]
        assert status.state is DeviceState.CONNECTED
        assert not status.device.waiting_since_us
        await later.hub.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_a_person_who_asks_first_is_not_made_to_wait_by_an_attempt_that_nobody_asked_for(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        lost = await on_one_adapter(bench)
        bench.world.unplug_adapter("wlan0")
        await asyncio.sleep(5)
        bench.world.set_fault("slow-join", {"seconds": 5})
        bench.world.plug_adapter("wlan0")
        await asyncio.sleep(1)
        assert bench.state(lost) is DeviceState.CONNECTING
        device = await bench.create(2)
        await bench.hub.connections.connect(device, wait=True, when_free=True)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)
