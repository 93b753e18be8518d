"""Connecting the cameras of a group in one step: who is disconnected for it, and what else may happen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, RunOnBench, make_bench
from tests.store_in_memory import StoreInMemory
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.config import catalog
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.device import DeviceId, DeviceState, PowerState
from wifimgrd.domain.errors import (
    BackendUnavailable,
    Busy,
    DeviceNotReachable,
    ErrorCode,
    GroupNotFound,
    NoInterfaceAvailable,
    WifimgrdError,
)
from wifimgrd.domain.events import GroupsChanged
from wifimgrd.domain.group import Group
from wifimgrd.domain.power import Sight

NOSE = Group("nose", ("Nose", "Chin"))


def grouped(*groups: Group) -> HubSettings:
    return HubSettings(models=catalog.load(), groups=groups)


async def registered(bench: Bench, *names: str, **priorities: int) -> list[DeviceId]:
    """Cameras that are registered and not connected."""
    devices = []
    for number, name in enumerate(names, 1):
        device = await bench.create(number, name=name, priority=priorities.get(name, 0))
        await bench.hub.connections.disconnect(device)
        devices.append(device)
    return devices


async def connect(bench: Bench, *devices: DeviceId) -> None:
    for device in devices:
        await bench.hub.connections.connect(device, wait=True)


def is_connected(bench: Bench, *devices: DeviceId) -> bool:
    return all(bench.state(one) is DeviceState.CONNECTED for one in devices)


def codes(ends: Mapping[DeviceId, WifimgrdError | None]) -> Sequence[str | None]:
    return [None if one is None else one.code.value for one in ends.values()]


def logged(entries: Sequence[Mapping[str, object]], event: str) -> list[Mapping[str, object]]:
    return [one for one in entries if one["event"] == event]


async def full_hub(bench: Bench, group: Group = NOSE, **priorities: int) -> list[DeviceId]:
    """Two members, and three others that have the three adapters."""
    await bench.hub.reconfigure(grouped(group))
    bench.world.add_camera(b"SIM-CAM-5", "camera-pass-5", {})
    bench.world.add_camera(b"SIM-CAM-6", "camera-pass-6", {})
    devices = await registered(bench, "Nose", "Chin", "Left", "Right", "Tail", **priorities)
    await connect(bench, *devices[2:])
    bench.story.forget()
    return devices


# -- the groups


def test_a_group_has_the_registered_devices_and_follows_their_names(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin = await registered(bench, "Nose", "Other")
        with capture_logs() as entries:
            await bench.hub.reconfigure(grouped(NOSE, Group("all", (nose, "Nose", chin, DeviceId(9)))))
        assert bench.hub.groups.all == {"nose": (nose,), "all": (nose, chin)}
        assert bench.hub.groups.missing == {"nose": ("Chin",), "all": ("9",)}
        assert [one["reason"] for one in logged(entries, "group_device_unknown")] == [
            'the group "all" has a camera with the id 9, but there is no such camera',
            'the group "nose" has a camera named "Chin", but there is no such camera',
        ]
        with capture_logs() as entries:
            await bench.hub.update(chin, {"name": "Chin"})
            assert bench.hub.groups.all["nose"] == (nose, chin)
            await bench.hub.remove(nose)
        assert bench.hub.groups.all == {"nose": (chin,), "all": (chin,)}
        assert len(logged(entries, "group_device_unknown")) == 3, (
            "what was known to be unknown is not repeated"
        )
        assert bench.hub.groups.missing == {"nose": ("Nose",), "all": (str(nose), "Nose", "9")}
        changes = [one for one in bench.story.events if isinstance(one, GroupsChanged)]
        assert changes[-1] == GroupsChanged(bench.hub.groups.all, bench.hub.groups.missing)

    on_bench(test)


def test_a_reload_names_what_is_unknown_again(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        for _ in range(2):
            with capture_logs() as entries:
                await bench.hub.reconfigure(grouped(NOSE))
            assert len(logged(entries, "group_device_unknown")) == 2

    on_bench(test)


def test_nobody_is_missed_in_the_journal_before_the_first_device_is_registered() -> None:
    async def life(store: StoreInMemory, name: str) -> Sequence[Mapping[str, object]]:
        with capture_logs() as entries:
            bench = make_bench(HubSettings(groups=(NOSE,)), store)
            await bench.hub.start()
            await bench.create(1, name=name)
            await bench.hub.stop()
        return logged(entries, "group_device_unknown")

    async def test() -> None:
        store = StoreInMemory()
        assert await life(store, "Tail") == []
        assert len(await life(store, "Wing")) == 2

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_a_name_that_looks_like_an_id_is_explained(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        with capture_logs() as entries:
            await bench.hub.reconfigure(grouped(Group("nose", ("3",))))
        [entry] = logged(entries, "group_device_unknown")
        assert str(entry["reason"]).endswith("(an id has no quotation marks: 3)")

    on_bench(test)


# -- the command


def test_the_cameras_of_the_lowest_priority_give_their_adapters_up(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, right, tail = await full_hub(bench, Left=1, Right=-5, Tail=0)
        with capture_logs() as entries:
            assert codes(await bench.hub.groups.connect("nose")) == [None, None]
        assert is_connected(bench, nose, chin, left)
        assert bench.state(right) is bench.state(tail) is DeviceState.DISCONNECTED
        assert [one["device"] for one in logged(entries, "freed_for_group")] == [right, tail]
        assert logged(entries, "group_connected")[0]["connected"] == 2

    on_bench(test)


def test_the_disconnected_ones_do_not_come_back_by_themselves(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, right, tail = await full_hub(bench, Left=1)
        await bench.hub.groups.connect("nose")
        await bench.hub.connections.disconnect(nose)
        await asyncio.sleep(3600)
        assert is_connected(bench, chin, left)
        assert bench.state(right) is bench.state(tail) is DeviceState.DISCONNECTED
        assert not bench.story.devices[tail].device.wanted

    on_bench(test)


def test_a_device_that_waits_for_an_adapter_gets_none_of_those(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, *_ = await full_hub(bench, Left=1)
        waiting = await bench.create(6)
        await bench.hub.connections.connect(waiting, wait=False, when_free=True)
        await bench.hub.groups.connect("nose")
        await asyncio.sleep(60)
        assert is_connected(bench, nose, chin, left)
        assert bench.story.devices[waiting].device.waiting_since_us
        await bench.hub.connections.disconnect(chin)
        await asyncio.sleep(60)
        assert is_connected(bench, waiting)

    on_bench(test)


def test_a_waiting_member_waits_no_longer(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, *_ = await full_hub(bench)
        await bench.hub.connections.connect(nose, wait=False, when_free=True)
        await bench.hub.groups.connect("nose")
        assert is_connected(bench, nose, chin)
        assert not bench.story.devices[nose].device.waiting_since_us

    on_bench(test)


def test_connected_members_stay_and_free_adapters_come_first(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.hub.reconfigure(grouped(NOSE))
        nose, chin, left = await registered(bench, "Nose", "Chin", "Left")
        await connect(bench, nose, left)
        before = bench.story.devices[nose].interface
        bench.story.forget()
        assert codes(await bench.hub.groups.connect("nose")) == [None, None]
        assert is_connected(bench, nose, chin, left)
        assert bench.story.devices[nose].interface == before
        assert not [one for one in bench.story.reported if one.startswith((f"{nose} ", f"{left} "))]

    on_bench(test)


def test_where_not_all_can_be_served_nothing_changes(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, _chin, left, right, tail = await full_hub(
            bench, Group("nose", ("Nose", "Chin", "Left", "Right"))
        )
        with capture_logs() as entries, pytest.raises(NoInterfaceAvailable, match="Chin"):
            await bench.hub.groups.connect("nose")
        assert bench.story.reported == []
        assert is_connected(bench, left, right, tail)
        assert bench.story.devices[nose].device.failure is None
        [entry] = logged(entries, "group_refused")
        assert (entry["group"], entry["code"]) == ("nose", ErrorCode.NO_INTERFACE_AVAILABLE)
        assert not [one for one in bench.hub_state.entries.values() if one.turns]

    on_bench(test)


def test_a_part_is_as_large_as_it_can_be(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        group = Group("nose", ("Nose", "Chin", "Left", "Right"))
        nose, chin, left, right, tail = await full_hub(bench, group, Chin=1)
        ends = await bench.hub.groups.connect("nose", partial=True)
        assert list(ends) == [nose, chin, left, right]
        assert codes(ends) == ["no-interface-available", None, None, None]
        assert is_connected(bench, chin, left, right)
        assert bench.state(tail) is bench.state(nose) is DeviceState.DISCONNECTED
        assert bench.story.devices[nose].device.failure is None

    on_bench(test)


def test_an_empty_group_has_an_empty_result(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.hub.reconfigure(grouped(NOSE))
        assert await bench.hub.groups.connect("nose") == {}

    on_bench(test)


def test_there_may_be_no_such_group(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        with pytest.raises(GroupNotFound, match=r'^there is no group "x{64}"$'):
            await bench.hub.groups.connect("x" * 1000)

    on_bench(test)


def test_a_failed_attempt_is_the_result_of_its_member_alone(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, *_ = await full_hub(bench)
        bench.world.power_off_camera(b"SIM-CAM-1", True)
        assert codes(await bench.hub.groups.connect("nose")) == ["device-not-reachable", None]
        assert is_connected(bench, chin)
        assert bench.code(nose) == "device-not-reachable"

    on_bench(test)


def test_while_the_backend_is_away_nothing_is_begun(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await full_hub(bench)
        bench.world.set_fault("backend-gone", {})
        bench.story.forget()
        with pytest.raises(BackendUnavailable):
            await bench.hub.groups.connect("nose", partial=True)
        assert bench.story.reported == []

    on_bench(test)


# -- members in other states


def test_a_member_that_is_connecting_keeps_its_attempt(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, _right, tail = await full_hub(bench)
        await bench.hub.connections.disconnect(tail)
        await bench.hub.connections.connect(nose, wait=False)
        attempt = bench.entry(nose).work.joining
        assert attempt is not None
        command = asyncio.create_task(bench.hub.groups.connect("nose"))
        await asyncio.sleep(0)
        assert bench.entry(nose).work.joining is attempt
        assert codes(await command) == [None, None]
        assert is_connected(bench, nose, chin, left)

    on_bench(test)


def test_a_member_that_is_disconnecting_is_connected_again(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, _right, tail = await full_hub(bench)
        await bench.hub.connections.disconnect(tail)
        await connect(bench, nose)
        await bench.hub.connections.disconnect(nose, wait=False)
        assert bench.state(nose) is DeviceState.DISCONNECTING
        assert codes(await bench.hub.groups.connect("nose")) == [None, None]
        assert is_connected(bench, nose, chin, left)

    on_bench(test)


def test_a_camera_that_leaves_anyway_is_waited_for_and_nobody_else_leaves(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, _, left, right, tail = await full_hub(bench, Group("nose", ("Nose",)), Left=9)
        await bench.hub.connections.disconnect(left, wait=False)
        assert codes(await bench.hub.groups.connect("nose")) == [None]
        assert is_connected(bench, nose, right, tail)

    on_bench(test)


def test_a_member_that_is_being_removed_is_busy(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, _chin, left, right, tail = await full_hub(bench)
        bench.entry(nose).removing = True
        with pytest.raises(Busy):
            await bench.hub.groups.connect("nose")
        assert is_connected(bench, left, right, tail)
        assert codes(await bench.hub.groups.connect("nose", partial=True)) == ["busy", None]
        bench.entry(nose).removing = False

    on_bench(test)


def test_nobody_is_disconnected_for_a_camera_that_sleeps_and_is_not_woken(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, right, tail = await full_hub(bench)
        bench.entry(nose).sleep.sight = Sight(PowerState.ASLEEP, 1)
        with pytest.raises(DeviceNotReachable, match="wifimgrctl wake 1"):
            await bench.hub.groups.connect("nose")
        assert is_connected(bench, left, right, tail)
        assert codes(await bench.hub.groups.connect("nose", partial=True)) == ["device-not-reachable", None]
        assert is_connected(bench, chin, left, right)

    on_bench(test)


def test_the_attempt_of_a_lost_camera_ends_and_it_is_looked_for_again(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, right, tail = await full_hub(bench)
        entry = bench.entry(left)
        entry.work.ask(automatic=True)  # as an attempt to reconnect it
        await bench.hub.groups.connect("nose")
        assert is_connected(bench, nose, chin, right)
        assert bench.story.devices[left].device.wanted
        assert not bench.story.devices[tail].device.wanted

    on_bench(test)


# -- commands and losses in the meantime


def test_a_disconnect_in_the_meantime_ends_the_members_turn(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, _right, tail = await full_hub(bench)
        command = asyncio.create_task(bench.hub.groups.connect("nose"))
        await asyncio.sleep(0)
        assert bench.state(tail) is DeviceState.DISCONNECTING
        await bench.hub.connections.disconnect(nose)
        assert codes(await command) == ["cancelled", None]
        assert bench.state(nose) is DeviceState.DISCONNECTED
        assert is_connected(bench, chin, left)
        await connect(bench, tail)

    on_bench(test)


def test_a_connect_in_the_meantime_is_the_same_attempt(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        nose, chin, left, *_ = await full_hub(bench)
        command = asyncio.create_task(bench.hub.groups.connect("nose"))
        await asyncio.sleep(0)
        await connect(bench, nose)
        assert codes(await command) == [None, None]
        assert is_connected(bench, nose, chin, left)

    on_bench(test)


def test_another_camera_gets_no_adapter_that_is_being_freed(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        _nose, _chin, _left, _right, tail = await full_hub(bench)
        other = await bench.create(6)
        bench.story.forget()
        command = asyncio.create_task(bench.hub.groups.connect("nose"))
        teardown = None
        while teardown is None:
            await asyncio.sleep(0)
            teardown = bench.entry(tail).work.leaving
        await asyncio.wait([teardown])
        assert bench.state(tail) is DeviceState.DISCONNECTED
        with pytest.raises(NoInterfaceAvailable):
            await bench.hub.connections.connect(other, wait=True)
        assert codes(await command) == [None, None]

    on_bench(test)


def test_of_two_groups_the_later_one_has_the_adapters(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        tail_group = Group("tail", ("Tail", "Chin", "Left"))
        nose, chin, left, _right, tail = await full_hub(bench)
        await bench.hub.reconfigure(grouped(NOSE, tail_group))
        first = asyncio.create_task(bench.hub.groups.connect("nose"))
        await asyncio.sleep(0)
        second = asyncio.create_task(bench.hub.groups.connect("tail"))
        assert codes(await second) == [None, None, None]
        assert codes(await first)[1] is None
        assert is_connected(bench, tail, chin, left)
        assert not is_connected(bench, nose)

    on_bench(test)


def test_an_adapter_that_vanishes_in_the_meantime_costs_its_member_the_attempt(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        _nose, _chin, left, _right, tail = await full_hub(bench, Nose=1)
        adapter = bench.story.devices[tail].interface
        assert adapter
        command = asyncio.create_task(bench.hub.groups.connect("nose"))
        await asyncio.sleep(0)
        bench.world.unplug_adapter(adapter)
        ends = await command
        assert sorted(map(str, codes(ends))) == ["None", "no-interface-available"]
        assert is_connected(bench, left)
        assert not bench.hub_state.allocator.promises

    on_bench(test)


def test_a_stop_in_the_meantime_answers(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await full_hub(bench)
        command = asyncio.create_task(bench.hub.groups.connect("nose"))
        await asyncio.sleep(0)
        await bench.hub.stop_work()
        assert codes(await command) == ["backend-unavailable"] * 2
        assert not bench.hub_state.allocator.promises

    on_bench(test)
