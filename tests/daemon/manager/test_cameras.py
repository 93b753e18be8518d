"""Connected cameras: what they say, recording on one and many, a wish that is kept, and clocks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, make_bench
from tests.store_in_memory import StoreInMemory
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.config import catalog
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.camera import (
    COMMAND_S,
    BatteryState,
    CameraDriver,
    CameraReading,
    CameraStatus,
    CommandResult,
    EndSeen,
    Problem,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.camera_control import CameraControlListener, OpenCameraSocket
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import (
    BackendUnavailable,
    CameraBusy,
    CameraRefused,
    ConnectionLost,
    DeviceNotFound,
    DeviceNotReachable,
    ErrorCode,
    NotConnected,
    NotSupported,
    PairingFailed,
    Unconfirmed,
    WifimgrdError,
)
from wifimgrd.domain.events import CameraChanged, DeviceUpdated, RecordingRefused, RecordingStopped
from wifimgrd.domain.lifecycle import Step
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.domain.rig import Everyone

S = 1_000_000
IDLE = CameraReading(
    read_us=S,
    battery_level=80,
    battery_state=BatteryState.DISCHARGING,
    recording=RecordingState.IDLE,
    storage_state=StorageState.OK,
)


@dataclass
class ScriptedControl:
    """A CameraControl whose cameras say what the test has them say, and do what they are told."""

    attached: dict[DeviceId, CameraDriver] = field(default_factory=dict)
    refuses: dict[DeviceId, WifimgrdError] = field(default_factory=dict)
    commands: list[tuple[list[DeviceId], bool]] = field(default_factory=list)
    clocks: list[DeviceId] = field(default_factory=list)
    clock_error: WifimgrdError | None = None
    advertised: str = "12345678"
    """The name that a camera advertises once it knows this host."""
    readings: dict[DeviceId, CameraReading] = field(default_factory=dict)
    listener: CameraControlListener | None = None
    answer_s: float = 0.05
    """How long a command takes."""
    untold: set[DeviceId] = field(default_factory=set)
    """Cameras that do not tell whether they record."""
    is_unseen: bool = False
    """Cameras are not read after a command."""
    files: dict[DeviceId, tuple[RecordedFile, ...]] = field(default_factory=dict)
    """Those of each recording of a camera."""
    asked: list[tuple[DeviceId, int, int]] = field(default_factory=list)
    """For the files of which recordings."""
    file_errors: list[WifimgrdError] = field(default_factory=list)
    """With which the next searches for files fail."""

    async def start(self, listener: CameraControlListener, open_socket: OpenCameraSocket) -> None:
        self.listener = listener

    async def stop(self) -> None:
        self.listener = None

    def attach(self, device_id: DeviceId, driver: CameraDriver) -> None:
        assert device_id not in self.attached
        self.attached[device_id] = driver

    def detach(self, device_id: DeviceId) -> None:
        del self.attached[device_id]

    async def record(self, device_ids: Sequence[DeviceId], *, on: bool) -> Mapping[DeviceId, CommandResult]:
        self.commands.append((list(device_ids), on))
        await asyncio.sleep(self.answer_s)
        results = {}
        for one in device_ids:
            results[one] = (
                CommandResult(error=self.refuses[one]) if one in self.refuses else CommandResult(50)
            )
            if one in self.untold:
                self.says(one, recording=None, read_us=10 * S)
            elif one not in self.refuses and not self.is_unseen:
                state = RecordingState.RECORDING if on else RecordingState.IDLE
                self.says(one, recording=state, recording_since_us=7 * S if on else None)
        return results

    async def set_clock(self, device_id: DeviceId) -> None:
        if self.clock_error is not None:
            raise self.clock_error
        self.clocks.append(device_id)

    async def register_host(self, device_id: DeviceId) -> str:
        if device_id in self.refuses:
            raise self.refuses[device_id]
        return self.advertised

    async def recorded_files(
        self, device_id: DeviceId, began_us: int, ended_us: int
    ) -> tuple[RecordedFile, ...] | None:
        self.asked.append((device_id, began_us, ended_us))
        await asyncio.sleep(self.answer_s)
        if self.file_errors:
            raise self.file_errors.pop(0)
        return self.files.get(device_id)

    def says(self, device_id: DeviceId, **values: Any) -> None:
        """A camera says something new."""
        assert self.listener is not None
        self.readings[device_id] = replace(self.readings.get(device_id, IDLE), **values)
        self.listener.camera_read(device_id, self.readings[device_id])


class HostClockOf:
    def __init__(self, *, is_right: bool = True) -> None:
        self.is_right = is_right

    async def is_synchronised(self) -> bool:
        return self.is_right


@dataclass
class Cameras:
    """A hub with cameras that have drivers."""

    bench: Bench
    control: ScriptedControl

    async def connected(self, number: int = 1, codename: str = "insta360-x4") -> DeviceId:
        device = await self.bench.create(number, codename=codename)
        await self.bench.hub.connections.connect(device, wait=True)
        self.bench.story.forget()
        return device

    def camera(self, device: DeviceId) -> CameraStatus:
        camera = self.bench.story.devices[device].camera
        assert camera is not None
        return camera

    def ends(self) -> list[StopReason]:
        return [event.reason for event in self.bench.story.of(RecordingStopped)]


Test = Callable[[Cameras], Coroutine[Any, Any, None]]
OnCameras = Callable[..., None]


async def run_on_cameras(
    test: Test, *, is_right: bool = True, store: StoreInMemory | None = None, **settings: Any
) -> None:
    """Run a coroutine function on a started hub with scripted cameras."""
    control = ScriptedControl()
    bench = make_bench(
        HubSettings(models=catalog.load(), connect_on_create=False, **settings),
        store,
        control=control,
        host_clock=HostClockOf(is_right=is_right),
    )
    await bench.hub.start()
    for status in bench.hub.interface_statuses():
        bench.story.interfaces[status.interface.name] = status
    for device in bench.hub.device_statuses():
        bench.story.devices[device.device.id] = device
    await test(Cameras(bench, control))
    await bench.hub.stop()


@pytest.fixture
def on_cameras() -> Iterator[OnCameras]:
    """As `run_on_cameras`, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:

        def run(test: Test, **options: Any) -> None:
            runner.run(run_on_cameras(test, **options))

        yield run


# -- what they say


