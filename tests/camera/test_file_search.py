"""The search for the files of a recording, in a session with a scripted camera: it gives way to commands, and
whatever the camera answers, it goes on to be read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from tests.camera.conftest import until
from tests.camera.scripted_cameras import (
    CLOSED,
    SILENT,
    Camera,
    GoPro,
    Insta360,
    World,
    answer,
    nested,
    number,
)
from wifimgrd.camera._connection import SessionLimits
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.domain.camera import CameraDriver, CameraReading
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import CameraBusy, DeviceNotReachable, NotConnected
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Tasks

S = 1_000_000
SLOW = SessionLimits(
    idle_s=60.0, recording_s=60.0, shortest_s=0.01, first_pause_s=0.02, longest_pause_s=0.1, clock_s=3600.0
)
"""Reads only when something has happened."""
HURRIED = replace(SLOW, answer_s=0.3)
ONE, TWO = DeviceId(1), DeviceId(2)
LIST = "/gopro/media/list"
STATE = "/gopro/camera/state"
SHOWN_S = 979_545_600
"""What the camera's clock shows, which stands still: 15 January 2001, 8:00."""
LENGTH_S = 100


@dataclass
class Hub:
    """Sessions with scripted cameras."""

    sessions: CameraSessions
    world: World
    late_us: int = 0
    """By how much the host's clock is ahead."""
    readings: dict[DeviceId, CameraReading] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def now_us(self) -> int:
        return time.time_ns() // 1000 + self.late_us

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        self.readings[device_id] = reading
        self.changed.set()

    async def attached(self, camera: Camera, device_id: DeviceId = ONE) -> None:
        """A camera is attached, and was read."""
        self.world.cameras[device_id] = camera
        driver = CameraDriver.GOPRO if isinstance(camera, GoPro) else CameraDriver.INSTA360
        self.sessions.attach(device_id, driver)
        await self.read_again(device_id)

    async def read_again(self, device_id: DeviceId = ONE) -> CameraReading:
        """Wait until a camera was read once more, its clock, too."""
        before = self.readings.get(device_id, CameraReading())
        async with asyncio.timeout(5):
            while (
                now := self.readings.get(device_id, before)
            ).read_us == before.read_us or not now.clock_read_us:
                self.changed.clear()
                await self.changed.wait()
        return now

    async def find(self, device_id: DeviceId = ONE, ago_s: float = 0) -> tuple[RecordedFile, ...] | None:
        """The files of a recording that has ended so long ago."""
        ended_us = self.now_us() - round(ago_s * S)
        return await self.sessions.recorded_files(device_id, ended_us - LENGTH_S * S, ended_us)

    async def record(self, *, on: bool = True) -> Exception | None:
        return (await self.sessions.record([ONE], on=on))[ONE].error


@pytest.fixture
def limits() -> SessionLimits:
    return SLOW


@pytest.fixture
async def hub(limits: SessionLimits) -> AsyncIterator[Hub]:
    tasks, world = Tasks("test"), World()
    hub: Hub
    sessions = CameraSessions(tasks.part("sessions"), lambda: hub.now_us(), limits)  # noqa: PLW0108 - there is no hub yet
    hub = Hub(sessions, world)
    await sessions.start(hub, world.open_socket)
    yield hub
    await sessions.stop()
    await tasks.stop()
    await world.close()


hurried = pytest.mark.parametrize("limits", [HURRIED])


def item(name: str, ago_s: float = 0, size: int = 7) -> dict[str, str]:
    """The first file of a recording of LENGTH_S that has ended so long ago."""
    return {"n": name, "cre": str(round(SHOWN_S - LENGTH_S - ago_s)), "s": str(size)}


def of(camera: Camera) -> list[str]:
    """The requests since the camera was read."""
    assert isinstance(camera, GoPro)
    return camera.requests[len(camera.requests) - camera.requests[::-1].index(STATE) :]


async def until_asked(camera: GoPro, path: str) -> None:
    await until(lambda: path in camera.requests)


# -- what is found


