"""Adapters that are freed for a command: who gets them, and what ends the wait for them."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, DeviceState, Link
from wifimgrd.domain.errors import Cancelled, NoInterfaceAvailable
from wifimgrd.domain.group import Group

FREED_S = 1.0
"""How long an attempt on the simulated adapter takes to end."""


async def idle(bench: Bench, number: int) -> DeviceId:
    """A camera that is not connected, and is not to be."""
    device = await bench.create(number)
    await bench.hub.connections.disconnect(device)
    return device


def make_attempts_slow_to_end(bench: Bench) -> None:
    join = bench.world.backend.join

    async def slow(request: JoinRequest) -> Link:
        try:
            return await join(request)
        except asyncio.CancelledError:
            await asyncio.sleep(FREED_S)
            raise

    bench.world.backend.join = slow  # type: ignore[method-assign]
    bench.world.set_fault("slow-join", {"seconds": 10})


async def contested(bench: Bench) -> tuple[DeviceId, DeviceId, DeviceId]:
    """On the only adapter runs the automatic attempt of a lost camera; another one waits for it, and a third
    one does nothing."""
    for adapter in ("wlan1", "wlan2"):
        bench.world.unplug_adapter(adapter)
    lost = await bench.connected(1)
    await bench.hub.update(lost, {"priority": 5})
    third, waiting = await idle(bench, 3), await idle(bench, 2)
    await bench.hub.connections.connect(waiting, wait=False, when_free=True)
    bench.world.unplug_adapter("wlan0")
    await asyncio.sleep(5)
    make_attempts_slow_to_end(bench)
    bench.world.plug_adapter("wlan0")
    await asyncio.sleep(1)
    assert bench.state(lost) is DeviceState.CONNECTING
    assert bench.story.devices[waiting].device.waiting_since_us
    return lost, waiting, third


def test_a_command_gets_the_adapter_for_which_it_ends_an_automatic_attempt(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        _, waiting, third = await contested(bench)
        await bench.hub.connections.connect(third, wait=False)
        assert bench.state(third) is DeviceState.CONNECTING
        assert bench.story.devices[waiting].device.waiting_since_us

    on_bench(test)


def test_two_commands_at_once_each_get_the_adapter_of_an_automatic_attempt(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        lost = [await bench.connected(1), await bench.connected(2)]
        wanted = [await idle(bench, 3), await idle(bench, 4)]
        for adapter in ("wlan0", "wlan1", "wlan2"):
            bench.world.unplug_adapter(adapter)
        await asyncio.sleep(5)
        bench.world.set_fault("slow-join", {"seconds": 10})
        bench.world.plug_adapter("wlan0")
        bench.world.plug_adapter("wlan1")
        await asyncio.sleep(1)
        assert [bench.state(one) for one in lost] == [DeviceState.CONNECTING] * 2
        results = await asyncio.gather(
            *(bench.hub.connections.connect(one, wait=False) for one in wanted), return_exceptions=True
        )
        assert results == [None, None]

    on_bench(test)


def test_two_commands_for_one_camera_are_one_attempt_while_its_adapter_is_freed(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        _, _, third = await contested(bench)
        results = await asyncio.gather(
            *(bench.hub.connections.connect(third, wait=True) for _ in range(2)), return_exceptions=True
        )
        assert results == [None, None]
        assert bench.state(third) is DeviceState.CONNECTED

    on_bench(test)


def test_a_disconnect_ends_a_command_for_which_an_adapter_is_freed(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        _, waiting, third = await contested(bench)
        connect = asyncio.create_task(bench.hub.connections.connect(third, wait=True))
        await asyncio.sleep(FREED_S / 2)
        await bench.hub.connections.disconnect(third)
        with pytest.raises(Cancelled):
            await connect
        await asyncio.sleep(FREED_S)
        assert bench.state(third) is DeviceState.DISCONNECTED
        assert bench.state(waiting) is DeviceState.CONNECTING  # it gets what nobody else needs

    on_bench(test)


def test_a_connect_after_a_disconnect_counts_while_an_adapter_is_still_freed(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        _, _, third = await contested(bench)
        first = asyncio.create_task(bench.hub.connections.connect(third, wait=True))
        await asyncio.sleep(FREED_S / 2)
        await bench.hub.connections.disconnect(third)
        await bench.hub.connections.connect(third, wait=True)
        with pytest.raises(Cancelled):
            await first
        assert bench.state(third) is DeviceState.CONNECTED

    on_bench(test)


def test_a_disconnect_ends_a_command_whose_camera_a_group_has_connected_meanwhile(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        _, waiting, third = await contested(bench)
        await bench.hub.connections.disconnect(waiting)
        await bench.hub.reconfigure(HubSettings(groups=(Group("one", (third,)),)))
        connect = asyncio.create_task(bench.hub.connections.connect(third, wait=True))
        await asyncio.sleep(FREED_S / 4)
        bench.world.plug_adapter("wlan1")
        await asyncio.sleep(FREED_S / 4)
        group = asyncio.create_task(bench.hub.groups.connect("one"))
        await asyncio.sleep(FREED_S / 4)
        await bench.hub.connections.disconnect(third)
        with pytest.raises(Cancelled):
            await connect
        assert isinstance((await group)[third], Cancelled)
        await asyncio.sleep(30)
        assert bench.state(third) is DeviceState.DISCONNECTED

    on_bench(test)


def test_a_command_that_is_cancelled_leaves_the_adapter_to_who_waits(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        _, waiting, third = await contested(bench)
        connect = asyncio.create_task(bench.hub.connections.connect(third, wait=True))
        await asyncio.sleep(FREED_S / 2)
        connect.cancel()
        await asyncio.sleep(FREED_S)
        assert bench.state(waiting) is DeviceState.CONNECTING

    on_bench(test)


def test_where_the_adapter_is_pulled_out_meanwhile_the_next_one_is_for_who_waits(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        lost, waiting, third = await contested(bench)
        await bench.hub.update(lost, {"priority": -5})
        connect = asyncio.create_task(bench.hub.connections.connect(third, wait=True))
        await asyncio.sleep(FREED_S / 2)
        bench.world.unplug_adapter("wlan0")
        with pytest.raises(NoInterfaceAvailable):
            await connect
        bench.world.plug_adapter("wlan0")
        await asyncio.sleep(1)
        assert bench.state(waiting) is DeviceState.CONNECTING

    on_bench(test)


# -- members of a group


async def group_of_one(bench: Bench) -> tuple[DeviceId, asyncio.Task[object]]:
    """The only adapter is being freed for the member of a group; returns the member and the command."""
    for adapter in ("wlan1", "wlan2"):
        bench.world.unplug_adapter(adapter)
    member = await idle(bench, 1)
    await bench.connected(2)
    await bench.hub.reconfigure(HubSettings(groups=(Group("pair", (member,)),)))
    bench.world.set_fault("slow-leave", {"seconds": 5})
    group: asyncio.Task[object] = asyncio.create_task(bench.hub.groups.connect("pair"))
    await asyncio.sleep(1)
    return member, group


@pytest.mark.parametrize("when_free", [False, True])
def test_a_disconnect_ends_a_connect_that_waits_for_the_adapter_of_its_group(
    on_bench: RunOnBench, when_free: bool
) -> None:
    async def test(bench: Bench) -> None:
        member, group = await group_of_one(bench)
        connect = asyncio.create_task(bench.hub.connections.connect(member, wait=True, when_free=when_free))
        await asyncio.sleep(1)
        assert not connect.done()
        await bench.hub.connections.disconnect(member)
        with pytest.raises(Cancelled):
            await connect
        await group
        await asyncio.sleep(30)
        assert bench.state(member) is DeviceState.DISCONNECTED

    on_bench(test)


@pytest.mark.parametrize("when_free", [False, True])
def test_a_connect_after_a_disconnect_counts_while_the_adapter_of_its_group_is_still_freed(
    on_bench: RunOnBench, when_free: bool
) -> None:
    async def test(bench: Bench) -> None:
        member, group = await group_of_one(bench)
        await bench.hub.connections.disconnect(member)
        await bench.hub.connections.connect(member, wait=False, when_free=when_free)
        await group
        await asyncio.sleep(30)
        assert bench.state(member) is DeviceState.CONNECTED

    on_bench(test)


def test_a_disconnect_after_a_group_that_waits_for_another_one_counts(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        member, first = await group_of_one(bench)
        second = asyncio.create_task(bench.hub.groups.connect("pair"))
        await asyncio.sleep(1)
        await bench.hub.connections.disconnect(member)
        await first
        assert isinstance((await second)[member], Cancelled)
        assert bench.state(member) is DeviceState.DISCONNECTED

    on_bench(test)


def test_what_a_group_does_not_need_after_all_is_for_who_waits(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        waiting = await idle(bench, 3)
        member, group = await group_of_one(bench)
        await bench.hub.connections.connect(waiting, wait=False, when_free=True)
        await bench.hub.connections.disconnect(member)
        await group
        await asyncio.sleep(1)
        assert bench.state(waiting) is DeviceState.CONNECTED

    on_bench(test)
