"""A GoPro over HTTP: Open GoPro, and what older programs ask for (`/gp/gpControl`).

Facts: https://gopro.github.io/OpenGoPro/http. Which routes there are depends on the model, by its firmware.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

from wifimgrd.domain.camera import CameraDriver, StopReason, StorageState, TemperatureState
from wifimgrd.simulator.emulators import _gopro_card as card
from wifimgrd.simulator.emulators._camera import EmulatedCamera, Refusal, Refused
from wifimgrd.simulator.emulators._emulators import EmulatedKind
from wifimgrd.simulator.emulators._http import HttpEmulator, Request, Response, Video

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DONE: Final = Response()
_BARS: Final = 3
_PHOTO_BYTES: Final = 12_000_000
_KB: Final = 1024
_CARD_STATES: Final[Mapping[StorageState, int]] = {
    StorageState.OK: 0,
    StorageState.SLOW: 0,
    StorageState.FULL: 1,
    StorageState.MISSING: 2,
}
_SETTINGS: Final[Mapping[int, tuple[int, ...]]] = {
    2: (1, 4, 9, 100),  # video resolution
    3: (0, 1, 5, 8),  # frames per second
    59: (0, 1, 4, 6, 7),  # auto power down
    121: (0, 2, 3, 4),  # lens
    178: (0, 1),  # Wi-Fi band
}
"""The settings there are, with their options; the first is set at first."""
GOPRO_NUMBERS: Final[Mapping[str, int]] = {
    "HERO9 Black": 55,
    "HERO10 Black": 57,
    "HERO11 Black": 58,
    "HERO11 Black Mini": 60,
    "HERO12 Black": 62,
    "MAX2": 64,
    "HERO13 Black": 65,
}
"""The number of a model, which it tells and advertises: https://gopro.github.io/OpenGoPro/ble."""
_HERO9, _HERO10, _HERO11, _HERO12 = 9, 21, 22, 23
"""Generations, as the firmware's version begins with them."""
_GROUPS: Final[Mapping[int, int]] = {1000: 12, 1001: 17, 1002: 13}
"""Groups of presets, each with the mode of its first one: video, photo, time lapse video."""
_VIDEO: Final = 1000
_PHOTO: Final = 1001
_NIGHT_PHOTO: Final = 18

_Route = Callable[["GoProEmulator", Request], Response]


