"""GoPro's HTTP messages, as https://gopro.github.io/OpenGoPro/http has them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.camera.drivers.conversations import NOW_US, TOOK_US, Talk, content, http, target
from wifimgrd.camera.drivers.gopro import GoProDriver
from wifimgrd.camera.drivers.protocol import HostTime, Nonsense
from wifimgrd.domain.camera import (
    BatteryState,
    CameraReading,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.errors import CameraBusy, CameraRefused, Unconfirmed

INFO = {
    "model_number": 62, "model_name": "HERO12 Black", "firmware_version": "H23.01.01.99.56",
    "serial_number": "C3501324500702", "ap_mac_addr": "2674f7f65f78", "ap_ssid": "GP24500702",
}  # fmt: skip
IDLE = {
    "1": 1, "2": 4, "6": 0, "8": 0, "10": 0, "13": 0, "33": 0, "35": 3600, "54": 1000, "70": 87, "85": 0,
    "89": 12, "96": 1000, "111": 0, "112": 0, "115": 0, "117": 2000, "30": "GoPro Cam",
}  # fmt: skip


class Camera:
    """Answers with what a test has set."""

    def __init__(self, **statuses: Any) -> None:
        self.info: Any = INFO
        self.old_info: Any = {}
        self.statuses: dict[str, Any] = dict(IDLE)
        self.shutter = 200
        self.obeys = True
        self.clock: Any = {"date": "2027_01_15", "time": "08_00_00"}
        self.codes: dict[str, int] = {}

    def __call__(self, request: bytes) -> bytes:
        assert content(request) == {}
        path = target(request).partition("?")[0]
        if path in self.codes:
            return http({"error": 1}, self.codes[path])
        match path:
            case "/gopro/camera/info":
                return http(self.info)
            case "/gp/gpControl/info":
                return http(self.old_info)
            case "/gopro/camera/state":
                return http({"status": self.statuses, "settings": {"10": 1}})
            case "/gopro/camera/get_date_time":
                return http(self.clock)
            case "/gopro/camera/shutter/start" | "/gopro/camera/shutter/stop":
                if self.obeys and self.shutter == 200:
                    self.statuses["10"] = int(path.endswith("start"))
                return http({}, self.shutter)
            case "/gopro/camera/presets/set_group":
                self.statuses |= {"96": int(target(request).partition("=")[2]), "89": 12}
        return http({})


@pytest.fixture
def camera() -> Camera:
    return Camera()


@pytest.fixture
def talk(camera: Camera) -> Talk:
    return Talk(GoProDriver(), camera)


def read(talk: Talk) -> CameraReading:
    talk(talk.driver.read())
    return talk.driver.reading


def test_everything_that_it_says(talk: Talk) -> None:
    talk(talk.driver.begin())
    assert read(talk) == CameraReading(
        read_us=NOW_US - TOOK_US // 2,
        battery_level=87,
        battery_state=BatteryState.CHARGING,
        recording=RecordingState.IDLE,
        storage_state=StorageState.OK,
        storage_free=1_024_000,
        storage_total=2_048_000,
        time_left_s=3600,
        temperature=TemperatureState.NORMAL,
        model="HERO12 Black",
        serial_number="C3501324500702",
        firmware_version="H23.01.01.99.56",
    )
    assert [target(request) for request in talk.requests] == ["/gopro/camera/info", "/gopro/camera/state"]


def test_version_1_has_the_info_one_level_below(talk: Talk, camera: Camera) -> None:
    camera.info = {"info": INFO}
    talk(talk.driver.begin())
    assert talk.driver.reading.model == "HERO12 Black"


def test_a_camera_from_before_that_request_tells_its_identity_by_the_older_one(
    talk: Talk, camera: Camera
) -> None:
    camera.codes["/gopro/camera/info"] = 404
    camera.old_info = {"info": {**INFO, "model_number": 55}}
    talk(talk.driver.begin())
    assert talk.driver.reading.model == "HERO12 Black"
    assert target(talk.requests[1]) == "/gp/gpControl/info"


def test_a_camera_without_info_is_read_all_the_same(talk: Talk, camera: Camera) -> None:
    camera.codes["/gopro/camera/info"] = 404
    talk(talk.driver.begin())
    assert (talk.driver.reading.model, read(talk).battery_level) == ("", 87)


@pytest.mark.parametrize(
    ("statuses", "name", "value"),
    [
        ({"33": 1}, "storage_state", StorageState.FULL),
        ({"33": 2}, "storage_state", StorageState.MISSING),
        ({"33": 3}, "storage_state", StorageState.ERROR),
        ({"33": 4}, "storage_state", StorageState.OK),
        ({"33": 8}, "storage_state", StorageState.OK),
        ({"33": -1}, "storage_state", None),
        ({"33": 7}, "storage_state", None),
        ({"111": 1}, "storage_state", StorageState.SLOW),
        ({"111": 1, "33": 1}, "storage_state", StorageState.FULL),
        ({"6": 1}, "temperature", TemperatureState.TOO_HOT),
        ({"85": 1}, "temperature", TemperatureState.TOO_COLD),
        ({"6": None}, "temperature", None),
        ({"2": 3}, "battery_state", BatteryState.DISCHARGING),
        ({"2": 0}, "battery_state", BatteryState.DISCHARGING),
        ({"2": 3, "115": 1}, "battery_state", BatteryState.DISCHARGING),
        ({"2": None}, "battery_state", None),
        ({"2": 5}, "battery_state", None),
        ({"1": 0, "70": 0}, "battery_level", None),
        ({"70": 0}, "battery_level", 0),
        ({"70": "87"}, "battery_level", None),
        ({"10": 1}, "recording", RecordingState.RECORDING),
        ({"10": 1, "96": 1001}, "recording", RecordingState.IDLE),
        ({"10": 1, "96": 1002}, "recording", RecordingState.RECORDING),
        ({"10": 1, "96": 1002, "89": 13}, "recording", RecordingState.RECORDING),
        ({"10": 1, "96": 1002, "89": 20}, "recording", RecordingState.IDLE),
        ({"10": 1, "96": 2000, "89": 19}, "recording", RecordingState.IDLE),
        ({"10": 1, "96": 2000, "89": 29}, "recording", RecordingState.RECORDING),
        ({"10": None}, "recording", None),
        ({"10": 2}, "recording", None),
        ({"117": 0}, "storage_total", None),
        ({"54": 0}, "storage_free", 0),
        ({"35": 1 << 40}, "time_left_s", None),
    ],
)
def test_what_statuses_mean(
    talk: Talk, camera: Camera, statuses: dict[str, Any], name: str, value: object
) -> None:
    camera.statuses |= statuses
    assert getattr(read(talk), name) == value


def test_a_state_that_is_refused_is_nonsense(talk: Talk, camera: Camera) -> None:
    camera.codes["/gopro/camera/state"] = 503
    with pytest.raises(Nonsense):
        read(talk)


def test_the_seconds_of_a_recording_say_since_when(talk: Talk, camera: Camera) -> None:
    camera.statuses |= {"10": 1, "13": 90}
    since = read(talk).recording_since_us
    assert since == NOW_US - TOOK_US // 2 - 90_000_000
    talk.now_us += 3_700_000
    camera.statuses["13"] = 93
    assert read(talk).recording_since_us == since
    camera.statuses["13"] = 0
    assert read(talk).recording_since_us == NOW_US + 3_700_000 - TOOK_US // 2


@pytest.mark.parametrize(
    ("statuses", "reason"),
    [
        ({"33": 1}, StopReason.FULL),
        ({"111": 1}, StopReason.SLOW_CARD),
        ({"112": 1}, StopReason.SLOW_CARD),
        ({"6": 1}, StopReason.TOO_HOT),
        ({"70": 0}, StopReason.BATTERY),
        ({}, None),
    ],
)
def test_why_a_recording_has_ended(
    talk: Talk, camera: Camera, statuses: dict[str, int], reason: StopReason | None
) -> None:
    camera.statuses["10"] = 1
    read(talk)
    camera.statuses["10"] = 0
    read(talk)
    talk.now_us += 2_000_000
    camera.statuses |= statuses
    assert read(talk).stop_reason is reason


def test_a_card_that_was_too_slow_before_is_not_the_cause(talk: Talk, camera: Camera) -> None:
    camera.statuses |= {"10": 1, "112": 3}
    read(talk)
    camera.statuses["10"] = 0
    assert read(talk).stop_reason is None


def test_a_card_that_fills_long_after_is_not_the_cause(talk: Talk, camera: Camera) -> None:
    camera.statuses["10"] = 1
    read(talk)
    camera.statuses["10"] = 0
    read(talk)
    talk.now_us += 30_000_000
    camera.statuses["33"] = 1
    assert read(talk).stop_reason is None


def test_start_and_stop(talk: Talk) -> None:
    talk.command(on=True)
    assert talk.driver.reading.is_recording is True
    talk.command(on=False)
    assert talk.driver.reading.is_recording is False
    shutter = [target(request) for request in talk.requests if b"shutter" in request]
    assert shutter == ["/gopro/camera/shutter/start", "/gopro/camera/shutter/stop"]


def test_a_camera_in_photo_mode_is_set_to_video(talk: Talk, camera: Camera) -> None:
    camera.statuses["96"] = 1001
    talk.command(on=True)
    assert "/gopro/camera/presets/set_group?id=1000" in [target(request) for request in talk.requests]
    camera.statuses |= {"96": 1001, "10": 0}
    camera.codes["/gopro/camera/presets/set_group"] = 403
    with pytest.raises(CameraRefused, match="mode for photos"):
        talk.command(on=True)


def test_a_camera_with_a_preset_for_photos_at_intervals_is_set_to_video(talk: Talk, camera: Camera) -> None:
    camera.statuses |= {"96": 1002, "89": 20}
    talk.command(on=True)
    assert talk.driver.reading.is_recording is True
    assert camera.statuses["96"] == 1000


def test_a_camera_with_a_preset_for_a_time_lapse_video_keeps_it(talk: Talk, camera: Camera) -> None:
    camera.statuses |= {"96": 1002, "89": 13}
    talk.command(on=True)
    assert talk.driver.reading.is_recording is True
    assert camera.statuses["96"] == 1002


@pytest.mark.parametrize("statuses", [{"96": 1001}, {"96": 1002, "89": 21}])
def test_record_is_refused_by_a_camera_that_takes_photos(
    talk: Talk, camera: Camera, statuses: dict[str, int]
) -> None:
    camera.statuses |= {"10": 1} | statuses
    with pytest.raises(CameraBusy, match="the camera is taking photos"):
        talk.command(on=True)
    assert not any(b"shutter" in request for request in talk.requests)


def test_a_busy_camera_is_waited_for(talk: Talk, camera: Camera) -> None:
    camera.statuses["8"] = 1
    with pytest.raises(CameraBusy):
        talk.command(on=True)
    assert 1 <= talk.paused_s <= 4
    camera.statuses |= {"10": 1}
    assert talk.command(on=False).code == 200  # a stop does not wait


@pytest.mark.parametrize("code", [409, 503])
def test_a_refusal_because_it_is_busy(talk: Talk, camera: Camera, code: int) -> None:
    camera.shutter = code
    with pytest.raises(CameraBusy):
        talk.command(on=True)


@pytest.mark.parametrize(
    ("statuses", "sentence"),
    [
        ({}, "the camera refused: HTTP 403"),
        ({"6": 1}, "the camera is too hot"),
        ({"85": 1}, "the camera is too cold"),
        ({"70": 0}, "the battery is empty"),
        ({"111": 1}, "the card is too slow"),
    ],
)
def test_a_refusal_is_explained_by_the_state(
    talk: Talk, camera: Camera, statuses: dict[str, int], sentence: str
) -> None:
    camera.shutter = 403
    camera.statuses |= statuses
    with pytest.raises(CameraRefused) as caught:
        talk.command(on=True)
    assert caught.value.message == sentence


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("untold", [{}, {"10": None}, {"10": "x"}, {"10": 2}, {"10": -1}])
def test_a_camera_that_does_not_say_whether_it_records_is_believed(
    talk: Talk, camera: Camera, on: bool, untold: dict[str, Any]
) -> None:
    camera.obeys = False
    del camera.statuses["10"]
    camera.statuses |= untold
    talk.command(on=on)
    assert "shutter" in "".join(target(request) for request in talk.requests)
    assert (talk.driver.reading.recording, talk.driver.reading.recording_since_us) == (None, None)
    assert talk.paused_s == 0


@pytest.mark.parametrize("on", [True, False])
def test_one_that_has_said_it_and_does_not_any_more_is_not_believed(
    talk: Talk, camera: Camera, on: bool
) -> None:
    camera.statuses["10"] = int(not on)
    read(talk)
    camera.obeys = False
    camera.statuses["10"] = []
    with pytest.raises(Unconfirmed, match="does not say whether it records"):
        talk.command(on=on)


def test_a_camera_that_does_not_do_what_it_says(talk: Talk, camera: Camera) -> None:
    camera.obeys = False
    with pytest.raises(CameraRefused, match="but does not record"):
        talk.command(on=True)
    camera.statuses["10"] = 1
    with pytest.raises(CameraRefused, match="but goes on recording"):
        talk.command(on=False)


def test_a_refusal_of_what_is_done_already_is_none(talk: Talk, camera: Camera) -> None:
    request = talk.driver.command(on=True)
    camera.shutter = 403
    refused = talk.exchange(request.data, request.number)
    camera.statuses["10"] = 1  # somebody has pressed the shutter at the camera
    assert talk(talk.driver.conclude(refused, on=True)) is refused


@pytest.mark.parametrize(
    ("code", "query"),
    [
        (200, "date=2027_01_15&time=10_00_01&tzone=120&dst=1"),
        (404, "date=2027_01_15&time=10_00_01"),  # HERO9 and HERO10
    ],
)
def test_the_clock_is_set_at_the_beginning_of_a_second(
    talk: Talk, camera: Camera, code: int, query: str
) -> None:
    camera.codes["/gopro/camera/get_date_time"] = code
    talk(talk.driver.read_clock(7200))
    talk(talk.driver.set_clock(HostTime(NOW_US + 250_000, 7200, is_dst=True)))
    assert target(talk.requests[-1]) == f"/gopro/camera/set_date_time?{query}"
    assert talk.paused_s == pytest.approx(0.75)
    camera.codes["/gopro/camera/set_date_time"] = 403
    with pytest.raises(CameraRefused):
        talk(talk.driver.set_clock(HostTime(NOW_US, 0, is_dst=False)))


@pytest.mark.parametrize(
    ("clock", "offset_us"),
    [
        ({"date": "2027_01_15", "time": "09_00_00"}, 500_000),
        ({"date": "2027_01_15", "time": "10_00_10", "dst": 1, "tzone": 120}, 10_500_000),
        ({"date": "2027_01_15", "time": "00_00_10", "dst": 0, "tzone": -480}, 10_500_000),
        ({"date": "2027_01_15", "time": "09_00_10", "tzone": 841}, 10_500_000),
        ({"date": "2027_01_15", "time": "09_00_10", "tzone": "120"}, 10_500_000),
        ({"date": "2027_01_15", "time": "09_00_10", "tzone": True}, 10_500_000),
        ({"date": "2027_01_15"}, None),
        ({"date": 5, "time": []}, None),
    ],
)
def test_the_clock_is_read(talk: Talk, camera: Camera, clock: Any, offset_us: int | None) -> None:
    talk.now_us = NOW_US + TOOK_US // 2
    camera.clock = clock
    talk(talk.driver.read_clock(3600))
    assert talk.driver.reading.clock_offset_us == offset_us
    assert talk.driver.reading.clock_read_us == (0 if offset_us is None else talk.now_us)


@pytest.mark.parametrize("host_s", [0, 7200, -28_800])
def test_a_clock_on_summer_time_is_right_wherever_the_hub_is(talk: Talk, camera: Camera, host_s: int) -> None:
    """As a HERO12 tells it with UTC+1 and summer time in its menu."""
    talk.now_us = int(datetime(2024, 8, 21, 12, 41, 30, tzinfo=UTC).timestamp()) * 1_000_000
    camera.clock = {"date": "2024_08_21", "time": "14_41_30", "tzone": 120, "dst": 1}
    talk(talk.driver.read_clock(host_s))
    assert abs(talk.driver.reading.clock_offset_us or 0) <= 1_000_000


@pytest.mark.parametrize(
    ("seconds", "is_wrong"), [(-5, True), (-4, False), (3, False), (4, False), (5, True)]
)
def test_a_clock_that_was_set_and_is_wrong_is_refused(
    talk: Talk, camera: Camera, seconds: int, is_wrong: bool
) -> None:
    talk.now_us = NOW_US + TOOK_US // 2 + 500_000
    moment = datetime.fromtimestamp(NOW_US // 1_000_000 + seconds, UTC)
    camera.clock = {"date": f"{moment:%Y_%m_%d}", "time": f"{moment:%H_%M_%S}", "tzone": 0}
    if is_wrong:
        with pytest.raises(CameraRefused, match="it keeps its own time"):
            talk(talk.driver.check_clock(0))
    else:
        talk(talk.driver.check_clock(0))
    assert talk.driver.reading.clock_offset_us == seconds * 1_000_000


def test_a_clock_that_was_set_and_cannot_be_read_is_believed(talk: Talk, camera: Camera) -> None:
    camera.clock = {"date": "2001_01_01", "time": "00_00_00"}
    talk(talk.driver.read_clock(0))
    camera.codes["/gopro/camera/get_date_time"] = 404
    talk(talk.driver.check_clock(0))


def test_a_clock_that_cannot_be_read_is_not_known(talk: Talk, camera: Camera) -> None:
    camera.codes["/gopro/camera/get_date_time"] = 404
    talk(talk.driver.read_clock(0))
    assert talk.driver.reading.clock_read_us == 0
