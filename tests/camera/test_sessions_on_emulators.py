"""The drivers against the emulated cameras, which were written apart from them and are proven by the makers'
and other published clients (tests/clients)."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace

import pytest

from wifimgrd.camera._connection import SessionLimits
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
from wifimgrd.domain.errors import CameraRefused, DeviceNotReachable, NotSupported, Unconfirmed
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, Emulator, emulator

LIMITS = SessionLimits(
    idle_s=0.1,
    recording_s=0.05,
    shortest_s=0.02,
    clock_s=0.1,
    first_pause_s=0.05,
    longest_pause_s=0.2,
    answer_s=3.0,
)
GOPRO = CameraSettings(
    model="HERO13 Black", serial_number="C3531300000001", firmware_version="H24.01.01.10.00"
)
X4 = CameraSettings(model="Insta360 X4", serial_number="IAHEA2400000001", firmware_version="v1.6.21_build1")
THETA = CameraSettings(model="RICOH THETA X", serial_number="YR12345678", firmware_version="2.63.0")
THETA_S = replace(THETA, model="RICOH THETA S", firmware_version="1.82")
HERO7 = replace(GOPRO, model="HERO7 Black", firmware_version="HD7.01.01.90.00")
SJCAM = CameraSettings(model="SJ4000", serial_number="", firmware_version="SJ4000.20151020.V1.0")
DRIVEN = {
    "gopro": (CameraDriver.GOPRO, GOPRO),
    "hero9": (CameraDriver.GOPRO_HERO9, replace(GOPRO, firmware_version="HD9.01.01.72.00")),
    "hero7": (CameraDriver.GOPRO_GPCONTROL, HERO7),
    "novatek": (CameraDriver.NOVATEK, SJCAM),
    "insta360": (CameraDriver.INSTA360, X4),
    "theta-x": (CameraDriver.OSC, THETA),
    "theta-s": (CameraDriver.OSC, THETA_S),
}


@dataclass
class Hub:
    """Sessions with one emulated camera, as device 1."""

    driver: CameraDriver
    camera: EmulatedCamera
    emulator: Emulator
    sessions: CameraSessions
    reading: CameraReading = field(default_factory=CameraReading)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    serving: set[asyncio.Task[None]] = field(default_factory=set)
    host_off_us: int = 0
    """By how much the host's clock was set forward."""

    async def open_socket(self, device_id: DeviceId, port: int) -> socket.socket:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        served = self.emulator

        async def serve() -> None:
            reader, writer = await asyncio.open_connection(sock=theirs)
            try:
                await served.serve(port, reader, writer)
            finally:
                writer.close()

        self.serving.add(asyncio.create_task(serve()))
        return ours

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        self.reading = reading
        self.changed.set()

    async def until(self, condition: Callable[[CameraReading], bool]) -> CameraReading:
        try:
            async with asyncio.timeout(40):
                while not condition(self.reading):
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            pytest.fail(f"the camera still says {self.reading}")
        return self.reading

    async def record(self, *, on: bool) -> Exception | None:
        return (await self.sessions.record([DeviceId(1)], on=on))[DeviceId(1)].error


@pytest.fixture(params=list(DRIVEN.values()), ids=list(DRIVEN))
async def hub(request: pytest.FixtureRequest) -> AsyncIterator[Hub]:
    driver, settings = request.param
    camera = EmulatedCamera(settings)
    tasks = Tasks("test")

    def host_us() -> int:
        return time.time_ns() // 1000 + one.host_off_us

    sessions = CameraSessions(tasks.part("sessions"), host_us, LIMITS)
    one = Hub(driver, camera, emulator(driver, camera), sessions)
    await sessions.start(one, one.open_socket)
    sessions.attach(DeviceId(1), driver)
    yield one
    await sessions.stop()
    await tasks.stop()
    for task in one.serving:
        task.cancel()
    await asyncio.gather(*one.serving, return_exceptions=True)


