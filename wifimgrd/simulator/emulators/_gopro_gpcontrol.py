"""A GoPro from before Open GoPro over HTTP, with the requests that https://github.com/KonradIT/goprowifihack
has for HERO5 to HERO8, MAX and Fusion, and no other. Its files are at port 8080."""

from __future__ import annotations

from typing import Final

from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator.emulators._emulators import EmulatedKind
from wifimgrd.simulator.emulators._gopro import GoProEmulator
from wifimgrd.simulator.emulators._http import Request, Response, Video

_MODE: Final = "/gp/gpControl/command/mode"
_VIDEO, _PHOTOS = "0", "1"
_MODES: Final = (_VIDEO, _PHOTOS, "2")
_NEWER: Final = ("89", "96", "113")
"""Statuses that came with presets, and with faster downloads."""


class GpControlEmulator(GoProEmulator):
    """Serves a camera as an older GoPro does."""

    _mode = _VIDEO

    def _has_route(self, path: str) -> bool:
        return path.startswith("/gp/") and path != "/gp/gpTurbo"

    def _answer(self, request: Request) -> Response | Video:
        if request.path == _MODE and request.query.get("p") in _MODES:
            self._mode = request.query["p"]
        return super()._answer(request)

    def _old_statuses(self) -> dict[str, int | str]:
        mode = _PHOTOS if self._camera.takes_photos else self._mode
        told = super()._old_statuses() | {"43": int(mode)}
        return {number: value for number, value in told.items() if number not in _NEWER}

    def press(self, *, on: bool) -> None:
        """Press the shutter, or release it; raises Refused. In a mode for photos it takes one."""
        if self._mode == _VIDEO:
            super().press(on=on)


EMULATED: Final = {
    CameraDriver.GOPRO_GPCONTROL: EmulatedKind(
        *(GpControlEmulator, "HERO7 Black", "C3281300000001", "HD7.01.01.90.00"),
        firmware_versions={
            "HERO5 Black": "HD5.02.02.70.00",
            "HERO6 Black": "HD6.01.02.10.00",
            "HERO8 Black": "HD8.01.02.51.00",
            "MAX": "H19.03.02.00.00",
            "Fusion": "FS1.04.01.80.00",
        },
    ),
}
