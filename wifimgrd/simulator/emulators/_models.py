"""What an emulated camera is, where nobody says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator.emulators._camera import CameraSettings

_DEFAULTS: Final[Mapping[CameraDriver, tuple[str, str, str]]] = {
    CameraDriver.GOPRO: ("HERO12 Black", "C3501300000001", "H23.01.02.32.00"),
    CameraDriver.GOPRO_HERO9: ("HERO9 Black", "C3441300000001", "HD9.01.01.72.00"),
    CameraDriver.INSTA360: ("Insta360 X4", "IAHEA2400000001", "v1.6.21_build1"),
    CameraDriver.OSC: ("RICOH THETA X", "YR12345678", "2.63.0"),
}
"""Model, serial number, version of the firmware."""
_GOPRO_FIRMWARE: Final[Mapping[str, str]] = {
    "HERO9 Black": "HD9.01.01.72.00",
    "HERO10 Black": "H21.01.01.62.00",
    "HERO11 Black": "H22.01.02.32.00",
    "HERO13 Black": "H24.01.01.10.00",
}


def settings_of(
    driver: CameraDriver,
    *,
    model: str | None,
    serial_number: str | None,
    firmware_version: str | None,
    state: CameraSettings,
) -> CameraSettings:
    """The settings of a camera; what is None or empty is as such a camera has it."""
    usual_model, usual_number, usual_version = _DEFAULTS[driver]
    model = model or usual_model
    return replace(
        state,
        model=model,
        serial_number=serial_number or usual_number,
        firmware_version=firmware_version or _GOPRO_FIRMWARE.get(model, usual_version),
    )