class GoProEmulator(HttpEmulator):
    """Serves a camera as a GoPro does."""

    ports = frozenset({80, 8080})

    def __init__(self, camera: EmulatedCamera) -> None:
        super().__init__(camera)
        self._settings = {number: options[0] for number, options in _SETTINGS.items()}
        self._previews = False
        self._turbo = False
        self._control = 0
        self._group = _VIDEO
        self._keep_alives = 0

    @property
    def keep_alives(self) -> int:
        """How many messages have kept it awake."""
        return self._keep_alives

    def _answer(self, request: Request) -> Response | Video:
        if request.method == "GET" and (video := card.video(self._camera, request.path)) is not None:
            return video
        route = _ROUTES.get(request.path)
        if route is None and request.path.startswith(_OLD_SETTING):
            route = GoProEmulator._set_old_setting
        if route is None or request.method != "GET" or not self._has_route(request.path):
            return Response({"error": "not found"}, HTTPStatus.NOT_FOUND)
        try:
            return route(self, request)
        except Refused as refused:
            return Response({"error": str(refused)}, HTTPStatus.INTERNAL_SERVER_ERROR)

    def _has_route(self, path: str) -> bool:
        return self._generation >= _SINCE.get(path, _HERO9)

    @property
    def _generation(self) -> int:
        """The number in `H23.01...`; 9 of `HD9...`."""
        found = re.match(r"HD?(\d+)", self._camera.settings.firmware_version)
        return int(found[1]) if found else 0

    # Open GoPro.

    def _state(self, request: Request) -> Response:  # noqa: ARG002
        return Response({"status": self._numbered_statuses(), "settings": self._numbered_settings()})

    def _numbered_settings(self) -> dict[str, int]:
        return {str(number): option for number, option in self._settings.items()}

    def _numbered_statuses(self) -> dict[str, int | str]:
        return {str(number): value for number, value in self.statuses().items()}

    def statuses(self) -> dict[int, int | str]:
        """All statuses that such a camera has, by their ids."""
        camera = self._camera
        storage = camera.storage
        bars = 4 if camera.charging else round(camera.battery * _BARS / 100)
        values: dict[int, int | str] = {
            1: 1,
            2: bars,
            6: int(camera.temperature is TemperatureState.TOO_HOT),
            8: 0,
            10: int(camera.is_recording or camera.takes_photos),
            13: camera.counted_s,
            17: 1,
            30: camera.settings.ssid,
            31: 1,
            33: _CARD_STATES[storage],
            34: camera.card_free // _PHOTO_BYTES,
            35: camera.seconds_left,
            38: 0,
            39: len(camera.files),
            54: camera.card_free // _KB,
            55: 1,
            69: 1,
            70: camera.battery,
            82: 1,
            85: int(camera.temperature is TemperatureState.TOO_COLD),
            89: _NIGHT_PHOTO if camera.takes_photos else _GROUPS[self._group],
            96: _PHOTO if camera.takes_photos else self._group,
            113: int(self._turbo),
        }
        if self._generation <= _HERO12:
            values[32] = int(self._previews)
        if self._generation >= _HERO10:
            values |= {
                111: int(storage is StorageState.SLOW),
                112: sum(file.reason is StopReason.SLOW_CARD for file in camera.files),
                114: self._control,
                115: 0,  # a PC by USB, which no emulated camera has
                116: 0,
            }
        if self._generation >= _HERO11:
            values[117] = camera.card_total // _KB
        return values

    def _info(self, request: Request) -> Response:  # noqa: ARG002
        return Response(self.identity())

    def identity(self) -> dict[str, str]:
        """The identity that it reports."""
        settings = self._camera.settings
        return {
            "model_number": str(GOPRO_NUMBERS.get(settings.model, 0)),
            "model_name": settings.model,
            "firmware_version": settings.firmware_version,
            "serial_number": settings.serial_number,
            "ap_mac_addr": "0200" + settings.serial_number[-8:].encode().hex()[-8:],
            "ap_ssid": settings.ssid,
        }

    def _keep_alive(self, request: Request) -> Response:  # noqa: ARG002
        self._keep_alives += 1
        return _DONE

    def press(self, *, on: bool) -> None:
        """Press the shutter, or release it; raises Refused."""
        if on:
            self._camera.start()
        elif self._camera.is_recording:
            self._camera.stop()

    def _start(self, request: Request) -> Response:  # noqa: ARG002
        self.press(on=True)
        return _DONE

    def _stop(self, request: Request) -> Response:  # noqa: ARG002
        self.press(on=False)
        return _DONE

    def _set_date_time(self, request: Request) -> Response:
        query = request.query
        date = re.fullmatch(r"(\d{4})_(\d{1,2})_(\d{1,2})", query.get("date", ""))
        time = re.fullmatch(r"(\d{1,2})_(\d{1,2})_(\d{1,2})", query.get("time", ""))
        zone = re.fullmatch(r"-?\d{1,3}", query.get("tzone", "0"))
        if date is None or time is None or zone is None:
            return Response({"error": "invalid"}, HTTPStatus.BAD_REQUEST)
        return self.set_clock(
            [int(part) for part in (*date.groups(), *time.groups())],
            int(zone[0]) if self.has_zone else 0,
        )

    @property
    def has_zone(self) -> bool:
        """Whether its clock has a time zone."""
        return self._generation >= _HERO11

    @property
    def reboots(self) -> bool:
        """Whether it takes the command for that."""
        return self._generation >= _HERO12

    def reboot(self) -> None:
        """Reboot, as if its battery were pulled out."""
        self._camera.on_reboot()

    @property
    def zone_min(self) -> int:
        """Its time zone, minutes east of UTC."""
        return self._camera.zone_min

    def set_clock(self, parts: list[int], zone_min: int) -> Response:
        """Set year, month, ..., second of its local time, and that time's minutes after UTC."""
        if self._camera.is_recording:
            return Response({"error": "busy"}, HTTPStatus.INTERNAL_SERVER_ERROR)
        try:
            year, month, day, hour, minute, second = parts
            local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        except ValueError:
            return Response({"error": "invalid"}, HTTPStatus.BAD_REQUEST)
        self._camera.set_clock((local - _EPOCH).total_seconds() - zone_min * 60, zone_min)
        return _DONE

    def local_time(self) -> datetime:
        """The time that its clock shows."""
        return _EPOCH + timedelta(seconds=self._camera.clock_s, minutes=self._camera.zone_min)

    def _get_date_time(self, request: Request) -> Response:  # noqa: ARG002
        local = self.local_time()
        return Response(
            {
                "date": f"{local:%Y_%m_%d}",
                "time": f"{local:%H_%M_%S}",
                "dst": 0,
                "tzone": self._camera.zone_min,
            }
        )

    def _set_setting(self, request: Request) -> Response:
        query = request.query
        return self._set_option(
            query.get("setting", query.get("setting_id", "")), query.get("option", query.get("opt_value", ""))
        )

    def _set_old_setting(self, request: Request) -> Response:
        setting, _, option = request.path.removeprefix(_OLD_SETTING).partition("/")
        return self._set_option(setting, option)

    def _set_option(self, setting: str, option: str) -> Response:
        numbers = [int(text) if re.fullmatch("[0-9]{1,4}", text) else -1 for text in (setting, option)]
        options = _SETTINGS.get(numbers[0], ())
        if numbers[1] not in options:
            refused = {
                "error": 1,
                "setting_id": setting[:8],
                "option_id": option[:8],
                "supported_options": [{"display_name": str(one), "id": one} for one in options],
            }
            return Response(refused, HTTPStatus.FORBIDDEN)
        if self._camera.is_recording:
            return Response({"error": "busy"}, HTTPStatus.INTERNAL_SERVER_ERROR)
        self._settings[numbers[0]] = numbers[1]
        return _DONE

    def _start_preview(self, request: Request) -> Response:  # noqa: ARG002
        self._previews = True
        return _DONE

    def _stop_preview(self, request: Request) -> Response:  # noqa: ARG002
        self._previews = False
        return _DONE

    def _media(self, request: Request) -> Response:  # noqa: ARG002
        return Response(card.media_list(self._camera))

    def _last_captured(self, request: Request) -> Response:  # noqa: ARG002
        found = card.last_captured(self._camera)
        return Response(found, HTTPStatus.OK if found else HTTPStatus.NO_CONTENT)

    def _media_info(self, request: Request) -> Response:
        if (path := request.query.get("path")) is None:
            return Response({"error": "invalid"}, HTTPStatus.BAD_REQUEST)
        found = card.information(self._camera, path)
        return Response(found) if found else Response({"error": "not found"}, HTTPStatus.NOT_FOUND)

    def _set_turbo(self, request: Request) -> Response:
        self._turbo = request.query.get("p") == "1"
        return _DONE

    def _set_controller(self, request: Request) -> Response:
        self._control = 2 if request.query.get("p") == "2" else 0
        return _DONE

    def _set_group(self, request: Request) -> Response:
        group = request.query.get("id", "")
        if not re.fullmatch("[0-9]{4}", group):
            return Response({"error": "invalid"}, HTTPStatus.BAD_REQUEST)
        self.set_group(int(group))
        return _DONE

    def set_group(self, group: int) -> None:
        """Choose a group of presets; raises Refused."""
        if group not in _GROUPS:
            raise Refused(Refusal.OTHER)
        if self._camera.is_recording or self._camera.takes_photos:
            raise Refused(Refusal.BUSY)
        self._group = group

    def _version(self, request: Request) -> Response:  # noqa: ARG002
        return Response({"version": "2.0"})

    def _accept(self, request: Request) -> Response:  # noqa: ARG002
        return _DONE

    def _sleep(self, request: Request) -> Response:  # noqa: ARG002
        self._camera.sleep()
        return _DONE

    def _reset(self, request: Request) -> Response:  # noqa: ARG002
        self._camera.switch_off()
        return _DONE

    # Requests from before Open GoPro.

    def _old_info(self, request: Request) -> Response:  # noqa: ARG002
        return Response({"info": self.identity() | {"ap_mac": self.identity()["ap_mac_addr"]}})

    def _old_status(self, request: Request) -> Response:  # noqa: ARG002
        return Response({"status": self._old_statuses(), "settings": self._numbered_settings()})

    def _old_statuses(self) -> dict[str, int | str]:
        # Here, 8 says whether it works, and so is set during a recording, too.
        return self._numbered_statuses() | {"8": int(self._camera.is_recording), "43": 0, "44": 0}

    def _old_shutter(self, request: Request) -> Response:
        return self._start(request) if request.query.get("p") == "1" else self._stop(request)

    def _old_date_time(self, request: Request) -> Response:
        """`p` is year, month, ..., second, each as `%` and one or two hexadecimal digits."""
        parts = re.fullmatch("p=((?:%[0-9A-Fa-f]{1,2}){6})", request.raw_query)
        if parts is None:
            return Response({"error": "invalid"}, HTTPStatus.BAD_REQUEST)
        year, *others = (int(part, 16) for part in parts[1].split("%")[1:])
        return self.set_clock([2000 + year, *others], 0)


