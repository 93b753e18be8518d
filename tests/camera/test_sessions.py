"""Sessions with scripted cameras: what is read and when, and commands to several at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from tests.camera.conftest import until
from tests.camera.scripted_cameras import (
    CLOSED,
    DEAD,
    SILENT,
    Camera,
    GoPro,
    Insta360,
    Theta,
    World,
    answer,
    nested,
    number,
)
from wifimgrd.camera._connection import SessionLimits
from wifimgrd.camera._session import Session
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.domain.camera import (
    BatteryState,
    CameraDriver,
    CameraReading,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    CameraBusy,
    CameraRefused,
    DeviceNotReachable,
    InterfaceLost,
    NotConnected,
    NotSupported,
    ServiceRefused,
    Unconfirmed,
    WifimgrdError,
)
from wifimgrd.runtime.tasks import Tasks

FAST = SessionLimits(
    idle_s=0.05,
    recording_s=0.02,
    shortest_s=0.01,
    first_pause_s=0.02,
    longest_pause_s=0.1,
    open_s=20.0,
    answer_s=20.0,
    prepare_s=20.0,
    silent_s=20.0,
    keep_alive_s=0.02,
)
SLOW = replace(FAST, idle_s=60.0, recording_s=60.0)
"""Reads only when something has happened."""
HURRIED = replace(FAST, answer_s=0.3, prepare_s=0.4, silent_s=0.4)
"""Waits only as long for what does not come."""
ONE = DeviceId(1)


@dataclass
class Listener:
    """Keeps the last reading of each camera, and waits for one."""

    readings: dict[int, CameraReading] = field(default_factory=dict)
    count: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        self.readings[device_id] = reading
        self.count += 1
        self.changed.set()

    async def until(self, condition: Callable[[CameraReading], bool], device_id: int = 1) -> CameraReading:
        async with asyncio.timeout(5):
            while True:
                if (found := self.readings.get(device_id)) is not None and condition(found):
                    return found
                self.changed.clear()
                await self.changed.wait()

    async def next(self, device_id: int = 1) -> CameraReading:
        before = self.readings.get(device_id)
        return await self.until(lambda found: found is not before, device_id)


@dataclass
class Fixture:
    sessions: CameraSessions
    world: World
    listener: Listener
    tasks: Tasks
    limits: SessionLimits
    now_us: Callable[[], int]

    def attach(self, camera: Camera, device_id: int = 1) -> None:
        self.world.cameras[device_id] = camera
        driver = {8080: CameraDriver.GOPRO, 6666: CameraDriver.INSTA360, 80: CameraDriver.OSC}[camera.port]
        self.sessions.attach(DeviceId(device_id), driver)

    async def record(self, *, on: bool = True) -> WifimgrdError | None:
        return (await self.sessions.record([ONE], on=on))[ONE].error


@pytest.fixture
def limits() -> SessionLimits:
    return FAST


@pytest.fixture
async def fixture(limits: SessionLimits) -> AsyncIterator[Fixture]:
    tasks, world, listener = Tasks("test"), World(), Listener()
    now_us = time.time_ns

    def clock() -> int:
        return now_us() // 1000

    sessions = CameraSessions(tasks.part("sessions"), clock, limits)
    await sessions.start(listener, world.open_socket)
    yield Fixture(sessions, world, listener, tasks, limits, clock)
    await sessions.stop()
    await tasks.stop()
    await world.close()


slow = pytest.mark.parametrize("limits", [SLOW])
hurried = pytest.mark.parametrize("limits", [HURRIED])

# -- what is read


async def test_a_gopro_is_read(fixture: Fixture) -> None:
    fixture.attach(GoPro())
    found = await fixture.listener.until(lambda reading: reading.clock_read_us != 0)
    assert (found.model, found.serial_number, found.firmware_version) == (
        "HERO12 Black", "C3501324500702", "H23.01.02",
    )  # fmt: skip
    assert (found.battery_level, found.battery_state) == (87, BatteryState.DISCHARGING)
    assert (found.recording, found.recording_since_us) == (RecordingState.IDLE, None)
    assert (found.storage_state, found.time_left_s) == (StorageState.OK, 3600)
    assert (found.storage_free, found.storage_total) == (30_000_000 * 1024, 62_000_000 * 1024)
    assert found.temperature is TemperatureState.NORMAL
    assert abs(found.read_us - fixture.now_us()) < 5_000_000


async def test_an_insta360_is_read_and_its_connection_kept(fixture: Fixture) -> None:
    camera = Insta360()
    fixture.attach(camera)
    found = await fixture.listener.until(lambda reading: reading.clock_read_us != 0)
    assert (found.model, found.serial_number, found.firmware_version) == (
        "Insta360 X4", "IAHEA2402ABCDE", "v1.0.42",
    )  # fmt: skip
    assert (found.battery_level, found.battery_state) == (80, BatteryState.DISCHARGING)
    assert (found.recording, found.storage_state) == (RecordingState.IDLE, StorageState.OK)
    assert (found.storage_free, found.storage_total, found.time_left_s) == (
        60_000_000_000, 128_000_000_000, 3000,
    )  # fmt: skip
    async with asyncio.timeout(5):
        camera.kept_alive.clear()
        await camera.kept_alive.wait()
    assert len(fixture.world.opened) == 1


async def test_a_theta_is_read(fixture: Fixture) -> None:
    camera = Theta()
    fixture.attach(camera)
    found = await fixture.listener.until(lambda reading: reading.clock_read_us != 0)
    assert (found.model, found.serial_number) == ("RICOH THETA Z1", "00010001")
    assert (found.battery_level, found.battery_state) == (67, BatteryState.DISCHARGING)
    assert (found.recording, found.storage_state) == (RecordingState.IDLE, StorageState.OK)
    assert (found.storage_free, found.storage_total, found.time_left_s) == (
        10_000_000_000, 19_000_000_000, 1500,
    )  # fmt: skip
    assert camera.requests[0] == "/osc/info"
    assert len(fixture.world.opened) == 1


@slow
async def test_the_state_is_read_at_once_after_a_push(fixture: Fixture) -> None:
    camera = Insta360()
    fixture.attach(camera)
    await fixture.listener.until(lambda reading: reading.clock_read_us != 0)
    camera.push(8195, nested(1, number(1, 1) + number(2, 41) + number(3, 100)))
    found = await fixture.listener.until(lambda reading: reading.battery_level == 41)
    assert found.battery_state is BatteryState.CHARGING
    camera.state, camera.seconds = 1, 7
    camera.push(8208, number(1, 1) + number(2, 7))
    found = await fixture.listener.until(lambda reading: reading.is_recording is True)
    assert found.recording_since_us is not None
    assert abs(found.recording_since_us + 7_000_000 - fixture.now_us()) < 3_000_000
    camera.state = 0
    camera.push(8201, number(1, 9))
    found = await fixture.listener.until(lambda reading: reading.is_recording is False)
    assert found.stop_reason is StopReason.TOO_HOT


async def test_a_camera_that_closes_after_each_answer_is_read_all_the_same(fixture: Fixture) -> None:
    camera = GoPro(keeps_alive=False)
    fixture.attach(camera)
    await fixture.listener.until(lambda reading: reading.clock_read_us != 0)
    camera.statuses["70"] = 50
    await fixture.listener.until(lambda reading: reading.battery_level == 50)
    assert camera.requests.count("/gopro/camera/info") == 1
    assert len(fixture.world.opened) >= len(camera.requests)


async def test_the_begin_of_a_recording_does_not_move(fixture: Fixture) -> None:
    camera = GoPro()
    camera.statuses |= {"10": 1, "13": 100}
    fixture.attach(camera)
    first = await fixture.listener.until(lambda reading: reading.is_recording is True)
    camera.statuses["13"] = 101
    for _ in range(5):
        assert (await fixture.listener.next()).recording_since_us == first.recording_since_us
    camera.statuses["13"] = 2
    found = await fixture.listener.until(lambda r: r.recording_since_us != first.recording_since_us)
    assert found.recording_since_us is not None
    assert abs(found.recording_since_us + 2_000_000 - fixture.now_us()) < 2_000_000


async def test_why_a_recording_has_ended_is_told_until_the_next(fixture: Fixture) -> None:
    camera = GoPro()
    camera.statuses["33"] = 1
    fixture.attach(camera)
    found = await fixture.listener.next()
    assert found.stop_reason is None  # nothing was seen to end
    camera.statuses["10"] = 1
    await fixture.listener.until(lambda reading: reading.is_recording is True)
    camera.statuses["10"] = 0
    found = await fixture.listener.until(lambda reading: reading.is_recording is False)
    assert found.stop_reason is StopReason.FULL
    camera.statuses |= {"10": 1, "33": 0}
    found = await fixture.listener.until(lambda reading: reading.is_recording is True)
    assert found.stop_reason is None


async def test_nothing_is_claimed_of_the_next_attachment(fixture: Fixture) -> None:
    fixture.attach(GoPro())
    await fixture.listener.next()
    fixture.sessions.detach(ONE)
    fixture.listener.readings.clear()
    other = GoPro(model="HERO9 Black", serial="C3441300000000")
    other.instead["/gopro/camera/state"] = answer({"status": {"10": 0}})
    fixture.attach(other)
    found = await fixture.listener.next()
    assert (found.model, found.battery_level, found.storage_state) == ("HERO9 Black", None, None)


# -- what goes wrong


@hurried
async def test_a_camera_that_does_not_answer_is_tried_again_and_others_go_on(fixture: Fixture) -> None:
    camera, other = GoPro(), GoPro()
    camera.instead["/gopro/camera/info"] = SILENT
    fixture.attach(camera)
    fixture.attach(other, 2)
    await fixture.listener.next(2)
    async with asyncio.timeout(5):
        while len(camera.requests) < 2:
            await fixture.listener.next(2)
    del camera.instead["/gopro/camera/info"]
    await fixture.listener.next()
    assert fixture.world.opened.count((1, 8080)) >= 2


NONSENSE = {
    "no-http": b"\x00" * 100,
    "endless-head": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000,
    "endless-body": b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 600_000,
    "redirect": answer({}, 302, "Location: http://192.168.7.1/\r\n"),
    "nested": answer(b'{"status":' * 20_000),
    "nan": answer(b'{"status": {"70": NaN}}'),
    "no-object": answer(b"[1]"),
    "half": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{",
    "twice": answer({"status": {}}) * 2,
}


@pytest.mark.parametrize("sent", NONSENSE.values(), ids=NONSENSE)
@hurried
async def test_nonsense_ends_its_connection_and_nothing_else(fixture: Fixture, sent: bytes) -> None:
    camera, other = GoPro(), GoPro()
    camera.instead["/gopro/camera/state"] = sent
    fixture.attach(camera)
    fixture.attach(other, 2)
    async with asyncio.timeout(5):
        while fixture.world.opened.count((1, 8080)) < 3:
            await fixture.listener.next(2)
    assert 1 not in fixture.listener.readings
    del camera.instead["/gopro/camera/state"]
    await fixture.listener.next()


async def test_values_that_cannot_be_are_dropped_one_by_one(fixture: Fixture) -> None:
    camera = GoPro()
    camera.statuses |= {"70": 250, "54": -1, "35": "many", "33": -1, "6": [], "13": 1e300, "8": None, "10": 1}
    fixture.attach(camera)
    found = await fixture.listener.next()
    assert (found.battery_level, found.storage_free, found.time_left_s) == (None, None, None)
    assert (found.storage_state, found.temperature) == (None, None)
    assert found.is_recording is True
    assert found.storage_total == 62_000_000 * 1024


async def test_a_flood_of_pushes_is_not_looked_at(fixture: Fixture) -> None:
    camera = Insta360()
    fixture.attach(camera)
    await fixture.listener.until(lambda reading: reading.clock_read_us != 0)
    before = fixture.listener.count
    for level in range(2000):
        camera.push(8195, nested(1, number(2, level % 20 + 50)))
    camera.card = 2
    camera.push(8199)
    await fixture.listener.until(lambda reading: reading.storage_state is StorageState.FULL)
    assert fixture.listener.count - before < 200


async def test_a_camera_that_floods_is_read_slowly(fixture: Fixture) -> None:
    """The rest stays in the kernel's buffers, so that the camera cannot send it."""
    flood = b"\x07\x00\x00\x00\x05\x00\x00" * 40_000
    sent = 0

    class Flood(Insta360):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal sent
            while True:
                writer.write(flood)
                await writer.drain()
                sent += len(flood)

    other, loop = GoPro(), asyncio.get_running_loop()
    began_s = loop.time()
    fixture.attach(Flood())
    fixture.attach(other, 2)
    for _ in range(10):
        await fixture.listener.next(2)
    # It is read for longer where the machine does other things, too; the rest are the buffers of both sides.
    assert sent < 3_500_000 + fixture.limits.bytes_per_s * (loop.time() - began_s + 1)


