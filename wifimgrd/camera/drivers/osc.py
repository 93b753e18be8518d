"""Open Spherical Camera over HTTP: Ricoh Theta S, SC (level 1, or 2 once that is chosen), V, Z1 and X, and
the Insta360 models without port 6666.

https://developers.google.com/streetview/open-spherical-camera, https://github.com/ricohapi/theta-api-specs,
https://github.com/Insta360Develop/Insta360_OSC. One command at a time, `/osc/info` first of all and at most
once a second. Insta360's cameras do not say whether they record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from wifimgrd.camera.drivers import _osc_files as files
from wifimgrd.camera.drivers._http import HttpParser, get, post
from wifimgrd.camera.drivers._refusals import refusal, require_card
from wifimgrd.camera.drivers._values import (
    json_object,
    local,
    member,
    percent,
    seconds,
    share,
    space,
    text,
    whole,
    written_time,
)
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import (
    MICROSECONDS,
    Answer,
    Conversation,
    HostTime,
    NetworkDriver,
    Nonsense,
    Parser,
    Pause,
    Request,
    no_clock,
    unfinished,
)
from wifimgrd.domain.camera import (
    BatteryState,
    CameraDriver,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.errors import CameraBusy, CameraRefused, WifimgrdError
from wifimgrd.domain.recordings import RecordedFile

_FIELDS: Final[Mapping[str, str]] = {
    "Content-Type": "application/json;charset=utf-8",
    "Accept": "application/json",
    "X-XSRF-Protected": "1",
}
_OK: Final = 200
_OPTIONS_US: Final = 9 * MICROSECONDS
_CHARGING: Final[Mapping[str, BatteryState]] = {
    "charging": BatteryState.CHARGING,
    "charged": BatteryState.CHARGING,
    "disconnect": BatteryState.DISCHARGING,
}
_CARD: Final[Mapping[str, StorageState]] = {
    "pass": StorageState.OK,
    "noCard": StorageState.MISSING,
    "noSpace": StorageState.FULL,
    "invalidFormat": StorageState.ERROR,
    "writeProtect": StorageState.ERROR,
    "otherError": StorageState.ERROR,
}
_STORAGE_ERRORS: Final[Mapping[str, StorageState]] = {
    "CARD_DETECT_FAIL": StorageState.MISSING,
    "READ_ERROR": StorageState.ERROR,
    "NOT_SUPPORTED_MEDIA_TYPE": StorageState.ERROR,
    "NOT_SUPPORTED_FILE_SYSTEM": StorageState.ERROR,
    "CANT_USE_THIS_CARD": StorageState.ERROR,
    "FORMAT_INTERNAL_MEM": StorageState.ERROR,
    "FORMAT_CARD": StorageState.ERROR,
    "INTERNAL_MEM_ACCESS_FAIL": StorageState.ERROR,
    "CARD_ACCESS_FAIL": StorageState.ERROR,
    "NO_MEMORY": StorageState.FULL,
    "FILE_NUMBER_OVER": StorageState.FULL,
}
"""The errors that a Theta reports, the worst first."""
_TOO_HOT: Final = frozenset({"HIGH_TEMPERATURE", "BATTERY_HIGH_TEMPERATURE"})
_WARM: Final = frozenset({"HIGH_TEMPERATURE_WARNING"})
_LOW_BATTERY: Final = frozenset({"NOT_ENOUGH_BATTERY", "CANNOT_RECORD_LOWBAT"})
_ERRORS: Final = 32
_LEVELS: Final = 8
"""That are looked at."""
_WRONG_MODE: Final = "disabledCommand"
_BUSY_ERRORS: Final = frozenset({"serviceUnavailable", "cameraInExclusiveUse"})
_NO_SESSION: Final = frozenset({"invalidSessionId", "missingParameter"})
_SHOOTING: Final = "shooting"
_PHOTOS: Final = "image"
_VIDEO_MODES: Final = frozenset({"video", "_video"})
"""On level 2 and 1. In all others `shooting` is photos, or a stream."""
_MODE_TRIES: Final = 8
_MODE_S: Final = 0.25
"""A change of the mode takes a while."""


@dataclass(frozen=True, slots=True)
class _Words:
    """How a level of the protocol names things."""

    start: str = "camera.startCapture"
    stop: str = "camera.stopCapture"
    video: str = "video"


_LEVEL1: Final = _Words("camera._startCapture", "camera._stopCapture", "_video")
_LEVEL2: Final = _Words()


class OscDriver(NetworkDriver):
    """Speaks with one camera."""

    keeps_time = "it keeps its own time; on a Theta X, set date and time to AUTO in its menu"

    def __init__(self) -> None:
        super().__init__()
        self._is_theta = False
        self._knows_level1 = False
        self._knows_level2 = True
        self._session = ""
        """Level 1 has sessions; empty on level 2."""
        self._api_version: int | None = None
        """As a Theta's state has it: 1 = level 1."""
        self._options: tuple[str, ...] = ()
        """That are read: a camera refuses all if it does not know one."""
        self._mode = ""
        self._status: str | None = None
        self._card = ""
        self._errors: frozenset[str] = frozenset()
        self._stopped = files.NamedFiles()
        """By the last command to stop."""

    @property
    def _words(self) -> _Words:
        return _LEVEL1 if self._session else _LEVEL2

    def parser(self) -> Parser:
        """For a new connection."""
        return HttpParser()

    def _execute(self, name: str, parameters: Mapping[str, object] | None = None) -> Request:
        given = dict(parameters or {}) | ({"sessionId": self._session} if self._session else {})
        content: dict[str, object] = {"name": name}
        if given:
            content["parameters"] = given
        return post(self.host, "/osc/commands/execute", content, _FIELDS)

    def _get_options(self, *names: str) -> Request:
        return self._execute("camera.getOptions", {"optionNames": list(names)})

    def _set_option(self, name: str, value: object) -> Request:
        return self._execute("camera.setOptions", {"options": {name: value}})

    # -- state

    def begin(self) -> Conversation[None]:
        """Read model, serial number, firmware and level."""
        answer = yield get(self.host, "/osc/info")
        if answer.code != _OK:
            raise Nonsense(f"the camera does not say what it is (HTTP {answer.code})")
        info = json_object(answer.body)
        self.facts.identify(
            text(info.get("model")), text(info.get("serialNumber")), text(info.get("firmwareVersion"))
        )
        levels = info.get("apiLevel")
        listed = levels[:_LEVELS] if isinstance(levels, list) else []
        self._knows_level1, self._knows_level2 = 1 in listed, 2 in listed
        self._is_theta = "ricoh" in text(info.get("manufacturer")).lower() or "THETA" in self.reading.model
        self._options = ("remainingSpace", "totalSpace", "captureMode")
        self._options += ("remainingVideoSeconds",) if self._is_theta else ("_batteryCapacity",)
        self._options_us, self._session, self._api_version = 0, "", None

    def read(self) -> Conversation[None]:
        """Read the state, and every 10 s the options; on level 1, begin a session, and go to level 2 if the
        camera knows it."""
        state, at_us = yield from self._read_state()
        if self._options and not 0 <= at_us - self._options_us < _OPTIONS_US:
            yield from self._read_options()
        self._judge(state, at_us)

    def read_recording(self) -> Conversation[None]:
        """Read the state without the options."""
        self._judge(*(yield from self._read_state()))

    def _read_state(self) -> Conversation[tuple[Mapping[str, Any], int]]:
        """Read the state, and the mode if it is needed to judge what the camera does: the status is the same
        for photos and for a video, and somebody may have changed the mode at the camera. Returns the state
        and its time, for `_judge`."""
        answer = yield post(self.host, "/osc/state", {}, _FIELDS)
        if answer.code != _OK:
            raise Nonsense(f"the camera does not say its state (HTTP {answer.code})")
        state, before = member(json_object(answer.body), "state"), self._status
        self._take_state(state, answer.moment_us)
        if self._api_version == 1 or (self._api_version is None and self._knows_level1):
            yield from self._leave_level1()
        if self._status == _SHOOTING and (before != _SHOOTING or not self._mode):
            yield from self._read_mode()
        return state, answer.moment_us

    def _read_mode(self) -> Conversation[None]:
        answer = yield from self._asked("captureMode")
        self._mode = "" if _error_of(answer) is not None else text(_options(answer).get("captureMode"))

    def _asked(self, *names: str) -> Conversation[Answer]:
        """The answer with options; in another session if that of level 1 has ended."""
        answer = yield self._get_options(*names)
        error = _error_of(answer)
        if error is not None and error.code in _NO_SESSION and self._session:
            self._session = ""
            yield from self._leave_level1()
            answer = yield self._get_options(*names)
        return answer

    def _leave_level1(self) -> Conversation[None]:
        """Begin a session if there is none, which sets the level to 2 where the camera knows that."""
        if self._session:
            return
        answer = yield self._execute("camera.startSession")
        self._session = text(member(json_object(answer.body), "results").get("sessionId"))
        if self._session and self._knows_level2:
            answer = yield self._set_option("clientVersion", 2)
            if _error_of(answer) is None:
                self._session, self._api_version = "", 2

    def _take_state(self, state: Mapping[str, Any], at_us: int) -> None:
        self._status = text(state.get("_captureStatus")) or None
        self._api_version = whole(state.get("_apiVersion"), 1, 99)
        if self._api_version == 2:
            self._session = ""
        told = state.get("_cameraError")
        errors = told if isinstance(told, list) else []
        self._errors = frozenset(text(one) for one in errors[:_ERRORS])
        self._card = text(state.get("_cardState")).strip(": ")
        changes: dict[str, Any] = {
            "read_us": at_us,
            "battery_level": share(state.get("batteryLevel")),
            "storage_state": self._storage(),
            "temperature": self._temperature(is_told=errors is told),
        }
        if self._is_theta:
            changes["battery_state"] = _CHARGING.get(text(state.get("_batteryState")))
        if self._status == _SHOOTING and (left := seconds(state.get("_recordableTime"))):
            changes["time_left_s"] = left
        self.facts.reading = replace(self.facts.reading, **changes)

    def _judge(self, state: Mapping[str, Any], at_us: int) -> None:
        """Whether it records, by status and mode."""
        self.facts.has_recording(self._recording(), at_us, seconds(state.get("_recordedTime")))
        self.facts.may_have_stopped_for(self._cause(), at_us)

    def _recording(self) -> RecordingState | None:
        if self._status is None or (self._status == _SHOOTING and not self._mode):
            return None
        is_video = self._status == _SHOOTING and self._mode in _VIDEO_MODES
        return RecordingState.RECORDING if is_video else RecordingState.IDLE

    def _storage(self) -> StorageState | None:
        if self._card:
            return _CARD.get(self._card)
        for error, state in _STORAGE_ERRORS.items():
            if error in self._errors:
                return state
        if (free := self.reading.storage_free) is None:
            return None
        return StorageState.OK if free else StorageState.FULL

    def _temperature(self, *, is_told: bool) -> TemperatureState | None:
        if self._errors & _TOO_HOT:
            return TemperatureState.TOO_HOT
        if self._errors & _WARM:
            return TemperatureState.WARNING
        return TemperatureState.NORMAL if is_told else None

    def _cause(self) -> StopReason | None:
        """The condition in the present state that ends recordings; None if there is none."""
        if self.reading.temperature is TemperatureState.TOO_HOT:
            return StopReason.TOO_HOT
        if self.reading.storage_state is StorageState.FULL:
            return StopReason.FULL
        is_empty = self._errors & _LOW_BATTERY or self.reading.battery_level == 0
        return StopReason.BATTERY if is_empty else None

    def _read_options(self) -> Conversation[None]:
        answer = yield from self._asked(*self._options)
        if (error := _error_of(answer)) is not None:
            if error.code.startswith("invalidParameter"):
                self._options = self._options[:-1]
            return
        self._options_us = answer.moment_us
        options = _options(answer)
        self._mode = text(options.get("captureMode"))
        free = space(options.get("remainingSpace"))
        total = space(options.get("totalSpace")) or None
        changes: dict[str, Any] = {"storage_free": free, "storage_total": total}
        if "remainingVideoSeconds" in options and self._status != _SHOOTING:
            changes["time_left_s"] = seconds(options["remainingVideoSeconds"])
        battery = member(options, "_batteryCapacity")
        if (power := whole(battery.get("powerType"), 0, 1)) is not None:
            changes["battery_state"] = BatteryState.CHARGING if power else BatteryState.DISCHARGING
            changes["battery_level"] = percent(battery.get("powerLevel")) or None  # 0 is without a battery
        self.facts.reading = replace(self.facts.reading, **changes)
        self.facts.reading = replace(self.facts.reading, storage_state=self._storage())

    # -- commands

    def prepare(self, *, on: bool) -> Conversation[bool]:
        """Set the mode for videos."""
        self._options_us = 0
        yield from self.read()
        if self.reading.is_recording is on:
            return True
        if on:
            if self._status not in (None, "idle"):
                is_for_photos = self._status == _SHOOTING and self._mode == _PHOTOS
                raise CameraBusy(
                    "the camera is taking photos" if is_for_photos else f"the camera is busy: {self._status}"
                )
            require_card(self.reading)
            if self._mode != self._words.video:
                yield from self._set_video(on=on)
        return False

    def _set_video(self, *, on: bool) -> Conversation[None]:
        answer = yield self._set_option("captureMode", self._words.video)
        if (error := _error_of(answer)) is not None:
            raise self._refusal(error, on=on)
        for _ in range(_MODE_TRIES):
            yield from self._read_mode()
            if self._mode in ("", self._words.video):
                break
            yield Pause(_MODE_S)

    def command(self, *, on: bool) -> Request:
        """Start or stop a capture."""
        return self._execute(self._words.start if on else self._words.stop)

    def take_answer(self, answer: Answer, *, on: bool) -> Conversation[Answer]:
        """In the wrong mode, set the mode and try once more; note the files of what was stopped."""
        error = _error_of(answer)
        if error is None and not on:
            results = member(json_object(answer.body), "results")
            self._stopped = files.NamedFiles.in_results(results, answer.moment_us)
        if error is None or error.code != _WRONG_MODE or not on:
            return answer
        yield from self.read_recording()
        if self._cause() is not None or self.reading.is_recording is on:
            return answer
        yield from self._set_video(on=on)
        return (yield self.command(on=on))

    def refused(self, answer: Answer, *, on: bool) -> WifimgrdError | None:
        """By the error in it."""
        error = _error_of(answer)
        return None if error is None else self._refusal(error, on=on)

    def _refusal(self, error: _Error, *, on: bool) -> WifimgrdError:
        if error.code in _BUSY_ERRORS or (self._status not in (None, "idle", _SHOOTING)):
            return CameraBusy("the camera is busy")
        return self._explained(error.said, on=on)

    def _explained(self, said: str, *, on: bool) -> CameraRefused:
        return refusal(self.reading, said, on=on, errors=self._errors)

    # -- clock

    def ask_clock(self, offset_s: int) -> Conversation[tuple[int, Answer] | None]:
        """A Theta has a time zone; the others say the local time."""
        name = "dateTimeZone" if self._is_theta else "_dateTime"
        answer = yield self._get_options(name)
        if _error_of(answer) is not None:
            return None
        said_us = written_time(_options(answer).get(name), offset_s)
        return None if said_us is None else (said_us, answer)

    def set_clock(self, host: HostTime) -> Conversation[None]:
        """Set the local time and its zone at the beginning of a second, of a Theta."""
        if not self._is_theta:
            raise no_clock()
        yield host.until_second
        now = local(host.next_second_us, host.offset_s)
        zone = now.strftime("%z")
        answer = yield self._set_option(
            "dateTimeZone", f"{now.strftime('%Y:%m:%d %H:%M:%S')}{zone[:3]}:{zone[3:5]}"
        )
        if (error := _error_of(answer)) is not None:
            raise CameraRefused(f"the camera does not take the time: {error.said}")

    # -- files

    def recorded_files(self, recording: PastRecording) -> Conversation[tuple[RecordedFile, ...] | None]:
        """Those that the camera has named when it was told to stop; if it has ended otherwise, of a Theta,
        the one by its time and its length. Level 1 has neither."""
        is_named, offset_us = self._stopped.are_of(recording), self.reading.clock_offset_us
        if self._session or not (is_named or (self._is_theta and offset_us is not None)):
            return None
        answer = yield self._execute("camera.listFiles", files.LATEST_VIDEOS)
        error = _error_of(answer)
        if error is not None and error.code in _BUSY_ERRORS:
            raise unfinished()
        results = {} if error is not None else member(json_object(answer.body), "results")
        if is_named:
            return files.named_files(results, self._stopped)
        if offset_us is None or error is not None:
            return None
        return files.file_in(results, recording, offset_us, answer.moment_us)

    # -- Bluetooth

    def register_host(self, host: str) -> Conversation[str]:
        """Theta V and Z1: theta-web-api-v2.1/commands/camera._set_bluetooth_device.md."""
        answer = yield self._execute("camera._setBluetoothDevice", {"uuid": host})
        if (error := _error_of(answer)) is not None:
            raise CameraRefused(f"the camera does not register this hub: {error.said}")
        name = text(member(json_object(answer.body), "results").get("deviceName"))
        answer = yield self._set_option("_bluetoothPower", "ON")
        if (error := _error_of(answer)) is not None:
            raise CameraRefused(f"the camera does not switch its Bluetooth on: {error.said}")
        if not name:
            raise Nonsense("the camera does not say what it advertises")
        return name


DRIVERS: Final = {CameraDriver.OSC: OscDriver}


@dataclass(frozen=True, slots=True)
class _Error:
    code: str
    said: str


def _options(answer: Answer) -> Mapping[str, Any]:
    """The options in an answer."""
    return member(member(json_object(answer.body), "results"), "options")


def _error_of(answer: Answer) -> _Error | None:
    """Why a command has failed; None if it has not. Raises Nonsense."""
    try:
        content = json_object(answer.body)
    except Nonsense:
        if answer.code == _OK:
            raise
        return _Error("", f"HTTP {answer.code}")
    error = member(content, "error")
    if answer.code == _OK and content.get("state") != "error" and not error:
        return None
    code = text(error.get("code")).strip()
    return _Error(code, text(error.get("message")) or code or f"HTTP {answer.code}")
