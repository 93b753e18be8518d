"""Which changes of a camera's values clients are told: each value has a step.

What is told is what counts (wifimgrd.domain.steadiness): both are decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wifimgrd.domain.camera import (
    BATTERY_STEP,
    CLOCK_STEP_US,
    TIME_LEFT_STEP_S,
    CameraReading,
    CameraStatus,
)

TOLD: Final = (
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
_STEPS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "battery_level": BATTERY_STEP,
        "storage_free": 512_000_000,  # less goes by in six seconds of the fastest recording
        "time_left_s": TIME_LEFT_STEP_S,
        "clock_offset_us": CLOCK_STEP_US,
    }
)
"""No recording takes more than ten of them in a minute, and no honest value alternates by one. Of the other
values each change is told."""


def has_changed(name: str, now: CameraReading, before: CameraReading) -> bool:
    """Whether clients that were told one value are told another. That it is not known is another one."""
    value, last = getattr(now, name), getattr(before, name)
    if value == last or value is None or last is None or name not in _STEPS:
        return bool(value != last)
    return bool(abs(value - last) >= _STEPS[name])


def differs(now: CameraStatus, published: CameraStatus) -> bool:
    """Whether clients, who were told another one, are told this one at once."""
    if (now.requested, now.problems) != (published.requested, published.problems):
        return True
    reading, before = now.reading, published.reading
    if reading.recording_since_us != before.recording_since_us:
        return True
    return any(has_changed(name, reading, before) for name in TOLD)