async def test_a_socket_that_cannot_be_opened_is_tried_again(fixture: Fixture) -> None:
    fixture.world.failure = ServiceRefused("refused")
    fixture.attach(GoPro())
    error = await fixture.record()
    assert isinstance(error, ServiceRefused)
    fixture.world.failure = InterfaceLost("unplugged")
    assert isinstance(await fixture.record(), NotConnected)
    fixture.world.failure = None
    await fixture.listener.next()


# -- commands

DRIVEN = [GoPro, Theta, Insta360]


@slow
@pytest.mark.parametrize("kind", DRIVEN)
async def test_recording_starts_and_stops(fixture: Fixture, kind: type[GoPro | Theta | Insta360]) -> None:
    fixture.attach(kind())
    await fixture.listener.next()
    for on in (True, False):
        result = (await fixture.sessions.record([ONE], on=on))[ONE]
        assert result.error is None
        assert 0 < result.after_us < 1_000_000
        found = fixture.listener.readings[1]
        assert found.is_recording is on
        assert (found.recording_since_us is not None) is on


@slow
@pytest.mark.parametrize("kind", DRIVEN)
async def test_a_camera_that_does_what_is_wanted_is_sent_nothing(
    fixture: Fixture, kind: type[GoPro | Theta | Insta360]
) -> None:
    camera = kind()
    fixture.attach(camera)
    result = (await fixture.sessions.record([ONE], on=False))[ONE]
    assert (result.error, result.after_us) == (None, 0)
    commands = {"/gopro/camera/shutter/stop", "camera.stopCapture", 5}
    assert commands.isdisjoint(camera.requests)


