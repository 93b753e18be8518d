"""Adapters that stop working, in a simulated world: found out, recovered, or put aside."""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
import structlog

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import (
    BackendUnavailable,
    Busy,
    DeviceNotReachable,
    InterfaceLost,
    InterfaceNotFound,
    InvalidRequest,
    NotSupported,
    WifimgrdError,
)
from wifimgrd.domain.events import ConnectionFailed, InterfaceChanged
from wifimgrd.domain.interface import BackendFacts, InterfaceState, InterfaceStatus
from wifimgrd.domain.link_steps import LinkRules, LinkStep
from wifimgrd.domain.recovery import QUARANTINE_S, SILENCE_S, WINDOW_S, Health, RecoveryStep

NUMBERS = (1, 2, 3, 4)


def stuck(bench: Bench, interface: str, heals: str, *, crashed: bool = False) -> None:
    how = {"interface": interface, "heals": heals, "crashed": crashed}
    bench.world.set_fault("adapter-stuck", how)


async def tried(bench: Bench, number: int) -> DeviceState:
    """A new device is connected, as a person would: again where it failed; then it is removed."""
    device = await bench.create(number)
    for _ in range(2):
        try:
            await bench.hub.connections.connect(device, wait=True)
        except WifimgrdError:
            await asyncio.sleep(2)
    state = bench.state(device)
    await asyncio.sleep(2)
    await bench.hub.remove(device)
    return state


def taken(bench: Bench) -> list[str]:
    return [line.split()[-1] for line in bench.story.reported if " recovery " in line]


def shown(bench: Bench, interface: str) -> InterfaceStatus:
    return next(one for one in bench.hub.interface_statuses() if one.interface.name == interface)


@pytest.mark.parametrize(
    ("heals", "steps"),
    [
        ("rescan", ["rescan"]),
        ("restart", ["rescan", "restart"]),
        ("replug", ["rescan", "restart", "replug"]),
    ],
)
def test_a_stuck_adapter_is_healed_by_the_gentlest_step_that_does_it(
    on_bench: RunOnBench, heals: str, steps: list[str]
) -> None:
    async def test(bench: Bench) -> None:
        stuck(bench, "wlan0", heals)
        for _ in range(6):
            assert await tried(bench, 1) is DeviceState.CONNECTED, "through another adapter, or this one"
        assert taken(bench) == steps
        device = await bench.connected(1)
        assert bench.story.devices[device].interface == "wlan0"

    on_bench(test)


def health(bench: Bench, interface: str) -> tuple[Health | None, str]:
    one = shown(bench, interface).interface
    return one.health, one.health_reason


def healths(bench: Bench, interface: str) -> list[Health | None]:
    """Those that were published, without repeats."""
    told = [
        event.status.interface.health
        for event in bench.story.of(InterfaceChanged)
        if event.status.interface.name == interface
    ]
    return [one for one, _ in groupby(told)]


