"""Links that are up and dead: which recovery steps are taken for their cameras, when, and their results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, make_bench
from tests.daemon.manager.test_cameras import ScriptedControl
from tests.daemon.manager.test_one_radio import ANOTHER_MAC, shared
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.config import catalog
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import Answer, JoinRequest
from wifimgrd.domain.camera import RecordingState
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.camera_model import Probe
from wifimgrd.domain.dead_links import Asked, Counters, Finding
from wifimgrd.domain.device import DeviceId, DeviceState, Link, PowerState
from wifimgrd.domain.errors import (
    Busy,
    CameraBusy,
    Cancelled,
    DeviceNotFound,
    DeviceNotReachable,
    ErrorCode,
    InternalError,
    InvalidRequest,
    NoInterfaceAvailable,
    NotConnected,
    NotPaired,
    NotSupported,
    WakeFailed,
    WifimgrdError,
)
from wifimgrd.domain.events import (
    AdapterRecovery,
    ConnectionFailed,
    DeviceStateChanged,
    DeviceUpdated,
    InterfaceChanged,
    LinkStepEnded,
    LinkStepStarted,
    OperationFailed,
)
from wifimgrd.domain.interface import BackendFacts, InterfaceState
from wifimgrd.domain.link_steps import LinkRules, LinkStep, StepResult
from wifimgrd.domain.network import ScanResult
from wifimgrd.domain.power import Sight
from wifimgrd.domain.recovery import WINDOW_S, Health, RecoveryRules, RecoveryStep
from wifimgrd.domain.time_limits import LINK_STEP_S

SILENT_S = LinkRules().silent_link_s
GOPRO = {"codename": "gopro-hero12", "ssid": "GP25140001", "password": "gopro-pass-1"}


@dataclass
class Faults:
    """What is dead, and so what is seen of it; implements LinkEvidence, and the probes of CameraContact."""

    bench: Bench | None = None
    services: set[DeviceId] = field(default_factory=set)
    """The cameras whose software hangs: only their hosts answer."""
    hosts: set[DeviceId] = field(default_factory=set)
    """The cameras of which nothing but the access point works."""
    links: set[DeviceId] = field(default_factory=set)
    """The cameras whose links are dead until they join again."""
    adapters: set[str] = field(default_factory=set)
    """The adapters that receive nothing until their port is reset."""
    unknown: bool = False
    """No probe can be sent."""
    counts: bool = True
    """The drivers count beacons."""
    resets: list[str] = field(default_factory=list)
    power: list[str] = field(default_factory=list)
    joins: list[tuple[DeviceId, str]] = field(default_factory=list)

    def into(self, bench: Bench) -> None:
        """Replace the parts of the world."""
        self.bench, world = bench, bench.world
        join, reset = world.backend.join, world.adapters.reset_port

        async def joined(request: JoinRequest) -> Link:
            link = await join(request)
            self.joins.append((request.device_id, request.interface))
            self.links.discard(request.device_id)
            return link

        async def has_reset(name: str) -> None:
            self.resets.append(name)
            await asyncio.sleep(2)
            await reset(name)
            self.adapters.discard(name)

        async def has_power(name: str) -> None:
            self.power.append(name)
            await reset(name)

        world.contact.probe = self.probe  # type: ignore[method-assign]
        world.backend.join = joined  # type: ignore[method-assign]
        world.adapters.reset_port = has_reset  # type: ignore[method-assign]
        world.adapters.power_port = has_power  # type: ignore[method-assign]

    def is_dead(self, device_id: DeviceId, interface: str) -> bool:
        return device_id in self.hosts | self.links or interface in self.adapters

    async def probe(self, device_id: DeviceId, interface: str, address: str, probe: Probe) -> Answer:
        if self.unknown:
            return Answer.UNKNOWN
        if device_id in self.services or self.is_dead(device_id, interface):
            await asyncio.sleep(2)
            return Answer.SILENT
        return Answer.ANSWERED

    def holder(self, interface: str) -> DeviceId:
        assert self.bench is not None
        holder = self.bench.hub_state.holder(interface)
        assert holder is not None
        return holder.device.id

    async def counters(self, interface: str) -> Counters | None:
        now_s = asyncio.get_running_loop().time()
        if not self.counts:
            return None
        if interface in self.adapters or self.holder(interface) in self.links:
            return Counters(now_s, int(now_s) + 1, 10_000, 1)
        return Counters(now_s, int(now_s) + 1, 10_000 + int(now_s * 10), 1)

    async def asked(self, interface: str, address: str, within_s: float) -> Asked:
        assert address
        if not self.is_dead(self.holder(interface), interface):
            return Asked.ANSWERED
        await asyncio.sleep(8)
        return Asked.SILENT


Test = Callable[[Bench, Faults], Coroutine[Any, Any, None]]


def run(
    test: Test,
    *,
    rules: LinkRules | None = None,
    control: CameraControl | None = None,
    faults: Faults | None = None,
    scenario: Path | None = None,
    **settings: Any,
) -> None:
    """Run a test on a started hub; in the end no step runs."""
    known = HubSettings(
        models=catalog.load(),
        recovery=RecoveryRules(frozenset()),
        link_recovery=rules or LinkRules(),
        **settings,
    )

    async def whole() -> None:
        broken = faults or Faults()
        bench = make_bench(known, scenario=scenario, control=control, evidence=broken)
        broken.into(bench)
        await bench.hub.start()
        for status in bench.hub.interface_statuses():
            bench.story.interfaces[status.interface.name] = status
        bench.story.forget()
        await test(bench, broken)
        bench.story.agrees()
        await bench.hub.stop()
        bench.story.rests()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(whole())


def steps(bench: Bench) -> list[str]:
    """The steps that were taken in this chapter, and their results; on an idle adapter, with its name."""
    lines: list[str] = []
    for event in bench.story.events:
        match event:
            case LinkStepStarted(step=step):
                lines.append(step.value)
            case LinkStepEnded(result=result):
                lines.append(result.value)
            case AdapterRecovery(interface, step):
                lines.append(f"{interface} {step}")
    return lines


def states(bench: Bench, device: DeviceId) -> list[str]:
    """The states of a device in this chapter."""
    changes = bench.story.of(DeviceStateChanged)
    return [one.status.state.value for one in changes if one.status.device.id == device]


def whys(bench: Bench) -> list[str]:
    return [event.why for event in bench.story.of(LinkStepStarted)]


def interface(bench: Bench, device: DeviceId) -> str | None:
    return bench.story.devices[device].interface


async def connected(bench: Bench, number: int = 1, **fields: object) -> DeviceId:
    """A camera that is connected, and has answered."""
    device = await bench.create(number, **fields)
    await bench.hub.connections.connect(device, wait=True)
    await asyncio.sleep(30)
    bench.story.forget()
    return device


async def recover(bench: Bench, device: DeviceId, *, wait: bool = False, step: str | None = None) -> None:
    """The command, as a client gives it."""
    await bench.hub.device_commands["recover"](device, wait=wait, step=step)


async def gopro(bench: Bench, control: ScriptedControl, **fields: object) -> DeviceId:
    """A paired one that is connected, has answered, and is idle."""
    device = await bench.hub.create({"connection_type": "wifi"} | GOPRO | fields)
    await bench.hub.bluetooth.pair(device, wait=True)
    await bench.hub.connections.connect(device, wait=True)
    await asyncio.sleep(30)
    control.says(device)
    bench.story.forget()
    return device


# -- without a command


def test_a_link_that_only_a_rejoin_brings_back_is_joined_again() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.links.add(device)
        await asyncio.sleep(SILENT_S + 60)
        assert steps(bench) == ["rejoin", "came-back"]
        assert states(bench, device) == ["connecting", "connected"]
        assert interface(bench, device) == "wlan0"
        assert bench.story.devices[device].reachable
        assert bench.story.of(ConnectionFailed) == []
        await asyncio.sleep(WINDOW_S)
        assert steps(bench) == ["rejoin", "came-back"]

    run(test)


def test_the_step_is_shown_as_long_as_it_runs() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.links.add(device)
        await asyncio.sleep(SILENT_S + 60)
        changes = [
            (event.status.state.value, event.status.recovery_step)
            for event in bench.story.events
            if isinstance(event, DeviceStateChanged | DeviceUpdated)
        ]
        shown = [one for one in changes if one[1] is not None]
        assert shown[0] == ("connecting", LinkStep.REJOIN)
        assert shown[-1] == ("connected", LinkStep.REJOIN)
        assert changes.index(shown[-1]) - changes.index(shown[0]) == len(shown) - 1, "all the time"
        assert bench.story.devices[device].recovery_step is None

    run(test)


def test_no_step_is_taken_before_the_time_and_not_at_all_with_zero() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        faults.links.add(await connected(bench))
        await asyncio.sleep(SILENT_S - 15)
        assert steps(bench) == []
        rules = LinkRules(silent_link_s=0)
        await bench.hub.reconfigure(replace(bench.hub_state.settings, link_recovery=rules))
        await asyncio.sleep(WINDOW_S)
        assert steps(bench) == []

    run(test)


def test_a_weak_link_that_is_alive_has_no_step() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        for _ in range(20):
            faults.hosts.add(device)
            await asyncio.sleep(7)
            faults.hosts.clear()
            await asyncio.sleep(4)
        assert bench.entry(device).link is not None
        assert steps(bench) == []

    run(test, rules=LinkRules(silent_link_s=10))


def test_what_cannot_be_asked_is_no_silence() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        await connected(bench)
        faults.unknown = True
        await asyncio.sleep(WINDOW_S)
        assert steps(bench) == []

    run(test)


def test_a_camera_that_sleeps_behind_its_network_has_no_step() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        bench.entry(device).sleep.sight = Sight(PowerState.ASLEEP, 1)
        faults.services.add(device)
        await asyncio.sleep(WINDOW_S)
        assert steps(bench) == []

    run(test)


def test_a_dead_adapter_is_left_and_reset_once_it_is_idle() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.adapters.add("wlan0")
        await asyncio.sleep(3 * SILENT_S + 120)
        assert steps(bench) == [
            "rejoin",
            "did-not",
            "other-adapter",
            "wlan0 reset-port",  # which two scans of another one had accused
            "came-back",
        ]
        assert faults.resets == ["wlan0"]
        assert states(bench, device) == ["connecting", "connected"] * 2
        assert interface(bench, device) == "wlan1"
        assert whys(bench)[-1] == (
            "The adapter receives nothing, and another one hears the camera's access point."
        )
        told = [
            event.status.interface.health_reason
            for event in bench.story.of(InterfaceChanged)
            if event.status.interface.health is Health.RECOVERING
        ]
        assert told[0].startswith("its link was up and dead at ")
        assert told[0].endswith("; reset-port runs")
        await asyncio.sleep(WINDOW_S)
        assert len(steps(bench)) == 5
        assert interface(bench, device) == "wlan1", "nothing moves it back"

    run(test)


def test_an_adapter_whose_driver_counts_nothing_is_at_fault_if_another_one_helps() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        faults.counts = False
        await connected(bench)
        faults.adapters.add("wlan0")
        await asyncio.sleep(3 * SILENT_S + 120)
        assert steps(bench) == ["rejoin", "did-not", "other-adapter", "came-back", "wlan0 reset-port"]

    run(test)


def test_an_adapter_is_not_accused_by_the_networks_of_other_cameras() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        results = bench.world.backend.recent_scan_results

        async def of_others(name: str | None = None) -> Sequence[ScanResult]:
            return [one for one in await results(name) if one.ssid.text != "SIM-CAM-1"]

        await connected(bench)
        bench.world.backend.recent_scan_results = of_others  # type: ignore[method-assign, assignment]
        faults.adapters.add("wlan0")
        await asyncio.sleep(SILENT_S + 60)
        assert whys(bench) == [Finding.UNHEARD]
        assert not bench.hub_state.allocator.interfaces["wlan0"].suspect

    run(test)


def test_an_adapter_is_not_accused_by_another_interface_of_its_usb_device(tmp_path: Path) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        devices = [await connected(bench, number) for number in (1, 2)]
        assert [interface(bench, device) for device in devices] == ["wlan0", "wlan1"]
        faults.adapters.add("wlan0")
        await asyncio.sleep(SILENT_S + 60)
        assert whys(bench) == [Finding.UNHEARD]

    run(test, scenario=shared(tmp_path, mac=ANOTHER_MAC, radio="another"))


def test_a_camera_that_is_silent_through_two_adapters_accuses_neither() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.hosts.add(device)
        await asyncio.sleep(WINDOW_S / 2)
        assert steps(bench) == ["rejoin", "did-not", "other-adapter", "did-not"]
        assert not any(one.interface.suspect for one in bench.hub.interface_statuses())
        assert bench.state(device) is DeviceState.CONNECTED
        assert not bench.story.devices[device].reachable
        await asyncio.sleep(WINDOW_S)
        assert steps(bench)[4:6] == ["rejoin", "did-not"], "an hour after the first one"

    run(test)


def test_scans_that_a_camera_is_connected_for_end_at_once() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        begun, ended, scan = asyncio.Event(), asyncio.Event(), bench.world.backend.scan

        async def slowly(name: str) -> None:
            begun.set()
            try:
                await asyncio.sleep(10)
            finally:
                ended.set()
            await scan(name)

        await connected(bench)
        other = await bench.create(2)
        await bench.hub.connections.disconnect(other)
        bench.world.unplug_adapter("wlan2")
        bench.world.backend.scan = slowly  # type: ignore[method-assign, assignment]
        faults.adapters.add("wlan0")
        await asyncio.wait_for(begun.wait(), SILENT_S)
        await bench.hub.connections.connect(other, wait=True)
        assert interface(bench, other) == "wlan1"
        assert ended.is_set()
        await asyncio.sleep(WINDOW_S / 2)
        assert "other-adapter" not in steps(bench), "none is free"
        assert bench.state(other) is DeviceState.CONNECTED

    run(test)


def test_a_camera_that_is_not_brought_back_has_no_step_without_a_command() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench, auto_reconnect=False)
        faults.links.add(device)
        await asyncio.sleep(2 * SILENT_S)
        assert steps(bench) == []
        await recover(bench, device, wait=True)
        assert steps(bench) == ["rejoin", "came-back"]

    run(test)


def test_a_service_that_never_answered_a_probe_has_no_step() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await bench.create(1)
        faults.services.add(device)
        await bench.hub.connections.connect(device, wait=True)
        bench.story.forget()
        await asyncio.sleep(WINDOW_S)
        assert steps(bench) == []
        assert not bench.entry(device).has_answered

    run(test)


def test_a_rejoin_that_fails_ends_as_a_link_that_is_lost_and_the_device_is_looked_for() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        faults.counts = False
        device = await connected(bench)
        faults.links.add(device)
        await asyncio.sleep(SILENT_S / 2)
        bench.world.set_fault("dhcp-dead", {"ssid": b"SIM-CAM-1"})
        await asyncio.sleep(SILENT_S / 2 + 40)
        assert steps(bench) == ["rejoin", "did-not"]
        assert states(bench, device)[:2] == ["connecting", "disconnected"]
        assert bench.code(device) == ErrorCode.ADDRESS_FAILED
        assert len(bench.story.of(ConnectionFailed)) == 1
        assert bench.story.devices[device].lost_us
        bench.world.set_fault("dhcp-dead", {"ssid": b"SIM-CAM-1", "off": True})
        await asyncio.sleep(120)
        assert bench.state(device) is DeviceState.CONNECTED

    run(test)


def test_the_link_of_another_camera_is_never_touched() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device, other = await connected(bench, 1), await connected(bench, 2)
        third = await connected(bench, 3)
        faults.adapters.add(interface(bench, device) or "")
        await asyncio.sleep(WINDOW_S)
        assert states(bench, other) == states(bench, third) == []
        assert steps(bench)[:2] == ["rejoin", "did-not"]
        assert "other-adapter" not in steps(bench)
        assert faults.resets == []

    run(test)


def test_an_answer_during_the_observation_ends_it() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.hosts.add(device)
        await asyncio.sleep(SILENT_S / 2 + 20)
        faults.hosts.clear()
        await asyncio.sleep(60)
        assert steps(bench) == []
        assert [one for one in asyncio.all_tasks() if "dead-links" in one.get_name()] == []

    run(test)


# -- recording


def test_no_step_is_taken_without_a_command_while_a_recording_was_not_seen_to_end() -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await gopro(bench, control)
        control.says(device, recording=RecordingState.RECORDING, recording_since_us=1)
        faults.services.add(device)
        await asyncio.sleep(WINDOW_S)
        assert steps(bench) == []
        for step in ("camera-access-point", "reboot-camera"):
            with pytest.raises(CameraBusy):
                await recover(bench, device, step=step)
        assert steps(bench) == []
        await recover(bench, device)  # a person may
        assert steps(bench) == ["rejoin"]

    run(test, control=control)


def test_a_camera_whose_driver_was_never_heard_may_record() -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await bench.hub.create({"connection_type": "wifi"} | GOPRO)
        await bench.hub.bluetooth.pair(device, wait=True)
        await bench.hub.connections.connect(device, wait=True)
        await asyncio.sleep(30)
        bench.story.forget()
        faults.hosts.add(device)
        await asyncio.sleep(WINDOW_S)
        assert steps(bench) == []

    run(test, control=control)


def test_a_camera_that_speaks_to_its_driver_is_alive() -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await gopro(bench, control)
        faults.services.add(device)
        for _ in range(30):
            await asyncio.sleep(SILENT_S / 4)
            control.says(device)
        assert steps(bench) == []

    run(test, control=control)


# -- the camera's own steps


def test_the_cameras_own_steps_are_taken_only_if_they_are_switched_on() -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await gopro(bench, control)
        faults.services.add(device)
        await asyncio.sleep(WINDOW_S / 2)
        assert steps(bench) == ["rejoin", "did-not", "other-adapter", "did-not"]

    run(test, control=control)


def test_a_service_that_hangs_is_at_last_rebooted() -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await gopro(bench, control)
        faults.services.add(device)
        commands: list[str] = []

        async def restart(address: str, service: str) -> None:
            commands.append("access point")

        async def reboot(address: str, service: str) -> None:
            commands.append("reboot")
            asyncio.get_running_loop().call_later(3, gone)
            asyncio.get_running_loop().call_later(50, back)

        def gone() -> None:
            bench.world.power_off_camera(GOPRO["ssid"].encode(), orderly=True)

        def back() -> None:
            bench.world.power_on_camera(GOPRO["ssid"].encode())
            faults.services.clear()

        bench.world.bluetooth.restart_access_point = restart  # type: ignore[method-assign]
        bench.world.bluetooth.reboot = reboot  # type: ignore[method-assign]
        await asyncio.sleep(WINDOW_S / 2)
        assert steps(bench) == [
            *("rejoin", "did-not", "other-adapter", "did-not"),
            *("camera-access-point", "did-not", "reboot-camera", "came-back"),
        ]
        assert commands == ["access point", "reboot"]
        assert set(states(bench, device)) == {"connecting", "connected"}

    run(test, control=control, rules=LinkRules(camera_steps=True))


def test_a_camera_that_cannot_be_reached_over_bluetooth_is_joined_all_the_same() -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await gopro(bench, control)

        async def refuse(address: str, service: str) -> None:
            raise WakeFailed("it is out of range")

        bench.world.bluetooth.reboot = refuse  # type: ignore[method-assign]
        with capture_logs() as logs:
            await recover(bench, device, step="reboot-camera", wait=True)
        (failed,) = [log for log in logs if log["event"] == "recovery_step_failed"]
        assert failed["reason"] == "it is out of range"
        assert steps(bench) == ["reboot-camera", "came-back"]
        assert bench.state(device) is DeviceState.CONNECTED
        faults.hosts.add(device)
        with pytest.raises(WakeFailed, match="out of range"):
            await recover(bench, device, step="reboot-camera", wait=True)
        assert steps(bench)[2:] == ["reboot-camera", "did-not"]

    run(test, control=control)


def test_the_cameras_own_steps_need_a_pairing_and_a_model_that_knows_them() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        with pytest.raises(NotSupported):
            await recover(bench, device, step="reboot-camera")
        bench.world.power_on_camera(GOPRO["ssid"].encode())
        unpaired = await bench.hub.create({"connection_type": "wifi"} | GOPRO)
        await bench.hub.connections.connect(unpaired, wait=True)
        with pytest.raises((NotPaired, CameraBusy)):
            await recover(bench, unpaired, step="reboot-camera")
        assert steps(bench) == []

    run(test)


# -- by a command


def test_a_command_takes_the_next_step_and_waits_for_its_result() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        await recover(bench, device, wait=True)
        assert steps(bench) == ["rejoin", "came-back"]
        faults.adapters.add("wlan0")
        await recover(bench, device, wait=True)
        assert steps(bench)[2:] == ["other-adapter", "came-back"]
        faults.hosts.add(device)
        with pytest.raises(DeviceNotReachable, match="does not answer"):
            await recover(bench, device, wait=True)
        assert steps(bench)[4:] == ["rejoin", "did-not"], "that of the longest ago"
        assert bench.story.of(OperationFailed) == [], "the caller was told"
        assert whys(bench)[0] == "By a command."

    run(test, rules=LinkRules(silent_link_s=0))


def test_a_failure_that_nobody_waits_for_is_told() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.hosts.add(device)
        await recover(bench, device)
        await asyncio.sleep(60)
        (failed,) = bench.story.of(OperationFailed)
        assert (failed.operation, failed.code) == ("recover", ErrorCode.DEVICE_NOT_REACHABLE)

    run(test)


def test_a_step_without_a_command_fails_in_silence() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        faults.hosts.add(await connected(bench))
        await asyncio.sleep(SILENT_S + 60)
        assert steps(bench) == ["rejoin", "did-not"]
        assert bench.story.of(OperationFailed) == []

    run(test)


def test_a_second_command_joins_the_step_that_runs_or_is_refused() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        await recover(bench, device)
        with pytest.raises(Busy, match="rejoin"):
            await recover(bench, device, step="other-adapter")
        await asyncio.gather(
            recover(bench, device, wait=True), recover(bench, device, step="rejoin", wait=True)
        )
        assert steps(bench) == ["rejoin", "came-back"]

    run(test)


def test_what_cannot_be_recovered_is_refused() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        for step, error in {
            "turn-it-off-and-on": InvalidRequest,
            "power-port": InvalidRequest,  # its port is not named
            "camera-access-point": NotSupported,
        }.items():
            with pytest.raises(error):
                await recover(bench, device, step=step)
        with pytest.raises(DeviceNotFound):
            await recover(bench, DeviceId(9))
        for name in ("wlan1", "wlan2"):
            bench.world.unplug_adapter(name)
        with pytest.raises(Busy, match="no other adapter"):
            await recover(bench, device, step="other-adapter")
        await bench.hub.connections.disconnect(device)
        with pytest.raises(NotConnected, match="disconnected"):
            await recover(bench, device)
        assert steps(bench) == []
        assert bench.story.devices[device].state is DeviceState.DISCONNECTED

    run(test)


@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.3, 2.0, 6.0])
@pytest.mark.parametrize("step", ["rejoin", "reset-port"])
def test_a_disconnect_ends_a_step_whenever_it_comes(step: str, after_s: float) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.hosts.add(device)
        waiting = asyncio.ensure_future(recover(bench, device, step=step, wait=True))
        await asyncio.sleep(after_s)
        await bench.hub.connections.disconnect(device)
        with pytest.raises(Cancelled):
            await waiting
        assert steps(bench) in ([step, "not-known"], [])
        assert states(bench, device)[-2:] == ["disconnecting", "disconnected"]
        await asyncio.sleep(60)
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert all(one.state is InterfaceState.AVAILABLE for one in bench.hub.interface_statuses())
        assert bench.hub_state.allocator.promises == {}

    run(test)


def test_removing_a_device_ends_its_step() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        await recover(bench, device)
        await bench.hub.remove(device)
        await asyncio.sleep(60)
        assert steps(bench) == ["rejoin", "not-known"]
        assert bench.story.devices == {}

    run(test)


def test_pulling_the_adapter_ends_a_step_and_the_device_is_looked_for() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        for name in ("wlan1", "wlan2"):
            bench.world.unplug_adapter(name)
        await recover(bench, device)
        bench.world.unplug_adapter("wlan0")
        await asyncio.sleep(10)
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert steps(bench)[0] == "rejoin"
        assert len(steps(bench)) == 2
        bench.world.plug_adapter("wlan0")
        await asyncio.sleep(60)
        assert bench.state(device) is DeviceState.CONNECTED

    run(test)


def test_a_step_ends_by_itself_though_everything_hangs() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)

        async def join(_: object) -> Link:
            await asyncio.Event().wait()
            raise AssertionError

        bench.world.backend.join = join  # type: ignore[method-assign, assignment]
        await recover(bench, device)
        await asyncio.sleep(LINK_STEP_S + 1)
        assert steps(bench) == ["rejoin", "not-known"]
        assert states(bench, device) == ["connecting"], "its attempt has a limit of its own"
        await asyncio.sleep(200)
        assert states(bench, device) == ["connecting", "disconnected", "connecting"], "and it is looked for"

    run(test, attempt_timeout_s=1000.0)


def test_a_bug_in_a_step_leaves_no_device_connecting() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        def crash(*_: object, **__: object) -> None:
            raise RuntimeError("a bug")

        device = await connected(bench)
        rejoining = bench.hub._link_steps._rejoining
        for step, was in (("rejoin", "connected"), ("reset-port", "connected")):
            assert bench.state(device) == was
            rejoining.join = crash  # type: ignore[method-assign]
            with pytest.raises(InternalError):
                await recover(bench, device, step=step, wait=True)
            await asyncio.sleep(60)
            assert steps(bench) == [step, "not-known"]
            assert states(bench, device) == ["connecting", "disconnected", "connecting", "connected"]
            bench.story.forget()

    run(test)


def test_a_camera_that_cannot_be_asked_after_a_step_has_no_result() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.unknown = True
        await recover(bench, device, wait=True)
        assert steps(bench) == ["rejoin", "not-known"]

    run(test)


def test_the_stop_of_the_hub_ends_a_step() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        waiting = asyncio.ensure_future(recover(bench, device, wait=True))
        await asyncio.sleep(0.05)
        await bench.hub.stop_work()
        with pytest.raises(Cancelled):
            await waiting
        assert steps(bench) == ["rejoin", "not-known"]
        assert bench.store.devices[device].wanted, "the next start looks for it"

    run(test)


# -- ports


def test_the_port_of_a_connected_camera_is_reset_by_a_command_with_its_link_down() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        faults.adapters.add("wlan0")
        held: list[bool] = []
        reset = bench.world.adapters.reset_port

        async def noted(name: str) -> None:
            held.append("wlan0" in bench.world.backend.joined)
            assert bench.story.interfaces["wlan0"].reason == "being recovered (reset-port)"
            assert (bench.state(device), interface(bench, device)) == (DeviceState.CONNECTING, None)
            await reset(name)

        bench.world.adapters.reset_port = noted  # type: ignore[method-assign]
        await recover(bench, device, step="reset-port", wait=True)
        assert held == [False]
        assert steps(bench) == ["reset-port", "came-back"]
        assert states(bench, device) == ["connecting", "connected"]
        assert interface(bench, device) == "wlan0"

    run(test)


async def wanted_by_another(bench: Bench) -> DeviceId:
    """wlan0 is the only adapter, is managed only a while after a reset, and another device waits for it;
    returns the id of that."""
    reset = bench.world.adapters.reset_port

    async def managed_later(name: str) -> None:
        await reset(name)
        bench.learn(name, BackendFacts(obstacle="not managed yet"))
        asyncio.get_running_loop().call_later(5, bench.learn, name, BackendFacts())

    bench.world.adapters.reset_port = managed_later  # type: ignore[method-assign]
    for name in ("wlan1", "wlan2"):
        bench.world.unplug_adapter(name)
    waits = await bench.create(2)
    await bench.hub.connections.connect(waits, wait=False, when_free=True)
    return waits


def test_nobody_else_gets_the_adapter_whose_port_is_reset() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        waits = await wanted_by_another(bench)
        await recover(bench, device, step="reset-port", wait=True)
        assert interface(bench, device) == "wlan0"
        assert bench.story.devices[waits].device.waiting_since_us

    run(test)


def test_a_port_that_cannot_be_reset_is_told_if_the_camera_is_not_seen_to_answer() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        async def refuse(_: str) -> None:
            raise PermissionError(13, "Permission denied")

        device = await connected(bench)
        bench.world.adapters.reset_port = refuse  # type: ignore[method-assign, assignment]
        await recover(bench, device, step="reset-port", wait=True)
        assert steps(bench) == ["reset-port", "came-back"]
        assert interface(bench, device) == "wlan0"
        faults.unknown = True
        with pytest.raises(WifimgrdError, match="Permission denied"):
            await recover(bench, device, step="reset-port", wait=True)
        assert steps(bench)[2:] == ["reset-port", "not-known"]

    run(test)


def test_an_adapter_that_does_not_come_back_is_replaced_by_another_one() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        async def lose(name: str) -> None:
            bench.world.unplug_adapter(name)
            await asyncio.sleep(3600)

        device = await connected(bench)
        bench.world.adapters.reset_port = lose  # type: ignore[method-assign]
        await recover(bench, device, step="reset-port", wait=True)
        assert steps(bench) == ["reset-port", "came-back"]
        assert interface(bench, device) == "wlan1"

    run(test)


def test_a_device_that_no_adapter_is_left_for_is_lost() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        async def lose(name: str) -> None:
            for one in ("wlan0", "wlan1", "wlan2"):
                bench.world.unplug_adapter(one)

        device = await connected(bench)
        bench.world.adapters.reset_port = lose  # type: ignore[method-assign]
        with pytest.raises(NoInterfaceAvailable):
            await recover(bench, device, step="reset-port", wait=True)
        assert steps(bench) == ["reset-port", "did-not"]
        assert states(bench, device) == ["connecting", "disconnected"]
        bench.world.plug_adapter("wlan1")
        await asyncio.sleep(60)
        assert bench.state(device) is DeviceState.CONNECTED

    run(test)


def test_a_usb_device_of_two_cameras_is_neither_reset_nor_another_adapter(tmp_path: Path) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        devices = [await connected(bench, number) for number in (1, 2, 3)]
        by_interface = {interface(bench, device): device for device in devices}
        assert by_interface.keys() == {"wlan0", "wlan1", "wlan9"}
        for name in ("wlan0", "wlan9"):
            with pytest.raises(Busy, match="another interface"):
                await recover(bench, by_interface[name], step="reset-port")
        await bench.hub.connections.disconnect(by_interface["wlan9"])
        with pytest.raises(Busy, match="no other adapter"):
            await recover(bench, by_interface["wlan0"], step="other-adapter")
        await recover(bench, by_interface["wlan1"], step="other-adapter", wait=True)
        assert interface(bench, by_interface["wlan1"]) == "wlan9"
        faults.adapters.add("wlan9")
        faults.counts = True
        await asyncio.sleep(3 * SILENT_S + 120)
        assert "wlan9 reset-port" not in steps(bench), "its USB device has another link"
        assert states(bench, by_interface["wlan0"]) == []

    run(test, scenario=shared(tmp_path, mac=ANOTHER_MAC, radio="another"))


def test_only_a_named_port_has_its_power_switched() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        first, second = await connected(bench, 1), await connected(bench, 2)
        await recover(bench, first, step="power-port", wait=True)
        with pytest.raises(InvalidRequest, match="power_ports"):
            await recover(bench, second, step="power-port", wait=True)
        assert faults.power == ["wlan0"]

    run(test, rules=LinkRules(power_ports=frozenset({"1-1.1"})))


def test_power_is_switched_where_a_reset_has_failed() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        async def refuse(_: str) -> None:
            raise PermissionError(13, "Permission denied")

        await connected(bench)
        bench.world.adapters.reset_port = refuse  # type: ignore[method-assign, assignment]
        faults.adapters.add("wlan0")
        await asyncio.sleep(3 * SILENT_S + 120)
        assert [one for one in steps(bench) if one.startswith("wlan0")] == [
            "wlan0 reset-port",
            "wlan0 power-port",
        ]
        assert faults.power == ["wlan0"]

    run(test, rules=LinkRules(power_ports=frozenset({"1-1.1"})))


def test_a_replug_counts_as_a_reset_and_a_reset_as_a_replug() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        only = RecoveryRules(frozenset({RecoveryStep.REPLUG}))
        await bench.hub.reconfigure(replace(bench.hub_state.settings, recovery=only))
        await connected(bench)
        faults.adapters.add("wlan0")
        await asyncio.sleep(3 * SILENT_S + 120)
        assert faults.resets == ["wlan0"]
        bench.adapter_events.adapter_firmware_failed("wlan0")
        await asyncio.sleep(60)
        assert faults.resets == ["wlan0"], "within the hour"
        bench.adapter_events.adapter_firmware_failed("wlan2")
        await asyncio.sleep(60)
        assert faults.resets == ["wlan0", "wlan2"]
        device = await bench.create(2, pin={"usb_port": "1-1.3"})
        await bench.hub.connections.connect(device, wait=True)
        assert interface(bench, device) == "wlan2"
        await asyncio.sleep(30)
        faults.adapters.add("wlan2")
        await asyncio.sleep(3 * SILENT_S + 120)
        assert interface(bench, device) == "wlan0"
        assert faults.resets == ["wlan0", "wlan2"]

    run(test)


# -- the journal


def test_a_step_and_its_result_are_in_the_journal() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        faults.links.add(await connected(bench))
        with capture_logs() as logs:
            await asyncio.sleep(SILENT_S + 60)
        (begun,) = [log for log in logs if log["event"] == "link_recovery"]
        assert (begun["device"], begun["interface"], begun["step"]) == (1, "wlan0", "rejoin")
        assert begun["reason"].endswith(".")
        (over,) = [log for log in logs if log["event"] == "link_recovery_over"]
        assert over["result"] == StepResult.CAME_BACK

    run(test)
