"""GoPro HERO5 to HERO8, MAX and Fusion: the requests that owners have written down, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.camera.drivers.conversations import Talk, http, target
from wifimgrd.camera.drivers.gopro_gpcontrol import GpControlDriver
from wifimgrd.camera.drivers.protocol import HostTime
from wifimgrd.domain.camera import BatteryState, RecordingState, StorageState
from wifimgrd.domain.errors import CameraBusy, CameraRefused

INFO = {
    "model_number": 30,
    "model_name": "HERO7 Black",
    "firmware_version": "HD7.01",
    "serial_number": "C3281",
}
TOLD = {"1": 1, "2": 3, "6": 0, "8": 0, "10": 0, "13": 0, "33": 0, "35": 3600, "43": 0, "54": 1000, "70": 87}


class Camera:
    """A HERO7."""

    def __init__(self) -> None:
        self.statuses: dict[str, Any] = dict(TOLD)
        self.codes: dict[str, int] = {}
        self.asked: list[str] = []

    def __call__(self, request: bytes) -> bytes:
        self.asked.append(target(request))
        path, _, query = target(request).partition("?")
        if path in self.codes:
            return http({}, self.codes[path])
        match path:
            case "/gp/gpControl/info":
                return http({"info": INFO})
            case "/gp/gpControl/status":
                return http({"status": self.statuses, "settings": {}})
            case "/gp/gpControl/command/shutter":
                on = int(query.removeprefix("p="))
                self.statuses |= {"8": on, "10": on, "13": on * 7}
                return http({})
            case "/gp/gpControl/command/mode":
                self.statuses["43"] = int(query.removeprefix("p="))
                return http({})
            case "/gp/gpControl/command/setup/date_time":
                return http({})
        return http({}, 404)


@pytest.fixture
def camera() -> Camera:
    return Camera()


@pytest.fixture
def talk(camera: Camera) -> Talk:
    return Talk(GpControlDriver(), camera)


def test_everything_that_it_says(talk: Talk, camera: Camera) -> None:
    talk(talk.driver.begin())
    talk(talk.driver.read())
    found = talk.driver.reading
    assert (found.model, found.serial_number, found.firmware_version) == ("HERO7 Black", "C3281", "HD7.01")
    assert (found.battery_level, found.battery_state) == (87, BatteryState.DISCHARGING)
    assert (found.storage_state, found.storage_free, found.time_left_s) == (StorageState.OK, 1_024_000, 3600)
    assert found.recording is RecordingState.IDLE
    assert camera.asked == ["/gp/gpControl/info", "/gp/gpControl/status"]


def test_it_records_and_stops(talk: Talk, camera: Camera) -> None:
    for on in (True, False):
        talk.command(on=on)
        assert talk.driver.reading.is_recording is on
    assert [one for one in camera.asked if "shutter" in one] == [
        f"/gp/gpControl/command/shutter?p={value}" for value in (1, 0)
    ]


@pytest.mark.parametrize("mode", [1, 2])
def test_it_leaves_a_mode_for_photos_before_it_records(talk: Talk, camera: Camera, mode: int) -> None:
    camera.statuses["43"] = mode
    talk.command(on=True)
    assert talk.driver.reading.is_recording is True
    assert "/gp/gpControl/command/mode?p=0" in camera.asked


def test_photos_are_no_recording(talk: Talk, camera: Camera) -> None:
    camera.statuses |= {"43": 2, "10": 1, "8": 0}
    talk(talk.driver.read())
    assert talk.driver.reading.recording is RecordingState.IDLE
    with pytest.raises(CameraBusy, match="taking photos"):
        talk.command(on=True)


def test_a_recording_counts_although_the_camera_says_that_it_works(talk: Talk, camera: Camera) -> None:
    """Status 8 is set during a recording."""
    camera.statuses |= {"8": 1, "10": 1, "13": 5}
    talk.command(on=False)
    assert talk.driver.reading.is_recording is False


def test_a_stop_that_is_refused_is_not_told_as_busy(talk: Talk, camera: Camera) -> None:
    camera.statuses |= {"8": 1, "10": 1, "13": 5}
    camera.codes["/gp/gpControl/command/shutter"] = 403
    with pytest.raises(CameraRefused, match="HTTP 403"):
        talk.command(on=False)


def test_the_clock_is_set_in_hexadecimal_digits(talk: Talk, camera: Camera) -> None:
    talk(talk.driver.set_clock(HostTime(1_800_000_000_000_000, 3600, is_dst=False)))
    assert camera.asked == ["/gp/gpControl/command/setup/date_time?p=%1b%01%0f%09%00%00"]


def test_a_clock_that_is_refused_says_so(talk: Talk, camera: Camera) -> None:
    camera.codes["/gp/gpControl/command/setup/date_time"] = 403
    with pytest.raises(CameraRefused, match="HTTP 403"):
        talk(talk.driver.set_clock(HostTime(1_800_000_000_000_000, 0, is_dst=False)))


def test_a_camera_that_does_not_say_which_it_is_is_read_all_the_same(talk: Talk, camera: Camera) -> None:
    camera.codes["/gp/gpControl/info"] = 404
    talk(talk.driver.begin())
    talk(talk.driver.read())
    assert (talk.driver.reading.model, talk.driver.reading.battery_level) == ("", 87)
