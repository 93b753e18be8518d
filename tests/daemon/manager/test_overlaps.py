"""Commands and events that cross: the contract's section on overlaps, one by one."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.daemon.manager._state import PULL_S
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import DeviceId, DeviceState, Link
from wifimgrd.domain.errors import (
    BackendUnavailable,
    Busy,
    Cancelled,
    ConnectionLost,
    DeviceNotFound,
    InterfaceLost,
    InvalidRequest,
    NoInterfaceAvailable,
)
from wifimgrd.domain.interface import BackendFacts


def test_connect_while_connecting_joins_the_attempt(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create()
        await asyncio.gather(*(bench.hub.connections.connect(device, wait=True) for _ in range(3)))
        assert bench.story.reported.count("1 connecting") == 1

    on_bench(test)


def test_connect_while_connected_changes_nothing(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        await bench.hub.connections.connect(device, wait=True)
        assert bench.story.reported == []

    on_bench(test)


def test_disconnect_while_disconnecting_waits_for_the_same_end(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        await asyncio.gather(*(bench.hub.connections.disconnect(device) for _ in range(3)))
        assert bench.story.reported == ["1 disconnecting", "wlan0 available", "1 disconnected"]

    on_bench(test)


def test_connect_while_disconnecting_is_busy(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        leaving = asyncio.create_task(bench.hub.connections.disconnect(device))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await bench.hub.connections.connect(device, wait=False)
        await leaving

    on_bench(test)


def test_disconnect_cancels_an_attempt_and_who_waits_for_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create()
        waiting = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await asyncio.sleep(0.05)
        await bench.hub.connections.disconnect(device)
        with pytest.raises(Cancelled):
            await waiting
        assert bench.code(device) is None
        assert not [reported for reported in bench.story.reported if "failed" in reported]

    on_bench(test)


def test_a_removal_cancels_frees_and_reports_all_of_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create()
        waiting = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await asyncio.sleep(0.05)
        bench.story.forget()
        removing = asyncio.create_task(bench.hub.remove(device))
        await asyncio.sleep(0)
        for command in (
            bench.hub.connections.connect(device, wait=False),
            bench.hub.connections.disconnect(device),
            bench.hub.update(device, {"name": "x"}),
            bench.hub.remove(device),
        ):
            with pytest.raises(Busy):
                await command
        await removing
        with pytest.raises(Cancelled):
            await waiting
        assert bench.story.reported == ["1 disconnecting", "wlan0 available", "1 disconnected", "1 removed"]
        with pytest.raises(DeviceNotFound):
            await bench.hub.connections.connect(device, wait=False)

    on_bench(test)


def test_a_removal_while_disconnecting_waits_for_that(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        leaving = asyncio.create_task(bench.hub.connections.disconnect(device))
        await asyncio.sleep(0)
        await bench.hub.remove(device)
        await leaving
        assert bench.story.reported[-2:] == ["1 disconnected", "1 removed"]

    on_bench(test)


def test_new_settings_leave_the_link_and_serve_the_next_attempt(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.update(device, {"ssid": "SIM-CAM-2", "password": "camera-pass-2"})
        assert bench.story.reported == ["1 updated"]
        assert bench.state(device) is DeviceState.CONNECTED
        await bench.hub.connections.disconnect(device)
        await bench.hub.connections.connect(device, wait=True)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_a_refused_update_changes_nothing(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        with pytest.raises(InvalidRequest):
            await bench.hub.update(device, {"name": "good", "password": "short"})
        assert bench.story.reported == []
        assert bench.store.devices[device].name == "SIM-CAM-1"

    on_bench(test)


def test_an_error_stays_until_a_success_and_a_disconnect_does_not_clear_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create(password="wrong-password")
        with pytest.raises(Exception, match="SIM-CAM-1"):
            await bench.hub.connections.connect(device, wait=True)
        await bench.hub.connections.disconnect(device)
        assert bench.code(device) == "authentication-failed"
        await bench.hub.update(device, {"password": "camera-pass-1"})
        assert bench.code(device) == "authentication-failed"
        await bench.hub.connections.connect(device, wait=False)
        assert bench.code(device) == "authentication-failed"
        await bench.hub.connections.connect(device, wait=True)
        assert bench.code(device) is None

    on_bench(test)


def test_one_network_registered_twice_takes_two_adapters(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        first, second = await bench.connected(1), await bench.connected(1)
        assert bench.story.devices[first].interface != bench.story.devices[second].interface

    on_bench(test)


def test_a_device_gets_its_last_adapter_back(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        first, second = await bench.connected(1), await bench.connected(2)
        for device in (first, second):
            await bench.hub.connections.disconnect(device)
        await bench.hub.connections.connect(second, wait=True)
        await bench.hub.connections.connect(first, wait=True)
        assert bench.story.devices[second].interface == "wlan1"
        assert bench.story.devices[first].interface == "wlan0"

    on_bench(test)


def test_a_pulled_adapter_ends_an_attempt_at_once(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create()
        waiting = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await asyncio.sleep(0.05)
        bench.story.forget()
        bench.world.unplug_adapter("wlan0")
        assert bench.story.reported == ["wlan0 removed", "1 failed interface-lost", "1 disconnected"]
        with pytest.raises(InterfaceLost):
            await waiting
        await bench.hub.connections.connect(device, wait=True)
        assert bench.story.devices[device].interface == "wlan1"

    on_bench(test)


def test_an_adapter_that_the_backend_loses_first_is_removed_before_the_attempt_fails(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        backend = bench.world.backend

        async def join(request: JoinRequest) -> Link:
            assert backend.listener is not None
            backend.listener.interface_facts(request.interface, None)
            raise InterfaceLost("the adapter wlan0 was pulled out")

        backend.join = join  # type: ignore[method-assign]
        device = await bench.create()
        waiting = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await asyncio.sleep(PULL_S / 2)
        bench.story.forget()
        bench.world.unplug_adapter("wlan0")
        with pytest.raises(InterfaceLost):
            await waiting
        assert bench.story.reported == ["wlan0 removed", "1 failed interface-lost", "1 disconnected"]

    on_bench(test)


def test_an_adapter_pulled_while_disconnecting_is_no_failure(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        leaving = asyncio.create_task(bench.hub.connections.disconnect(device))
        await asyncio.sleep(0)
        bench.world.unplug_adapter("wlan0")
        await leaving
        assert bench.story.reported == ["1 disconnecting", "wlan0 removed", "1 disconnected"]
        assert bench.code(device) is None

    on_bench(test)


def test_an_adapter_pulled_while_an_automatic_attempt_is_disconnected_leaves_nothing_automatic(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        for adapter in ("wlan0", "wlan1", "wlan2"):
            bench.world.unplug_adapter(adapter)
        bench.world.set_fault("slow-join", {"seconds": 5})
        bench.world.plug_adapter("wlan0")
        await asyncio.sleep(2)
        assert bench.state(device) is DeviceState.CONNECTING  # by itself
        ending = asyncio.create_task(bench.hub.connections.disconnect(device))
        await asyncio.sleep(0)
        bench.world.unplug_adapter("wlan0")
        await ending
        bench.story.forget()
        with pytest.raises(NoInterfaceAvailable):
            await bench.hub.connections.connect(device, wait=False)
        assert bench.story.reported == ["1 failed no-interface-available", "1 disconnected"]
        assert bench.code(device) == "no-interface-available"

    on_bench(test)


def test_a_link_that_does_not_come_back_is_lost_after_the_grace_time(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        await asyncio.sleep(4)  # by then its adapter is told to be good
        bench.story.forget()
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        assert bench.story.reported == ["1 connecting"]
        assert bench.code(device) == "connection-lost"
        waiting = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await asyncio.sleep(9.9)
        assert bench.state(device) is DeviceState.CONNECTING
        with pytest.raises(ConnectionLost):
            await waiting
        assert bench.story.reported == [
            "1 connecting",
            "wlan0 available",
            "1 failed connection-lost",
            "1 disconnected",
        ]

    on_bench(test)


def test_a_disconnect_ends_the_wait_for_a_lost_link(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        await asyncio.sleep(4)  # by then its adapter is told to be good
        bench.story.forget()
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        await bench.hub.connections.disconnect(device)
        await asyncio.sleep(20)
        assert bench.story.reported == [
            "1 connecting",
            "1 disconnecting",
            "wlan0 available",
            "1 disconnected",
        ]

    on_bench(test)


def test_a_refusal_never_passes_through_connecting_and_counts_as_an_attempt(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        for number in (1, 2, 3):
            await bench.connected(number)
        device = await bench.create(4)
        assert bench.story.reported == ["4 created", "4 failed no-interface-available", "4 disconnected"]
        assert bench.story.devices[device].device.last_attempt_us > 0
        with pytest.raises(NoInterfaceAvailable) as caught:
            await bench.hub.connections.connect(device, wait=False)
        assert set(caught.value.reasons) == {"wlan0", "wlan1", "wlan2"}

    on_bench(test)


def test_without_the_backend_an_attempt_is_refused_and_the_device_is_kept(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.set_fault("backend-gone", {})
        bench.story.forget()
        device = await bench.create()
        assert bench.story.reported == ["1 created", "1 failed backend-unavailable", "1 disconnected"]
        with pytest.raises(BackendUnavailable):
            await bench.hub.connections.connect(device, wait=True)

    on_bench(test)


def test_two_creates_at_once_get_different_default_names(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await asyncio.gather(bench.create(1), bench.create(1), bench.create(1))
        names = [status.device.name for status in bench.story.devices.values()]
        assert names == ["SIM-CAM-1", "SIM-CAM-1 #2", "SIM-CAM-1 #3"]

    on_bench(test)


def test_a_camera_waits_for_an_adapter_of_its_band_where_there_is_one(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(3)  # met on 5 GHz
        await bench.hub.connections.disconnect(device)
        only_2_4 = BackendFacts(bands=frozenset({Band.GHZ_2_4}))
        for name in ("wlan0", "wlan1"):
            bench.learn(name, only_2_4)
        await bench.connected(1)
        await bench.connected(2)
        await bench.hub.connections.connect(device, wait=True)
        assert bench.story.devices[device].interface == "wlan2"
        await bench.hub.connections.disconnect(device)
        await bench.hub.connections.disconnect(DeviceId(2))
        bench.learn("wlan2", only_2_4)
        await bench.hub.connections.connect(device, wait=True)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_two_changes_at_once_are_both_kept(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        await asyncio.gather(
            bench.hub.update(device, {"name": "Nose"}), bench.hub.update(device, {"ssid": "SIM-CAM-2"})
        )
        stored = bench.store.devices[device]
        assert (stored.name, stored.ssid.data) == ("Nose", b"SIM-CAM-2")
        assert bench.story.devices[device].device == stored

    on_bench(test)


def test_a_disconnect_during_the_end_of_a_lost_link_waits_for_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        bench.world.set_fault("slow-leave", {"seconds": 3})
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        await asyncio.sleep(10.5)
        begun = asyncio.get_running_loop().time()
        await bench.hub.connections.disconnect(device)
        assert asyncio.get_running_loop().time() - begun >= 2.4

    on_bench(test)


def test_a_caller_that_waits_when_the_hub_stops_gets_an_error(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.set_fault("slow-join", {"seconds": 15})
        device = await bench.create()
        waiting = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await asyncio.sleep(0)
        await bench.hub.stop_work()
        with pytest.raises(BackendUnavailable):
            await waiting
        await bench.hub.connections.disconnect(device)

    on_bench(test)


@pytest.mark.parametrize(("step", "task"), [("establish", "attempt"), ("free", "leave")])
def test_a_bug_at_the_end_of_an_attempt_or_a_disconnect_is_logged_at_once(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch, step: str, task: str
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("a bug")

    async def test(bench: Bench) -> None:
        with monkeypatch.context() as patch, capture_logs() as entries:
            if step == "establish":
                patch.setattr(bench.hub_state, step, fails)
                device = await bench.create()
                attempt = bench.entry(device).work.joining
                assert attempt is not None
                await asyncio.wait([attempt])
                assert bench.hub_state.interface_of(bench.entry(device)) is None
                assert await bench.world.backend.links() == []
            else:
                device = await bench.connected()
                patch.setattr(bench.hub_state, step, fails)
                with pytest.raises(ValueError, match="a bug"):
                    await bench.hub.connections.disconnect(device)
        [failure] = [entry for entry in entries if entry["event"] == "task_failed"]
        assert failure["task"] == f"test/connections/{task}"
        assert bench.entry(device).state is DeviceState.DISCONNECTED

    on_bench(test)
