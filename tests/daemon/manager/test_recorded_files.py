"""The files of recordings: each camera is asked once for each that has ended, while it is idle, and what it
has told is published once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.daemon.manager.test_cameras import Cameras, Test, run_on_cameras
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.domain.camera import EndSeen, RecordingState, StopReason
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    BackendUnavailable,
    CameraBusy,
    DeviceNotReachable,
    NotConnected,
    WifimgrdError,
)
from wifimgrd.domain.events import RecordingFiles, RecordingStopped
from wifimgrd.domain.recordings import RecordedFile

S = 1_000_000
FILES = (RecordedFile("100GOPRO/GX010001.MP4", 77),)
OnCameras = Callable[..., None]


@pytest.fixture
def on_cameras() -> Iterator[OnCameras]:
    """Run a coroutine function on a started hub with scripted cameras, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:

        def run(test: Test, **options: Any) -> None:
            async def timed(cameras: Cameras) -> None:
                loop = asyncio.get_running_loop()
                cameras.bench.clock = lambda: 1_000_000 * S + round(loop.time() * S)
                await test(cameras)

            runner.run(run_on_cameras(timed, **options))

        yield run


def begins(cameras: Cameras, device: DeviceId, ago_s: float = 0) -> int:
    """A camera is seen to record since then; returns when that was."""
    since_us = cameras.bench.clock() - round(ago_s * S)
    cameras.control.says(
        device,
        recording=RecordingState.RECORDING,
        recording_since_us=since_us,
        recorded_s=round(ago_s),
        read_us=cameras.bench.clock(),
        stop_reason=None,
    )
    return since_us


def ends(cameras: Cameras, device: DeviceId, reason: StopReason | None = StopReason.FULL) -> None:
    """It is seen to have stopped, which is told at once with a reason."""
    cameras.control.says(
        device,
        recording=RecordingState.IDLE,
        recorded_s=None,
        stop_reason=reason,
        read_us=cameras.bench.clock(),
    )


def is_read(cameras: Cameras, device: DeviceId) -> None:
    cameras.control.says(device, read_us=cameras.bench.clock())


def told(cameras: Cameras) -> list[RecordingFiles]:
    return cameras.bench.story.of(RecordingFiles)


# -- what is told