async def test_an_idle_camera_tells_its_files(hub: Hub) -> None:
    camera = GoPro(files=[item("GX010001.MP4")])
    await hub.attached(camera)
    assert await hub.find() == (RecordedFile("100GOPRO/GX010001.MP4", 7),)
    assert len(of(camera)) <= 4  # the clock, which is read after the connection, and three


async def test_cameras_that_name_their_files_alike_each_tell_their_own(hub: Hub) -> None:
    cameras = [GoPro(serial=f"C{number}", files=[item("GX010001.MP4", size=number)]) for number in (1, 2)]
    await hub.attached(cameras[0], ONE)
    await hub.attached(cameras[1], TWO)
    found = await asyncio.gather(hub.find(ONE), hub.find(TWO))
    assert list(found) == [(RecordedFile("100GOPRO/GX010001.MP4", number),) for number in (1, 2)]
    assert [hub.readings[one].serial_number for one in (ONE, TWO)] == ["C1", "C2"]


async def test_a_file_is_told_of_one_recording_only(hub: Hub) -> None:
    """The camera has another one in the same moment, which it does not list yet."""
    await hub.attached(GoPro(files=[item("GX010001.MP4", ago_s=4)]))
    assert await hub.find(ago_s=4) is not None
    assert await hub.find(ago_s=4) is not None  # asked once more
    assert await hub.find(ago_s=1) is None


async def test_a_camera_that_was_read_long_ago_is_read_first(hub: Hub) -> None:
    """Somebody has begun to record at the camera."""
    camera = GoPro(files=[item("GX010001.MP4")])
    await hub.attached(camera)
    hub.late_us = 10 * S
    camera.statuses["10"] = 1
    with pytest.raises(CameraBusy, match="may record"):
        await hub.find()
    assert LIST not in camera.requests
    assert hub.readings[ONE].is_recording is True


# -- commands


async def test_a_command_does_not_wait_for_the_search(hub: Hub) -> None:
    camera = GoPro(files=[item("GX010001.MP4")])
    camera.holds[LIST] = asyncio.Event()
    await hub.attached(camera)
    searching = asyncio.create_task(hub.find())
    await until_asked(camera, LIST)
    assert await hub.record() is None
    with pytest.raises(CameraBusy, match="commanded"):
        await searching
    with pytest.raises(CameraBusy, match="may record"):
        await hub.find()
    assert camera.requests.count(LIST) == 1


async def test_the_clock_is_set_without_waiting_for_the_search(hub: Hub) -> None:
    camera = GoPro(files=[item("GX010001.MP4")])
    camera.holds[LIST] = asyncio.Event()
    camera.clock = {"date": time.strftime("%Y_%m_%d", time.gmtime()), "time": "00_00_00", "tzone": 0}
    await hub.attached(camera)
    searching = asyncio.create_task(hub.find())
    await until_asked(camera, LIST)
    await hub.sessions.set_clock(ONE)
    with pytest.raises(CameraBusy, match="commanded"):
        await searching
    assert "_" in camera.clock["time"]


async def test_after_a_command_the_files_are_found(hub: Hub) -> None:
    camera = GoPro(files=[item("GX010001.MP4")])
    camera.holds[LIST] = asyncio.Event()
    await hub.attached(camera)
    searching = asyncio.create_task(hub.find())
    await until_asked(camera, LIST)
    await hub.record()
    with pytest.raises(CameraBusy):
        await searching
    camera.holds[LIST].set()
    assert await hub.record(on=False) is None
    assert await hub.find() == (RecordedFile("100GOPRO/GX010001.MP4", 7),)


async def test_a_camera_with_messages_gives_way_and_is_connected_again(hub: Hub) -> None:
    name = "/DCIM/Camera01/VID_20250521_103429_00_001.insv"
    video = nested(1, name.encode()) + number(2, 5) + number(3, LENGTH_S)
    camera = Insta360()
    await hub.attached(camera)
    camera.push(8201, nested(2, video))
    await hub.read_again()
    camera.instead[13] = SILENT
    searching = asyncio.create_task(hub.find())
    await until(lambda: 13 in camera.requests)
    assert await hub.record() is None
    with pytest.raises(CameraBusy, match="commanded"):
        await searching


