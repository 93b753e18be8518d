"""Recovery steps of cameras: which are possible, what bars them, what they hold, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench
from tests.daemon.manager.test_cameras import ScriptedControl
from tests.daemon.manager.test_dead_links import (
    GOPRO,
    SILENT_S,
    Faults,
    connected,
    gopro,
    interface,
    recover,
    run,
    steps,
    wanted_by_another,
)
from wifimgrd.daemon.manager._entry import Operation
from wifimgrd.daemon.ports import Answer
from wifimgrd.domain.device import DeviceId, DeviceState, PowerState
from wifimgrd.domain.errors import (
    BackendUnavailable,
    CameraBusy,
    Cancelled,
    NoInterfaceAvailable,
    NotSupported,
    WakeFailed,
)
from wifimgrd.domain.link_steps import LinkRules
from wifimgrd.domain.network import ScanResult
from wifimgrd.domain.power import Sight, WakeRequest
from wifimgrd.domain.recovery import WINDOW_S, Health
from wifimgrd.domain.time_limits import LINK_STEP_S

# -- the camera's own steps


def commands_of(bench: Bench) -> list[str]:
    """What a paired camera is told over Bluetooth from now on."""
    commands: list[str] = []

    async def restart(address: str, service: str) -> None:
        commands.append("access point")

    async def reboot(address: str, service: str) -> None:
        commands.append("reboot")

    bench.world.bluetooth.restart_access_point = restart  # type: ignore[method-assign]
    bench.world.bluetooth.reboot = reboot  # type: ignore[method-assign]
    return commands


def test_a_camera_is_only_told_what_its_model_knows() -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await gopro(bench, control, codename="gopro-hero9")
        commands = commands_of(bench)
        with pytest.raises(NotSupported, match="reboot-camera"):
            await recover(bench, device, step="reboot-camera")
        faults.services.add(device)
        await asyncio.sleep(WINDOW_S / 2)
        assert commands == ["access point"]
        assert steps(bench)[4:] == ["camera-access-point", "did-not"]

    run(test, control=control, rules=LinkRules(camera_steps=True))


# -- asleep


@pytest.mark.parametrize("silent_s", [50, 80])
def test_a_camera_that_falls_asleep_in_a_silence_is_no_longer_silent(silent_s: int) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.services.add(device)
        await asyncio.sleep(silent_s)
        bench.entry(device).sleep.sight = Sight(PowerState.ASLEEP, 1)
        await asyncio.sleep(60)
        assert [one for one in asyncio.all_tasks() if "dead-links/observe" in one.get_name()] == []
        bench.entry(device).sleep.sight = Sight(None, 1)
        await asyncio.sleep(SILENT_S - 30)
        assert steps(bench) == [], "a new silence has begun"
        await asyncio.sleep(60)
        assert steps(bench)[:1] == ["rejoin"]

    run(test)


def test_a_camera_that_is_known_to_sleep_since_its_last_probe_has_no_step() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.services.add(device)
        probe = bench.world.contact.probe

        async def asleep_meanwhile(*of: Any) -> Answer:
            answer = await probe(*of)
            bench.entry(device).sleep.sight = Sight(PowerState.ASLEEP, 1)
            await asyncio.sleep(WINDOW_S)
            return answer

        await asyncio.sleep(SILENT_S / 2 + 20)
        bench.world.contact.probe = asleep_meanwhile  # type: ignore[method-assign, assignment]
        await asyncio.sleep(WINDOW_S / 2)
        assert steps(bench) == []

    run(test)


@pytest.mark.parametrize("is_commanded", [False, True])
def test_only_a_step_by_a_command_wakes_a_camera_whose_last_wake_has_failed(is_commanded: bool) -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await gopro(bench, control, auto_wake=True)
        woken: list[WakeRequest] = []

        async def wake(request: WakeRequest) -> None:
            woken.append(request)
            raise WakeFailed("it is out of range")

        def falls_asleep(_: DeviceId) -> None:
            sleep = bench.entry(device).sleep
            sleep.sight = Sight(PowerState.ASLEEP, 1)
            sleep.wakes = sleep.wakes.failed(asyncio.get_running_loop().time())

        bench.world.bluetooth.wake = wake  # type: ignore[method-assign]
        bench.hub._state.link_ended.subscribe(lambda end: falls_asleep(end.entry.device.id))
        if is_commanded:
            await recover(bench, device)
        else:
            faults.services.add(device)
            await asyncio.sleep(SILENT_S + 20)
        await asyncio.sleep(2)
        assert steps(bench)[0] == "rejoin"
        assert bool(woken) is is_commanded

    run(test, control=control)


# -- recordings


def test_a_camera_that_was_idle_before_a_step_has_the_next_one() -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        faults.hosts.add(await gopro(bench, control))
        await asyncio.sleep(WINDOW_S / 2)
        assert steps(bench) == ["rejoin", "did-not", "other-adapter", "did-not"]

    run(test, control=control)


@pytest.mark.parametrize("end", ["disconnect", "disconnect in a step", "loss", "loss after a step"])
def test_that_a_camera_was_idle_counts_no_longer_once_it_was_without_a_link(end: str) -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await gopro(bench, control)
        if end.endswith("step"):
            faults.services.add(device)
            await recover(bench, device, step="rejoin")
            await asyncio.sleep(0.02 if "disconnect" in end else 20)
        if "disconnect" in end:
            await bench.hub.connections.disconnect(device)
            await asyncio.sleep(3 * 24 * 3600)  # somebody presses its button meanwhile
            await bench.hub.connections.connect(device, wait=True)
        else:
            bench.world.unplug_adapter(interface(bench, device) or "")
            await asyncio.sleep(60)
        assert bench.state(device) is DeviceState.CONNECTED
        assert bench.entry(device).may_record_unseen
        bench.story.forget()
        faults.services.add(device)
        await asyncio.sleep(WINDOW_S / 2)
        assert steps(bench) == []
        await recover(bench, device, step="rejoin")
        await asyncio.sleep(20)
        assert bench.entry(device).may_record_unseen
        control.says(device)
        assert not bench.entry(device).may_record_unseen

    run(test, control=control, rules=LinkRules(camera_steps=True))


@pytest.mark.parametrize("was_idle", [False, True])
def test_a_camera_that_does_not_say_whether_it_records_may_record(was_idle: bool) -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await bench.hub.create({"connection_type": "wifi"} | GOPRO)
        await bench.hub.bluetooth.pair(device, wait=True)
        await bench.hub.connections.connect(device, wait=True)
        await asyncio.sleep(30)
        if was_idle:
            control.says(device)
        control.says(device, recording=None)
        bench.story.forget()
        faults.services.add(device)
        await asyncio.sleep(WINDOW_S / 2)
        assert steps(bench) == []
        with pytest.raises(CameraBusy):
            await recover(bench, device, step="reboot-camera")
        await recover(bench, device, step="rejoin")
        await asyncio.sleep(20)
        assert bench.entry(device).may_record_unseen, "it still has not said that it is idle"

    run(test, control=control, rules=LinkRules(camera_steps=True))


# -- the adapter that a step keeps for its camera


def test_a_connect_during_the_reset_of_a_port_costs_no_camera_its_adapter() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        waits = await wanted_by_another(bench)
        step = asyncio.ensure_future(recover(bench, device, step="reset-port", wait=True))
        await asyncio.sleep(4)
        await bench.hub.connections.connect(device, wait=False)
        await step
        assert steps(bench) == ["reset-port", "came-back"]
        assert interface(bench, device) == "wlan0"
        assert bench.story.devices[waits].device.waiting_since_us
        assert bench.hub_state.allocator.promises == {}

    run(test)


def test_a_connect_during_a_step_leaves_it_the_other_adapter() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device, other = await connected(bench), await bench.create(2)
        await bench.hub.connections.disconnect(other)
        bench.world.unplug_adapter("wlan2")
        faults.adapters.add("wlan0")
        step = asyncio.ensure_future(recover(bench, device, step="other-adapter", wait=True))
        await asyncio.sleep(0)
        await bench.hub.connections.connect(device, wait=False)
        with pytest.raises(NoInterfaceAvailable):
            await bench.hub.connections.connect(other, wait=False)
        await step
        assert steps(bench) == ["other-adapter", "came-back"]
        assert interface(bench, device) == "wlan1"

    run(test)


def test_who_waits_gets_the_adapter_that_a_step_has_kept_in_vain() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device, waits = await connected(bench), await bench.create(2)
        await bench.hub.connections.disconnect(waits)
        bench.world.unplug_adapter("wlan2")
        step = asyncio.ensure_future(recover(bench, device, step="other-adapter", wait=True))
        await asyncio.sleep(0)
        await bench.hub.connections.connect(waits, wait=False, when_free=True)
        assert interface(bench, waits) is None
        bench.hub._link_steps.cancel(bench.entry(device))
        with pytest.raises(Cancelled):
            await step
        await asyncio.sleep(5)
        assert interface(bench, waits) == "wlan1"

    run(test)


# -- the stop of the hub


def test_no_step_begins_while_others_are_ended() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        first, second = await connected(bench, 1), await connected(bench, 2)
        operations = bench.hub._link_steps._operations
        end = operations.end

        async def slowly(operation: Operation) -> None:
            await end(operation)
            await asyncio.sleep(SILENT_S)

        operations.end = slowly  # type: ignore[method-assign]
        faults.links.add(second)
        await asyncio.sleep(SILENT_S - 20)
        await recover(bench, first)
        stopping = asyncio.ensure_future(bench.hub._dead_links.stop())
        await asyncio.sleep(1)
        with pytest.raises(BackendUnavailable, match="stopping"):
            await recover(bench, second)
        with capture_logs() as logs:
            await stopping
        assert [log for log in logs if log["log_level"] == "error"] == []
        assert steps(bench) == ["rejoin", "not-known"]
        assert bench.state(second) is DeviceState.CONNECTED

    run(test)


# -- what takes too long, and what is too old


def test_an_adapter_whose_step_never_ends_can_be_used_again() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        async def take(*_: object) -> None:
            await asyncio.Event().wait()

        device = await connected(bench)
        bench.hub._ports.take = take  # type: ignore[method-assign, assignment]
        await recover(bench, device, step="reset-port")
        await asyncio.sleep(LINK_STEP_S - 1)
        assert bench.story.interfaces["wlan0"].reason == "being recovered (reset-port)"
        await asyncio.sleep(2)
        assert steps(bench) == ["reset-port", "not-known"]
        shown = bench.story.interfaces["wlan0"]
        assert (shown.reason, shown.interface.health) == ("", Health.GOOD)
        await asyncio.sleep(60)
        assert bench.state(device) is DeviceState.CONNECTED

    run(test)


@pytest.mark.parametrize(("seen", "accused"), [("now", True), ("at no known time", False), ("before", False)])
def test_only_what_is_heard_now_accuses_an_adapter(seen: str, accused: bool) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        results = bench.world.backend.recent_scan_results
        now_us = 1_000_000_000
        bench.clock = lambda: now_us

        async def of_then(name: str | None = None) -> Sequence[ScanResult]:
            seen_us = {"now": now_us, "at no known time": 0, "before": now_us - 5_000_000}[seen]
            return [replace(one, last_seen_us=seen_us) for one in await results(name)]

        bench.world.backend.recent_scan_results = of_then  # type: ignore[method-assign, assignment]
        await connected(bench)
        faults.adapters.add("wlan0")
        await asyncio.sleep(SILENT_S + 60)
        assert bench.hub_state.allocator.interfaces["wlan0"].suspect is accused

    run(test)