def only(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("hub", [DRIVEN[name] for name in names], ids=names, indirect=True)


def tells_heat(hub: Hub) -> bool:
    """An Insta360 only says that it has stopped for it."""
    is_silent = hub.driver in {CameraDriver.INSTA360, CameraDriver.NOVATEK}
    return not is_silent and hub.camera.settings.model != "RICOH THETA S"


def no_clock(hub: Hub) -> bool:
    """Its clock cannot be read."""
    return hub.driver in {CameraDriver.GOPRO_GPCONTROL, CameraDriver.NOVATEK}


def level(hub: Hub) -> int:
    """How full its battery, which has 80 %, is by what it says: Novatek's firmware knows four steps."""
    return 100 if hub.driver is CameraDriver.NOVATEK else 80


DRIVEN_OVER_NETWORK = [name for name in DRIVEN if name != "hero9"]


async def test_everything_that_it_says_is_right(hub: Hub) -> None:
    found = await hub.until(lambda reading: reading.storage_free is not None)
    assert (found.recording, found.recording_since_us) == (RecordingState.IDLE, None)
    assert (found.battery_level, found.battery_state) == (level(hub), BatteryState.DISCHARGING)
    assert found.storage_state is StorageState.OK
    assert found.storage_free == pytest.approx(64_000_000_000, abs=1024)
    assert found.storage_total in {64_000_000_000, None}
    assert found.time_left_s == 64_000_000_000 // 12_500_000
    assert found.temperature is (TemperatureState.NORMAL if tells_heat(hub) else None)
    settings = hub.camera.settings
    said = (found.model, found.serial_number, found.firmware_version)
    whole = (settings.model, settings.serial_number, settings.firmware_version)
    assert said in {whole, ("", "", settings.firmware_version), ("", "", "")}


@only(*DRIVEN_OVER_NETWORK)
async def test_it_starts_and_stops(hub: Hub) -> None:
    asked_us = time.time_ns() // 1000
    assert await hub.record(on=True) is None
    assert hub.camera.is_recording
    found = await hub.until(lambda reading: reading.is_recording is True)
    assert found.recording_since_us is not None
    assert asked_us - 2_000_000 < found.recording_since_us <= time.time_ns() // 1000
    assert await hub.record(on=True) is None
    assert await hub.record(on=False) is None
    assert not hub.camera.is_recording
    await hub.until(lambda reading: reading.is_recording is False)
    assert len(hub.camera.files) == 1


@only(*DRIVEN_OVER_NETWORK)
async def test_it_tells_the_file_of_a_recording_and_no_other(hub: Hub) -> None:
    """The second one of its card; those whose clock cannot be read are told after the hub has set it."""
    await hub.until(lambda reading: reading.read_us != 0)
    await hub.sessions.set_clock(DeviceId(1))
    hub.camera.start()
    hub.camera.stop()
    hub.camera.files[0] = replace(hub.camera.files[0], began_s=hub.camera.files[0].began_s - 60)
    assert await hub.record(on=True) is None
    began_us = (await hub.until(lambda reading: reading.is_recording is True)).recording_since_us
    assert began_us is not None
    assert await hub.record(on=False) is None
    await hub.until(lambda reading: reading.is_recording is False)
    await hub.until(lambda reading: reading.clock_read_us != 0 or no_clock(hub))
    found = await hub.sessions.recorded_files(DeviceId(1), began_us, time.time_ns() // 1000)
    names = {
        CameraDriver.GOPRO: "100GOPRO/GX010002.MP4",
        CameraDriver.GOPRO_GPCONTROL: "100GOPRO/GX010002.MP4",
        CameraDriver.OSC: "100RICOH/R0010002.MP4",
    }
    size = hub.camera.files[1].size
    match hub.driver:
        case CameraDriver.NOVATEK:
            assert found is None
        case CameraDriver.INSTA360:
            assert found is not None
            assert (found[0].name[-9:], found[0].size) == ("_002.insv", size)
        case driver:
            assert found == (RecordedFile(names[driver], size),)


@only("hero9")
async def test_a_hero9_is_refused_before_others_wait_for_it(hub: Hub) -> None:
    error = await hub.record(on=True)
    assert isinstance(error, NotSupported)
    assert error.message == "a HERO9 starts and stops only over Bluetooth: pair it with this hub"
    hub.camera.start()  # over Bluetooth
    assert await hub.record(on=True) is None
    assert (await hub.until(lambda reading: reading.is_recording is True)).recorded_s == 0


@pytest.mark.slow
@only(*DRIVEN_OVER_NETWORK)
@pytest.mark.parametrize("reason", [StopReason.FULL, StopReason.TOO_HOT, StopReason.SLOW_CARD])
async def test_why_it_has_stopped(hub: Hub, reason: StopReason) -> None:
    assert await hub.record(on=True) is None
    match reason:
        case StopReason.FULL:
            hub.camera.set_card(missing=False, full=True, slow=False)
        case StopReason.TOO_HOT:
            hub.camera.set_hot(is_hot=True)
        case StopReason.SLOW_CARD:
            hub.camera.set_card(missing=False, full=False, slow=True)
    await hub.until(lambda reading: reading.is_recording is False)
    says = {
        StopReason.FULL: True,
        StopReason.TOO_HOT: tells_heat(hub) or hub.driver is CameraDriver.INSTA360,
        StopReason.SLOW_CARD: hub.driver in {CameraDriver.GOPRO, CameraDriver.INSTA360},
    }
    if says[reason]:
        await hub.until(lambda reading: reading.stop_reason is reason)


@only(*DRIVEN_OVER_NETWORK)
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("full", "the card is full"),
        ("missing", "the ca"),
        ("hot", "the camera is too hot"),
        ("other", ""),
    ],
)
async def test_why_it_does_not_start(hub: Hub, fault: str, sentence: str) -> None:
    match fault:
        case "hot":
            hub.camera.set_hot(is_hot=True)
        case "other":
            hub.camera.refuses_recording = True
        case _:
            hub.camera.set_card(missing=fault == "missing", full=fault == "full", slow=False)
    error = await hub.record(on=True)
    assert isinstance(error, CameraRefused)
    if tells_heat(hub) or fault != "hot":
        assert error.message.startswith(sentence)
    assert not hub.camera.is_recording


