"""Open Spherical Camera over HTTP: a Ricoh Theta, or an Insta360.

Facts: https://github.com/ricohapi/theta-api-specs and https://github.com/Insta360Develop/Insta360_OSC.
A file is downloaded from the address that the list has. A Theta S or SC starts at API level 1: commands
belong to a session until the option `clientVersion` is 2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from http import HTTPStatus
from typing import Final

from wifimgrd.domain.camera import CameraDriver, StorageState, TemperatureState
from wifimgrd.simulator.emulators._camera import EmulatedCamera, Ended, Refused
from wifimgrd.simulator.emulators._emulators import EmulatedKind
from wifimgrd.simulator.emulators._http import HttpEmulator, Request, Response, Stream, Video

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS: Final[Mapping[str, HTTPStatus]] = {
    "unknownCommand": HTTPStatus.BAD_REQUEST,
    "disabledCommand": HTTPStatus.FORBIDDEN,
    "missingParameter": HTTPStatus.BAD_REQUEST,
    "invalidParameterName": HTTPStatus.BAD_REQUEST,
    "invalidParameterValue": HTTPStatus.BAD_REQUEST,
    "invalidSessionId": HTTPStatus.FORBIDDEN,
    "notFound": HTTPStatus.NOT_FOUND,
}
_MOST_OPTIONS: Final = 64
_FULL: Final = 100
_PHOTO_BYTES: Final = 4_000_000
_CARD_STATES: Final[Mapping[StorageState, str]] = {
    StorageState.OK: "pass",
    StorageState.SLOW: "pass",
    StorageState.FULL: "noSpace",
    StorageState.MISSING: "noCard",
}

Parameters = Mapping[str, object]
Results = dict[str, object]


class Maker(Enum):
    """Whose camera it is."""

    RICOH = "RICOH"
    INSTA360 = "Insta360"


class _Failed(Exception):
    def __init__(self, code: str, text: str) -> None:
        self.code = code
        super().__init__(text)


class OscEmulator(HttpEmulator):
    """Serves a camera over Open Spherical Camera."""

    ports: Final = frozenset({80})

    def __init__(self, camera: EmulatedCamera, maker: Maker = Maker.RICOH) -> None:
        super().__init__(camera)
        self._maker = maker
        self._has_level_1 = camera.settings.model in {"RICOH THETA S", "RICOH THETA SC"}
        self.registers_hosts = camera.settings.model in {"RICOH THETA V", "RICOH THETA Z1"}
        """It takes commands over Bluetooth of hosts that it knows, and of no others."""
        self.hosts: set[str] = set()
        """The UUIDs of the hosts that it knows."""
        self.is_bluetooth_on = not self.registers_hosts
        self._has_card = camera.settings.model == "RICOH THETA X"
        """The others have their memory inside."""
        self._level = 1 if self._has_level_1 else 2
        self._session = 0
        self._options: dict[str, object] = {"captureMode": "image", "offDelay": 600, "sleepDelay": 180}
        self._fingerprint = (0, "")
        self._began = camera.clock_s

    def _answer(self, request: Request) -> Response | Stream | Video:
        try:
            return self._answer_to(request)
        except _Failed as failed:
            return _error(failed)

    def _answer_to(self, request: Request) -> Response | Stream | Video:
        if (request.method, request.path) == ("GET", "/osc/info"):
            return Response(self._info())
        if request.method == "GET" and (video := self._video_at(request.path)) is not None:
            return video
        if request.method != "POST" or request.path not in _POSTED:
            raise _Failed("notFound", "There is no such page.")
        if self._maker is Maker.INSTA360 and request.headers.get("x-xsrf-protected") != "1":
            raise _Failed("missingParameter", "X-XSRF-Protected is missing.")
        if request.path == "/osc/state":
            return Response({"fingerprint": self._fingerprinted(), "state": self._state()})
        if request.path == "/osc/checkForUpdates":
            return Response({"stateFingerprint": self._fingerprinted()})
        return self._execute(_object(request.body))

    def _execute(self, body: Parameters) -> Response | Stream:
        name, parameters = body.get("name"), body.get("parameters", {})
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise _Failed("missingParameter", "The command is incomplete.")
        command = _COMMANDS.get((self._level, name))
        if command is None:
            raise _Failed("unknownCommand", "Command executed is unknown.")
        if self._level == 1 and name != "camera.startSession":
            if "sessionId" not in parameters:
                raise _Failed("missingParameter", "sessionId is missing.")
            if parameters["sessionId"] != self._session_id:
                raise _Failed("invalidSessionId", "This session has ended.")
        try:
            results = command(self, parameters)
        except Refused as refused:
            raise _Failed("disabledCommand", str(refused)) from None
        if isinstance(results, Stream):
            return results
        done: dict[str, object] = {"name": name, "state": "done"}
        return Response(done | ({"results": results} if results else {}))

    @property
    def _session_id(self) -> str:
        return f"SID_{self._session:04}"

    def _info(self) -> Results:
        settings = self._camera.settings
        level: Results = {"apiLevel": [1, 2] if self._has_level_1 else [2]}
        return level | {
            "manufacturer": self._maker.value,
            "model": settings.model,
            "serialNumber": settings.serial_number,
            "firmwareVersion": settings.firmware_version,
            "supportUrl": "http://camera.invalid/support",
            "endpoints": {"httpPort": 80, "httpUpdatesPort": 80},
            "gps": False,
            "gyro": True,
            "uptime": max(0, int(self._camera.clock_s - self._began)),
            "api": ["/osc/info", *_POSTED],
        }

    def _state(self) -> Results:
        camera = self._camera
        state: Results = {"batteryLevel": camera.battery / _FULL}
        if self._maker is Maker.INSTA360:
            card = _CARD_STATES[camera.storage]
            return state | {"storageUri": "http://192.168.42.1:80/DCIM/", "_cardState": card}
        charged = "charged" if camera.battery == _FULL else "charging"
        last = camera.last_ended
        url = "" if last is None else self._url(last)
        state |= {
            "_captureStatus": "shooting" if camera.is_recording or camera.takes_photos else "idle",
            "_recordedTime": camera.counted_s,
            "_recordableTime": camera.seconds_left if camera.is_recording else 0,
            "_batteryState": charged if camera.charging else "disconnect",
        }
        if not self._has_level_1:
            state["_cameraError"] = self._errors()
        if self._level == 1:
            return state | {
                "sessionId": self._session_id,
                "storageChanged": False,
                "_latestFileUri": url.partition("/files/")[2],
            }
        if not self._has_level_1:
            state["_boardTemp"] = camera.temperature_c
        return state | {
            "storageUri": "http://192.168.1.1/files/",
            "_latestFileUrl": url,
            "_apiVersion": self._level,
        }

    def _errors(self) -> list[str]:
        """Which codes there are depends on the model."""
        camera = self._camera
        no_card = "READ_ERROR" if self._has_card else "INTERNAL_MEM_ACCESS_FAIL"
        applying = {
            "NO_MEMORY": camera.storage is StorageState.FULL,
            no_card: camera.storage is StorageState.MISSING,
            "CANNOT_RECORD_LOWBAT": self._has_card and camera.battery == 0,
            "HIGH_TEMPERATURE_WARNING": camera.temperature is TemperatureState.WARNING,
            "HIGH_TEMPERATURE": camera.temperature is TemperatureState.TOO_HOT,
        }
        return [code for code, applies in applying.items() if applies]

    def _fingerprinted(self) -> str:
        """Another text for each state that is told."""
        number, told = self._fingerprint
        state = json.dumps(self._state())
        if state != told:
            self._fingerprint = (number + 1, state)
        return f"FIG_{self._fingerprint[0]:04}"

    def _url(self, file: Ended) -> str:
        host = "192.168.1.1" if self._maker is Maker.RICOH else "192.168.42.1:80"
        return f"http://{host}{self.path_of(file)}"

    def path_of(self, file: Ended) -> str:
        """Where a file is, and is downloaded."""
        if self._maker is Maker.RICOH:
            return f"/files/100RICOH/R001{file.number:04}.MP4"
        local = _EPOCH + timedelta(seconds=file.began_s, minutes=self._camera.zone_min)
        return f"/DCIM/Camera01/VID_{local:%Y%m%d_%H%M%S}_00_{file.number:03}.insv"

    def _video_at(self, path: str) -> Video | None:
        return next((Video(file.size) for file in self._camera.files if path == self.path_of(file)), None)

    def _start_session(self, parameters: Parameters) -> Results:  # noqa: ARG002
        self._session += 1
        return {"sessionId": self._session_id, "timeout": 180}

    def _close_session(self, parameters: Parameters) -> Results:  # noqa: ARG002
        self._session += 1
        return {}

    def _get_options(self, parameters: Parameters) -> Results:
        names = parameters.get("optionNames")
        if not isinstance(names, list):
            raise _Failed("missingParameter", "optionNames is missing.")
        have = self._options | self._read_only()
        if self._camera.takes_photos:
            have["captureMode"] = "image"
        elif have["captureMode"] == "video":
            have["captureMode"] = self._video
        if len(names) > _MOST_OPTIONS or not all(isinstance(name, str) and name in have for name in names):
            raise _Failed("invalidParameterValue", "There is no such option.")
        return {"options": {name: have[name] for name in names}}

    def _read_only(self) -> Results:
        camera = self._camera
        told: Results = {
            "remainingSpace": camera.card_free,
            "totalSpace": camera.card_total,
            "remainingPictures": camera.card_free // _PHOTO_BYTES,
        }
        if self._maker is Maker.INSTA360:
            return told | {
                "_batteryCapacity": {"powerType": int(camera.charging), "powerLevel": camera.battery},
                "_dateTime": self._zoned(camera.clock_s),
                "_sysTimestamp": int(camera.clock_s),
            }
        return told | {
            "remainingVideoSeconds": camera.seconds_left,
            "dateTimeZone": self._zoned(camera.clock_s),
            "clientVersion": self._level,
        }

    def _zoned(self, moment_s: float) -> str:
        """A moment of its clock, with its time zone."""
        zone_min = self._camera.zone_min
        local = _EPOCH + timedelta(seconds=int(moment_s), minutes=zone_min)
        hours, minutes = divmod(abs(zone_min), 60)
        return f"{local:%Y:%m:%d %H:%M:%S}{'-' if zone_min < 0 else '+'}{hours:02}:{minutes:02}"

    def _set_options(self, parameters: Parameters) -> Results:
        wanted = parameters.get("options")
        if not isinstance(wanted, dict):
            raise _Failed("missingParameter", "options is missing.")
        if self._camera.is_recording or self._camera.takes_photos:
            raise _Failed("disabledCommand", "It is shooting.")
        if "dateTimeZone" in wanted and len(wanted) > 1:
            raise _Failed("invalidParameterValue", "The clock is set alone.")
        setters = {**_SETTERS} if self._maker is Maker.RICOH else {**_SETTERS_OF_BOTH}
        for name in wanted:
            if name not in setters:
                raise _Failed("invalidParameterName", "There is no such option to set.")
        for name, value in wanted.items():
            setters[name](self, value)
        return {}

    def _set_mode(self, value: object) -> None:
        if value not in {"image", self._video}:
            raise _Failed("invalidParameterValue", "There is no such mode.")
        self._options["captureMode"] = "video" if value == self._video else "image"

    @property
    def _video(self) -> str:
        """The mode for videos, as the level has it."""
        return "_video" if self._level == 1 else "video"

    def _set_delay(self, name: str, value: object) -> None:
        if type(value) is not int or not 0 <= value <= 65535:
            raise _Failed("invalidParameterValue", "A delay is 0 to 65535 seconds.")
        self._options[name] = value

    def _set_off_delay(self, value: object) -> None:
        self._set_delay("offDelay", value)

    def _set_sleep_delay(self, value: object) -> None:
        self._set_delay("sleepDelay", value)

    def _set_version(self, value: object) -> None:
        if value not in {1, 2} or (value == 1 and not self._has_level_1):
            raise _Failed("invalidParameterValue", "There is no such version.")
        self._level = 2 if value == 2 else 1

    def _set_clock(self, value: object) -> None:
        shape = r"(\d{4}:\d\d:\d\d \d\d:\d\d:\d\d)([+-])(\d\d):(\d\d)"
        parts = re.fullmatch(shape, value, re.ASCII) if isinstance(value, str) else None
        invalid = _Failed("invalidParameterValue", "The time is YYYY:MM:DD hh:mm:ss+hh:mm.")
        if parts is None:
            raise invalid
        try:
            local = datetime.strptime(parts[1], "%Y:%m:%d %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            raise invalid from None
        zone_min = (int(parts[3]) * 60 + int(parts[4])) * (-1 if parts[2] == "-" else 1)
        self._camera.set_clock((local - _EPOCH).total_seconds() - zone_min * 60, zone_min)

    def _set_bluetooth(self, value: object) -> None:
        if value not in {"ON", "OFF"}:
            raise _Failed("invalidParameterValue", "Bluetooth is ON or OFF.")
        self.is_bluetooth_on = value == "ON"

    def _set_host(self, parameters: Parameters) -> Results:
        if not self.registers_hosts:
            raise _Failed("unknownCommand", "Command executed is unknown.")
        uuid = parameters.get("uuid")
        if not isinstance(uuid, str) or not re.fullmatch(
            r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", uuid
        ):
            raise _Failed("invalidParameterValue", "It is not a UUID.")
        self.hosts.add(uuid.lower())
        return {"deviceName": self._camera.settings.serial_number[2:]}

    def _start(self, parameters: Parameters) -> Results:  # noqa: ARG002
        if self._options["captureMode"] != "video":
            raise _Failed("disabledCommand", "It is in another mode.")
        self._camera.start()
        return {}

    def _list_files(self, parameters: Parameters) -> Results:
        count, kind = parameters.get("entryCount"), parameters.get("fileType")
        if type(count) is not int or "maxThumbSize" not in parameters:
            raise _Failed("missingParameter", "entryCount or maxThumbSize is missing.")
        if count < 1 or kind not in {"all", "image", "video"}:
            raise _Failed("invalidParameterValue", "There are no such files.")
        if self._camera.is_recording:
            raise _Failed("disabledCommand", "It is shooting.")
        files = [] if kind == "image" else list(reversed(self._camera.files))
        return {"entries": [self._entry(file) for file in files[:count]], "totalEntries": len(files)}

    def _entry(self, file: Ended) -> Results:
        url = self._url(file)
        return {
            "name": url.rpartition("/")[2],
            "fileUrl": url,
            "size": file.size,
            "dateTimeZone": self._zoned(file.began_s),
            "isProcessed": True,
            "previewUrl": "",
            "_recordTime": int(file.seconds),
        }

    def _preview(self, parameters: Parameters) -> Stream:  # noqa: ARG002
        if self._maker is not Maker.RICOH:
            raise _Failed("unknownCommand", "Command executed is unknown.")
        if not self._has_preview:
            raise _Failed("disabledCommand", "Command is currently disabled.")
        from wifimgrd.simulator.emulators._live_preview import live_preview  # noqa: PLC0415 - few look at one

        mode = self._options["captureMode"]
        return live_preview(
            self._camera,
            lambda: self.answers and self._has_preview and self._options["captureMode"] == mode,
        )

    @property
    def _has_preview(self) -> bool:
        """S and SC have it in their mode for photos only."""
        camera = self._camera
        is_shooting = camera.is_recording or camera.takes_photos
        return not is_shooting and (not self._has_level_1 or self._options["captureMode"] == "image")

    def _stop(self, parameters: Parameters) -> Results:  # noqa: ARG002
        return {"fileUrls": [self._url(self._camera.stop())]}

    def _sleep(self, parameters: Parameters) -> Results:  # noqa: ARG002
        self._camera.sleep()
        return {}


def _object(body: bytes) -> Parameters:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise _Failed("missingParameter", "The body is not an object.")
    return content


def _error(failed: _Failed) -> Response:
    error = {"code": failed.code, "message": str(failed)}
    return Response({"state": "error", "error": error}, _STATUS[failed.code])


_POSTED: Final = ("/osc/state", "/osc/checkForUpdates", "/osc/commands/execute")
_COMMANDS: Final[Mapping[tuple[int, str], Callable[[OscEmulator, Parameters], Results | Stream]]] = {
    (1, "camera.startSession"): OscEmulator._start_session,
    (1, "camera.closeSession"): OscEmulator._close_session,
    (1, "camera.getOptions"): OscEmulator._get_options,
    (1, "camera.setOptions"): OscEmulator._set_options,
    (1, "camera._startCapture"): OscEmulator._start,
    (1, "camera._stopCapture"): OscEmulator._stop,
    (1, "camera._finishWlan"): OscEmulator._sleep,
    (2, "camera.getOptions"): OscEmulator._get_options,
    (2, "camera.setOptions"): OscEmulator._set_options,
    (2, "camera.startCapture"): OscEmulator._start,
    (2, "camera.stopCapture"): OscEmulator._stop,
    (2, "camera.listFiles"): OscEmulator._list_files,
    (2, "camera.getLivePreview"): OscEmulator._preview,
    (2, "camera._finishWlan"): OscEmulator._sleep,
    (2, "camera._setBluetoothDevice"): OscEmulator._set_host,
}
"""By the API's level."""
_SETTERS_OF_BOTH: Final[Mapping[str, Callable[[OscEmulator, object], None]]] = {
    "captureMode": OscEmulator._set_mode,
    "offDelay": OscEmulator._set_off_delay,
    "sleepDelay": OscEmulator._set_sleep_delay,
}
_SETTERS: Final = {
    **_SETTERS_OF_BOTH,
    "clientVersion": OscEmulator._set_version,
    "dateTimeZone": OscEmulator._set_clock,
    "_bluetoothPower": OscEmulator._set_bluetooth,
}

EMULATED: Final = {
    CameraDriver.OSC: EmulatedKind(OscEmulator, "RICOH THETA X", "YR12345678", "2.63.0"),
}