async def test_one_search_at_a_time(hub: Hub) -> None:
    camera = GoPro()
    camera.holds[LIST] = asyncio.Event()
    await hub.attached(camera)
    searching = asyncio.create_task(hub.find())
    await until_asked(camera, LIST)
    with pytest.raises(CameraBusy, match="another search"):
        await hub.find()
    camera.holds[LIST].set()
    with pytest.raises(CameraBusy, match="not finished"):
        await searching


# -- cameras that do not answer as they should


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff" * 40,
        answer(b"[[[["),
        answer([]),
        answer({}, 500),
        b"HTTP/1.1 200 X\r\nContent-Length: 999999999\r\n\r\n",
    ],
    ids=["noise", "no JSON", "no object", "a failure", "endless"],
)
async def test_nonsense_is_not_known_and_the_camera_is_read_as_before(hub: Hub, sent: bytes) -> None:
    camera = GoPro(instead={LIST: sent})
    await hub.attached(camera)
    assert await hub.find() is None
    camera.statuses["70"] = 55
    assert await hub.record() is None
    assert hub.readings[ONE].battery_level == 55


async def test_a_list_of_10000_files_is_not_known_and_the_camera_is_read_as_before(hub: Hub) -> None:
    camera = GoPro(
        files=[item(f"GX01{number:04}.MP4", 100 + 200 * number, 5_000_000_000) for number in range(10_000)]
    )
    await hub.attached(camera)
    assert await hub.find() is None
    assert await hub.record() is None
    assert await hub.record(on=False) is None
    camera.files = [item("GX010001.MP4")]
    assert await hub.find() == (RecordedFile("100GOPRO/GX010001.MP4", 7),)


async def test_a_list_that_is_larger_than_any_other_answer_is_read(hub: Hub) -> None:
    older = [item(f"GX01{number:04}.MP4", 1000 + 200 * number, 5_000_000_000) for number in range(5000)]
    camera = GoPro(files=[*older, item("GX019999.MP4")])
    assert len(camera.reply(LIST, b"")) > 256 * 1024
    await hub.attached(camera)
    assert await hub.find() == (RecordedFile("100GOPRO/GX019999.MP4", 7),)


@hurried
async def test_a_camera_that_does_not_answer_in_time_is_read_again(hub: Hub) -> None:
    camera = GoPro(instead={LIST: SILENT})
    await hub.attached(camera)
    with pytest.raises(DeviceNotReachable, match=r"no answer within 0\.3 s"):
        await hub.find()
    await hub.read_again()


async def test_a_camera_that_restarts_is_read_again(hub: Hub) -> None:
    camera = GoPro(instead={LIST: CLOSED})
    await hub.attached(camera)
    with pytest.raises(DeviceNotReachable):
        await hub.find()
    camera.instead.clear()
    camera.files = [item("GX010001.MP4")]
    await hub.read_again()
    assert await hub.find() is not None


async def test_a_camera_that_is_detached_meanwhile_is_not_connected(hub: Hub) -> None:
    camera = GoPro()
    camera.holds[LIST] = asyncio.Event()
    await hub.attached(camera)
    searching = asyncio.create_task(hub.find())
    await until_asked(camera, LIST)
    hub.sessions.detach(ONE)
    with pytest.raises(NotConnected):
        await searching
    with pytest.raises(NotConnected):
        await hub.find()


@hurried
async def test_a_camera_that_is_slow_only_with_its_list_is_not_taken_for_one_that_does_not_answer(
    hub: Hub,
) -> None:
    camera = GoPro(instead={LIST: SILENT})
    await hub.attached(camera)
    infos = camera.requests.count("/gopro/camera/info")
    with pytest.raises(DeviceNotReachable):
        await hub.find()
    await hub.read_again()
    assert camera.requests.count("/gopro/camera/info") == infos, "it is not begun with anew"
