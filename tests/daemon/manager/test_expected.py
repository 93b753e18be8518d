"""Which devices are one of the rig: what the last command has asked for, whatever became of it."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench, on_bench
from tests.daemon.manager.test_groups import full_hub
from tests.daemon.manager.test_power import paired
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import Busy, NoInterfaceAvailable
from wifimgrd.domain.events import DeviceUpdated
from wifimgrd.domain.group import Group

__all__ = ["on_bench"]


def expected(bench: Bench, device: DeviceId) -> bool:
    """What clients were told."""
    return bench.story.devices[device].device.expected


def test_a_device_is_expected_from_its_creation_if_that_connects_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        assert expected(bench, await bench.create(1))
        assert not expected(bench, await bench.create(2, connect=False))

    on_bench(test)


def test_one_whose_first_attempt_is_refused_is_not_expected_and_one_that_waits_is(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        for number in (1, 2, 3):
            await bench.connected(number)
        refused = await bench.create(4)
        assert not expected(bench, refused)
        assert bench.story.of(DeviceUpdated) == []
        waiting = await bench.create(4, name="Second", when_free=True)
        assert expected(bench, waiting)

    on_bench(test)


def test_a_connect_that_is_refused_has_asked_all_the_same(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        for number in (1, 2, 3):
            await bench.connected(number)
        refused = await bench.create(4)
        with pytest.raises(NoInterfaceAvailable):
            await bench.hub.connections.connect(refused, wait=False)
        assert expected(bench, refused)

    on_bench(test)


def test_failure_loss_and_waiting_do_not_change_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=False)
        await asyncio.sleep(120)
        assert bench.state(device) is not DeviceState.CONNECTED
        assert expected(bench, device)
        wrong = await bench.create(2, password="wrong-password")
        await asyncio.sleep(30)
        assert bench.code(wrong) == "authentication-failed"
        assert expected(bench, wrong)

    on_bench(test)


def test_a_disconnect_ends_it_also_of_a_device_that_is_disconnected(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.connections.disconnect(device)
        assert not expected(bench, device)
        lost = await bench.connected(2)
        bench.world.power_off_camera(b"SIM-CAM-2", orderly=True)
        await asyncio.sleep(30)
        assert bench.state(lost) is DeviceState.DISCONNECTED
        await bench.hub.connections.disconnect(lost)
        assert not expected(bench, lost)

    on_bench(test)


def test_a_connect_of_a_connected_device_changes_that_alone(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        bench.hub_state.expect(bench.entry(device), connected=False)
        bench.story.forget()
        await bench.hub.connections.connect(device, wait=True)
        [event] = bench.story.events
        assert isinstance(event, DeviceUpdated)
        assert event.status.device.expected
        assert event.status.state is DeviceState.CONNECTED

    on_bench(test)


def test_a_connect_that_is_busy_has_asked_for_nothing(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.connections.disconnect(device, wait=False)
        with pytest.raises(Busy):
            await bench.hub.connections.connect(device, wait=False)
        assert not expected(bench, device)

    on_bench(test)


def test_it_is_on_disk(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        assert bench.store.devices[device].expected
        await bench.hub.connections.disconnect(device)
        assert not bench.store.devices[device].expected

    on_bench(test)


def test_a_group_makes_its_members_expected_and_those_it_displaces_not(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, right, tail = await full_hub(bench, Left=1, Right=-5, Tail=0)
        await bench.hub.groups.connect("nose")
        assert [expected(bench, one) for one in (nose, chin, left)] == [True] * 3
        assert [expected(bench, one) for one in (right, tail)] == [False] * 2

    on_bench(test)


def test_a_group_that_is_refused_as_a_whole_changes_nothing(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        group = Group("nose", ("Nose", "Chin", "Left", "Right"))
        nose, chin, *others = await full_hub(bench, group)
        with pytest.raises(NoInterfaceAvailable):
            await bench.hub.groups.connect("nose")
        assert [expected(bench, one) for one in (nose, chin)] == [False] * 2
        assert all(expected(bench, one) for one in others)
        await bench.hub.groups.connect("nose", partial=True)
        assert all(expected(bench, one) for one in (nose, chin, *others[:2]))

    on_bench(test)


def test_a_sleep_ends_it_also_of_a_camera_that_sleeps(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        assert expected(bench, device), "falling asleep does not change it"
        await bench.hub.bluetooth.sleep(device, wait=True)
        assert not expected(bench, device)

    on_bench(test)
