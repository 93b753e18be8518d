"""Which files a camera with Open Spherical Camera tells of a recording: answers of real cameras, as
https://github.com/ricohapi/theta-client has recorded them and the makers' documents have them, and cards on
which the file is not there, or is not alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.camera.drivers.conversations import NOW_US, Talk, content, find, http, record_and_stop, target
from wifimgrd.camera.drivers.osc import OscDriver
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.domain.errors import CameraBusy
from wifimgrd.domain.recordings import RecordedFile

S = 1_000_000
RECORDED = "http://192.168.1.1/files/150100524436344d4201375fda9dc400/100RICOH/R0013317.MP4"
"""In the answer to camera.stopCapture that theta-client has recorded."""
NAME = "150100524436344d4201375fda9dc400/100RICOH/R0013317.MP4"
STOPPED = {"name": "camera.stopCapture", "results": {"fileUrls": [RECORDED]}, "state": "done"}
THETA = {"manufacturer": "RICOH", "model": "RICOH THETA Z1", "serialNumber": "1", "apiLevel": [2]}
ONE_X = {"manufacturer": "Arashi Vision", "model": "Insta360 One2", "serialNumber": "2", "apiLevel": [2]}


@dataclass
class Camera:
    """Level 2; its clock shows the right time at NOW_US."""

    info: Mapping[str, Any] = field(default_factory=lambda: THETA)
    stopped: Mapping[str, Any] = field(default_factory=lambda: STOPPED)
    entries: Any = field(default_factory=list)
    listed: bytes = b""
    """Instead of the list."""
    is_recording: bool = False
    parameters: Any = None
    """Of the request for the list."""

    def __call__(self, request: bytes) -> bytes:
        path = target(request)
        if path == "/osc/info":
            return http(self.info)
        if path == "/osc/state":
            status = "shooting" if self.is_recording else "idle"
            return http({"state": {"batteryLevel": 1, "_captureStatus": status, "_apiVersion": 2}})
        command = content(request)
        match command["name"]:
            case "camera.getOptions":
                told = {"captureMode": "video", "dateTimeZone": "2027:01:15 09:00:00+01:00"}
                names = command["parameters"]["optionNames"]
                return http({"state": "done", "results": {"options": {n: told.get(n, 1) for n in names}}})
            case "camera.startCapture":
                self.is_recording = True
            case "camera.stopCapture":
                self.is_recording = False
                return http(self.stopped)
            case "camera.listFiles":
                self.parameters = command["parameters"]
                results = {"entries": self.entries, "totalEntries": 30}
                return self.listed or http({"state": "done", "results": results})
        return http({"state": "done"})


@pytest.fixture
def camera() -> Camera:
    return Camera()


@pytest.fixture
def talk(camera: Camera) -> Talk:
    """With a camera that was read, and its clock, too."""
    talk = Talk(OscDriver(), camera)
    for one in (talk.driver.begin(), talk.driver.read(), talk.driver.read_clock(0)):
        talk(one)
    return talk


def entry(url: str, began_s: float, seconds: int = 20, **more: Any) -> dict[str, Any]:
    """A video that was created so many seconds after NOW_US, by a clock one hour east of UTC."""
    local = datetime.fromtimestamp(NOW_US // S + 3600 + began_s, UTC)
    told = f"{local:%Y:%m:%d %H:%M:%S}+01:00"
    return {
        "fileUrl": url,
        "size": 77,
        "dateTimeZone": told,
        "_recordTime": seconds,
        "isProcessed": True,
    } | more


def recording(began_s: float = -20, ended_s: float = 0) -> PastRecording:
    """From a moment after NOW_US to another one."""
    return PastRecording(NOW_US + round(began_s * S), NOW_US + round(ended_s * S))


# -- named when it was told to stop


def test_the_file_that_the_camera_names_when_it_stops(talk: Talk, camera: Camera) -> None:
    record_and_stop(talk)
    camera.entries = [
        {"name": "R0013317.MP4", "fileUrl": RECORDED, "size": 4_051_440},
        {"name": "R0013316.MP4", "fileUrl": RECORDED.replace("17.MP4", "16.MP4"), "size": 5},
    ]
    assert find(talk, recording()) == (RecordedFile(NAME, 4_051_440),)
    assert camera.parameters == {"fileType": "video", "entryCount": 8, "maxThumbSize": 0}


def test_several_files_stay_in_their_order(talk: Talk, camera: Camera) -> None:
    """https://github.com/Insta360Develop/Insta360_OSC: a file for each lens."""
    talk.driver = OscDriver()
    camera.info = ONE_X
    names = ["DCIM/Camera01/VID_20180106_172302_10_005.mp4", "DCIM/Camera01/VID_20180106_172302_00_005.mp4"]
    urls = [f"http://192.168.42.1:80/{name}" for name in names]
    camera.stopped = {"state": "done", "results": {"fileUrls": urls, "_localFileUrls": names}}
    talk(talk.driver.begin())
    record_and_stop(talk)
    assert find(talk, recording()) == tuple(RecordedFile(name, None) for name in names)