async def test_its_clock(hub: Hub) -> None:
    await hub.until(lambda reading: reading.read_us != 0)
    hub.camera.set_clock_off(3600)
    if hub.camera.settings not in (HERO7, SJCAM) and hub.camera.settings.firmware_version[:3] != "HD9":
        found = await hub.until(lambda reading: abs(reading.clock_offset_us or 0) > 1_000_000_000)
        assert found.clock_offset_us == pytest.approx(3_600_000_000, abs=2_000_000)
    await hub.sessions.set_clock(DeviceId(1))
    assert hub.camera.clock_s == pytest.approx(time.time(), abs=2)


@only("gopro", "insta360", "theta-x", "theta-s")
async def test_a_clock_that_is_not_taken_is_refused_and_read(hub: Hub) -> None:
    await hub.until(lambda reading: reading.clock_read_us != 0)
    hub.camera.set_clock_off(-3600)
    hub.camera.keeps_clock = True
    with pytest.raises(CameraRefused, match="it keeps its own time"):
        await hub.sessions.set_clock(DeviceId(1))
    assert hub.reading.clock_offset_us == pytest.approx(-3_600_000_000, abs=2_000_000)


@pytest.mark.slow
async def test_silence_and_garbage_are_no_answers(hub: Hub) -> None:
    await hub.until(lambda reading: reading.read_us != 0)
    for fault in ("silent", "garbage"):
        setattr(hub.camera, fault, True)
        error = await hub.record(on=True)
        assert isinstance(error, DeviceNotReachable | CameraRefused | Unconfirmed), fault
        assert not hub.camera.is_recording
        before = hub.reading.read_us
        setattr(hub.camera, fault, False)
        await hub.until(lambda reading, before=before: reading.read_us > before)  # type: ignore[misc]
    assert hub.reading.battery_level == level(hub)


@only("theta-x")
async def test_an_insta360_without_its_own_port(hub: Hub) -> None:
    camera = EmulatedCamera(replace(X4, model="Insta360 One2"))
    hub.camera, hub.emulator = camera, emulator(CameraDriver.INSTA360, camera)
    hub.sessions.attach(DeviceId(1), CameraDriver.OSC)
    found = await hub.until(lambda reading: reading.model == "Insta360 One2" and bool(reading.storage_free))
    assert (found.battery_level, found.battery_state) == (80, BatteryState.DISCHARGING)
    assert (found.recording, found.storage_state) == (None, StorageState.OK)
    for on in (True, False):
        assert await hub.record(on=on) is None
        assert camera.is_recording is on
    with pytest.raises(NotSupported):
        await hub.sessions.set_clock(DeviceId(1))


