"""Which changes of a camera's values clients are told at once: a number has a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from wifimgrd.domain.camera import CLOCK_STEP_US, TIME_LEFT_STEP_S, CameraReading, CameraStatus

PUBLISHED: Final = (
    "recording",
    "battery_level",
    "battery_state",
    "storage_state",
    "storage_free",
    "storage_total",
    "time_left_s",
    "temperature",
    "clock_offset_us",
    "model",
    "serial_number",
    "firmware_version",
)
"""The values of a reading that a camera decides and that clients are told, by their names."""
REFRESH_S: Final = 10.0
"""A camera that is read is told so often, with what has changed by less than a step."""
_SHORT_TIME_LEFT_S: Final = 300
"""Below it the steps are shorter."""
_SHORT_TIME_LEFT_STEP_S: Final = 10


def _storage_step(_: CameraReading, before: CameraReading) -> int:
    """One percent of the card; of what was free if its size is not known."""
    return max(1, (before.storage_total or before.storage_free or 0) // 100)


def _time_left_step(now: CameraReading, _: CameraReading) -> int:
    is_short = (now.time_left_s or 0) < _SHORT_TIME_LEFT_S
    return _SHORT_TIME_LEFT_STEP_S if is_short else TIME_LEFT_STEP_S


_STEPS: Final[Mapping[str, Callable[[CameraReading, CameraReading], int]]] = MappingProxyType(
    {
        "battery_level": lambda _, __: 1,
        "storage_free": _storage_step,
        "time_left_s": _time_left_step,
        "clock_offset_us": lambda _, __: CLOCK_STEP_US,
    }
)


def is_number(name: str, now: CameraReading, before: CameraReading) -> bool:
    """Whether a value has a step, and is known in both readings."""
    return name in _STEPS and None not in (getattr(now, name), getattr(before, name))


def steps(name: str, now: CameraReading, before: CameraReading) -> float:
    """By how many steps a number has moved: up, or down."""
    return float((getattr(now, name) - getattr(before, name)) / _STEPS[name](now, before))


def differs(now: CameraStatus, published: CameraStatus) -> bool:
    """Whether clients, who were told another one, are told this one at once, whatever its numbers are."""
    if (now.requested, now.problems) != (published.requested, published.problems):
        return True
    reading, before = now.reading, published.reading
    if reading.recording_since_us != before.recording_since_us:
        return True
    return any(
        getattr(reading, name) != getattr(before, name) and not is_number(name, reading, before)
        for name in PUBLISHED
    )