def test_a_connected_camera_is_read_and_one_that_is_not_is_not(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        assert cameras.control.attached == {device: CameraDriver.INSTA360}
        assert cameras.camera(device) == CameraStatus()
        cameras.control.says(device)
        assert cameras.camera(device).reading.battery_level == 80
        await cameras.bench.hub.connections.disconnect(device)
        assert cameras.control.attached == {}
        assert cameras.camera(device).reading == IDLE.after_link()
        await cameras.bench.hub.connections.connect(device, wait=True)
        assert cameras.control.attached == {device: CameraDriver.INSTA360}

    on_cameras(test)


def test_a_model_without_a_driver_has_no_such_state(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected(codename="x")
        assert cameras.bench.story.devices.get(device, None) is not None
        assert cameras.bench.story.devices[device].camera is None
        assert cameras.control.attached == {}
        with pytest.raises(NotSupported, match="no driver"):
            await cameras.bench.hub.cameras.start_recording(device)

    on_cameras(test)


def test_another_model_has_another_driver(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        await cameras.bench.hub.update(device, {"codename": "gopro-hero12"})
        assert cameras.control.attached == {device: CameraDriver.GOPRO}
        assert cameras.camera(device).reading == CameraReading()
        await cameras.bench.hub.update(device, {"codename": "x"})
        assert cameras.control.attached == {}
        assert cameras.bench.story.devices[device].camera is None

    on_cameras(test)


def test_a_reload_forgets_nothing_of_a_camera_that_is_away(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device)
        await hub.cameras.start_recording(device)
        cameras.bench.world.power_off_camera(b"SIM-CAM-1", orderly=False)
        await asyncio.sleep(60)
        before = cameras.camera(device)
        assert before.reading.battery_level == 80
        await hub.reconfigure(HubSettings(models=catalog.load(), connect_on_create=False))
        await hub.update(device, {"name": "Front"})
        assert cameras.camera(device) == before
        cameras.bench.world.power_on_camera(b"SIM-CAM-1")
        await asyncio.sleep(120)
        cameras.control.says(device, recording=RecordingState.IDLE)
        assert cameras.ends() == [StopReason.UNKNOWN]

    on_cameras(test)


def test_small_steps_are_not_published(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        cameras.bench.story.forget()
        cameras.control.says(device, read_us=3 * S)
        assert cameras.bench.story.events == []
        cameras.control.says(device, battery_level=79)
        [event] = cameras.bench.story.of(CameraChanged)
        assert event.status.camera is not None
        assert (event.status.camera.reading.battery_level, event.status.camera.reading.read_us) == (79, 3 * S)
        assert cameras.bench.story.of(DeviceUpdated) == []

    on_cameras(test)


def test_what_a_camera_says_after_its_link_has_ended_is_ignored(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        await cameras.bench.hub.connections.disconnect(device)
        cameras.bench.story.forget()
        cameras.control.says(device, battery_level=5)
        assert cameras.bench.story.events == []
        await cameras.bench.hub.remove(device)
        cameras.control.says(device, battery_level=4)

    on_cameras(test)


def test_of_a_camera_that_answers_no_more_it_is_not_known_what_it_does(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, recording=RecordingState.RECORDING)
        await asyncio.sleep(29)
        assert cameras.camera(device).reading.recording is RecordingState.RECORDING
        cameras.control.says(device)
        await asyncio.sleep(31)
        assert cameras.camera(device).reading.recording is None
        assert (cameras.camera(device).reading.battery_level, cameras.ends()) == (80, [])
        cameras.control.says(device)
        assert cameras.camera(device).reading.recording is RecordingState.RECORDING

    on_cameras(test)


# -- recording


def test_a_recording_is_started_and_stopped_and_its_end_is_told(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device)
        await hub.cameras.start_recording(device)
        camera = cameras.camera(device)
        assert (camera.requested, camera.reading.recording) == (True, RecordingState.RECORDING)
        assert cameras.ends() == []
        await hub.cameras.stop_recording(device)
        camera = cameras.camera(device)
        assert (camera.requested, camera.reading.recording) == (False, RecordingState.IDLE)
        assert cameras.ends() == [StopReason.STOPPED]
        over = cameras.bench.story.events[-1]
        assert isinstance(over, RecordingStopped)
        assert over.since_us == 7 * S

    on_cameras(test)


def test_what_is_not_connected_is_not_commanded(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.bench.create(1, codename="insta360-x4")
        with pytest.raises(NotConnected):
            await cameras.bench.hub.cameras.start_recording(device)
        with pytest.raises(NotConnected):
            await cameras.bench.hub.cameras.set_clock(device)
        assert cameras.control.commands == []
        assert not cameras.camera(device).requested

    on_cameras(test)


def test_many_cameras_are_told_at_once_and_each_has_its_result(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        first, second = await cameras.connected(1), await cameras.connected(2)
        gone, other = DeviceId(99), await cameras.connected(3, codename="x")
        cameras.control.refuses[second] = CameraRefused("the card is full")
        results = await cameras.bench.hub.cameras.record([second, first, gone, other], on=True)
        assert list(results) == [second, first, gone, other]
        assert cameras.control.commands == [([second, first], True)]
        assert results[first] == CommandResult(50)
        errors = [results[one].error for one in (second, gone, other)]
        assert list(map(type, errors)) == [CameraRefused, DeviceNotFound, NotSupported]

    on_cameras(test)


@pytest.mark.parametrize("on", [True, False])
def test_a_connected_camera_that_does_not_obey_is_told_as_that(on_cameras: OnCameras, on: bool) -> None:
    async def test(cameras: Cameras) -> None:
        obeys, refuses, away = [await cameras.connected(number) for number in (1, 2, 3)]
        await cameras.bench.hub.connections.disconnect(away, wait=True)
        cameras.control.refuses[refuses] = CameraRefused("the card is full")
        await cameras.bench.hub.cameras.record([obeys, refuses, away], on=on)
        assert cameras.bench.story.of(RecordingRefused) == [
            RecordingRefused(refuses, on, ErrorCode.CAMERA_REFUSED, "the card is full")
        ]

    on_cameras(test)


def test_a_camera_that_may_have_obeyed_has_not_refused(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.refuses[device] = Unconfirmed("no answer")
        await cameras.bench.hub.cameras.record([device], on=True)
        assert not cameras.bench.story.of(RecordingRefused)

    on_cameras(test)


def test_all_are_the_expected_cameras_with_a_driver_connected_or_not(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        first, lost, put_away = [await cameras.connected(number) for number in (1, 2, 3)]
        await cameras.bench.hub.connections.disconnect(put_away)
        await cameras.connected(4, codename="x")
        await cameras.bench.create(5, codename="insta360-x4")
        cameras.bench.world.power_off_camera(b"SIM-CAM-2", orderly=True)
        await asyncio.sleep(30)
        assert await cameras.bench.hub.cameras.record([], on=True) == {}
        results = await cameras.bench.hub.cameras.record([], on=True, everyone=Everyone.RIG)
        assert list(results) == [first, lost]
        assert results[first].error is None
        assert isinstance(results[lost].error, NotConnected)
        assert [cameras.camera(one).requested for one in (first, lost, put_away)] == [True, True, False]
        assert cameras.control.commands == [([first], True)]
        connected = await cameras.bench.hub.cameras.record([], on=True, everyone=Everyone.CONNECTED)
        assert list(connected) == [first]

    on_cameras(test)


def test_a_camera_that_was_put_away_while_it_recorded_is_told_to_stop_with_all(
    on_cameras: OnCameras,
) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device)
        await hub.cameras.start_recording(device)
        await hub.connections.disconnect(device)
        assert await hub.cameras.record([], on=True, everyone=Everyone.RIG) == {}
        results = await hub.cameras.record([], on=False, everyone=Everyone.RIG)
        assert isinstance(results[device].error, NotConnected)
        assert not cameras.camera(device).requested
        await hub.connections.connect(device, wait=True)
        cameras.control.says(device)
        await asyncio.sleep(10)
        assert cameras.camera(device).problems == (Problem.STILL_RECORDING,)

    on_cameras(test)


# -- not known


def test_a_command_whose_answer_was_lost_is_decided_by_what_is_read_then(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device, read_us=1)
        cameras.control.refuses[device] = Unconfirmed("no answer")
        for state, error in ((RecordingState.RECORDING, None), (RecordingState.IDLE, DeviceNotReachable)):
            start = asyncio.create_task(hub.cameras.record([device], on=True))
            await asyncio.sleep(5)
            cameras.control.says(device, recording=state, read_us=S)
            result = (await start)[device]
            assert result.error is None if error is None else isinstance(result.error, error)
            assert Problem.RECORDING_UNCONFIRMED not in cameras.camera(device).problems
            cameras.control.says(device, recording=RecordingState.IDLE, read_us=1)

    on_cameras(test)


def test_a_command_whose_answer_was_lost_is_not_known_until_the_camera_is_read(
    on_cameras: OnCameras,
) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device, read_us=1)
        cameras.control.refuses[device] = Unconfirmed("no answer")
        began_s = asyncio.get_running_loop().time()
        with pytest.raises(Unconfirmed, match="no answer"):
            await hub.cameras.start_recording(device)
        assert asyncio.get_running_loop().time() - began_s <= COMMAND_S
        assert cameras.camera(device).problems == (Problem.RECORDING_UNCONFIRMED,)
        assert cameras.camera(device).requested
        await hub.connections.disconnect(device)
        assert cameras.camera(device).problems == (Problem.RECORDING_UNCONFIRMED,)
        await hub.connections.connect(device, wait=True)
        cameras.control.says(device, recording=RecordingState.RECORDING, read_us=S)
        assert cameras.camera(device).problems == ()

    on_cameras(test)


def test_that_it_is_not_known_outlives_the_daemon(on_cameras: OnCameras) -> None:
    store = StoreInMemory()

    async def before(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, read_us=1)
        cameras.control.refuses[device] = Unconfirmed("no answer")
        with pytest.raises(Unconfirmed):
            await cameras.bench.hub.cameras.start_recording(device)

    async def after(cameras: Cameras) -> None:
        [device] = cameras.bench.story.devices
        assert cameras.camera(device).problems == (Problem.RECORDING_UNCONFIRMED,)
        await cameras.bench.hub.connections.connect(device, wait=True)
        assert cameras.camera(device).problems == (Problem.RECORDING_UNCONFIRMED,)
        cameras.control.says(device, recording=RecordingState.RECORDING)
        assert cameras.camera(device).problems == ()

    async def later(cameras: Cameras) -> None:
        [device] = cameras.bench.story.devices
        assert cameras.camera(device).problems == ()

    for test in (before, after, later):
        on_cameras(test, store=store)


def test_what_is_not_known_stays_so_through_further_commands(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device, read_us=1)
        cameras.control.refuses[device] = Unconfirmed("no answer")
        await hub.cameras.record([device], on=True)
        cameras.control.refuses[device] = DeviceNotReachable("it does not answer")
        for on in (True, False):
            result = (await hub.cameras.record([device], on=on))[device]
            assert isinstance(result.error, Unconfirmed)
            assert cameras.camera(device).problems == (Problem.RECORDING_UNCONFIRMED,)
        await hub.connections.disconnect(device)
        results = await hub.cameras.record([], on=False, everyone=Everyone.RIG)
        assert isinstance(results[device].error, NotConnected), "it may record, so all are told to stop"
        assert cameras.camera(device).problems == (Problem.RECORDING_UNCONFIRMED,)

    on_cameras(test)


def test_a_repeated_start_whose_answer_is_lost_is_not_known_either(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub

        def now_us() -> int:
            return int(asyncio.get_running_loop().time() * S) + S

        cameras.bench.clock = now_us
        cameras.control.says(device, read_us=now_us())
        await hub.cameras.start_recording(device)
        cameras.control.refuses[device] = Unconfirmed("no answer")
        cameras.control.says(device, recording=RecordingState.IDLE, read_us=now_us())
        await asyncio.sleep(25)
        assert cameras.control.commands == [([device], True)] * 2
        assert Problem.RECORDING_UNCONFIRMED in cameras.camera(device).problems

    on_cameras(test, keep_recording=True)


def test_a_camera_that_falls_silent_still_does_not_record(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device)
        cameras.control.refuses[device] = CameraRefused("no")
        with pytest.raises(CameraRefused):
            await hub.cameras.start_recording(device)
        cameras.control.says(device)
        await asyncio.sleep(10)
        assert cameras.camera(device).problems == (Problem.NOT_RECORDING,)
        await asyncio.sleep(60)
        assert cameras.camera(device).reading.recording is None
        assert cameras.camera(device).problems == (Problem.NOT_RECORDING,)

    on_cameras(test)


def test_a_stop_for_all_ends_the_wish_of_a_camera_that_is_not_expected(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device)
        cameras.control.refuses[device] = CameraRefused("no")
        with pytest.raises(CameraRefused):
            await hub.cameras.start_recording(device)
        await hub.connections.disconnect(device)
        assert cameras.camera(device).requested
        assert await hub.cameras.record([], on=False, everyone=Everyone.RIG) == {}
        assert not cameras.camera(device).requested

    on_cameras(test)


# -- one recording is one


def count(cameras: Cameras, device: DeviceId, seconds: int, **values: Any) -> None:
    """The camera says that it records, and so many seconds."""
    cameras.control.says(device, recording=RecordingState.RECORDING, recorded_s=seconds, **values)


def test_a_count_that_is_slower_than_the_clock_does_not_split_a_recording(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        for number in range(20):
            count(cameras, device, number // 10, recording_since_us=(7 + 2 * number) * S)
            await asyncio.sleep(2)
        assert cameras.ends() == []
        assert cameras.camera(device).reading.recording_since_us == 7 * S

    on_cameras(test)


def test_a_count_that_goes_back_is_another_recording(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60, recording_since_us=7 * S)
        count(cameras, device, 1, recording_since_us=70 * S)
        assert cameras.ends() == [StopReason.UNKNOWN]
        assert cameras.camera(device).reading.recording_since_us == 70 * S

    on_cameras(test)


def test_a_camera_that_goes_on_to_its_next_file_records_on(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 1800, recording_since_us=7 * S)
        cameras.control.says(device, recording=RecordingState.IDLE, recorded_s=None)
        await asyncio.sleep(0.9)
        count(cameras, device, 0, recording_since_us=1807 * S)
        await asyncio.sleep(5)
        assert cameras.ends() == []
        assert cameras.camera(device).reading.recording_since_us == 7 * S

    on_cameras(test)


def test_an_end_whose_cause_is_known_is_told_at_once(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60)
        cameras.control.says(device, recording=RecordingState.IDLE, stop_reason=StopReason.FULL)
        assert cameras.ends() == [StopReason.FULL]

    on_cameras(test)


def test_a_stop_that_was_not_done_does_not_explain_a_later_end(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        count(cameras, device, 60, read_us=1)
        cameras.control.refuses[device] = Unconfirmed("no answer")
        await hub.cameras.record([device], on=False)
        count(cameras, device, 90, read_us=30 * S)
        cameras.control.says(device, recording=RecordingState.IDLE, stop_reason=StopReason.FULL)
        assert cameras.ends() == [StopReason.FULL]

    on_cameras(test)


def test_a_recording_that_begins_by_a_command_is_not_the_one_that_just_ended(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60)
        cameras.control.says(device, recording=RecordingState.IDLE)
        await cameras.bench.hub.cameras.start_recording(device)
        assert cameras.ends() == [StopReason.UNKNOWN]

    on_cameras(test)


def how(cameras: Cameras) -> list[EndSeen]:
    return [event.seen for event in cameras.bench.story.of(RecordingStopped)]


def test_a_camera_that_was_switched_off_is_told_as_that(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60)
        cameras.control.says(device, recording=RecordingState.IDLE)
        cameras.bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        await asyncio.sleep(0.5)
        assert how(cameras) == [EndSeen.SWITCHED_OFF]

    on_cameras(test)


def test_one_whose_adapter_was_pulled_out_is_not_told_as_switched_off(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60)
        cameras.control.says(device, recording=RecordingState.IDLE)
        cameras.bench.world.unplug_adapter("wlan0")
        await asyncio.sleep(5)
        assert how(cameras) == [EndSeen.DIRECTLY]

    on_cameras(test)


def test_an_interruption_is_why_a_recording_ended_that_was_not_seen_to(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60)
        cameras.bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        await asyncio.sleep(2)
        cameras.bench.world.power_on_camera(b"SIM-CAM-1")
        await cameras.bench.hub.connections.connect(device, wait=True)
        cameras.control.says(device, recording=RecordingState.IDLE, recorded_s=None)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert (over.seen, "was switched off" in over.link_error) == (EndSeen.LATER, True)

    on_cameras(test)


def test_a_step_that_did_not_help_is_why_a_recording_ended_that_was_not_seen_to(
    on_cameras: OnCameras,
) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60)
        state, entry = cameras.bench.hub._state, cameras.bench.entry(device)
        state.step(entry, Step.RECOVER)
        state.lose(entry, ConnectionLost("the camera does not answer"))
        assert cameras.bench.hub.cameras.readings.cameras[device].link_error == "the camera does not answer"

    on_cameras(test)


def test_a_lost_link_does_not_split_a_recording(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60, recording_since_us=7 * S)
        cameras.bench.world.power_off_camera(b"SIM-CAM-1", orderly=False)
        await asyncio.sleep(60)
        cameras.bench.world.power_on_camera(b"SIM-CAM-1")
        await asyncio.sleep(120)
        count(cameras, device, 70, recording_since_us=170 * S)
        assert cameras.ends() == []
        assert cameras.camera(device).reading.recording_since_us == 7 * S
        cameras.bench.world.power_off_camera(b"SIM-CAM-1", orderly=False)
        await asyncio.sleep(60)
        cameras.bench.world.power_on_camera(b"SIM-CAM-1")
        await asyncio.sleep(120)
        cameras.control.says(device, recording=RecordingState.IDLE, recorded_s=None)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert over.seen is EndSeen.LATER
        assert "connection was lost" in over.link_error

    on_cameras(test)


def test_a_recording_outlives_the_daemon_and_ends_at_first_sight(on_cameras: OnCameras) -> None:
    store = StoreInMemory()

    async def before(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60, recording_since_us=7 * S)

    async def after(cameras: Cameras) -> None:
        [device] = cameras.bench.story.devices
        await cameras.bench.hub.connections.connect(device, wait=True)
        count(cameras, device, 61, recording_since_us=170 * S)
        assert cameras.ends() == []
        assert cameras.camera(device).reading.recording_since_us == 7 * S

    async def later(cameras: Cameras) -> None:
        [device] = cameras.bench.story.devices
        await cameras.bench.hub.connections.connect(device, wait=True)
        cameras.control.says(device, recording=RecordingState.IDLE)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert (over.reason, over.since_us, over.seen) == (StopReason.UNKNOWN, 7 * S, EndSeen.LATER)

    for test in (before, after, later):
        on_cameras(test, store=store)


def test_a_clock_that_is_set_makes_a_recording_no_longer(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        loop, off_us = asyncio.get_running_loop(), 0

        def clock() -> int:
            return round(loop.time() * S) + 100 * S + off_us

        cameras.bench.clock = clock
        device = await cameras.connected()
        began_us = clock()
        count(cameras, device, 0, recording_since_us=began_us)
        await asyncio.sleep(60)
        off_us = 14 * 3600 * S
        cameras.control.says(device, recording=RecordingState.IDLE)
        await asyncio.sleep(5)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert over.since_us == began_us
        assert over.ended_us - began_us == pytest.approx(60 * S, abs=2 * S)

    on_cameras(test)


def test_a_recording_of_a_removed_device_ends_with_the_removal(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        count(cameras, device, 60, recording_since_us=7 * S)
        await cameras.bench.hub.remove(device)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert (over.device_name, over.since_us, over.seen) == ("SIM-CAM-1", 7 * S, EndSeen.NEVER)

    on_cameras(test)


def test_what_ends_while_it_is_told_to_stop_was_stopped(on_cameras: OnCameras) -> None:
    """Whichever of two clients was first: the one that starts, or the one that stops."""

    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device)
        with capture_logs() as logs:
            start = asyncio.create_task(hub.cameras.start_recording(device))
            await asyncio.sleep(0.02)
            await hub.cameras.stop_recording(device)
            await start
            await hub.cameras.start_recording(device)
            stop = asyncio.create_task(hub.cameras.stop_recording(device))
            await asyncio.sleep(0.02)
            await hub.cameras.start_recording(device)
            await stop
        assert cameras.ends() == [StopReason.STOPPED] * 2
        assert [one["log_level"] for one in logs if one["event"] == "recording_stopped"] == ["info"] * 2
        cameras.control.says(device, recording=RecordingState.IDLE, recording_since_us=None)
        await asyncio.sleep(1)
        assert cameras.ends()[2:] == [StopReason.UNKNOWN]

    on_cameras(test)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (CameraRefused("no"), StopReason.UNKNOWN),
        (CameraBusy("no"), StopReason.UNKNOWN),
        (DeviceNotReachable("it was not sent"), StopReason.UNKNOWN),
        (BackendUnavailable("it was not sent"), StopReason.UNKNOWN),
        (Unconfirmed("no answer"), StopReason.STOPPED),
    ],
)
def test_a_camera_that_was_told_to_stop_and_stops_later(
    on_cameras: OnCameras, error: WifimgrdError, reason: StopReason
) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device)
        await hub.cameras.start_recording(device)
        cameras.control.says(device, read_us=1)
        cameras.control.refuses[device] = error
        with pytest.raises(type(error)):
            await hub.cameras.stop_recording(device)
        assert cameras.ends() == []
        idle = {"recording": RecordingState.IDLE, "recording_since_us": None}
        cameras.control.says(device, **idle, read_us=S)
        await asyncio.sleep(1)
        assert cameras.ends() == [reason]

    on_cameras(test)


def test_a_camera_that_does_not_tell_whether_it_records_holds_nobody_up(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        bench, loop = cameras.bench, asyncio.get_running_loop()
        told, untold = await cameras.connected(1), await cameras.connected(2, codename="insta360-one-r")
        cameras.control.untold.add(untold)
        for on in (True, False):
            began_s = loop.time()
            results = await bench.hub.cameras.record([told, untold], on=on)
            assert [one.error for one in results.values()] == [None, None]
            assert loop.time() - began_s < 0.1

    on_cameras(test)


def test_a_command_ends_in_time_though_the_camera_is_not_seen_to_do_it(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        bench, loop = cameras.bench, asyncio.get_running_loop()
        first, second = await cameras.connected(1), await cameras.connected(2)
        cameras.control.is_unseen = True
        for device_ids, answer_s, limit_s in (([first], 9.5, 10.0), ([first, second], 14.5, 15.0)):
            cameras.control.answer_s, began_s = answer_s, loop.time()
            await bench.hub.cameras.record(device_ids, on=True)
            assert loop.time() - began_s == pytest.approx(limit_s, abs=0.01)

    on_cameras(test)


def test_a_problem_stays_while_a_command_is_repeated_in_vain(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device)
        await hub.cameras.start_recording(device)
        cameras.control.refuses[device] = CameraRefused("no")
        cameras.control.says(device, recording=RecordingState.IDLE)
        await asyncio.sleep(10.1)
        cameras.bench.story.forget()
        with pytest.raises(CameraRefused):
            await hub.cameras.start_recording(device)
        assert cameras.bench.story.of(CameraChanged) == []
        assert cameras.camera(device).problems == (Problem.NOT_RECORDING,)
        del cameras.control.refuses[device]
        await hub.cameras.stop_recording(device)
        assert cameras.camera(device).problems == ()

    on_cameras(test)


@pytest.mark.parametrize("said", ["records", "held", "away"])
def test_a_camera_that_records_or_may_is_not_put_to_sleep(on_cameras: OnCameras, said: str) -> None:
    async def test(cameras: Cameras) -> None:
        bench = cameras.bench
        device = await bench.hub.create(
            {"connection_type": "wifi", "codename": "gopro-hero12", "ssid": "GP25140001"}
            | {"password": "gopro-pass-1"}
        )
        await bench.hub.bluetooth.pair(device, wait=True)
        await bench.hub.connections.connect(device, wait=True, wake=True)
        cameras.control.says(device, recording=RecordingState.RECORDING)
        if said == "held":
            await flaps(cameras, device, 12, recording=FLAPPING)
            await asyncio.sleep(2)
            assert cameras.camera(device).reading.recording is None
        if said == "away":
            await bench.hub.connections.disconnect(device)
        state = bench.state(device)
        with pytest.raises(CameraBusy):
            await bench.hub.bluetooth.sleep(device, wait=True)
        assert bench.state(device) is state

    on_cameras(test)


def test_a_camera_that_was_seen_to_stop_is_put_to_sleep(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        bench = cameras.bench
        device = await bench.hub.create(
            {"connection_type": "wifi", "codename": "gopro-hero12", "ssid": "GP25140001"}
            | {"password": "gopro-pass-1"}
        )
        await bench.hub.bluetooth.pair(device, wait=True)
        await bench.hub.connections.connect(device, wait=True, wake=True)
        for state in (RecordingState.RECORDING, RecordingState.IDLE):
            cameras.control.says(device, recording=state)
            await asyncio.sleep(2)
        await bench.hub.bluetooth.sleep(device, wait=True)
        assert bench.state(device) is DeviceState.DISCONNECTED

    on_cameras(test)


# -- a wish that is kept


def test_a_recording_that_stops_by_itself_is_told_within_ten_seconds(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        await cameras.bench.hub.cameras.start_recording(device)
        with capture_logs() as logs:
            cameras.control.says(device, recording=RecordingState.IDLE, storage_state=StorageState.FULL)
            assert cameras.ends() == [StopReason.FULL]
            assert cameras.camera(device).problems == (Problem.STORAGE_FULL,)
            await asyncio.sleep(10.1)
        assert cameras.camera(device).problems == (Problem.NOT_RECORDING, Problem.STORAGE_FULL)
        [row] = [one for one in logs if one.get("code") == Problem.NOT_RECORDING]
        assert row["reason"] == "It should record and does not: its card is full."
        assert len(cameras.control.commands) == 1

    on_cameras(test)


def test_a_camera_that_records_again_in_time_is_no_problem(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        await cameras.bench.hub.cameras.start_recording(device)
        cameras.control.says(device, recording=RecordingState.IDLE)
        await asyncio.sleep(9)
        cameras.control.says(device, recording=RecordingState.RECORDING)
        await asyncio.sleep(9)
        assert cameras.camera(device).problems == ()

    on_cameras(test)


def test_a_recording_is_restarted_only_if_that_is_wanted(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        await cameras.bench.hub.cameras.start_recording(device)
        cameras.control.refuses[device] = CameraRefused("the card is full")
        cameras.control.says(device, recording=RecordingState.IDLE)
        for _ in range(4):
            await asyncio.sleep(10.3)
            cameras.control.says(device)
        assert cameras.control.commands == [([device], True)] * 3
        assert not cameras.bench.story.of(RecordingRefused), "nobody has told it again"
        assert cameras.camera(device).problems == (Problem.NOT_RECORDING,)
        del cameras.control.refuses[device]
        for _ in range(3):
            await asyncio.sleep(10)
            cameras.control.says(device)
        assert cameras.camera(device).problems == ()
        assert cameras.camera(device).reading.recording is RecordingState.RECORDING

    on_cameras(test, keep_recording=True)


def test_a_recording_that_ended_before_it_was_to_be_kept_is_restarted_too(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device, hub = await cameras.connected(), cameras.bench.hub
        cameras.control.says(device)
        await hub.cameras.start_recording(device)
        cameras.control.says(device, recording=RecordingState.IDLE)
        for _ in range(5):
            await asyncio.sleep(10)
            cameras.control.says(device)
        assert cameras.camera(device).problems == (Problem.NOT_RECORDING,)
        await hub.reconfigure(
            HubSettings(models=catalog.load(), connect_on_create=False, keep_recording=True)
        )
        for _ in range(4):
            await asyncio.sleep(10)
            cameras.control.says(device)
        assert cameras.camera(device).reading.recording is RecordingState.RECORDING

    on_cameras(test)


def test_a_recording_that_is_restarted_in_vain_does_not_fill_the_journal(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        await cameras.bench.hub.cameras.start_recording(device)
        cameras.control.refuses[device] = CameraRefused("the card is full")
        with capture_logs() as logs:
            cameras.control.says(device, recording=RecordingState.IDLE)
            for _ in range(60):
                await asyncio.sleep(10)
                cameras.control.says(device)
        levels = [one["log_level"] for one in logs if one["event"] == "recording_failed"]
        assert levels == ["warning"] + ["debug"] * (len(cameras.control.commands) - 2)
        assert len(cameras.control.commands) > 15

    on_cameras(test, keep_recording=True)


def test_after_a_lost_link_nothing_is_claimed_before_the_camera_is_read(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        await cameras.bench.hub.cameras.start_recording(device)
        cameras.bench.world.power_off_camera(b"SIM-CAM-1", orderly=False)
        await asyncio.sleep(60)
        assert cameras.camera(device).reading.recording is None
        assert (cameras.ends(), cameras.camera(device).problems) == ([], ())
        cameras.bench.world.power_on_camera(b"SIM-CAM-1")
        await asyncio.sleep(120)
        assert device in cameras.control.attached
        assert cameras.ends() == []
        cameras.control.says(device, recording=RecordingState.IDLE, stop_reason=StopReason.BATTERY)
        assert cameras.ends() == [StopReason.BATTERY]

    on_cameras(test)


def test_the_wish_survives_the_daemon(on_cameras: OnCameras) -> None:
    store = StoreInMemory()

    async def before(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        await cameras.bench.hub.cameras.start_recording(device)

    async def after(cameras: Cameras) -> None:
        [device] = cameras.bench.story.devices
        assert cameras.camera(device).requested
        assert cameras.camera(device).reading == CameraReading()
        await cameras.bench.hub.connections.connect(device, wait=True)
        cameras.control.says(device)
        await asyncio.sleep(10.1)
        assert cameras.camera(device).problems == (Problem.NOT_RECORDING,)

    on_cameras(before, store=store)
    on_cameras(after, store=store)


# -- clocks


def test_the_clock_is_set_at_each_connect(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        assert cameras.control.clocks == []
        for number in (1, 2):
            cameras.control.says(device, clock_read_us=0)
            await asyncio.sleep(1)
            assert cameras.control.clocks == [device] * (number - 1)
            cameras.control.says(device, clock_offset_us=-75 * S, clock_read_us=S)
            cameras.control.says(device)
            await asyncio.sleep(1)
            assert cameras.control.clocks == [device] * number
            await cameras.bench.hub.connections.disconnect(device)
            await cameras.bench.hub.connections.connect(device, wait=True)

    on_cameras(test)


def test_the_clock_of_a_camera_that_records_is_left_alone(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, recording=RecordingState.RECORDING)
        cameras.control.says(device, clock_read_us=S)
        await asyncio.sleep(1)
        assert cameras.control.clocks == []
        with pytest.raises(CameraBusy):
            await cameras.bench.hub.cameras.set_clock(device)

    on_cameras(test)


def test_a_host_whose_clock_is_not_synchronised_sets_none_by_itself(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, clock_read_us=S)
        await asyncio.sleep(1)
        assert cameras.control.clocks == []
        await cameras.bench.hub.cameras.set_clock(device)
        assert cameras.control.clocks == [device]

    on_cameras(test, is_right=False)


def test_no_clock_is_set_where_the_configuration_says_so(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, clock_read_us=S)
        await asyncio.sleep(1)
        assert cameras.control.clocks == []

    on_cameras(test, set_clock=False)


def test_a_clock_that_cannot_be_read_is_set_after_the_second_read(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        for clocks in ([], [device]):
            cameras.control.says(device)
            await asyncio.sleep(1)
            assert cameras.control.clocks == clocks

    on_cameras(test)


def test_a_wrong_clock_is_not_a_problem_while_the_hub_sets_it(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        wrong = {"clock_offset_us": -75 * S, "clock_read_us": S}
        cameras.control.says(device, **wrong)
        cameras.control.says(device, battery_level=50)
        await asyncio.sleep(1)
        assert cameras.control.clocks == [device]
        cameras.control.says(device, battery_level=49)  # its clock was not read since
        cameras.control.says(device, clock_offset_us=0, clock_read_us=2 * S)
        told = cameras.bench.story.of(CameraChanged)
        assert {event.status.camera.problems for event in told if event.status.camera} == {()}
        cameras.control.says(device, clock_offset_us=6 * S, clock_read_us=600 * S)
        assert cameras.camera(device).problems == (Problem.CLOCK_WRONG,)

    on_cameras(test)


def test_nor_if_it_is_read_again_before_it_is_set(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, clock_offset_us=-75 * S, clock_read_us=S)
        cameras.control.says(device, clock_offset_us=-74 * S, clock_read_us=2 * S)  # more closely
        await asyncio.sleep(1)
        assert cameras.control.clocks == [device]
        told = cameras.bench.story.of(CameraChanged)
        assert {event.status.camera.problems for event in told if event.status.camera} == {()}
        cameras.control.says(device, clock_offset_us=-73 * S, clock_read_us=3 * S)
        assert cameras.camera(device).problems == (Problem.CLOCK_WRONG,)

    on_cameras(test)


@pytest.mark.parametrize("error", [BackendUnavailable("no"), NotSupported("no"), CameraBusy("no")])
def test_a_wrong_clock_that_the_hub_cannot_set_is_a_problem(
    on_cameras: OnCameras, error: WifimgrdError
) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.clock_error = error
        cameras.control.says(device, clock_offset_us=-75 * S, clock_read_us=S)
        assert cameras.camera(device).problems == ()
        await asyncio.sleep(1)
        assert cameras.camera(device).problems == (Problem.CLOCK_WRONG,)

    on_cameras(test)


@pytest.mark.parametrize(
    ("recording", "settings"),
    [
        (RecordingState.IDLE, {"is_right": False}),
        (RecordingState.IDLE, {"set_clock": False}),
        (RecordingState.RECORDING, {}),
        (None, {}),
    ],
)
def test_a_wrong_clock_that_the_hub_does_not_set_is_a_problem(
    on_cameras: OnCameras, recording: RecordingState | None, settings: dict[str, Any]
) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, recording=recording, clock_offset_us=-75 * S, clock_read_us=S)
        await asyncio.sleep(1)
        assert cameras.control.clocks == []
        assert cameras.camera(device).problems == (Problem.CLOCK_WRONG,)

    on_cameras(test, **settings)


def test_a_clock_that_cannot_be_set_costs_nothing_else(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.clock_error = BackendUnavailable("no")
        cameras.control.says(device, clock_read_us=S)
        await asyncio.sleep(1)
        assert cameras.bench.state(device) is DeviceState.CONNECTED

    on_cameras(test)


# -- values that do not come to rest


async def flaps(cameras: Cameras, device: DeviceId, changes: int, **value: tuple[Any, Any]) -> None:
    """A camera says one thing and then the other, four times a second; it ends with the first one if
    `changes` is odd."""
    [(name, (one, other))] = value.items()
    for number in range(changes):
        cameras.control.says(device, **{name: other if number % 2 else one}, recorded_s=0)
        await asyncio.sleep(0.25)


FLAPPING = (RecordingState.RECORDING, RecordingState.IDLE)


def test_a_recording_that_begins_and_ends_all_the_time_is_not_known(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, stop_reason=StopReason.FULL)
        await flaps(cameras, device, 11, recording=FLAPPING)
        camera = cameras.camera(device)
        assert camera.problems == (Problem.UNSTABLE,)
        assert (camera.reading.recording, camera.reading.recording_since_us) == (None, None)
        assert len(cameras.ends()) == 5
        cameras.bench.story.forget()
        with capture_logs() as logs:
            await flaps(cameras, device, 4000, recording=FLAPPING)
        assert cameras.ends() == [], "they are counted"
        assert logs == []
        changes = cameras.bench.story.of(CameraChanged)
        assert len(changes) <= 4000 * 0.25 / 10 + 1, "when it was read, as of any other camera"
        with capture_logs() as logs:
            for _ in range(60):
                cameras.control.says(device)
                await asyncio.sleep(2)
        assert cameras.camera(device).problems == ()
        assert cameras.camera(device).reading.recording is RecordingState.IDLE
        assert [(one["event"], one.get("changes")) for one in logs] == [
            ("camera_value_released", 4000 - 1),  # the first one was no change
            ("camera_problem_over", None),
        ]

    on_cameras(test)


def test_a_recording_is_known_a_minute_after_short_clips_at_the_latest(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        for _ in range(8):  # by the camera's own button
            for state in (RecordingState.RECORDING, RecordingState.IDLE):
                cameras.control.says(device, recording=state, recorded_s=0)
                await asyncio.sleep(4)
        assert cameras.camera(device).reading.recording is None
        for second in range(0, 62, 2):
            cameras.control.says(device, recording=RecordingState.RECORDING, recorded_s=second)
            await asyncio.sleep(2)
        assert cameras.camera(device).reading.recording is RecordingState.RECORDING

    on_cameras(test)


def test_a_recording_that_was_over_when_it_was_known_again_ended_meanwhile(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, recorded_s=0)
        await flaps(cameras, device, 12, recording=(RecordingState.IDLE, RecordingState.RECORDING))
        assert Problem.UNSTABLE in cameras.camera(device).problems
        cameras.bench.story.forget()
        for _ in range(65):
            cameras.control.says(device, recording=RecordingState.IDLE)
            await asyncio.sleep(1)
        [over] = cameras.bench.story.of(RecordingStopped)
        assert (over.reason, over.seen) == (StopReason.UNKNOWN, EndSeen.LATER)

    on_cameras(test)


def test_one_whose_recording_is_held_may_record_and_is_neither_right_nor_wrong(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        record = cameras.bench.hub.cameras
        await record.start_recording(device)
        await flaps(cameras, device, 400, recording=(RecordingState.IDLE, RecordingState.RECORDING))
        assert cameras.camera(device).problems == (Problem.UNSTABLE,), "for 100 s, and expected to record"
        assert cameras.control.commands == [([device], True)]
        await cameras.bench.hub.connections.disconnect(device)
        assert Problem.UNSTABLE not in cameras.camera(device).problems
        told = await record.record([], on=False, everyone=Everyone.RIG)
        assert isinstance(told[device].error, NotConnected), "it is one of those that may record"

    on_cameras(test, keep_recording=True)


def test_a_battery_that_jumps_is_not_known_and_warns_still(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device)
        await flaps(cameras, device, 12, battery_level=(90, 10))
        cameras.bench.story.forget()
        await flaps(cameras, device, 100, battery_level=(90, 10))
        camera = cameras.camera(device)
        assert camera.problems == (Problem.UNSTABLE, Problem.BATTERY_LOW)
        told = [one.status.camera for one in cameras.bench.story.of(CameraChanged)]
        assert [one.problems for one in told if one is not None] == [camera.problems] * len(told)
        assert camera.reading.battery_level is None
        assert camera.reading.recording is RecordingState.IDLE, "all else is"

    on_cameras(test)


def test_what_is_wrong_stays_while_its_value_is_held(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        cameras.control.says(device, temperature=TemperatureState.WARNING)
        for number in range(40):
            hot, level = (TemperatureState.TOO_HOT, 3) if number % 2 else (TemperatureState.WARNING, 9)
            cameras.control.says(device, temperature=hot, battery_level=level)
            await asyncio.sleep(0.25)
        wrong = (Problem.UNSTABLE, Problem.TOO_HOT, Problem.BATTERY_LOW)
        assert cameras.camera(device).problems == wrong
        for _ in range(65):
            cameras.control.says(device, temperature=TemperatureState.WARNING, battery_level=9)
            await asyncio.sleep(2)
        assert cameras.camera(device).problems == (Problem.BATTERY_LOW,)

    on_cameras(test)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"battery_level": (10, None)}, Problem.BATTERY_LOW),
        ({"temperature": (TemperatureState.TOO_HOT, None)}, Problem.TOO_HOT),
        ({"storage_state": (StorageState.FULL, None)}, Problem.STORAGE_FULL),
    ],
)
def test_what_is_wrong_does_not_come_and_go_with_what_is_not_said(
    on_cameras: OnCameras, value: dict[str, tuple[Any, Any]], problem: Problem
) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        await flaps(cameras, device, 400, **value)
        assert cameras.camera(device).problems == (Problem.UNSTABLE, problem)
        told = [one.status.camera for one in cameras.bench.story.of(CameraChanged)]
        assert all(problem in one.problems for one in told if one is not None)
        assert len(told) <= 11 + 10, "ten changes, and what is told every ten seconds"

    on_cameras(test)


def test_a_count_that_goes_back_all_the_time_ends_no_recordings(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        for number in range(400):
            count(cameras, device, 9 - number % 2)
            await asyncio.sleep(0.25)
        assert cameras.camera(device).problems == (Problem.UNSTABLE,)
        assert len(cameras.ends()) == 5

    on_cameras(test)


def test_who_records_and_stops_all_the_time_makes_no_camera_unstable(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        for _ in range(20):
            await cameras.bench.hub.cameras.start_recording(device)
            await cameras.bench.hub.cameras.stop_recording(device)
        assert cameras.camera(device).problems == ()
        assert len(cameras.ends()) == 20

    on_cameras(test)


def test_a_camera_that_is_silent_is_not_unstable(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await cameras.connected()
        await flaps(cameras, device, 20, recording=FLAPPING)
        assert Problem.UNSTABLE in cameras.camera(device).problems
        await asyncio.sleep(31)
        assert cameras.camera(device).problems == ()

    on_cameras(test)


# -- hosts that a camera knows


THETA_V = {"codename": "ricoh-theta-v", "ssid": "THETAYR12345678.OSC", "password": "12345678"}


async def theta_v(cameras: Cameras, *, is_connected: bool = True) -> DeviceId:
    """A device whose camera has to know this host before it is commanded over Bluetooth."""
    device = await cameras.bench.hub.create({"connection_type": "wifi"} | THETA_V)
    if is_connected:
        cameras.bench.world.power_on_camera(b"THETAYR12345678.OSC")
        await cameras.bench.hub.connections.connect(device, wait=True)
    return device


def test_a_camera_is_paired_by_the_name_that_it_advertises_once_it_knows_this_host(
    on_cameras: OnCameras,
) -> None:
    async def test(cameras: Cameras) -> None:
        device = await theta_v(cameras)
        await cameras.bench.hub.bluetooth.pair(device, wait=True)
        address = cameras.bench.story.devices[device].device.bluetooth_address
        assert [one.name for one in cameras.bench.hub.bluetooth.records() if one.address == address] == [
            "12345678"
        ]

    on_cameras(test)


def test_a_camera_that_is_not_connected_cannot_be_told_to_know_this_host(on_cameras: OnCameras) -> None:
    async def test(cameras: Cameras) -> None:
        device = await theta_v(cameras, is_connected=False)
        with pytest.raises(NotConnected, match="registers itself with this camera"):
            await cameras.bench.hub.bluetooth.pair(device, wait=True)

    on_cameras(test)


@pytest.mark.parametrize(
    ("advertised", "address", "said"),
    [
        ("99999999", None, "is not heard over Bluetooth as 99999999"),
        ("12345678", "F4:DD:9E:00:00:09", "the camera that is connected is"),
    ],
)
def test_another_camera_is_not_paired_for_it(
    on_cameras: OnCameras, advertised: str, address: str | None, said: str
) -> None:
    async def test(cameras: Cameras) -> None:
        device = await theta_v(cameras)
        cameras.control.advertised = advertised
        with pytest.raises(PairingFailed, match=said):
            await cameras.bench.hub.bluetooth.pair(device, wait=True, address=address)
        assert not cameras.bench.story.devices[device].device.bluetooth_address

    on_cameras(test)


@pytest.mark.parametrize("heard", ["12345678", "THETAYR12345678"])
def test_a_camera_is_found_by_either_of_its_names(on_cameras: OnCameras, heard: str) -> None:
    async def test(cameras: Cameras) -> None:
        device = await theta_v(cameras)
        cameras.control.advertised = heard
        await cameras.bench.hub.bluetooth.pair(device, wait=True)

    on_cameras(test)


@pytest.mark.parametrize(
    ("error", "told", "said"),
    [
        (CameraRefused("no, it is full"), PairingFailed, "no, it is full"),
        (NotConnected("it was lost"), NotConnected, "it was lost"),
    ],
)
def test_why_a_camera_does_not_take_this_host_is_told(
    on_cameras: OnCameras, error: WifimgrdError, told: type[WifimgrdError], said: str
) -> None:
    async def test(cameras: Cameras) -> None:
        device = await theta_v(cameras)
        cameras.control.refuses[device] = error
        with pytest.raises(told, match=said):
            await cameras.bench.hub.bluetooth.pair(device, wait=True)

    on_cameras(test)
