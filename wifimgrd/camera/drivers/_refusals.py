"""Why a camera does not do what it is told, as sentences."""

from __future__ import annotations

from collections.abc import Mapping
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
    reading: CameraReading, said: str, *, on: bool, reason: StopReason | None = None
) -> CameraRefused:
    """Why a camera has refused a command: the `reason` that it has sent by itself, or its state; else what it
    said."""
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
    return CameraRefused(sentence or f"the camera refused: {said}")
