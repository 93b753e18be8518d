"""Which files an Insta360 tells of a recording, in the messages of two published clients."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.camera.drivers.conversations import NOW_US, Talk, find, record_and_stop
from tests.camera.scripted_cameras import message, nested, number
from wifimgrd.camera.drivers.insta360 import Code, Insta360Driver
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import Push
from wifimgrd.domain.camera import StopReason
from wifimgrd.domain.recordings import RecordedFile

S = 1_000_000
NAME = "/DCIM/Camera01/VID_20250521_103429_00_001.insv"
"""As the client https://pypi.org/project/insta360/ has it in its documentation."""


def video(name: str = NAME, size: int = 5_000_000_000, seconds: int = 20) -> bytes:
    return number(2, size) + number(3, seconds) + nested(1, name.encode())


@dataclass
class Camera:
    stopped: bytes = nested(1, video())
    files: Sequence[str] = (NAME,)
    most: int = 100
    """Files in one list, as an X4 has them."""
    total: int | None = None
    """Instead of their number."""
    is_recording: bool = False
    asked: list[int] = field(default_factory=list)

    def __call__(self, request: bytes) -> bytes:
        [code] = struct.unpack_from("<H", request, 7)
        self.asked.append(code)
        body = b""
        match code:
            case Code.STATUS:
                body = nested(1, number(1, int(self.is_recording)) + number(2, 0))
            case Code.START:
                self.is_recording = True
            case Code.STOP:
                self.is_recording, body = False, self.stopped
            case Code.FILES:
                start = self.asked[:-1].count(Code.FILES) * self.most
                shown = self.files[start : start + self.most]
                total = len(self.files) if self.total is None else self.total
                body = b"".join(nested(1, name.encode()) for name in shown) + number(2, total)
        return message(200, request[10:13], body)


@pytest.fixture
def camera() -> Camera:
    return Camera()


@pytest.fixture
def talk(camera: Camera) -> Talk:
    return Talk(Insta360Driver(), camera)


def recording(began_s: float = -20, ended_s: float = 0) -> PastRecording:
    return PastRecording(NOW_US + round(began_s * S), NOW_US + round(ended_s * S))


def test_the_file_that_the_camera_names_when_it_is_stopped(talk: Talk) -> None:
    record_and_stop(talk)
    assert find(talk, recording()) == (RecordedFile(NAME, 5_000_000_000),)
    assert len(talk.requests) == 1


def test_the_file_that_it_names_when_it_stops_by_itself(talk: Talk) -> None:
    talk.driver.pushed(Push(Code.STOPPED, number(1, 9) + nested(2, video())), NOW_US)
    assert find(talk, recording()) == (RecordedFile(NAME, 5_000_000_000),)


def test_why_it_has_stopped_is_told_also_with_a_file_that_makes_no_sense(talk: Talk) -> None:
    talk.now_us -= 20 * S
    talk.command(on=True)
    talk.driver.pushed(Push(Code.STOPPED, number(1, 9) + nested(2, b"\xff")), NOW_US)
    assert talk.driver.reading.stop_reason is StopReason.TOO_HOT
    assert find(talk, recording()) is None


def test_the_other_lens_has_a_file_of_its_own(talk: Talk, camera: Camera) -> None:
    """The names of https://github.com/Insta360Develop/Insta360_OSC."""
    right, left = (f"/DCIM/Camera01/VID_20180106_172302_{lens}_005.mp4" for lens in ("00", "10"))
    camera.stopped = nested(1, video(right))
    camera.files = [
        NAME, left, right, left.replace("_005", "_006"), left.replace("172302", "172303"),
        "/DCIM/Camera01/LRV_20180106_172302_11_005.mp4", "/DCIM/Camera01/IMG_20180106_172302_00_005.insp",
    ]  # fmt: skip
    record_and_stop(talk)
    assert find(talk, recording()) == (RecordedFile(right, 5_000_000_000), RecordedFile(left, None))


def test_a_camera_lists_its_files_in_parts(talk: Talk, camera: Camera) -> None:
    older = [NAME.replace("_001", f"_{number:03}").replace("103429", "090000") for number in range(2, 252)]
    camera.files = [*older, NAME]
    record_and_stop(talk)
    assert find(talk, recording()) == (RecordedFile(NAME, 5_000_000_000),)
    assert len(talk.requests) == 3


def test_with_more_files_than_three_lists_have_it_is_not_known(talk: Talk, camera: Camera) -> None:
    older = [NAME.replace("_001", f"_{number:03}").replace("103429", "090000") for number in range(2, 400)]
    camera.files = [NAME, *older]
    record_and_stop(talk)
    assert find(talk, recording()) is None


def test_a_recording_in_several_files_is_not_told_with_its_last_one(talk: Talk, camera: Camera) -> None:
    """An X4 begins another file after 30 minutes, and names the last one."""
    camera.stopped = nested(1, video(seconds=100))
    record_and_stop(talk)
    assert find(talk, recording(-1900, 0)) is None
    assert talk.requests == []


def test_a_file_is_only_that_of_the_recording_that_was_stopped(talk: Talk) -> None:
    record_and_stop(talk)
    assert find(talk, recording(-520, -500)) is None
    assert find(talk, recording(100, 120)) is None
    assert talk.requests == []


def test_a_camera_that_names_no_file_is_not_asked(talk: Talk, camera: Camera) -> None:
    camera.stopped = b""
    record_and_stop(talk)
    assert find(talk, recording()) is None
    assert talk.requests == []


@pytest.mark.parametrize(
    "name",
    ["", "x", "/DCIM/Camera01/VID_1.insv", NAME + "\n", NAME.replace("C", "\x07"), "é" + NAME, "x" * 400],
)
def test_a_name_that_makes_no_sense_is_not_told(talk: Talk, camera: Camera, name: str) -> None:
    camera.stopped, camera.files = nested(1, video(name)), [name]
    record_and_stop(talk)
    assert find(talk, recording()) is None


@pytest.mark.parametrize(("files", "total"), [((), None), ((NAME,), 5), ((NAME,), 0)])
def test_a_list_that_is_not_whole_proves_nothing(
    talk: Talk, camera: Camera, files: Sequence[str], total: int | None
) -> None:
    camera.files, camera.total = files, total
    record_and_stop(talk)
    assert find(talk, recording()) is None