_OLD_SETTING: Final = "/gp/gpControl/setting/"
_ROUTES: Final[Mapping[str, _Route]] = {
    "/gopro/camera/state": GoProEmulator._state,
    "/gopro/camera/info": GoProEmulator._info,
    "/gopro/camera/keep_alive": GoProEmulator._keep_alive,
    "/gopro/camera/shutter/start": GoProEmulator._start,
    "/gopro/camera/shutter/stop": GoProEmulator._stop,
    "/gopro/camera/set_date_time": GoProEmulator._set_date_time,
    "/gopro/camera/get_date_time": GoProEmulator._get_date_time,
    "/gopro/camera/setting": GoProEmulator._set_setting,
    "/gopro/camera/stream/start": GoProEmulator._start_preview,
    "/gopro/camera/stream/stop": GoProEmulator._stop_preview,
    "/gopro/camera/presets/load": GoProEmulator._accept,
    "/gopro/camera/presets/set_group": GoProEmulator._set_group,
    "/gopro/camera/control/set_ui_controller": GoProEmulator._set_controller,
    "/gopro/camera/control/wired_usb": GoProEmulator._accept,
    "/gopro/camera/analytics/set_client_info": GoProEmulator._accept,
    "/gopro/media/list": GoProEmulator._media,
    "/gopro/media/last_captured": GoProEmulator._last_captured,
    "/gopro/media/info": GoProEmulator._media_info,
    "/gopro/media/turbo_transfer": GoProEmulator._set_turbo,
    "/gopro/version": GoProEmulator._version,
    "/gp/gpControl": GoProEmulator._old_info,
    "/gp/gpControl/info": GoProEmulator._old_info,
    "/gp/gpControl/status": GoProEmulator._old_status,
    "/gp/gpControl/command/shutter": GoProEmulator._old_shutter,
    "/gp/gpControl/command/mode": GoProEmulator._accept,
    "/gp/gpControl/command/sub_mode": GoProEmulator._accept,
    "/gp/gpControl/command/setup/date_time": GoProEmulator._old_date_time,
    "/gp/gpControl/command/system/sleep": GoProEmulator._sleep,
    "/gp/gpControl/command/system/reset": GoProEmulator._reset,
    "/gp/gpMediaList": GoProEmulator._media,
    "/gp/gpTurbo": GoProEmulator._set_turbo,
}
_SINCE: Final[Mapping[str, int]] = {
    "/gopro/camera/info": _HERO12,
    "/gopro/media/last_captured": _HERO12,
    "/gopro/camera/get_date_time": _HERO11,
    "/gopro/camera/shutter/start": _HERO10,
    "/gopro/camera/shutter/stop": _HERO10,
    "/gopro/camera/control/set_ui_controller": _HERO10,
    "/gopro/camera/control/wired_usb": _HERO10,
    "/gp/gpControl/command/shutter": _HERO10,
}
"""The generation that a route came with. That HERO9 has the last one no more is one owner's measurement."""

EMULATED: Final = {
    CameraDriver.GOPRO: EmulatedKind(
        *(GoProEmulator, "HERO12 Black", "C3501300000001", "H23.01.02.32.00"),
        firmware_versions={
            "HERO9 Black": "HD9.01.01.72.00",
            "HERO10 Black": "H21.01.01.62.00",
            "HERO11 Black": "H22.01.02.32.00",
            "HERO13 Black": "H24.01.01.10.00",
        },
    ),
    CameraDriver.GOPRO_HERO9: EmulatedKind(GoProEmulator, "HERO9 Black", "C3441300000001", "HD9.01.01.72.00"),
}