def test_a_size_that_cannot_be_listed_is_not_known(talk: Talk, camera: Camera) -> None:
    record_and_stop(talk)
    camera.listed = http({"state": "error", "error": {"code": "disabledCommand", "message": ""}}, 403)
    assert find(talk, recording()) == (RecordedFile(NAME, None),)


def test_a_camera_that_is_busy_is_asked_later(talk: Talk, camera: Camera) -> None:
    record_and_stop(talk)
    camera.listed = http({"state": "error", "error": {"code": "serviceUnavailable", "message": ""}}, 503)
    with pytest.raises(CameraBusy):
        find(talk, recording())


def test_a_name_is_only_that_of_the_recording_that_was_stopped(talk: Talk, camera: Camera) -> None:
    """An earlier one, and one that has ended by itself since."""
    record_and_stop(talk)
    camera.entries = [entry(RECORDED, -20)]
    assert find(talk, recording(-500, -400)) is None
    talk.now_us += 200 * S
    with pytest.raises(CameraBusy):
        find(talk, recording(100, 190))


@pytest.mark.parametrize(
    "urls",
    [
        [], "R1.MP4", [1], [RECORDED, None], ["ftp://192.168.1.1/files/R1.MP4"], ["http://192.168.1.1/files/"],
        [f"http://192.168.1.1/files/{'x' * 300}"], [RECORDED, RECORDED], ["http://192.168.1.1/files/a\x07b.MP4"],
        [f"http://192.168.1.1/files/{number}.MP4" for number in range(65)],
    ],
    ids=lambda urls: str(urls)[:40],
)  # fmt: skip
def test_names_that_make_no_sense_are_not_told(talk: Talk, camera: Camera, urls: Any) -> None:
    camera.stopped = {"state": "done", "results": {"fileUrls": urls}}
    record_and_stop(talk)
    camera.entries = [entry(RECORDED, -20, seconds=900)]
    assert find(talk, recording()) is None


# -- of one that has ended otherwise


def test_the_file_of_its_time_and_its_length(talk: Talk, camera: Camera) -> None:
    """`_recordTime` and `dateTimeZone` as theta-web-api-v2.1/commands/camera.list_files.md has them: the time
    is that of the file's creation, or of its last change."""
    for moment_s in (-20, 0):
        camera.entries = [entry(RECORDED, moment_s), entry(RECORDED + "2", -3600)]
        assert find(talk, recording()) == (RecordedFile(NAME, 77),)


def test_the_time_is_taken_by_the_cameras_clock(talk: Talk, camera: Camera) -> None:
    talk.now_us += 90 * S  # the camera shows the same time as before
    talk(talk.driver.read_clock(0))
    camera.entries = [entry(RECORDED, -20)]
    assert find(talk, recording(70, 90)) == (RecordedFile(NAME, 77),)


def test_an_old_file_that_is_still_the_newest_is_not_told(talk: Talk, camera: Camera) -> None:
    camera.entries = [entry(RECORDED, -60), entry(RECORDED + "2", -3600)]
    with pytest.raises(CameraBusy):
        find(talk, recording())
    camera.entries = []
    with pytest.raises(CameraBusy):
        find(talk, recording())


def test_a_file_that_is_not_finished_is_told_later(talk: Talk, camera: Camera) -> None:
    camera.entries = [entry(RECORDED, -20, isProcessed=False)]
    with pytest.raises(CameraBusy):
        find(talk, recording())


@pytest.mark.parametrize(
    "entries",
    [
        [entry(RECORDED, -20, seconds=12)],
        [entry(RECORDED, -20, _recordTime=None)],
        [entry(RECORDED, -20), entry(RECORDED + "2", -3)],
        [entry(RECORDED, -20, fileUrl=None), entry(RECORDED, 50)],
        [entry(RECORDED, -20, dateTimeZone="2027:01:15 08:59:40"), entry(RECORDED, 50)],
        [entry(RECORDED, 3580), entry(RECORDED + "2", -20)],
    ],
    ids=["shorter", "without a length", "two", "without a name", "without a zone", "set back by an hour"],
)
def test_a_file_that_may_be_another_is_not_told(talk: Talk, camera: Camera, entries: Any) -> None:
    camera.entries = entries
    talk.now_us += 60 * S
    assert find(talk, recording()) is None


def test_without_a_clock_nothing_is_asked_for(camera: Camera) -> None:
    talk = Talk(OscDriver(), camera)
    talk(talk.driver.begin())
    assert find(talk, recording()) is None
    assert talk.requests == []


def test_a_camera_of_another_maker_only_tells_what_it_has_named(camera: Camera) -> None:
    camera.info = ONE_X
    talk = Talk(OscDriver(), camera)
    for one in (talk.driver.begin(), talk.driver.read_clock(0)):
        talk(one)
    assert find(talk, recording()) is None
    assert talk.requests == []


@pytest.mark.parametrize("results", [{}, {"entries": 1}, {"entries": [1, None, {}]}])
def test_a_list_that_makes_no_sense_has_no_file(talk: Talk, camera: Camera, results: Any) -> None:
    camera.listed = http({"state": "done", "results": results})
    with pytest.raises(CameraBusy):
        find(talk, recording())