def test_after_a_recording_its_files_are_told_once(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.files[device] = FILES
        since_us = begins(cameras, device)
        await asyncio.sleep(60)
        ends(cameras, device)
        assert told(cameras) == []
        await asyncio.sleep(100)
        assert told(cameras) == [RecordingFiles(device, since_us, FILES)]
        [(asked, began_us, ended_us)] = cameras.control.asked
        assert (asked, began_us, ended_us - began_us) == (device, since_us, 60 * S)

    on_cameras(test)


def test_the_end_is_told_before_the_files(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        for reason in (StopReason.FULL, None):
            begins(cameras, device)
            ends(cameras, device, reason)
            await asyncio.sleep(10)
        kinds = [type(event) for event in cameras.bench.story.events]
        kinds = [kind for kind in kinds if kind in (RecordingStopped, RecordingFiles)]
        assert kinds == [RecordingStopped, RecordingFiles] * 2

    on_cameras(test)


def test_a_camera_that_does_not_know_its_files_is_told_as_that(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        since_us = begins(cameras, device)
        ends(cameras, device)
        await asyncio.sleep(100)
        assert told(cameras) == [RecordingFiles(device, since_us, None)]
        assert len(cameras.control.asked) == 1

    on_cameras(test)


def test_each_camera_tells_its_own(on_cameras: OnCameras) -> None:
    """Two of one name: only their ids tell them apart."""

    async def test(cameras: Cameras) -> None:
        devices = [await cameras.connected(number) for number in (1, 2)]
        other = (RecordedFile("100GOPRO/GX010001.MP4", 5),)
        cameras.control.files = dict(zip(devices, (FILES, other), strict=True))
        for device in devices:
            begins(cameras, device)
        for device in devices:
            ends(cameras, device)
        await asyncio.sleep(5)
        assert {one.device_id: one.files for one in told(cameras)} == cameras.control.files

    on_cameras(test)


def test_one_that_ended_unseen_is_asked_for_when_the_camera_is_back(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.files[device] = FILES
        since_us = begins(cameras, device)
        await hub.connections.disconnect(device, wait=True)
        assert told(cameras) == []
        await hub.connections.connect(device, wait=True)
        ends(cameras, device)
        await asyncio.sleep(5)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert over.seen is EndSeen.LATER
        assert told(cameras) == [RecordingFiles(device, since_us, FILES)]

    on_cameras(test)


def test_the_time_of_a_recording_is_right_by_a_clock_that_was_set_during_it(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, loop = await cameras.connected(), asyncio.get_running_loop()
        since_us = begins(cameras, device, ago_s=10)
        await asyncio.sleep(60)
        cameras.bench.clock = lambda: 9_000_000 * S + round(loop.time() * S)
        now_us = cameras.bench.clock()
        ends(cameras, device)
        await asyncio.sleep(5)
        [(_, began_us, ended_us)] = cameras.control.asked
        assert (began_us, ended_us) == (now_us - 70 * S, now_us)
        assert told(cameras)[0].since_us == since_us

    on_cameras(test)


# -- when it is asked


def test_a_camera_that_records_again_is_asked_when_it_is_idle(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.files[device] = FILES
        first_us = begins(cameras, device, ago_s=60)
        second_us = begins(cameras, device)  # it has counted anew
        await asyncio.sleep(100)
        assert (len(cameras.ends()), cameras.control.asked, told(cameras)) == (1, [], [])
        ends(cameras, device)
        await asyncio.sleep(5)
        assert [one[1] for one in cameras.control.asked] == [first_us, second_us]
        assert [one.since_us for one in told(cameras)] == [first_us, second_us]

    on_cameras(test)


@pytest.mark.parametrize("error", [CameraBusy("no"), DeviceNotReachable("no"), BackendUnavailable("no")])
def test_a_camera_that_could_not_say_it_is_asked_once_more(
    on_cameras: OnCameras, error: WifimgrdError
) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.files[device] = FILES
        cameras.control.file_errors = [error]
        begins(cameras, device)
        ends(cameras, device)
        await asyncio.sleep(5)
        assert (len(cameras.control.asked), told(cameras)) == (1, [])
        is_read(cameras, device)
        await asyncio.sleep(5)
        assert len(cameras.control.asked) == 2
        assert [one.files for one in told(cameras)] == [FILES]

    on_cameras(test)


def test_a_camera_that_cannot_say_it_again_is_not_asked_any_more(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.file_errors = [CameraBusy("no")] * 5
        begins(cameras, device)
        ends(cameras, device)
        for _ in range(5):
            await asyncio.sleep(5)
            is_read(cameras, device)
        assert len(cameras.control.asked) == 2
        assert [one.files for one in told(cameras)] == [None]

    on_cameras(test)


def test_a_recording_that_begins_meanwhile_is_waited_for(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.files[device] = FILES
        cameras.control.file_errors = [CameraBusy("the camera was commanded")]
        begins(cameras, device)
        ends(cameras, device)
        await asyncio.sleep(0.01)
        begins(cameras, device)
        await asyncio.sleep(60)
        assert (len(cameras.control.asked), told(cameras)) == (1, [])
        ends(cameras, device)
        await asyncio.sleep(5)
        assert [one.files for one in told(cameras)] == [FILES] * 2

    on_cameras(test)


def test_of_many_recordings_without_a_pause_only_the_last_ones_are_asked_for(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.files[device] = FILES
        for _ in range(8):
            begins(cameras, device, ago_s=60)
            await asyncio.sleep(30)
            begins(cameras, device)
            await asyncio.sleep(30)
        count = len(cameras.ends())
        assert count >= 8
        assert len(told(cameras)) == count - 4
        ends(cameras, device)
        await asyncio.sleep(60)
        assert len(told(cameras)) == count + 1
        assert {one.files for one in told(cameras)[: count - 4]} == {None}
        assert [one.files for one in told(cameras)[-4:]] == [FILES] * 4

    on_cameras(test)


def test_few_cameras_are_asked_at_a_time(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        devices = [await cameras.connected(number) for number in (1, 2, 3)]
        readings = cameras.bench.hub.cameras.readings
        readings._files._turns = asyncio.Semaphore(2)
        cameras.control.answer_s = 10
        for device in devices:
            begins(cameras, device)
        for device in devices:
            ends(cameras, device)
        await asyncio.sleep(5)
        assert [one[0] for one in cameras.control.asked] == devices[:2]
        await asyncio.sleep(10)
        assert [one[0] for one in cameras.control.asked] == devices
        await asyncio.sleep(10)
        assert len(told(cameras)) == 3

    on_cameras(test)


# -- cameras that are gone


def test_a_camera_that_was_switched_off_is_not_asked(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        since_us = begins(cameras, device)
        ends(cameras, device, None)
        cameras.bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        await asyncio.sleep(0.5)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert over.seen is EndSeen.SWITCHED_OFF
        assert told(cameras) == [RecordingFiles(device, since_us, None)]
        assert cameras.control.asked == []

    on_cameras(test)


def test_a_link_that_ends_while_the_camera_is_asked_ends_that_at_once(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.files[device], cameras.control.answer_s = FILES, 1000
        since_us = begins(cameras, device)
        ends(cameras, device)
        await asyncio.sleep(1)
        await cameras.bench.hub.connections.disconnect(device, wait=True)
        assert told(cameras) == [RecordingFiles(device, since_us, None)]
        await asyncio.sleep(2000)
        assert len(told(cameras)) == 1

    on_cameras(test)


def test_a_camera_that_is_gone_for_the_process_waits_for_its_next_reading(on_cameras: OnCameras) -> None:
    """The camera process has ended, and reads the cameras again once it is back."""

    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.files[device] = FILES
        cameras.control.file_errors = [NotConnected("no")]
        begins(cameras, device)
        ends(cameras, device)
        await asyncio.sleep(60)
        assert told(cameras) == []
        is_read(cameras, device)
        await asyncio.sleep(5)
        assert [one.files for one in told(cameras)] == [FILES]

    on_cameras(test)


def test_a_device_that_is_removed_meanwhile_is_told_before_its_removal(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.answer_s = 1000
        begins(cameras, device)
        ends(cameras, device)
        await asyncio.sleep(1)
        await cameras.bench.hub.remove(device)
        assert [one.files for one in told(cameras)] == [None]

    on_cameras(test)


def test_a_recording_that_is_over_with_its_device_has_no_files(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        begins(cameras, device)
        await cameras.bench.hub.remove(device)
        await asyncio.sleep(60)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert (over.seen, told(cameras)) == (EndSeen.NEVER, [])

    on_cameras(test)


def test_a_hub_that_stops_tells_what_it_has_not_found(on_cameras: OnCameras) -> None:
    found: list[RecordingFiles] = []

    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.answer_s = 1000
        begins(cameras, device)
        ends(cameras, device)
        await asyncio.sleep(1)
        await cameras.bench.hub.stop_work()
        found.extend(told(cameras))

    on_cameras(test)
    assert [one.files for one in found] == [None]