async def test_requests_to_many_are_sent_together(fixture: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    send, turns, ran = Session.send_command, list[int](), list[None]()

    def sent(session: Session) -> bool:
        turns.append(len(ran))
        asyncio.get_running_loop().call_soon(ran.append, None)
        return send(session)

    monkeypatch.setattr(Session, "send_command", sent)
    kinds = (GoPro, Theta, Insta360)
    cameras = [kinds[index % 3]() for index in range(16)]
    for index, camera in enumerate(cameras):
        fixture.attach(camera, index)
    slow_one = cameras[0]
    assert isinstance(slow_one, GoPro)
    slow_one.statuses["8"] = 1
    ids = [DeviceId(index) for index in range(16)]
    recording = asyncio.create_task(fixture.sessions.record(ids, on=True))
    await fixture.listener.next(0)
    starts = ("/gopro/camera/shutter/start", "camera.startCapture", 4)
    assert not any(start in camera.requests for camera in cameras for start in starts)
    slow_one.statuses["8"] = 0
    results = await recording
    assert [result.error for result in results.values()] == [None] * 16
    assert list(results) == ids
    assert all(any(start in camera.requests for start in starts) for camera in cameras)
    assert len(turns) == 16
    assert set(turns) == {turns[0]}  # nothing else ran between the first and the last


@hurried
async def test_a_camera_that_is_not_ready_does_not_hold_the_others_up(fixture: Fixture) -> None:
    silent, other = GoPro(), GoPro()
    silent.instead["/gopro/camera/state"] = SILENT
    fixture.attach(silent)
    fixture.attach(other, 2)
    results = await fixture.sessions.record([ONE, DeviceId(2), DeviceId(3)], on=True)
    assert isinstance(results[ONE].error, DeviceNotReachable)
    assert results[DeviceId(2)].error is None
    assert isinstance(results[DeviceId(3)].error, NotConnected)
    assert "/gopro/camera/shutter/start" not in silent.requests


PATIENT = replace(FAST, silent_s=0.6)


@pytest.mark.parametrize("limits", [PATIENT])
@pytest.mark.parametrize("is_being_read", [True, False])
async def test_a_silent_camera_is_left_out_before_one_that_is_busy(
    fixture: Fixture, is_being_read: bool
) -> None:
    silent, busy, other = GoPro(), GoPro(), GoPro()
    for device_id, camera in enumerate((silent, busy, other), 1):
        fixture.attach(camera, device_id)
    await fixture.listener.next()
    silent.instead["/gopro/camera/state"] = SILENT
    busy.statuses["8"] = 1
    if is_being_read:
        await until(lambda: silent.requests.count("/gopro/camera/state") > 1)
    began_s = asyncio.get_running_loop().time()
    recording = asyncio.create_task(fixture.sessions.record([DeviceId(one) for one in (1, 2, 3)], on=True))
    await until(lambda: busy.requests.count("/gopro/camera/state") > 5)  # a second, and longer than silent_s
    busy.statuses["8"] = 0
    results = await recording
    assert asyncio.get_running_loop().time() - began_s < PATIENT.prepare_s / 2
    assert [result.error is None for result in results.values()] == [False, True, True]
    error = results[ONE].error
    assert isinstance(error, DeviceNotReachable)
    assert error.message == "no answer within 0.6 s, and others were ready"
    silent.instead.clear()
    assert "/gopro/camera/shutter/start" not in silent.requests


@pytest.mark.parametrize("limits", [replace(PATIENT, prepare_s=1.2)])
async def test_a_silent_camera_has_its_whole_time_if_nobody_waits_for_it(fixture: Fixture) -> None:
    silent = GoPro()
    silent.instead["/gopro/camera/state"] = SILENT
    fixture.attach(silent)
    fixture.attach(GoPro(), 2)
    fixture.world.cameras[2].statuses["33"] = 2  # type: ignore[attr-defined]
    results = await fixture.sessions.record([ONE, DeviceId(2)], on=True)
    assert isinstance(results[DeviceId(2)].error, CameraRefused)
    error = results[ONE].error
    assert error is not None
    assert error.message == "the camera was not ready within 1.2 s"


@pytest.mark.parametrize(
    ("card", "sentence"),
    [(1, "the card is full"), (2, "the camera has no card"), (3, "the camera cannot write to its card")],
)
async def test_a_camera_without_space_is_not_told_to_record(
    fixture: Fixture, card: int, sentence: str
) -> None:
    camera = GoPro()
    camera.statuses["33"] = card
    fixture.attach(camera)
    error = await fixture.record()
    assert isinstance(error, CameraRefused)
    assert error.message == sentence
    assert "/gopro/camera/shutter/start" not in camera.requests


async def test_why_cameras_refuse(fixture: Fixture) -> None:
    hot, odd = GoPro(does=False), Insta360(refuses=number(1, 3) + nested(2, b"msg execute err."))
    hot.statuses["6"] = 1
    cameras: tuple[Camera, ...] = (hot, Insta360(refuses=number(1, 5)), odd)
    for index, camera in enumerate(cameras):
        fixture.attach(camera, index)
    results = await fixture.sessions.record([DeviceId(index) for index in range(3)], on=True)
    errors = [result.error for result in results.values()]
    assert [type(error) for error in errors] == [CameraRefused, CameraBusy, CameraRefused]
    assert [error.message for error in errors if error is not None] == [
        "the camera is too hot",
        "the camera is busy",
        "the camera refused: msg execute err.",
    ]


@hurried
async def test_a_command_to_a_camera_that_goes_silent(fixture: Fixture) -> None:
    camera = GoPro()
    camera.instead["/gopro/camera/shutter/start"] = SILENT
    fixture.attach(camera)
    error = await fixture.record()
    assert isinstance(error, DeviceNotReachable)
    assert error.message == "no answer within 0.3 s"
    del camera.instead["/gopro/camera/shutter/start"]
    assert await fixture.record() is None


async def test_an_answer_that_is_nonsense_is_told(fixture: Fixture) -> None:
    camera = GoPro()
    camera.instead["/gopro/camera/shutter/start"] = b"\x00\x00\x00\x00\r\n\r\n"
    fixture.attach(camera)
    error = await fixture.record()
    assert isinstance(error, CameraRefused)
    assert error.message == "the camera's answer cannot be understood"


async def test_a_detached_camera_ends_its_command(fixture: Fixture) -> None:
    camera = GoPro()
    camera.holds["/gopro/camera/shutter/start"] = asyncio.Event()
    fixture.attach(camera)
    other = GoPro()
    fixture.attach(other, 2)
    recording = asyncio.create_task(fixture.sessions.record([ONE, DeviceId(2)], on=True))
    async with asyncio.timeout(5):
        while "/gopro/camera/shutter/start" not in camera.requests:
            await fixture.listener.next(2)
    fixture.sessions.detach(ONE)
    results = await recording
    assert isinstance(results[ONE].error, Unconfirmed)  # it has had the request
    assert results[DeviceId(2)].error is None


async def test_a_camera_that_is_detached_before_its_command_is_not_connected(fixture: Fixture) -> None:
    camera = GoPro()
    camera.statuses["8"] = 1
    fixture.attach(camera)
    recording = asyncio.create_task(fixture.sessions.record([ONE], on=True))
    await until(lambda: camera.requests.count("/gopro/camera/state") > 1)
    fixture.sessions.detach(ONE)
    assert isinstance((await recording)[ONE].error, NotConnected)
    assert "/gopro/camera/shutter/start" not in camera.requests


# -- answers that are lost

COMMANDS: dict[type[GoPro | Theta | Insta360], dict[bool, str | int]] = {
    GoPro: {True: "/gopro/camera/shutter/start", False: "/gopro/camera/shutter/stop"},
    Theta: {True: "camera.startCapture", False: "camera.stopCapture"},
    Insta360: {True: 4, False: 5},
}
LOSSES = {"closed": CLOSED, "silent": SILENT, "nonsense": b"\x00\x00\x00\x00\r\n\r\n"}


def recording(kind: type[GoPro | Theta | Insta360], *, on: bool) -> GoPro | Theta | Insta360:
    """A camera that does not do yet what it is to be told."""
    camera = kind()
    match camera:
        case GoPro():
            camera.statuses["10"] = int(not on)
        case Theta():
            camera.state["_captureStatus"] = "idle" if on else "shooting"
            camera.options["captureMode"] = "video"
        case Insta360():
            camera.state = int(not on)
    return camera


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("kind", DRIVEN)
@pytest.mark.parametrize("limits", [replace(SLOW, answer_s=0.3)])
async def test_a_command_whose_answer_is_lost_is_done_if_the_camera_is_seen_to_do_it(
    fixture: Fixture, kind: type[GoPro | Theta | Insta360], loss: bytes, on: bool
) -> None:
    camera, command = recording(kind, on=on), COMMANDS[kind][on]
    fixture.attach(camera)
    await fixture.listener.next()
    camera.lost[command] = loss  # type: ignore[index]
    opened = len(fixture.world.opened)
    result = (await fixture.sessions.record([ONE], on=on))[ONE]
    assert result.error is None
    assert 0 < result.after_us < 3_000_000
    assert fixture.listener.readings[1].is_recording is on
    assert camera.requests.count(command) == 1  # type: ignore[arg-type]
    assert len(fixture.world.opened) == opened + 1  # over a new connection


@slow
@pytest.mark.parametrize("kind", DRIVEN)
async def test_a_command_whose_answer_is_lost_is_unconfirmed_if_the_camera_cannot_be_read(
    fixture: Fixture, kind: type[GoPro | Theta | Insta360]
) -> None:
    camera, command = recording(kind, on=True), COMMANDS[kind][True]
    fixture.attach(camera)
    await fixture.listener.next()
    camera.lost[command] = DEAD  # type: ignore[index]
    error = await fixture.record()
    assert isinstance(error, Unconfirmed)
    assert error.message == "the camera's answer was lost, and its state could not be read in time"


@slow
async def test_a_lost_answer_of_a_camera_that_does_not_tell_is_unconfirmed(fixture: Fixture) -> None:
    camera = GoPro()
    del camera.statuses["10"]
    camera.does = False
    camera.lost["/gopro/camera/shutter/start"] = CLOSED
    fixture.attach(camera)
    error = await fixture.record()
    assert isinstance(error, Unconfirmed)
    assert error.message == "the camera's answer was lost, and it does not say whether it records"


@pytest.mark.parametrize("limits", [replace(SLOW, answer_s=0.3)])
async def test_a_command_whose_answer_is_lost_fails_if_the_camera_is_seen_not_to_do_it(
    fixture: Fixture,
) -> None:
    camera = GoPro(does=False)
    camera.lost["/gopro/camera/shutter/start"] = SILENT
    fixture.attach(camera)
    error = await fixture.record()
    assert isinstance(error, DeviceNotReachable)
    assert error.message == "no answer within 0.3 s"


@slow
async def test_a_command_whose_connection_had_ended_is_sent_again_once_it_is_seen_not_to_be_done(
    fixture: Fixture,
) -> None:
    class Closes(GoPro):
        def reply(self, target: str, body: bytes) -> bytes:
            if target == start:
                self.does, self.lost = bool(started), {} if started else {start: CLOSED}
                started.append(target)
            return super().reply(target, body)

    start, started = "/gopro/camera/shutter/start", list[str]()
    fixture.attach(Closes())
    assert await fixture.record() is None
    assert started == [start, start]


@pytest.mark.slow
@pytest.mark.parametrize("limits", [replace(SLOW, margin_s=9.5)])
@pytest.mark.parametrize("is_sent", [True, False])
async def test_a_command_that_runs_out_of_time_is_unconfirmed_once_it_was_sent(
    fixture: Fixture, is_sent: bool
) -> None:
    camera = GoPro()
    fixture.attach(camera)
    await fixture.listener.next()
    held = "shutter/start" if is_sent else "state"
    camera.holds[f"/gopro/camera/{held}"] = asyncio.Event()
    error = await fixture.record()
    assert isinstance(error, Unconfirmed if is_sent else DeviceNotReachable)


async def test_two_clients_at_once_are_served_one_after_the_other(fixture: Fixture) -> None:
    first, second = GoPro(), GoPro()
    fixture.attach(first)
    fixture.attach(second, 2)
    both = [ONE, DeviceId(2)]
    results = await asyncio.gather(
        fixture.sessions.record(both, on=True),
        fixture.sessions.record(both[::-1], on=False),
        fixture.sessions.record(both, on=True),
    )
    assert [result.error for one in results for result in one.values()] == [None] * 6
    for camera in (first, second):
        shutter = [name for name in camera.requests if "shutter" in name]
        assert shutter == [f"/gopro/camera/shutter/{what}" for what in ("start", "stop", "start")]


@pytest.mark.parametrize("limits", [replace(FAST, prepare_s=0.2)])
async def test_a_command_waits_for_no_other_longer_than_its_limit(fixture: Fixture) -> None:
    camera = GoPro()
    fixture.attach(camera)
    await fixture.listener.next()
    hold = camera.holds["/gopro/camera/shutter/start"] = asyncio.Event()
    first = asyncio.create_task(fixture.sessions.record([ONE], on=True))
    await until(lambda: any("start" in name for name in camera.requests))
    second = await fixture.record(on=False)
    assert isinstance(second, CameraBusy)
    assert second.message == "another command to this camera is under way"
    hold.set()
    assert (await first)[ONE].error is None


async def test_no_camera_and_unknown_cameras(fixture: Fixture) -> None:
    assert await fixture.sessions.record([], on=True) == {}
    assert isinstance(await fixture.record(), NotConnected)
    with pytest.raises(NotConnected):
        await fixture.sessions.set_clock(ONE)


async def test_the_mode_is_set_before_recording(fixture: Fixture) -> None:
    gopro, theta = GoPro(), Theta()
    gopro.statuses["96"] = 1001
    fixture.attach(gopro)
    fixture.attach(theta, 2)
    results = await fixture.sessions.record([ONE, DeviceId(2)], on=True)
    assert [result.error for result in results.values()] == [None, None]
    assert gopro.statuses["96"] == 1000
    assert theta.options["captureMode"] == "video"


# -- clocks


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
async def test_clocks_are_set_and_read(fixture: Fixture, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        gopro, theta, insta360 = GoPro(), Theta(), Insta360()
        cameras: tuple[Camera, ...] = (gopro, theta, insta360)
        for index, camera in enumerate(cameras):
            fixture.attach(camera, index)
            await fixture.listener.until(lambda reading: reading.clock_read_us != 0, index)
            assert abs(fixture.listener.readings[index].clock_offset_us or 0) > 60_000_000
        await asyncio.gather(*(fixture.sessions.set_clock(DeviceId(index)) for index in range(2)))
        for index in range(2):
            found = fixture.listener.readings[index]
            assert abs(found.clock_offset_us or 0) < 1_500_000
        here = datetime.now().astimezone()
        offset = here.utcoffset()
        assert offset is not None
        assert gopro.clock["tzone"] == str(offset.seconds // 60)
        assert gopro.clock["date"] == f"{here:%Y_%m_%d}"
        moment = datetime.strptime(theta.options["dateTimeZone"], "%Y:%m:%d %H:%M:%S%z")
        assert abs((datetime.now(UTC) - moment).total_seconds()) < 2
        await fixture.sessions.set_clock(DeviceId(2))
        set_options = insta360.bodies[insta360.requests.index(7)]
        assert set_options.startswith(bytes([0x0A, 2, 12, 13, 0x12]))
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_clock_is_not_set_while_a_recording_begins(fixture: Fixture) -> None:
    """The command to record is under way, or somebody has pressed the button: neither was read yet."""
    camera = GoPro()
    fixture.attach(camera)
    await fixture.listener.next()
    hold = camera.holds["/gopro/camera/shutter/start"] = asyncio.Event()
    recording = asyncio.create_task(fixture.sessions.record([ONE], on=True))
    await until(lambda: any("start" in name for name in camera.requests))
    setting = asyncio.create_task(fixture.sessions.set_clock(ONE))
    hold.set()
    assert (await recording)[ONE].error is None
    with pytest.raises(CameraBusy):
        await setting
    assert not any("set_date_time" in name for name in camera.requests)


async def test_a_clock_that_cannot_be_set(fixture: Fixture) -> None:
    class OneX(Theta):
        def reply(self, target: str, body: bytes) -> bytes:
            if target == "/osc/info":
                return answer({"manufacturer": "Arashi Vision", "model": "Insta360 One2", "apiLevel": [2]})
            if b"_batteryCapacity" in body or b"_dateTime" in body:
                return answer({"state": "error", "error": {"code": "invalidParameterName "}}, 400)
            return super().reply(target, body)

    fixture.attach(OneX())
    await fixture.listener.next()
    with pytest.raises(NotSupported):
        await fixture.sessions.set_clock(ONE)
    refuses = GoPro()
    refuses.instead["/gopro/camera/set_date_time"] = answer({"error": 1}, 403)
    fixture.attach(refuses, 2)
    with pytest.raises(CameraRefused):
        await fixture.sessions.set_clock(DeviceId(2))


async def test_stop_ends_everything(fixture: Fixture) -> None:
    camera = GoPro()
    fixture.attach(camera)
    await fixture.listener.next()
    await fixture.sessions.stop()
    count = fixture.listener.count
    assert isinstance(await fixture.record(), NotConnected)
    assert fixture.listener.count == count
