"""Commands over Bluetooth to a GoPro that is not connected, of the simulated world."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, RunOnBench
from tests.daemon.manager.test_power import GOPRO, INSTA360, THETA, paired
from wifimgrd.config import catalog
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.camera import (
    COMMAND_S,
    SILENT_S,
    CameraAnswer,
    CameraCommand,
    CameraReading,
    CameraStatus,
    CommandResult,
    Problem,
    RecordingState,
    StopReason,
    StorageState,
)
from wifimgrd.domain.device import DeviceId, DeviceState, PowerState
from wifimgrd.domain.errors import (
    Busy,
    CameraBusy,
    CameraRefused,
    Cancelled,
    DeviceNotReachable,
    ErrorCode,
    NotConnected,
    NotPaired,
    Unconfirmed,
    WifimgrdError,
)
from wifimgrd.domain.events import CameraChanged, RecordingFailed, RecordingStarted, RecordingStopped
from wifimgrd.domain.rig import Everyone
from wifimgrd.simulator.emulators import EmulatedCamera

SSID = GOPRO["ssid"]


async def with_wifi_off(bench: Bench) -> DeviceId:
    """A paired GoPro that is on, and its Wi-Fi off."""
    device = await paired(bench)
    bench.world.power_on_camera(SSID.encode())
    bench.world.set_fault("wifi-off", {"ssid": SSID})
    return device


def emulated(bench: Bench) -> EmulatedCamera:
    found = bench.world.camera(SSID).emulated
    assert found is not None
    return found


def is_asleep(bench: Bench) -> bool:
    return bench.world.camera(SSID).asleep


def camera(bench: Bench, device: DeviceId) -> CameraStatus:
    found = bench.story.devices[device].camera
    assert found is not None
    return found


async def refused(call: Awaitable[object], error: type[WifimgrdError], match: str) -> None:
    with pytest.raises(error, match=match):
        await call


def commands(bench: Bench) -> list[CameraCommand]:
    """Those that are sent over Bluetooth, from now on."""
    sent, send = list[CameraCommand](), bench.world.bluetooth.command

    async def command(address: str, service: str, command: CameraCommand) -> CameraAnswer:
        sent.append(command)
        return await send(address, service, command)

    bench.world.bluetooth.command = command  # type: ignore[method-assign]
    return sent


def test_a_gopro_whose_wifi_is_off_records_and_stops(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        await bench.hub.cameras.start_recording(device)
        assert emulated(bench).is_recording
        assert bench.state(device) is DeviceState.DISCONNECTED
        now = camera(bench, device)
        assert (now.requested, now.problems) == (True, ())
        assert (now.reading.recording, now.reading.battery_level) == (RecordingState.RECORDING, 80)
        assert now.reading.read_us
        await bench.hub.cameras.stop_recording(device)
        assert not emulated(bench).is_recording
        assert camera(bench, device).reading.recording is RecordingState.IDLE
        assert [one.reason for one in bench.story.of(RecordingStopped)] == [StopReason.STOPPED]
        bench.world.set_fault("wifi-off", {"ssid": SSID, "off": True})
        await bench.hub.connections.connect(device, wait=True)

    on_bench(test)


def test_what_it_does_is_known_for_as_long_as_of_a_silent_camera(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        sent = commands(bench)
        await bench.hub.cameras.start_recording(device)
        await asyncio.sleep(SILENT_S - 1)
        assert camera(bench, device).reading.recording is RecordingState.RECORDING
        await asyncio.sleep(2)
        now = camera(bench, device)
        assert (now.reading.recording, now.reading.time_left_s) == (None, None)
        assert (now.reading.battery_level, now.requested) == (80, True)
        bench.story.forget()
        await asyncio.sleep(600)
        assert bench.story.of(CameraChanged) == []
        assert sent == [CameraCommand.START]  # nothing is read by itself

    on_bench(test)


def test_the_clock_is_set(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        bench.world.set_fault("clock-off", {"ssid": SSID, "seconds": 300})
        await bench.hub.cameras.set_clock(device)
        offset_us = camera(bench, device).reading.clock_offset_us
        assert offset_us is not None
        assert abs(offset_us) < 5_000_000
        assert camera(bench, device).problems == ()
        emulated(bench).start()
        await refused(bench.hub.cameras.set_clock(device), CameraBusy, "not set meanwhile")

    on_bench(test)


def test_a_camera_that_sleeps_is_not_woken_by_a_command(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        sent = commands(bench)
        match = f"its camera is asleep: wake it, such as by wifimgrctl wake {device}"
        await refused(bench.hub.cameras.start_recording(device), NotConnected, match)
        await refused(bench.hub.cameras.stop_recording(device), NotConnected, match)
        await refused(bench.hub.cameras.set_clock(device), NotConnected, match)
        results = await bench.hub.cameras.record([device], on=True)
        assert isinstance(results[device].error, NotConnected)
        assert sent == []
        assert is_asleep(bench)
        assert not camera(bench, device).requested
        power = bench.story.devices[device].power
        assert power is not None
        assert power.state is PowerState.ASLEEP

    on_bench(test)


def test_a_camera_that_is_not_heard_is_not_connected(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        sent = commands(bench)
        bench.world.set_fault("out-of-range", {"ssid": SSID})
        began_s = asyncio.get_running_loop().time()
        await refused(bench.hub.cameras.start_recording(device), NotConnected, "not heard over Bluetooth")
        assert asyncio.get_running_loop().time() - began_s < COMMAND_S
        bench.world.set_fault("bluetooth-off", {})
        await refused(bench.hub.cameras.start_recording(device), NotConnected, "^the camera is disconnected$")
        assert sent == []

    on_bench(test)


@pytest.mark.parametrize("model", [INSTA360, THETA, {**GOPRO, "codename": "gopro-hero8"}])
def test_only_a_paired_gopro_is_commanded_over_bluetooth(on_bench: RunOnBench, model: dict[str, str]) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.hub.create({"connection_type": "wifi"} | model)
        sent, searches = commands(bench), list[int]()

        async def search(seconds: int, targets: Sequence[tuple[str, str]]) -> None:
            searches.append(seconds)

        bench.world.bluetooth.search = search  # type: ignore[method-assign]
        with pytest.raises(WifimgrdError):
            await bench.hub.cameras.start_recording(device)
        assert (sent, searches) == ([], [])

    on_bench(test)


def test_a_gopro_that_is_not_paired_is_not_looked_for(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.hub.create({"connection_type": "wifi"} | GOPRO)
        bench.world.power_on_camera(SSID.encode())
        bench.world.set_fault("wifi-off", {"ssid": SSID})
        sent = commands(bench)
        await refused(bench.hub.cameras.start_recording(device), NotConnected, "^the camera is ")
        assert sent == []

    on_bench(test)


def test_why_it_refuses_and_that_it_is_no_problem_for_ever(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        sent = commands(bench)
        bench.world.set_fault("card-missing", {"ssid": SSID})
        await refused(bench.hub.cameras.start_recording(device), CameraRefused, "the camera has no card")
        now = camera(bench, device)
        assert (now.reading.storage_state, now.problems) == (
            StorageState.MISSING,
            (Problem.STORAGE_MISSING,),
        )
        await asyncio.sleep(15)
        assert Problem.NOT_RECORDING in camera(bench, device).problems
        await asyncio.sleep(600)
        assert Problem.NOT_RECORDING not in camera(bench, device).problems  # it is not known any more
        assert sent == [CameraCommand.START]

    on_bench(test)


def test_a_command_whose_answer_is_lost_is_unconfirmed(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        bench.world.set_fault("command-unanswered", {"ssid": SSID})
        await refused(bench.hub.cameras.start_recording(device), Unconfirmed, "the camera's answer was lost")
        assert emulated(bench).is_recording

    on_bench(test)


def test_a_command_that_takes_too_long_once_it_was_sent_is_unconfirmed(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)

        async def command(address: str, service: str, command: CameraCommand) -> CameraAnswer:
            raise Unconfirmed("the camera's answer was lost")

        bench.world.bluetooth.command = command  # type: ignore[method-assign]
        await refused(bench.hub.cameras.start_recording(device), Unconfirmed, "the camera's answer was lost")

    on_bench(test)


def test_such_a_camera_is_not_started_again_by_itself(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        await bench.hub.reconfigure(HubSettings(models=catalog.load(), keep_recording=True))
        sent = commands(bench)
        bench.world.set_fault("refuses-recording", {"ssid": SSID})
        await refused(bench.hub.cameras.start_recording(device), CameraRefused, "the camera refused")
        with capture_logs() as logs:
            await asyncio.sleep(120)
        assert Problem.NOT_RECORDING.value in [entry.get("code") for entry in logs]
        assert [entry for entry in logs if entry["event"] == "recording_failed"] == []
        assert sent == [CameraCommand.START]

    on_bench(test)


def test_a_recording_that_was_started_over_bluetooth_begins_as_others(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        await bench.hub.cameras.start_recording(device)
        [begun] = bench.story.of(RecordingStarted)
        assert begun.device_id == device

    on_bench(test)


def test_a_failure_over_bluetooth_is_reported_with_its_code(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        bench.world.set_fault("refuses-recording", {"ssid": SSID})
        await refused(bench.hub.cameras.start_recording(device), CameraRefused, "the camera refused")
        [failed] = bench.story.of(RecordingFailed)
        assert (failed.device_id, failed.code) == (device, ErrorCode.CAMERA_REFUSED)

    on_bench(test)


def test_several_over_bluetooth_and_wifi_have_a_result_each(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        other = await bench.create(1)
        results = await bench.hub.cameras.record([other, device, DeviceId(99)], on=True)
        assert list(results) == [other, device, DeviceId(99)]
        assert [one.error is None for one in results.values()] == [False, True, False]
        assert emulated(bench).is_recording
        everyone = await bench.hub.cameras.record([], on=False, everyone=Everyone.RIG)
        assert [type(one.error) for one in everyone.values()] == [NotConnected]  # nobody is searched for
        assert emulated(bench).is_recording

    on_bench(test)


@pytest.mark.parametrize(
    ("error", "told", "match"),
    [
        (DeviceNotReachable("the link was lost"), DeviceNotReachable, "the link was lost"),
        (Busy("another operation runs"), Busy, "another operation runs"),
        (Cancelled("x"), NotConnected, "the command was cancelled"),
    ],
)
def test_a_command_that_fails_on_the_way(
    on_bench: RunOnBench, error: WifimgrdError, told: type[WifimgrdError], match: str
) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)

        async def command(*_: object) -> CameraAnswer:
            raise error

        bench.world.bluetooth.command = command  # type: ignore[method-assign, assignment]
        await refused(bench.hub.cameras.start_recording(device), told, match)
        await refused(bench.hub.cameras.set_clock(device), told, match)

    on_bench(test)


@pytest.mark.parametrize(
    ("fault", "kind", "match"),
    [
        ("bond-lost", NotConnected, "pair it again"),
        ("radio-trouble", DeviceNotReachable, "refused the connection 6 times"),
    ],
)
def test_a_bond_that_may_be_lost_is_told_and_the_next_command_tries_again(
    on_bench: RunOnBench, fault: str, kind: type[WifimgrdError], match: str
) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        bench.world.set_fault(fault, {"ssid": SSID})
        for _ in range(2):
            await refused(bench.hub.cameras.start_recording(device), kind, match)
        bench.world.set_fault(fault, {"ssid": SSID, "off": True})
        await bench.hub.cameras.start_recording(device)

    on_bench(test)


def test_a_camera_that_hangs_ends_the_command_in_time(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        emulated(bench).start()

        async def command(*_: object) -> CameraAnswer:
            await asyncio.Event().wait()
            raise AssertionError

        bench.world.bluetooth.command = command  # type: ignore[method-assign, assignment]
        began_s = asyncio.get_running_loop().time()
        await refused(bench.hub.cameras.stop_recording(device), Unconfirmed, "in time")
        assert Problem.RECORDING_UNCONFIRMED in camera(bench, device).problems
        assert asyncio.get_running_loop().time() - began_s <= COMMAND_S

    on_bench(test)


def test_a_device_that_is_removed_meanwhile(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)
        sent = commands(bench)
        recording = asyncio.create_task(bench.hub.cameras.record([device], on=True))
        await asyncio.sleep(0.01)
        await bench.hub.remove(device)
        assert (await recording)[device].error is not None
        assert sent == []

    on_bench(test)


def test_what_is_said_over_bluetooth_does_not_replace_what_a_link_has_read(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await with_wifi_off(bench)

        async def command(*_: object) -> CameraAnswer:
            bench.world.set_fault("wifi-off", {"ssid": SSID, "off": True})
            await bench.hub.connections.connect(device, wait=True)
            return CameraAnswer(CommandResult(), CameraReading(read_us=1, battery_level=3))

        bench.world.bluetooth.command = command  # type: ignore[method-assign, assignment]
        await bench.hub.cameras.start_recording(device)
        assert camera(bench, device).reading.battery_level is None

    on_bench(test)


async def connected_hero9(bench: Bench, *, is_paired: bool) -> DeviceId:
    """A HERO9, which starts and stops only over Bluetooth, connected over Wi-Fi."""
    hero9 = {**GOPRO, "codename": "gopro-hero9"}
    if is_paired:
        device = await paired(bench, hero9)
        bench.world.power_on_camera(SSID.encode())
    else:
        bench.world.power_on_camera(SSID.encode())
        device = await bench.hub.create({"connection_type": "wifi"} | hero9)
    await bench.hub.connections.connect(device, wait=True)
    return device


def test_a_connected_hero9_records_and_stops_over_bluetooth(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device, sent = await connected_hero9(bench, is_paired=True), commands(bench)
        assert bench.state(device) is DeviceState.CONNECTED
        results = await bench.hub.cameras.record([], on=True, everyone=Everyone.RIG)
        assert [one.error for one in results.values()] == [None]
        assert emulated(bench).is_recording
        assert camera(bench, device).reading.recording is RecordingState.RECORDING
        await bench.hub.cameras.stop_recording(device)
        assert not emulated(bench).is_recording
        assert sent == [CameraCommand.START, CameraCommand.STOP]

    on_bench(test)


def test_a_connected_hero9_that_is_not_paired_is_told_over_its_network(on_bench: RunOnBench) -> None:
    """Which its driver refuses, before others wait for it."""

    async def test(bench: Bench) -> None:
        device, sent = await connected_hero9(bench, is_paired=False), commands(bench)
        result = (await bench.hub.cameras.record([device], on=True))[device]
        assert result.error is not None
        assert sent == []

    on_bench(test)


def test_a_connected_hero9_that_fails_over_bluetooth_is_not_called_disconnected(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await connected_hero9(bench, is_paired=True)

        async def command(*_: object) -> CameraAnswer:
            raise NotPaired("it may have forgotten this hub")

        bench.world.bluetooth.command = command  # type: ignore[method-assign, assignment]
        await refused(
            bench.hub.cameras.start_recording(device), DeviceNotReachable, "^over Bluetooth: it may"
        )

    on_bench(test)