def test_nothing_is_said_of_an_adapter_until_it_has_received_anything(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        assert health(bench, "wlan0") == (None, "")
        device = await bench.create(1)
        await bench.hub.connections.connect(device, wait=True)
        await asyncio.sleep(4)
        assert health(bench, "wlan0") == (Health.GOOD, "")
        assert health(bench, "wlan1") == (None, "")
        await bench.hub.scan("wlan1")
        await asyncio.sleep(4)
        assert health(bench, "wlan1") == (Health.GOOD, "")
        assert healths(bench, "wlan1")[-1] is Health.GOOD
        bench.world.unplug_adapter("wlan1")
        bench.world.plug_adapter("wlan1")
        await asyncio.sleep(4)
        assert health(bench, "wlan1") == (None, "")

    on_bench(test)


def test_an_adapter_under_suspicion_says_so_and_the_cameras_message_is_corrected(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        stuck(bench, "wlan0", "restart")
        device = await bench.create(1)
        with pytest.raises(DeviceNotReachable, match="powered off or out of range"):
            await bench.hub.connections.connect(device, wait=True)
        bench.story.forget()
        await asyncio.sleep(2)
        told, reason = health(bench, "wlan0")
        assert told is Health.SUSPECT
        assert re.fullmatch("joins fail since [0-2][0-9]:[0-5][0-9]", reason)
        assert shown(bench, "wlan0").state is InterfaceState.AVAILABLE
        assert healths(bench, "wlan0") == [Health.SUSPECT]
        failure = bench.story.devices[device].device.failure
        assert failure is not None
        assert (failure.code, failure.message) == (
            "device-not-reachable",
            'wlan0 did not find the network "SIM-CAM-1", wlan1 does: the adapter wlan0 is being checked',
        )
        assert bench.story.of(ConnectionFailed) == []

    on_bench(test)


def test_each_step_is_told_until_the_adapter_works_again(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        stuck(bench, "wlan0", "restart")
        for number in (1, 2):
            await tried(bench, number)
        told, reason = health(bench, "wlan0")
        assert told is Health.SUSPECT
        assert re.fullmatch("joins fail since [0-2][0-9]:[0-5][0-9]; restart was tried", reason)
        assert Health.RECOVERING in healths(bench, "wlan0")
        await tried(bench, 3)
        assert health(bench, "wlan0") == (Health.GOOD, "")

    on_bench(test)


def test_a_quarantine_says_why_and_until_when(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        stuck(bench, "wlan0", "quarantine")
        for number in NUMBERS:
            await tried(bench, number)
        told, reason = health(bench, "wlan0")
        assert told is Health.QUARANTINED
        clock = "[0-2][0-9]:[0-5][0-9]"
        ended = f"not used until {clock}, or until it is plugged in again"
        assert re.fullmatch(f"joins fail since {clock}; {ended}", reason)

    on_bench(test)


def test_a_suspicion_that_nothing_confirms_ends(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        stuck(bench, "wlan0", "restart")
        device = await bench.create(1)
        with pytest.raises(DeviceNotReachable):
            await bench.hub.connections.connect(device, wait=True)
        await asyncio.sleep(2)
        assert health(bench, "wlan0")[0] is Health.SUSPECT
        await asyncio.sleep(WINDOW_S)
        assert health(bench, "wlan0") == (None, "")
        assert not shown(bench, "wlan0").interface.suspect

    on_bench(test)


def test_a_replugged_adapter_goes_and_comes_for_clients(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.recover_by(RecoveryStep.REPLUG)
        stuck(bench, "wlan0", "replug")
        await tried(bench, 1)
        reported = [line for line in bench.story.reported if line.startswith("wlan0 ")]
        assert reported[-5:] == [
            "wlan0 unavailable",
            "wlan0 removed",
            "wlan0 added",
            "wlan0 unavailable",  # until the step has ended
            "wlan0 available",  # it is suspect until it has joined something
        ]
        assert shown(bench, "wlan0").state is InterfaceState.AVAILABLE

    on_bench(test)


async def quarantined(bench: Bench) -> None:
    stuck(bench, "wlan0", "quarantine")
    for number in NUMBERS:
        await tried(bench, number)
    assert taken(bench) == ["rescan", "restart", "replug", "quarantine"]


def test_an_adapter_that_nothing_helps_is_in_quarantine_and_says_why(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await quarantined(bench)
        status = shown(bench, "wlan0")
        assert status.state is InterfaceState.UNAVAILABLE
        assert status.reason == (
            "in quarantine for an hour, or until it is replugged: it fails to join networks that are in range"
        )
        assert bench.story.interfaces["wlan0"] == status
        device = await bench.connected(1)
        assert bench.story.devices[device].interface == "wlan1"

    on_bench(test)


def test_plugging_it_in_anew_ends_a_quarantine(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await quarantined(bench)
        bench.world.unplug_adapter("wlan0")
        bench.world.plug_adapter("wlan0")
        await asyncio.sleep(1)
        assert shown(bench, "wlan0").state is InterfaceState.AVAILABLE
        device = await bench.connected(1)
        assert bench.story.devices[device].interface == "wlan0"

    on_bench(test)


def test_a_quarantine_ends_after_its_time(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await quarantined(bench)
        await asyncio.sleep(QUARANTINE_S)
        assert shown(bench, "wlan0").state is InterfaceState.AVAILABLE

    on_bench(test)


def test_an_adapter_that_receives_nothing_for_minutes_is_recovered(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        stuck(bench, "wlan0", "rescan")
        await bench.hub.scan()
        await asyncio.sleep(SILENCE_S)
        assert taken(bench) == []
        await bench.hub.scan()
        await asyncio.sleep(1)
        assert taken(bench) == ["rescan"]
        await bench.hub.scan()
        assert "wlan0" in {point.interface for point in await bench.world.backend.recent_scan_results()}

    on_bench(test)


def test_no_network_in_range_is_no_adapters_fault(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        for number in NUMBERS:
            bench.world.power_off_camera(b"SIM-CAM-%d" % number, True)
        for _ in range(3):
            await bench.hub.scan()
            await asyncio.sleep(SILENCE_S)
        assert taken(bench) == []

    on_bench(test)


def test_an_adapter_that_lacks_the_band_of_all_that_is_in_range_is_not_silent(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        stuck(bench, "wlan0", "rescan")
        bench.learn("wlan0", BackendFacts(bands=frozenset({Band.GHZ_2_4})))
        for number in (1, 2, 4):
            bench.world.power_off_camera(b"SIM-CAM-%d" % number, True)
        for _ in range(3):  # SIM-CAM-3 is on 5 GHz
            await bench.hub.scan()
            await asyncio.sleep(SILENCE_S)
        assert "wlan1" in {point.interface for point in await bench.world.backend.recent_scan_results()}
        assert taken(bench) == []

    on_bench(test)


def test_a_lost_camera_is_brought_back_through_another_adapter(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        assert bench.story.devices[device].interface == "wlan0"
        bench.world.power_off_camera(b"SIM-CAM-1", True)
        await asyncio.sleep(20)
        stuck(bench, "wlan0", "quarantine")
        bench.world.power_on_camera(b"SIM-CAM-1")
        await asyncio.sleep(300)
        assert bench.state(device) is DeviceState.CONNECTED
        assert bench.story.devices[device].interface == "wlan1"

    on_bench(test)


def test_a_lost_camera_that_another_adapter_finds_is_tried_at_once(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        found, is_visible = asyncio.Event(), bench.world.backend.is_visible

        async def noted(*asked: Any, **how: Any) -> bool:
            if seen := await is_visible(*asked, **how):
                found.set()
            return seen

        device = await bench.connected(1)
        bench.world.power_off_camera(b"SIM-CAM-1", True)
        await asyncio.sleep(20)
        stuck(bench, "wlan0", "quarantine")
        bench.world.backend.is_visible = noted  # type: ignore[method-assign]
        bench.world.power_on_camera(b"SIM-CAM-1")
        await found.wait()
        await asyncio.sleep(3)  # the next search would be later
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_a_network_that_another_adapter_found_before_and_not_now_is_no_evidence(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        async def finds_nothing(*_: object, **__: object) -> bool:
            return False

        await bench.hub.scan()
        results = await bench.world.backend.recent_scan_results()
        assert ("wlan1", "SIM-CAM-1") in {(point.interface, point.ssid.text) for point in results}
        bench.world.backend.is_visible = finds_nothing  # type: ignore[method-assign]
        stuck(bench, "wlan0", "rescan")
        device = await bench.create(1)
        with pytest.raises(WifimgrdError):
            await bench.hub.connections.connect(device, wait=True)
        await asyncio.sleep(2)
        assert not shown(bench, "wlan0").interface.suspect

    on_bench(test)


def test_an_adapter_that_looks_for_anothers_fault_is_at_once_free_for_a_camera(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        asked, ended = asyncio.Event(), asyncio.Event()

        async def looks(*_: object, **__: object) -> bool:
            asked.set()
            try:
                await asyncio.sleep(3600)
            finally:
                ended.set()
            return True

        await bench.hub.scan()
        bench.world.backend.is_visible = looks  # type: ignore[method-assign]
        bench.world.unplug_adapter("wlan2")
        stuck(bench, "wlan0", "rescan")
        other = await bench.create(2, pin={"usb_port": "1-1.2"})
        await bench.hub.connections.disconnect(other)
        lost = await bench.create(1)
        with pytest.raises(WifimgrdError):
            await bench.hub.connections.connect(lost, wait=True)
        await asked.wait()
        assert not ended.is_set()
        await bench.hub.connections.connect(other, wait=True)
        assert shown(bench, "wlan1").device_id == other
        assert ended.is_set()

    on_bench(test)


def test_a_firmware_crash_is_enough_for_a_step(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        with structlog.testing.capture_logs() as logs:
            stuck(bench, "wlan0", "restart", crashed=True)
            assert shown(bench, "wlan0").reason == "being recovered (rescan): it had a firmware crash"
            await asyncio.sleep(30)
            assert shown(bench, "wlan0").state is InterfaceState.AVAILABLE
            stuck(bench, "wlan0", "restart", crashed=True)  # its driver had it going again, for a while
            await asyncio.sleep(30)
        assert taken(bench) == ["rescan", "restart"]
        reported = [log["interface"] for log in logs if log["event"] == "adapter_firmware_failed"]
        assert reported == ["wlan0", "wlan0"]
        device = await bench.connected(1)
        assert bench.story.devices[device].interface == "wlan0"

    on_bench(test)


def test_an_adapter_in_use_whose_firmware_crashed_is_left_alone_until_it_is_idle(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        stuck(bench, "wlan0", "rescan", crashed=True)
        await asyncio.sleep(60)
        assert bench.state(device) is DeviceState.CONNECTED
        assert taken(bench) == []
        assert shown(bench, "wlan0").interface.suspect
        await bench.hub.connections.disconnect(device)
        await asyncio.sleep(1)
        assert taken(bench) == ["rescan"]

    on_bench(test)


def test_a_firmware_crash_is_reported_where_recovery_is_switched_off(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.recover_by()
        with structlog.testing.capture_logs() as logs:
            stuck(bench, "wlan0", "rescan", crashed=True)
        assert [log["event"] for log in logs] == ["adapter_firmware_failed"]
        assert not shown(bench, "wlan0").interface.suspect
        await asyncio.sleep(60)
        assert taken(bench) == []

    on_bench(test)


def refused(bench: Bench) -> None:
    bench.world.set_fault("refuse-association", {})


def without_address(bench: Bench) -> None:
    bench.world.set_fault("dhcp-dead", {})


def absent(bench: Bench) -> None:
    bench.world.power_off_camera(b"SIM-CAM-1", True)


def backend_gone(bench: Bench) -> None:
    bench.world.set_fault("backend-gone", {})


def wrong_password(bench: Bench) -> None:
    for device, passphrase in bench.store.secrets.items():
        bench.store.secrets[device] = type(passphrase)("something-else")


@pytest.mark.parametrize("trouble", [refused, without_address, absent, backend_gone, wrong_password])
def test_what_is_not_the_adapters_fault_sets_nothing_off(
    on_bench: RunOnBench, trouble: Callable[[Bench], None]
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.connections.disconnect(device)
        trouble(bench)
        for _ in range(8):
            with pytest.raises(WifimgrdError):
                await bench.hub.connections.connect(device, wait=True)
            await asyncio.sleep(30)
        assert taken(bench) == []
        assert not any(one.interface.suspect for one in bench.hub.interface_statuses())

    on_bench(test)


def test_a_camera_on_a_band_that_the_adapter_lacks_sets_nothing_off(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.add_camera(b"FAST", "camera-pass-f", {"band": "5GHz"})
        bench.world.set_fault(
            "adapter-stuck", {"interface": "wlan0", "heals": "rescan"}
        )  # it receives no 5 GHz
        bench.learn("wlan0", BackendFacts(bands=frozenset({Band.GHZ_2_4})))
        device = await bench.create(ssid="FAST", password="camera-pass-f")
        for _ in range(2):
            with pytest.raises(WifimgrdError):
                await bench.hub.connections.connect(device, wait=True)
            await asyncio.sleep(2)
        assert taken(bench) == []
        assert not shown(bench, "wlan0").interface.suspect

    on_bench(test)


def test_an_adapter_that_a_device_has_is_never_touched(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        stuck(bench, "wlan0", "rescan")
        device = await bench.create(1)
        with pytest.raises(WifimgrdError):
            await bench.hub.connections.connect(device, wait=True)
        await asyncio.sleep(1)
        assert shown(bench, "wlan0").interface.suspect
        for number in (2, 3):
            await bench.connected(number)
        bench.world.set_fault("adapter-stuck", {"interface": "wlan0", "off": True})
        user = await bench.connected(4)  # the only one that is left
        assert bench.story.devices[user].interface == "wlan0"
        await asyncio.sleep(60)
        assert taken(bench) == []
        assert bench.state(user) is DeviceState.CONNECTED

    on_bench(test)


def test_what_is_held_against_an_adapter_stays_with_it(on_bench: RunOnBench) -> None:
    """And not with the name of its interface, behind which another adapter may be."""

    async def test(bench: Bench) -> None:
        stuck(bench, "wlan0", "rescan")
        device = await bench.create(1)
        with pytest.raises(WifimgrdError):
            await bench.hub.connections.connect(device, wait=True)
        await asyncio.sleep(1)
        assert shown(bench, "wlan0").interface.suspect
        first = shown(bench, "wlan0").interface.adapter
        other = replace(first, identity=replace(first.identity, mac="02:00:00:00:00:99"))
        for adapter in (other, first):
            bench.adapter_events.adapter_present(adapter)
            await asyncio.sleep(0)
            assert shown(bench, "wlan0").interface.suspect == (adapter is first)

    on_bench(test)


def test_it_can_be_switched_off(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.recover_by()
        stuck(bench, "wlan0", "rescan")
        for number in NUMBERS:
            await tried(bench, number)
        assert taken(bench) == []

    on_bench(test)


def test_a_step_that_cannot_be_taken_ends_and_the_next_one_has_its_turn(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        def refuse(_: str) -> None:
            raise PermissionError(13, "Permission denied")

        bench.world.adapters.on_replug = refuse
        await quarantined(bench)

    on_bench(test)


@pytest.mark.parametrize("step", [RecoveryStep.RESCAN, RecoveryStep.RESTART, RecoveryStep.REPLUG])
def test_a_client_has_a_step_carried_out(on_bench: RunOnBench, step: RecoveryStep) -> None:
    async def test(bench: Bench) -> None:
        recovering = asyncio.create_task(bench.hub.recover_interface("wlan0", step))
        await asyncio.sleep(0)
        assert shown(bench, "wlan0").reason == f"being recovered ({step}): by command"
        with pytest.raises(Busy):
            await bench.hub.recover_interface("wlan0", step)
        await recovering
        await asyncio.sleep(1)
        assert shown(bench, "wlan0").state is InterfaceState.AVAILABLE
        assert taken(bench) == []

    on_bench(test)


def test_a_step_by_command_is_not_evidence_against_an_adapter(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.hub.recover_interface("wlan0", RecoveryStep.RESCAN)
        stuck(bench, "wlan0", "rescan", crashed=True)
        await asyncio.sleep(30)
        assert taken(bench) == ["rescan"]

    on_bench(test)


def test_an_adapter_in_use_is_not_recovered_by_command(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create(1)
        await bench.hub.connections.connect(device, wait=True)
        used = bench.story.devices[device].interface
        assert used is not None
        with pytest.raises(Busy, match="is in use"):
            await bench.hub.recover_interface(used, RecoveryStep.RESCAN)
        with pytest.raises(InterfaceNotFound):
            await bench.hub.recover_interface("wlan9", RecoveryStep.RESCAN)
        with pytest.raises(InvalidRequest, match="quarantine"):
            await bench.hub.recover_interface("wlan1", RecoveryStep.QUARANTINE)

    on_bench(test)


def test_why_a_step_by_command_has_failed_is_told(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        def refuse(_: str) -> None:
            raise PermissionError(13, "Permission denied")

        bench.world.adapters.on_replug = refuse
        with pytest.raises(BackendUnavailable, match="Permission denied"):
            await bench.hub.recover_interface("wlan0", RecoveryStep.REPLUG)

        def absent(_: str) -> None:
            raise FileNotFoundError("wlan0 is not on USB")

        bench.world.adapters.on_replug = absent
        with pytest.raises(NotSupported, match="not on USB"):
            await bench.hub.recover_interface("wlan0", RecoveryStep.REPLUG)

        def lost(_: str) -> None:
            raise TimeoutError(errno.ETIMEDOUT, "no adapter has come back in the USB port 1-1.1")

        bench.world.adapters.on_replug = lost
        with pytest.raises(InterfaceLost, match=r"no adapter has come back in the USB port 1-1\.1"):
            await bench.hub.recover_interface("wlan0", RecoveryStep.REPLUG)
        assert shown(bench, "wlan0").state is InterfaceState.AVAILABLE

        async def hang(_: str) -> None:
            await asyncio.sleep(3600)

        bench.world.adapters.reset_port = hang  # type: ignore[method-assign, assignment]
        with pytest.raises(InterfaceLost, match="longer than 30 s"):
            await bench.hub.recover_interface("wlan0", RecoveryStep.REPLUG)

    on_bench(test)


def test_a_driver_may_keep_its_interface_over_a_replug(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.adapters.on_replug = lambda _: None
        before = asyncio.get_running_loop().time()
        await bench.hub.recover_interface("wlan0", RecoveryStep.REPLUG)
        assert asyncio.get_running_loop().time() == before
        assert shown(bench, "wlan0").state is InterfaceState.AVAILABLE

    on_bench(test)


def test_the_power_of_a_named_usb_port_is_switched_by_command_and_of_no_other(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        switched: list[str] = []
        bench.world.adapters.on_power = switched.append
        with pytest.raises(InvalidRequest, match=r"USB port 1-1\.1 is not one of `power_ports`"):
            await bench.hub.recover_interface("wlan0", LinkStep.POWER_PORT)
        settings = HubSettings(link_recovery=LinkRules(power_ports=frozenset({"1-1.1"})))
        await bench.hub.reconfigure(settings)
        await bench.hub.recover_interface("wlan0", LinkStep.POWER_PORT)
        with pytest.raises(InvalidRequest, match=r"USB port 1-1\.2"):
            await bench.hub.recover_interface("wlan1", LinkStep.POWER_PORT)
        assert switched == ["wlan0"]

    on_bench(test)


def test_a_step_that_the_stop_ends_begins_nothing_more(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        async def recover(*_: object) -> None:
            await asyncio.sleep(20)

        bench.world.backend.recover = recover  # type: ignore[method-assign, assignment]
        for name in ("wlan1", "wlan2"):
            bench.world.adapters.unplug(name)
        await asyncio.sleep(1)
        recovering = asyncio.create_task(bench.hub.recover_interface("wlan0", RecoveryStep.RESCAN))
        await asyncio.sleep(1)
        device = await bench.create(1)
        await bench.hub.connections.connect(device, wait=False, when_free=True)
        await bench.hub.stop_work()
        await asyncio.wait({recovering})
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert recovering.cancelled()

    on_bench(test)


def test_why_an_adapter_cannot_be_recovered_is_told(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.adapters.block("wlan1", "soft")
        with pytest.raises(Busy, match=r"wlan1 is unavailable: .*rfkill"):
            await bench.hub.recover_interface("wlan1", RecoveryStep.RESCAN)

    on_bench(test)
