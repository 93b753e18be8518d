"""Why a camera does not do what it is told, as sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from wifimgrd.domain.camera import CameraReading, StopReason, StorageState, TemperatureState
from wifimgrd.domain.errors import CameraRefused

_STORAGE: Final[Mapping[StorageState | None, str]] = {
    StorageState.FULL: "the card is full",
    StorageState.MISSING: "the camera has no card",
    StorageState.ERROR: "the camera cannot write to its card",
}
_TEMPERATURE: Final[Mapping[TemperatureState | None, str]] = {
    TemperatureState.TOO_HOT: "the camera is too hot",
    TemperatureState.TOO_COLD: "the camera is too cold",
}
_THETA: Final[Mapping[str, str]] = {
    "CANNOT_RECORDING": "with its battery in, the camera records over Wi-Fi only in lower resolutions: choose"
    " one, or take the battery out and power it by USB",
    "CANNOT_RECORD_LOWBAT": "the battery is too low to record over Wi-Fi",
    "MEDIA_NOT_READY": "the card is not ready yet",
    "IN_PROGRESS_ERROR": "the camera is working on its files",
    "NO_DATE_SETTING": "the camera's clock is not set",
    "CAPTURE_HW_FAILED": "the camera reports a fault of its hardware",
    "CAPTURE_SW_FAILED": "the camera reports a fault of its software: switch it off and on",
    "UNEXPECTED_ERROR": "the camera reports an unexpected error: switch it off and on",
    "BATTERY_CHARGE_FAIL": "the camera cannot charge its battery",
}
"""Errors of https://github.com/ricohapi/theta-api-specs/blob/main/theta-web-api-v2.1/protocols/state.md that
neither card nor temperature tell, the one that explains most first."""
_REASONS: Final[Mapping[StopReason | None, str]] = {
    StopReason.FULL: "the card is full",
    StopReason.BATTERY: "the battery is empty",
    StopReason.TOO_HOT: "the camera is too hot",
    StopReason.SLOW_CARD: "the card is too slow",
}


def require_card(reading: CameraReading) -> None:
    """Raise CameraRefused if there is nothing to record to."""
    if (sentence := _STORAGE.get(reading.storage_state)) is not None:
        raise CameraRefused(sentence)


def refusal(
    reading: CameraReading,
    said: str,
    *,
    on: bool,
    reason: StopReason | None = None,
    errors: Collection[str] = (),
) -> CameraRefused:
    """Why a camera has refused a command: the `reason` that it has sent by itself, its state, or the errors
    that a Theta reports; else what it said."""
    sentence = None
    if on:
        sentence = (
            _REASONS.get(reason)
            or _STORAGE.get(reading.storage_state)
            or _TEMPERATURE.get(reading.temperature)
        )
        if sentence is None and reading.battery_level == 0:
            sentence = "the battery is empty"
        if sentence is None and reading.storage_state is StorageState.SLOW:
            sentence = "the card is too slow"
        if sentence is None:
            sentence = next((told for error, told in _THETA.items() if error in errors), None)
    return CameraRefused(sentence or f"the camera refused: {said}")
