"""Lost devices are brought back by themselves: when, in which order, and when not."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench, make_bench
from tests.store_in_memory import StoreInMemory
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import DeviceNotReachable
from wifimgrd.domain.reconnect_policy import HOLD_S, LONGEST_WAIT_S

LOST_FOR_GOOD_S = 12.0
"""The grace time is over."""
CAMERA = b"SIM-CAM-1"


async def lost(bench: Bench, number: int = 1) -> DeviceId:
    """A device whose camera was switched off, and whose link is given up."""
    device = await bench.connected(number)
    bench.world.power_off_camera(b"SIM-CAM-%d" % number, orderly=True)
    await asyncio.sleep(LOST_FOR_GOOD_S)
    assert bench.state(device) is DeviceState.DISCONNECTED
    return device


async def switched_on(bench: Bench, number: int = 1) -> None:
    bench.world.power_on_camera(b"SIM-CAM-%d" % number)
    await asyncio.sleep(2 * LONGEST_WAIT_S)


async def being_brought_back_on_the_only_adapter(bench: Bench, device_id: DeviceId) -> None:
    """All adapters are unplugged, one comes back, and an automatic attempt runs on it."""
    for adapter in ("wlan0", "wlan1", "wlan2"):
        bench.world.unplug_adapter(adapter)
    await asyncio.sleep(5)
    bench.world.set_fault("slow-join", {"seconds": 5})
    bench.world.plug_adapter("wlan0")
    await asyncio.sleep(1)
    assert bench.state(device_id) is DeviceState.CONNECTING


def test_a_camera_that_comes_back_is_connected(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await lost(bench)
        assert bench.code(device) == "connection-lost"
        await switched_on(bench)
        assert bench.state(device) is DeviceState.CONNECTED
        assert bench.code(device) is None

    on_bench(test)


def test_disconnected_is_shown_before_anything_is_tried(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        bench.world.unplug_adapter("wlan0")
        await asyncio.sleep(HOLD_S - 0.01)
        assert bench.story.reported[-2:] == ["1 failed interface-lost", "1 disconnected"]
        await asyncio.sleep(2)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_a_camera_that_stays_away_disturbs_nobody(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await lost(bench)
        bench.story.forget()
        await asyncio.sleep(600)
        assert bench.story.reported == []
        assert bench.code(device) == "connection-lost"

    on_bench(test)


def test_a_failed_retry_keeps_the_error_and_reports_no_failure(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await lost(bench)
        bench.story.forget()
        bench.world.set_fault("dhcp-dead", {})
        await switched_on(bench)
        assert bench.code(device) == "connection-lost"
        assert "1 connecting" in bench.story.reported
        assert not [reported for reported in bench.story.reported if "failed" in reported]

    on_bench(test)


def test_a_failed_first_attempt_is_not_repeated(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.power_off_camera(CAMERA, orderly=True)
        device = await bench.create()
        with pytest.raises(DeviceNotReachable):
            await bench.hub.connections.connect(device, wait=True)
        bench.story.forget()
        await switched_on(bench)
        assert "1 connecting" not in bench.story.reported

    on_bench(test)


def test_a_failed_command_ends_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await lost(bench)
        with pytest.raises(DeviceNotReachable):
            await bench.hub.connections.connect(device, wait=True)
        await switched_on(bench)
        assert bench.state(device) is DeviceState.DISCONNECTED

    on_bench(test)


def test_a_users_disconnect_ends_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await lost(bench)
        await bench.hub.connections.disconnect(device)
        await switched_on(bench)
        assert bench.state(device) is DeviceState.DISCONNECTED

    on_bench(test)


def test_a_look_that_is_called_off_before_it_begins_leaves_the_adapter_to_others(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await lost(bench)
        reconnecting, entry = bench.hub._reconnecting, bench.entry(device)
        airtime = bench.hub._airtime
        for _ in range(100):
            await asyncio.sleep(0.1 if "wlan0" in airtime else 0)
        reconnecting.seen({entry.device.ssid})
        assert "wlan0" in airtime
        reconnecting.commanded(entry)
        await asyncio.sleep(0.1)
        assert "wlan0" not in airtime

    on_bench(test)


def test_a_removed_device_is_not_looked_for(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.hub.remove(await lost(bench))
        bench.story.forget()
        await switched_on(bench)
        assert bench.story.reported == []

    on_bench(test)


def test_it_goes_on_when_an_adapter_is_plugged_in(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        for adapter in ("wlan0", "wlan1", "wlan2"):
            bench.world.unplug_adapter(adapter)
        await asyncio.sleep(600)
        assert bench.state(device) is DeviceState.DISCONNECTED
        bench.world.plug_adapter("wlan1")
        await asyncio.sleep(1)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_all_are_back_when_the_backend_is(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        devices = [await bench.connected(number) for number in (1, 2, 3)]
        bench.world.set_fault("backend-gone", {})
        await asyncio.sleep(600)
        assert {bench.state(device) for device in devices} == {DeviceState.DISCONNECTED}
        bench.world.set_fault("backend-gone", {"off": True})
        await asyncio.sleep(5)
        assert {bench.state(device) for device in devices} == {DeviceState.CONNECTED}

    on_bench(test)


def test_the_higher_priority_gets_the_last_adapter(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        plain, important = await bench.connected(1), await bench.connected(2)
        await bench.hub.update(important, {"priority": 5})
        for adapter in ("wlan0", "wlan1", "wlan2"):
            bench.world.unplug_adapter(adapter)
        await asyncio.sleep(5)
        bench.world.plug_adapter("wlan2")
        await asyncio.sleep(5)
        assert (bench.state(plain), bench.state(important)) == (
            DeviceState.DISCONNECTED,
            DeviceState.CONNECTED,
        )

    on_bench(test)


def test_a_person_takes_the_adapter_of_an_attempt_that_nobody_asked_for(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        asked = await bench.create(2)
        await bench.hub.connections.disconnect(asked)
        await being_brought_back_on_the_only_adapter(bench, device)
        await bench.hub.connections.connect(asked, wait=True)
        assert (bench.state(device), bench.state(asked)) == (
            DeviceState.DISCONNECTED,
            DeviceState.CONNECTED,
        )

    on_bench(test)


def test_a_person_who_registers_a_camera_goes_before_such_an_attempt_too(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        await being_brought_back_on_the_only_adapter(bench, device)
        registered = await bench.create(2)
        assert bench.state(registered) is DeviceState.CONNECTING
        await asyncio.sleep(10)
        assert (bench.state(device), bench.state(registered)) == (
            DeviceState.DISCONNECTED,
            DeviceState.CONNECTED,
        )

    on_bench(test)


def test_a_device_can_be_left_out_of_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create()
        await bench.hub.update(device, {"auto_reconnect": False})
        await bench.hub.connections.connect(device, wait=True)
        bench.world.power_off_camera(CAMERA, orderly=True)
        await asyncio.sleep(LOST_FOR_GOOD_S)
        await switched_on(bench)
        assert bench.state(device) is DeviceState.DISCONNECTED
        await bench.hub.update(device, {"auto_reconnect": True})
        await asyncio.sleep(5)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_what_is_brought_back_says_since_when_it_is_away(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        assert bench.story.devices[device].lost_us == 0
        bench.world.power_off_camera(CAMERA, orderly=True)
        await asyncio.sleep(0.1)
        since = bench.story.devices[device].lost_us
        assert since > 0
        await asyncio.sleep(LOST_FOR_GOOD_S)
        assert bench.story.devices[device].lost_us == since
        await switched_on(bench)
        assert bench.story.devices[device].lost_us == 0

    on_bench(test)


@pytest.mark.parametrize("command", ["disconnect", "connect", "leave out"])
def test_a_command_ends_the_word_that_it_is_brought_back(on_bench: RunOnBench, command: str) -> None:
    async def test(bench: Bench) -> None:
        device = await lost(bench)
        assert bench.story.devices[device].lost_us
        match command:
            case "disconnect":
                await bench.hub.connections.disconnect(device)
            case "connect":
                with pytest.raises(DeviceNotReachable):
                    await bench.hub.connections.connect(device, wait=True)
            case "leave out":
                await bench.hub.update(device, {"auto_reconnect": False})
        assert bench.story.devices[device].lost_us == 0

    on_bench(test)


def test_a_failed_first_attempt_is_not_brought_back(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.power_off_camera(CAMERA, orderly=True)
        device = await bench.create()
        await asyncio.sleep(30)
        assert bench.code(device) == "device-not-reachable"
        assert bench.story.devices[device].lost_us == 0

    on_bench(test)


def in_two_lives(settings: HubSettings, *, disconnect: bool) -> DeviceState:
    """The state of a device that was connected in the hub's first run, in a second run without a link."""
    store = StoreInMemory()

    async def life(bench: Bench, *, first: bool) -> DeviceState:
        await bench.hub.start()
        bench.story.interfaces |= {one.interface.name: one for one in bench.hub.interface_statuses()}
        bench.story.devices |= {one.device.id: one for one in bench.hub.device_statuses()}
        if first:
            device = await bench.connected()
            if disconnect:
                await bench.hub.connections.disconnect(device)
        else:
            await asyncio.sleep(10)
        [status] = bench.hub.device_statuses()
        await bench.hub.stop()
        return status.state

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(life(make_bench(settings, store), first=True))
        return runner.run(life(make_bench(settings, store), first=False))


def test_a_host_that_starts_again_connects_what_was_connected() -> None:
    assert in_two_lives(HubSettings(), disconnect=False) is DeviceState.CONNECTED


def test_a_host_that_starts_again_leaves_alone_what_was_disconnected() -> None:
    assert in_two_lives(HubSettings(), disconnect=True) is DeviceState.DISCONNECTED


def test_the_configuration_can_forbid_it() -> None:
    forbidding = HubSettings(auto_reconnect=False)
    assert in_two_lives(forbidding, disconnect=False) is DeviceState.DISCONNECTED