# -- clocks by bisection

SLACK_US = 20_000
"""Between a look at the camera's clock and one at the host's."""
READABLE = ("gopro", "insta360", "theta-x", "theta-s")


def error_us(hub: Hub) -> float:
    """By how much what the hub says of the clock is wrong."""
    return abs((hub.camera.clock_s - time.time()) * 1e6 - (hub.reading.clock_offset_us or 0))


def is_close(reading: CameraReading) -> bool:
    return reading.clock_bound_us is not None and reading.clock_bound_us < 200_000


@only(*READABLE)
@pytest.mark.parametrize("offset_s", [0.37, -7.81])
async def test_its_clock_is_read_to_a_few_hundredths_of_a_second(hub: Hub, offset_s: float) -> None:
    hub.camera.set_clock_off(offset_s)
    await hub.until(lambda reading: is_close(reading) and reading.clock_offset_us is not None)
    assert error_us(hub) <= (hub.reading.clock_bound_us or 0) + SLACK_US


@only("gopro", "insta360")
async def test_after_it_was_set_it_says_how_well(hub: Hub) -> None:
    await hub.until(is_close)
    hub.camera.set_clock_off(3600)
    await hub.sessions.set_clock(DeviceId(1))
    assert hub.reading.clock_bound_us is not None
    assert hub.reading.clock_bound_us > 400_000
    await hub.until(is_close)
    assert abs(hub.reading.clock_offset_us or 0) < 1_000_000
    assert error_us(hub) <= (hub.reading.clock_bound_us or 0) + SLACK_US


@only("gopro", "insta360")
async def test_a_clock_that_is_set_at_the_camera_is_found_out(hub: Hub) -> None:
    await hub.until(is_close)
    hub.camera.set_clock_off(0.45)
    await hub.until(lambda reading: is_close(reading) and (reading.clock_offset_us or 0) > 300_000)
    assert error_us(hub) <= (hub.reading.clock_bound_us or 0) + SLACK_US


@only("gopro")
async def test_the_time_is_not_asked_for_while_it_records(hub: Hub) -> None:
    await hub.until(lambda reading: reading.clock_read_us != 0)
    assert await hub.record(on=True) is None
    read_us = hub.reading.clock_read_us
    for _ in range(20):
        before = hub.reading.read_us
        await hub.until(lambda reading, before=before: reading.read_us > before)  # type: ignore[misc]
    assert hub.reading.clock_read_us == read_us
    assert await hub.record(on=False) is None
    await hub.until(lambda reading: reading.clock_read_us > read_us and is_close(reading))


@only("gopro")
async def test_a_host_clock_that_is_set_while_it_records_moves_the_offset(hub: Hub) -> None:
    await hub.until(is_close)
    assert await hub.record(on=True) is None
    hub.host_off_us = -7_000_000
    await hub.until(lambda reading: (reading.clock_offset_us or 0) > 6_000_000)
    off_us = abs((hub.reading.clock_offset_us or 0) - 7_000_000)
    assert off_us <= (hub.reading.clock_bound_us or 0) + SLACK_US


@only("gopro")
async def test_a_host_clock_that_is_set_meanwhile_moves_the_offset_and_not_the_bound(hub: Hub) -> None:
    await hub.until(is_close)
    bound_us, read_us = hub.reading.clock_bound_us, hub.reading.clock_read_us
    hub.host_off_us = 90_000_000
    await hub.until(lambda reading: (reading.clock_offset_us or 0) < -80_000_000)
    assert hub.reading.clock_bound_us is not None
    assert hub.reading.clock_bound_us < 200_000, bound_us
    assert hub.reading.clock_read_us > read_us + 80_000_000
    assert (
        abs((hub.reading.clock_offset_us or 0) + 90_000_000) <= (hub.reading.clock_bound_us or 0) + SLACK_US
    )
