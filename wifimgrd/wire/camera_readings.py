"""The values that a camera reports, in the signal CameraRead: one table, for the process and for the daemon.

A camera may report anything, and so may a process that a camera has taken over. Each value is checked by
itself on both sides, and an invalid one is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.bus.connection import Variant
from wifimgrd.domain.camera import (
    BatteryState,
    CameraReading,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)

LONGEST_TEXT: Final = 64
_LATEST_US: Final = 253_402_300_799_000_000
"""The end of the year 9999."""
_LARGEST_CARD: Final = 1 << 50
_LONGEST_RECORDING_S: Final = 100_000_000
_FURTHEST_CLOCK_US: Final = 3_200_000_000_000_000
"""A hundred years: a camera that has lost its time says that it is 1970, or 2016."""


@dataclass(frozen=True, slots=True)
class _Field:
    """How a value goes over the message bus."""

    signature: str
    check: Callable[[object], object | None]
    """The value as the reading has it; None if it is not valid."""


def _number(signature: str, lowest: int, highest: int) -> _Field:
    def check(value: object) -> int | None:
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if lowest <= value <= highest else None

    return _Field(signature, check)


def _word(kind: type[StrEnum]) -> _Field:
    def check(value: object) -> StrEnum | None:
        try:
            return kind(value) if isinstance(value, str) else None
        except ValueError:
            return None

    return _Field("s", check)


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return value if 0 < len(value) <= LONGEST_TEXT and value.isprintable() else None


_TIME: Final = _number("t", 0, _LATEST_US)
_TEXT: Final = _Field("s", _text)
_FIELDS: Final[Mapping[str, _Field]] = MappingProxyType(
    {
        "read_us": _TIME,
        "battery_level": _number("i", 0, 100),
        "battery_state": _word(BatteryState),
        "recording": _word(RecordingState),
        "recording_since_us": _TIME,
        "recorded_s": _number("x", 0, _LONGEST_RECORDING_S),
        "stop_reason": _word(StopReason),
        "storage_state": _word(StorageState),
        "storage_free": _number("x", 0, _LARGEST_CARD),
        "storage_total": _number("x", 0, _LARGEST_CARD),
        "time_left_s": _number("x", 0, _LONGEST_RECORDING_S),
        "temperature": _word(TemperatureState),
        "clock_offset_us": _number("x", -_FURTHEST_CLOCK_US, _FURTHEST_CLOCK_US),
        "clock_read_us": _TIME,
        "clock_bound_us": _number("x", 0, _FURTHEST_CLOCK_US),
        "clock_drift_ppm": _number("i", -1000, 1000),
        "model": _TEXT,
        "serial_number": _TEXT,
        "firmware_version": _TEXT,
    }
)
"""By the name in CameraReading."""


def encode(reading: CameraReading) -> dict[str, Variant]:
    """A reading as `a{sv}`."""
    found = {name: field.check(getattr(reading, name)) for name, field in _FIELDS.items()}
    return {
        name: Variant(_FIELDS[name].signature, str(value) if isinstance(value, StrEnum) else value)
        for name, value in found.items()
        if value is not None
    }


def decode(values: Mapping[str, object]) -> CameraReading:
    """The reading that `a{sv}` stands for, variants unpacked."""
    found: dict[str, Any] = {
        name: value
        for name, field in _FIELDS.items()
        if name in values and (value := field.check(values[name])) is not None
    }
    return CameraReading(**found)
