"""Open Spherical Camera, as https://github.com/ricohapi/theta-api-specs and
https://github.com/Insta360Develop/Insta360_OSC have it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.camera.drivers.conversations import NOW_US, TOOK_US, Talk, content, http, target
from wifimgrd.camera.drivers.osc import OscDriver
from wifimgrd.camera.drivers.protocol import HostTime, Nonsense
from wifimgrd.domain.camera import (
    BatteryState,
    CameraReading,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.errors import CameraBusy, CameraRefused, NotSupported

THETA = {
    "manufacturer": "RICOH", "model": "RICOH THETA X", "serialNumber": "14010001",
    "firmwareVersion": "2.61.0", "api": ["/osc/info", "/osc/state"], "apiLevel": [2], "uptime": 67,
}  # fmt: skip
THETA_S = THETA | {"model": "RICOH THETA S", "apiLevel": [1, 2]}
ONE_X = {
    "manufacturer": "Arashi Vision", "model": "Insta360 One2", "serialNumber": "IXE3619AYS76P6",
    "firmwareVersion": "v1.18.43", "apiLevel": [2], "_vendorVersion": "v1.1_build1",
}  # fmt: skip
STATE = {
    "batteryLevel": 0.33, "storageUri": "http://192.168.1.1/files/abcde/", "_captureStatus": "idle",
    "_recordedTime": 0, "_recordableTime": 0, "_batteryState": "disconnect", "_apiVersion": 2,
    "_cameraError": [],
}  # fmt: skip
OPTIONS = {
    "remainingSpace": 5_000_000_000, "totalSpace": 20_000_000_000, "remainingVideoSeconds": 700,
    "captureMode": "image", "dateTimeZone": "2027:01:15 16:00:10+08:00",
}  # fmt: skip
ONE_X_OPTIONS = {
    "remainingSpace": 5_000_000_000, "totalSpace": 20_000_000_000, "captureMode": "image",
    "_batteryCapacity": {"powerType": 1, "powerLevel": 64}, "_dateTime": "2027:01:15 08:00:10",
}  # fmt: skip


class Camera:
    """Level 2, or level 1 if it has a session."""

    def __init__(self) -> None:
        self.info: Any = THETA
        self.state: dict[str, Any] = dict(STATE)
        self.options: dict[str, Any] = dict(OPTIONS)
        self.errors: dict[str, list[tuple[str, int]]] = {}
        """What the next calls of a command fail with."""
        self.session = ""
        self.commands: list[str] = []
        self.hosts: list[str] = []
        self.device_name = "00101234"

    def __call__(self, request: bytes) -> bytes:
        path = target(request)
        if path == "/osc/info":
            assert request.startswith(b"GET ")
            return http(self.info)
        head = request.partition(b"\r\n\r\n")[0].lower()
        assert b"x-xsrf-protected: 1" in head
        assert b"content-type: application/json;charset=utf-8" in head
        if path == "/osc/state":
            return http({"fingerprint": "12EGA33", "state": self.state})
        assert path == "/osc/commands/execute"
        return self.execute(content(request))

    def execute(self, command: dict[str, Any]) -> bytes:
        name, parameters = command["name"], command.get("parameters", {})
        self.commands.append(name)
        if self.errors.get(name):
            code, status = self.errors[name].pop(0)
            return http({"state": "error", "error": {"code": code, "message": f"It is {code}."}}, status)
        if name == "camera.startSession":
            self.session = "SID_0001"
            return http({"name": name, "state": "done", "results": {"sessionId": "SID_0001", "timeout": 180}})
        if self.state.get("_apiVersion") == 1 and parameters.get("sessionId") != self.session:
            return http({"state": "error", "error": {"code": "invalidSessionId"}}, 403)
        match name:
            case "camera.getOptions":
                unknown = set(parameters["optionNames"]) - self.options.keys()
                if unknown:
                    error = {"code": "invalidParameterName ", "message": "parameter is not supported."}
                    return http({"name": name, "state": "error", "error": error}, 400)
                found = {one: self.options[one] for one in parameters["optionNames"]}
                return http({"name": name, "state": "done", "results": {"options": found}})
            case "camera.setOptions":
                if "clientVersion" in parameters["options"]:
                    self.state["_apiVersion"] = 2
                self.options |= parameters["options"]
            case "camera._setBluetoothDevice":
                self.hosts.append(parameters["uuid"])
                return http({"name": name, "state": "done", "results": {"deviceName": self.device_name}})
            case "camera.startCapture" | "camera._startCapture":
                self.state["_captureStatus"] = "shooting"
            case "camera.stopCapture" | "camera._stopCapture":
                self.state["_captureStatus"] = "idle"
        return http({"name": name, "state": "done"})


@pytest.fixture
def camera() -> Camera:
    return Camera()


@pytest.fixture
def talk(camera: Camera) -> Talk:
    return Talk(OscDriver(), camera)


def read(talk: Talk) -> CameraReading:
    talk(talk.driver.read())
    return talk.driver.reading


def begin(talk: Talk) -> CameraReading:
    talk(talk.driver.begin())
    return read(talk)


def test_everything_that_a_theta_says(talk: Talk) -> None:
    assert begin(talk) == CameraReading(
        read_us=NOW_US - TOOK_US // 2,
        battery_level=33,
        battery_state=BatteryState.DISCHARGING,
        recording=RecordingState.IDLE,
        storage_state=StorageState.OK,
        storage_free=5_000_000_000,
        storage_total=20_000_000_000,
        time_left_s=700,
        temperature=TemperatureState.NORMAL,
        model="RICOH THETA X",
        serial_number="14010001",
        firmware_version="2.61.0",
    )
    assert [target(one) for one in talk.requests] == ["/osc/info", "/osc/state", "/osc/commands/execute"]


def test_options_are_read_every_10_s(talk: Talk, camera: Camera) -> None:
    begin(talk)
    for _ in range(5):
        talk.now_us += 2_000_000
        read(talk)
    assert camera.commands.count("camera.getOptions") == 2


def test_everything_that_an_insta360_says(talk: Talk, camera: Camera) -> None:
    camera.info, camera.options = ONE_X, dict(ONE_X_OPTIONS)
    camera.state = {"_cardState": "pass", "batteryLevel": 1, "storageUri": "http://192.168.42.1:80/DCIM/"}
    found = begin(talk)
    assert (found.battery_level, found.battery_state) == (64, BatteryState.CHARGING)
    assert (found.storage_state, found.storage_free) == (StorageState.OK, 5_000_000_000)
    assert (found.recording, found.temperature, found.time_left_s) == (None, None, None)


def test_a_camera_that_does_not_know_an_option_is_asked_for_the_others(talk: Talk, camera: Camera) -> None:
    del camera.options["remainingVideoSeconds"]
    begin(talk)
    assert read(talk).storage_free == 5_000_000_000


@pytest.mark.parametrize(
    ("state", "name", "value"),
    [
        ({"batteryLevel": 1}, "battery_level", 100),
        ({"batteryLevel": 1.5}, "battery_level", None),
        ({"_batteryState": "charged"}, "battery_state", BatteryState.CHARGING),
        ({"_batteryState": "unheard"}, "battery_state", None),
        ({"_cameraError": ["HIGH_TEMPERATURE"]}, "temperature", TemperatureState.TOO_HOT),
        ({"_cameraError": ["HIGH_TEMPERATURE_WARNING"]}, "temperature", TemperatureState.WARNING),
        ({"_cameraError": "HIGH_TEMPERATURE"}, "temperature", None),
        ({"_cameraError": ["NO_MEMORY"]}, "storage_state", StorageState.FULL),
        ({"_cameraError": ["NO_MEMORY", "CARD_ACCESS_FAIL"]}, "storage_state", StorageState.ERROR),
        ({"_cameraError": [5, None, ["NO_MEMORY"]]}, "storage_state", StorageState.OK),
        ({"_cardState": "noCard"}, "storage_state", StorageState.MISSING),
        ({"_cardState": "noSpace"}, "storage_state", StorageState.FULL),
        ({"_cardState": "writeProtect"}, "storage_state", StorageState.ERROR),
        ({"_cardState": "something"}, "storage_state", None),
        ({"_captureStatus": "bracket shooting"}, "recording", RecordingState.IDLE),
        ({"_captureStatus": 7}, "recording", None),
    ],
)
def test_what_states_mean(
    talk: Talk, camera: Camera, state: dict[str, Any], name: str, value: object
) -> None:
    camera.state |= state
    begin(talk)
    assert getattr(read(talk), name) == value


def test_a_recording_has_its_time(talk: Talk, camera: Camera) -> None:
    camera.options["captureMode"] = "video"
    camera.state |= {"_captureStatus": "shooting", "_recordedTime": 61, "_recordableTime": 1439}
    found = begin(talk)
    assert found.is_recording is True
    assert found.recording_since_us == NOW_US - TOOK_US // 2 - 61_000_000
    assert found.time_left_s == 1439
    camera.state |= {"_captureStatus": "idle", "_cameraError": ["NO_MEMORY"]}
    found = read(talk)
    assert (found.is_recording, found.stop_reason) == (False, StopReason.FULL)


def test_photos_at_intervals_are_no_recording(talk: Talk, camera: Camera) -> None:
    begin(talk)
    camera.state["_captureStatus"] = "shooting"
    assert read(talk).is_recording is False


def test_photos_at_intervals_when_it_is_connected_are_no_recording(talk: Talk, camera: Camera) -> None:
    camera.state["_captureStatus"] = "shooting"
    assert begin(talk).is_recording is False


@pytest.mark.parametrize("mode", ["image", "_liveStreaming", "_preset"])
def test_only_a_mode_for_videos_records(talk: Talk, camera: Camera, mode: str) -> None:
    camera.options["captureMode"] = mode
    camera.state["_captureStatus"] = "shooting"
    assert begin(talk).is_recording is False


def test_what_is_shot_in_a_mode_that_cannot_be_read_is_not_known(talk: Talk, camera: Camera) -> None:
    camera.state["_captureStatus"] = "shooting"
    camera.errors["camera.getOptions"] = [("unactivated", 403)] * 2
    assert begin(talk).is_recording is None


def test_a_mode_that_was_changed_at_the_camera_is_read_before_judging(talk: Talk, camera: Camera) -> None:
    begin(talk)
    camera.options["captureMode"] = "video"
    camera.state["_captureStatus"] = "shooting"
    talk.now_us += 1_000_000
    assert read(talk).is_recording is True


def test_a_mode_that_was_changed_between_two_reads_is_judged_with_the_next_options(
    talk: Talk, camera: Camera
) -> None:
    """It has stopped, and takes photos now: the status is the same."""
    camera.options["captureMode"] = "video"
    camera.state["_captureStatus"] = "shooting"
    assert begin(talk).is_recording is True
    camera.options["captureMode"] = "image"
    talk.now_us += 10_000_000
    assert read(talk).is_recording is False


def test_stop_is_sent_to_a_camera_whose_mode_was_changed_just_before(talk: Talk, camera: Camera) -> None:
    begin(talk)
    camera.options["captureMode"] = "video"
    camera.state["_captureStatus"] = "shooting"
    talk.command(on=False)
    assert "camera.stopCapture" in camera.commands
    assert talk.driver.reading.is_recording is False


def test_record_is_refused_by_a_camera_that_takes_photos(talk: Talk, camera: Camera) -> None:
    camera.options["captureMode"] = "video"
    begin(talk)
    camera.options["captureMode"] = "image"
    camera.state["_captureStatus"] = "shooting"
    with pytest.raises(CameraBusy, match="the camera is taking photos"):
        talk.command(on=True)
    assert "camera.startCapture" not in camera.commands


def test_start_sets_the_mode_first_and_stop_does_not(talk: Talk, camera: Camera) -> None:
    talk(talk.driver.begin())
    talk.command(on=True)
    assert camera.options["captureMode"] == "video"
    assert camera.commands.index("camera.setOptions") < camera.commands.index("camera.startCapture")
    assert talk.driver.reading.is_recording is True
    talk.command(on=False)
    assert camera.commands[-2:] == ["camera.getOptions", "camera.stopCapture"]
    assert talk.driver.reading.is_recording is False


def test_in_the_wrong_mode_the_mode_is_set_and_the_command_repeated(talk: Talk, camera: Camera) -> None:
    camera.info, camera.options = ONE_X, {"captureMode": "video"} | ONE_X_OPTIONS
    camera.options["captureMode"] = "video"
    camera.state = {"_cardState": "pass", "batteryLevel": 1}
    camera.errors["camera.startCapture"] = [("disabledCommand", 200)]
    talk(talk.driver.begin())
    assert talk.command(on=True).code == 200
    first = camera.commands.index("camera.startCapture")
    assert camera.commands[first : first + 4] == [
        "camera.startCapture", "camera.setOptions", "camera.getOptions", "camera.startCapture",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "status", "kind", "sentence"),
    [
        ("disabledCommand", 403, CameraRefused, "the camera refused: It is disabledCommand."),
        ("unactivated", 200, CameraRefused, "the camera refused: It is unactivated."),
        ("serviceUnavailable", 503, CameraBusy, "the camera is busy"),
    ],
)
def test_refusals(
    talk: Talk, camera: Camera, code: str, status: int, kind: type[CameraRefused], sentence: str
) -> None:
    camera.errors["camera.startCapture"] = [(code, status)] * 2
    talk(talk.driver.begin())
    with pytest.raises(kind) as caught:
        talk.command(on=True)
    assert caught.value.message == sentence


def test_a_refusal_of_what_is_done_already_is_none(talk: Talk, camera: Camera) -> None:
    camera.options["captureMode"] = "video"
    begin(talk)
    request = talk.driver.command(on=True)
    camera.errors["camera.startCapture"] = [("disabledCommand", 403)]
    refused = talk.exchange(request.data, request.number)
    camera.state["_captureStatus"] = "shooting"
    assert talk(talk.driver.conclude(refused, on=True)) is refused
    assert camera.commands.count("camera.startCapture") == 1


def test_a_refusal_is_explained_by_the_state(talk: Talk, camera: Camera) -> None:
    camera.state["_cameraError"] = ["HIGH_TEMPERATURE"]
    camera.errors["camera.startCapture"] = [("disabledCommand", 403)]
    talk(talk.driver.begin())
    with pytest.raises(CameraRefused, match="the camera is too hot"):
        talk.command(on=True)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("CANNOT_RECORDING", "with its battery in, the camera records over Wi-Fi only in lower resolutions"),
        ("CANNOT_RECORD_LOWBAT", "the battery is too low to record over Wi-Fi"),
        ("MEDIA_NOT_READY", "the card is not ready yet"),
        ("IN_PROGRESS_ERROR", "the camera is working on its files"),
        ("NO_DATE_SETTING", "the camera's clock is not set"),
        ("CAPTURE_HW_FAILED", "the camera reports a fault of its hardware"),
        ("CAPTURE_SW_FAILED", "the camera reports a fault of its software"),
        ("UNEXPECTED_ERROR", "the camera reports an unexpected error"),
        ("BATTERY_CHARGE_FAIL", "the camera cannot charge its battery"),
    ],
)
def test_the_errors_that_it_reports_explain_a_refusal(
    talk: Talk, camera: Camera, error: str, sentence: str
) -> None:
    camera.options["captureMode"] = "video"
    camera.state["_cameraError"] = ["COMPASS_CALIBRATION", error]
    camera.errors["camera.startCapture"] = [("disabledCommand", 403)] * 2
    talk(talk.driver.begin())
    with pytest.raises(CameraRefused) as caught:
        talk.command(on=True)
    assert caught.value.message.startswith(sentence)


def test_a_camera_that_does_something_else_is_busy(talk: Talk, camera: Camera) -> None:
    camera.state["_captureStatus"] = "self-timer countdown"
    talk(talk.driver.begin())
    with pytest.raises(CameraBusy, match="self-timer countdown"):
        talk.command(on=True)


def test_a_theta_s_goes_to_level_2(talk: Talk, camera: Camera) -> None:
    camera.info = THETA_S
    camera.state["_apiVersion"] = 1
    begin(talk)
    assert camera.commands[:2] == ["camera.startSession", "camera.setOptions"]
    talk.command(on=True)
    assert "camera.startCapture" in camera.commands
    camera.state |= {"_apiVersion": 1, "_captureStatus": "idle"}  # its network was off meanwhile
    talk.command(on=True)
    assert camera.state["_apiVersion"] == 2


def test_a_theta_with_level_1_alone(talk: Talk, camera: Camera) -> None:
    camera.info = THETA_S | {"apiLevel": [1]}
    camera.state["_apiVersion"] = 1
    talk(talk.driver.begin())
    talk.command(on=True)
    assert camera.options["captureMode"] == "_video"
    assert "camera._startCapture" in camera.commands
    camera.session = "another client's"
    talk.command(on=False)
    assert camera.commands[-1] == "camera._stopCapture"
    assert talk.driver.reading.is_recording is False


def test_the_clock_of_a_theta(talk: Talk, camera: Camera) -> None:
    begin(talk)
    talk.now_us = NOW_US + TOOK_US // 2
    talk(talk.driver.read_clock(-3600))
    reading = talk.driver.reading
    assert (reading.clock_offset_us, reading.clock_read_us) == (10_500_000, talk.now_us)
    talk(talk.driver.set_clock(HostTime(NOW_US + 1, -12_600, is_dst=False)))
    assert camera.options["dateTimeZone"] == "2027:01:15 04:30:01-03:30"
    camera.errors["camera.setOptions"] = [("invalidParameterValue", 400)]
    with pytest.raises(CameraRefused, match="does not take the time"):
        talk(talk.driver.set_clock(HostTime(NOW_US, 0, is_dst=False)))


HOST = "01234567-89ab-cdef-0123-456789abcdef"


def test_a_theta_v_registers_a_host_and_switches_its_bluetooth_on(talk: Talk, camera: Camera) -> None:
    assert talk(talk.driver.register_host(HOST)) == "00101234"
    assert camera.commands == ["camera._setBluetoothDevice", "camera.setOptions"]
    assert camera.options["_bluetoothPower"] == "ON"
    assert camera.hosts == [HOST]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("camera._setBluetoothDevice", "does not register this hub: It is"),
        ("camera.setOptions", "does not switch its Bluetooth on: It is"),
    ],
)
def test_a_camera_that_registers_no_hosts_says_so(
    talk: Talk, camera: Camera, command: str, said: str
) -> None:
    camera.errors[command] = [("unknown", 400)]
    with pytest.raises(CameraRefused, match=said):
        talk(talk.driver.register_host(HOST))


def test_a_camera_that_does_not_say_what_it_advertises_is_not_understood(talk: Talk, camera: Camera) -> None:
    camera.device_name = ""
    with pytest.raises(Nonsense):
        talk(talk.driver.register_host(HOST))


def test_the_clock_of_an_insta360_is_only_read(talk: Talk, camera: Camera) -> None:
    camera.info, camera.options = ONE_X, dict(ONE_X_OPTIONS)
    begin(talk)
    talk.now_us = NOW_US + TOOK_US // 2
    talk(talk.driver.read_clock(3600))
    assert talk.driver.reading.clock_offset_us == 10_500_000 - 3_600_000_000
    with pytest.raises(NotSupported):
        talk(talk.driver.set_clock(HostTime(NOW_US, 0, is_dst=False)))
    del camera.options["_dateTime"]
    talk(talk.driver.read_clock(0))


@pytest.mark.parametrize(
    "sent", [http(b"<html>"), http({}, 500), http({}, 302), b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"]
)
def test_what_is_no_state_is_nonsense(camera: Camera, sent: bytes) -> None:
    talk = Talk(OscDriver(), lambda request: sent if b"/osc/state" in request else camera(request))
    with pytest.raises(Nonsense):
        begin(talk)


def test_requests_are_compact_json(talk: Talk) -> None:
    request = talk.driver.command(on=True).data
    assert json.loads(request.partition(b"\r\n\r\n")[2]) == {"name": "camera.startCapture"}


# -- Ricoh's own simulator, https://github.com/ricohapi/fake-theta: it answers as a Theta X or Z1, with values
# that never change. These have the shapes that https://github.com/ricohapi/theta-api-specs gives (in
# theta-web-api-v2.1: protocols/info.md, state.md, commands/camera.start_capture.md, camera.stop_capture.md).

_ENDPOINTS = {
    "supportUrl": "https://theta360.com/en/support/", "gps": False, "gyro": True, "uptime": 67,
    "endpoints": {"httpPort": 80, "httpUpdatesPort": 80}, "apiLevel": [2],
    "api": ["/osc/info", "/osc/state", "/osc/checkForUpdates", "/osc/commands/execute"],
    "_wlanMacAddress": "58:38:79:00:00:01", "_bluetoothMacAddress": "58:38:79:00:00:02",
}  # fmt: skip
_OF_BOTH = STATE | {"_capturedPictures": 0, "_function": "normal", "_mySettingChanged": False}
SIMULATED = {
    "X": (
        THETA | _ENDPOINTS,
        _OF_BOTH
        | {
            "_storageID": "0123456789abcdef", "_currentStorage": "SD", "_currentMicrophone": "Internal",
            "_batteryInsert": True, "_latestFileUrl": "http://192.168.1.1/files/100RICOH/R0010015.JPG",
        },
    ),
    "Z1": (
        THETA | _ENDPOINTS | {"model": "RICOH THETA Z1", "serialNumber": "10010001"},
        _OF_BOTH
        | {"_compositeShootingElapsedTime": 0, "_pluginRunning": False, "_pluginWebServer": False},
    ),
}  # fmt: skip


@pytest.fixture(params=SIMULATED)
def simulated(request: pytest.FixtureRequest, camera: Camera) -> Camera:
    camera.info, state = SIMULATED[request.param]
    camera.state = dict(state)
    return camera


def test_a_simulator_whose_values_never_change_is_read_and_is_not_said_to_record(
    talk: Talk, simulated: Camera
) -> None:
    def execute(command: dict[str, Any]) -> bytes:
        if command["name"] == "camera.startCapture":
            return http({"name": command["name"], "state": "done"})
        return Camera.execute(simulated, command)

    simulated.execute = execute  # type: ignore[method-assign]
    talk(talk.driver.begin())
    talk(talk.driver.read())
    reading = talk.driver.reading
    assert reading.model == simulated.info["model"]
    assert (reading.battery_level, reading.battery_state) == (33, BatteryState.DISCHARGING)
    assert (reading.recording, reading.temperature) == (RecordingState.IDLE, TemperatureState.NORMAL)
    assert (reading.storage_state, reading.time_left_s) == (StorageState.OK, 700)
    with pytest.raises(CameraRefused, match="it took the command, but does not record"):
        talk.command(on=True)
    talk.command(on=False)


def test_the_documented_answers_to_start_and_stop_are_taken(talk: Talk, simulated: Camera) -> None:
    urls = ["http://192.168.1.1/files/100RICOH/R0011234.MP4"]
    documented: dict[str, dict[str, object]] = {
        "camera.startCapture": {"_fileUrls": urls, "id": "1234", "state": "done"},
        "camera.stopCapture": {"results": {"fileUrls": urls}, "state": "done"},
    }

    def execute(command: dict[str, Any]) -> bytes:
        told = Camera.execute(simulated, command)
        name = command["name"]
        return http({"name": name, **documented[name]}) if name in documented else told

    simulated.execute = execute  # type: ignore[method-assign]
    talk(talk.driver.begin())
    for on in (True, False):
        talk.command(on=on)
        assert talk.driver.reading.is_recording is on


@pytest.mark.parametrize(
    ("status", "is_recording"),
    [
        ("shooting", True),
        ("idle", False),
        ("self-timer countdown", False),
        ("bracket shooting", False),
        ("converting", False),
        ("timeShift shooting", False),
        ("continuous shooting", False),
        ("retrospective image recording", False),
    ],
)
def test_every_documented_capture_status(
    talk: Talk, simulated: Camera, status: str, is_recording: bool
) -> None:
    simulated.options["captureMode"] = "video"
    talk(talk.driver.begin())
    talk(talk.driver.read())
    simulated.state["_captureStatus"] = status
    talk(talk.driver.read())
    assert talk.driver.reading.is_recording is is_recording
    if status not in ("shooting", "idle"):
        with pytest.raises(CameraBusy, match=status):
            talk.command(on=True)


def test_a_state_without_what_only_some_models_tell(talk: Talk, simulated: Camera) -> None:
    """As the documents' own example, which has no `_cameraError`."""
    del simulated.state["_cameraError"]
    talk(talk.driver.begin())
    talk(talk.driver.read())
    assert talk.driver.reading.temperature is None
    assert talk.driver.reading.storage_state is StorageState.OK
