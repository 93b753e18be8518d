"""The begin and the end of recordings, and failed commands to record, as the manager publishes them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.daemon.manager.test_cameras import Cameras, OnCameras, S, Test, run_on_cameras
from tests.store_in_memory import StoreInMemory
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.domain.camera import EndSeen, RecordingState
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import CameraRefused, DeviceNotReachable, ErrorCode, NotConnected
from wifimgrd.domain.events import CameraChanged, RecordingFailed, RecordingStarted, RecordingStopped
from wifimgrd.domain.recordings import ExpectedCamera, Recording
from wifimgrd.domain.rig import Everyone

IDLE, RECORDING = RecordingState.IDLE, RecordingState.RECORDING


@pytest.fixture
def on_cameras() -> Iterator[OnCameras]:
    """As `run_on_cameras`, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:

        def run(test: Test, **options: Any) -> None:
            runner.run(run_on_cameras(test, **options))

        yield run


def begins(cameras: Cameras) -> list[RecordingStarted]:
    return cameras.bench.story.of(RecordingStarted)


def failures(cameras: Cameras) -> dict[DeviceId, ErrorCode]:
    return {event.device_id: event.code for event in cameras.bench.story.of(RecordingFailed)}


def test_a_recording_begins_with_what_was_last_read_of_its_camera(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        clock = {"clock_offset_us": 1500, "clock_bound_us": 12_000, "clock_read_us": 3 * S}
        cameras.control.says(device, serial_number="X4-1", storage_free=5000, **clock)
        cameras.control.says(
            device, recording=RECORDING, recording_since_us=7 * S, battery_level=79, storage_free=4990
        )
        [begun] = begins(cameras)
        assert begun == RecordingStarted(
            device,
            "SIM-CAM-1",
            7 * S,
            Recording(
                "X4-1",
                battery_level=79,
                storage_free=4990,
                clock_offset_us=1500,
                clock_bound_us=12_000,
                expected=(ExpectedCamera(device, "SIM-CAM-1"),),
            ),
        )

    on_cameras(test, set_clock=False)


def test_a_camera_that_was_idle_has_not_recorded_before_whatever_it_says(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, read_us=1000 * S)
        await asyncio.sleep(2)
        claim = {"recording": RECORDING, "recording_since_us": 7 * S, "recorded_s": 7200}
        cameras.control.says(device, read_us=9000 * S, **claim)  # the host's clock was set meanwhile
        [begun] = begins(cameras)
        assert begun.since_us == 8998 * S
        assert cameras.camera(device).reading.recording_since_us == 8998 * S
        await asyncio.sleep(5)
        cameras.control.says(device, read_us=9005 * S, recording_since_us=4 * S, recorded_s=60)
        assert begins(cameras)[-1].since_us == 9000 * S, (
            "another recording: it was seen to record the one before"
        )

    on_cameras(test)


def test_a_camera_that_is_connected_again_may_have_recorded_before(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, read_us=1000 * S)
        await cameras.bench.hub.connections.disconnect(device)
        await cameras.bench.hub.connections.connect(device, wait=True)
        cameras.control.says(device, read_us=1002 * S, recording=RECORDING, recording_since_us=7 * S)
        [begun] = begins(cameras)
        assert begun.since_us == 7 * S

    on_cameras(test)


def test_the_clock_of_a_recording_is_that_of_before_its_begin(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        cameras.control.says(
            device, recording=RECORDING, clock_offset_us=9, clock_bound_us=9, clock_read_us=9 * S
        )
        [begun] = begins(cameras)
        assert (begun.recording.clock_offset_us, begun.recording.clock_bound_us) == (None, None)

    on_cameras(test)


def test_a_clock_that_was_set_since_it_was_read_is_not_known_at_the_begin(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, clock_offset_us=3600 * S, clock_bound_us=9, clock_read_us=3 * S)
        await asyncio.sleep(1)
        assert cameras.control.clocks == [device]
        cameras.control.says(device, recording=RECORDING)
        [begun] = begins(cameras)
        assert begun.recording.clock_offset_us is None

    on_cameras(test, set_clock=True)


def test_the_expected_cameras_with_a_driver_are_told_with_each_begin(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        away = await cameras.bench.create(2, codename="insta360-x4")
        cameras.bench.world.power_off_camera(b"SIM-CAM-2", orderly=True)
        with pytest.raises(DeviceNotReachable):
            await cameras.bench.hub.connections.connect(away, wait=True)
        await cameras.connected(3, codename="x")
        await cameras.bench.create(4, codename="insta360-x4")  # nobody has asked for its connection
        cameras.control.says(device, recording=RECORDING)
        [begun] = begins(cameras)
        assert begun.recording.expected == (
            ExpectedCamera(device, "SIM-CAM-1"),
            ExpectedCamera(away, "SIM-CAM-2"),
        )

    on_cameras(test)


def test_a_begin_is_told_once_and_after_what_was_read(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        cameras.bench.story.forget()
        for second in range(3):
            cameras.control.says(device, recording=RECORDING, recorded_s=second, read_us=(10 + second) * S)
        told = [type(one) for one in cameras.bench.story.events]
        assert told.index(CameraChanged) < told.index(RecordingStarted)
        assert len(begins(cameras)) == 1

    on_cameras(test)


def test_a_recording_that_follows_another_begins_after_that_has_ended(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, recording=RECORDING, recorded_s=60, recording_since_us=7 * S)
        cameras.bench.story.forget()
        cameras.control.says(device, recording=RECORDING, recorded_s=1, recording_since_us=90 * S)
        turns = [
            one for one in cameras.bench.story.events if isinstance(one, RecordingStarted | RecordingStopped)
        ]
        assert [(type(one), one.since_us) for one in turns] == [
            (RecordingStopped, 7 * S),
            (RecordingStarted, 90 * S),
        ]

    on_cameras(test)


def test_a_recording_that_a_restarted_hub_knows_does_not_begin_again(on_cameras: OnCameras) -> None:
    store = StoreInMemory()

    async def before(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, recording=RECORDING, recorded_s=60)

    async def after(cameras: Cameras) -> None:
        [device] = cameras.bench.story.devices
        await cameras.bench.hub.connections.connect(device, wait=True)
        cameras.control.says(device, recording=RECORDING, recorded_s=90)
        assert begins(cameras) == []

    on_cameras(before, store=store)
    on_cameras(after, store=store)


def test_a_recording_that_a_restarted_hub_finds_begins(on_cameras: OnCameras) -> None:
    store = StoreInMemory()

    async def before(cameras: Cameras) -> None:
        await cameras.connected()

    async def after(cameras: Cameras) -> None:
        [device] = cameras.bench.story.devices
        await cameras.bench.hub.connections.connect(device, wait=True)
        cameras.control.says(device, recording=RECORDING, recording_since_us=5 * S)
        [begun] = begins(cameras)
        assert begun.since_us == 5 * S
        assert begun.recording.expected == (ExpectedCamera(device, "SIM-CAM-1"),)

    on_cameras(before, store=store)
    on_cameras(after, store=store)


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_recording_ends_with_the_battery_and_the_card_as_last_read(
    on_cameras: OnCameras, is_removed: bool
) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, recording=RECORDING, battery_level=70, storage_free=900)
        if is_removed:
            await cameras.bench.hub.remove(device)
        else:
            cameras.control.says(device, recording=IDLE, battery_level=60, storage_free=100)
            await asyncio.sleep(5)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert (over.battery_level, over.storage_free) == ((70, 900) if is_removed else (60, 100))
        assert (over.seen is EndSeen.NEVER) is is_removed

    on_cameras(test)


def test_each_camera_that_does_not_record_as_told_is_reported_with_the_code(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        records, refuses = await cameras.connected(), await cameras.connected(2)
        away = await cameras.bench.create(3, codename="insta360-x4")
        cameras.control.refuses[refuses] = CameraRefused("no")
        at = cameras.bench.hub.cameras._state.clocks()
        await cameras.bench.hub.cameras.record([records, refuses, away], on=True)
        assert failures(cameras) == {away: ErrorCode.NOT_CONNECTED, refuses: ErrorCode.CAMERA_REFUSED}
        assert {event.commanded.steady_s for event in cameras.bench.story.of(RecordingFailed)} == {
            at.steady_s
        }

    on_cameras(test)


def test_a_camera_of_the_rig_that_is_away_is_reported_before_others_record(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, away = await cameras.connected(), await cameras.connected(2)
        cameras.control.says(device)
        cameras.bench.world.power_off_camera(b"SIM-CAM-2", orderly=True)
        await asyncio.sleep(60)
        cameras.bench.story.forget()
        await cameras.bench.hub.cameras.record([], on=True, everyone=Everyone.RIG)
        told = [
            one for one in cameras.bench.story.events if isinstance(one, RecordingStarted | RecordingFailed)
        ]
        assert [(type(one), one.device_id) for one in told] == [
            (RecordingFailed, away),
            (RecordingStarted, device),
        ]

    on_cameras(test)


def test_a_command_to_stop_that_fails_is_no_failure_to_record(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        away = await cameras.bench.create(1, codename="insta360-x4")
        with pytest.raises(NotConnected):
            await cameras.bench.hub.cameras.stop_recording(away)
        assert failures(cameras) == {}

    on_cameras(test)
