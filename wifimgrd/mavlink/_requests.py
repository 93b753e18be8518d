"""The meaning of a command to a camera. Pure; sources: common.xml, and what ground programs send."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from wifimgrd.mavlink import _frames as wire

ALL: Final = 0
"""The component, and the system, that is everybody's."""
NO_NUMBER: Final = -2
"""Which no parameter means: neither a component nor an interval."""
ASKED_FOR: Final = MappingProxyType(dict(zip((521, 522, 525, 527), wire.OF_CAMERAS, strict=True)))
"""The messages that are sent where a station asks for them, by the older command for each."""
STEP_S: Final = 0.5
"""The shortest interval at which a message is repeated; others are a number of such steps."""
MOST_STEPS: Final = 120
SET_MESSAGE_INTERVAL: Final = 511
REQUEST_MESSAGE: Final = 512
SET_CAMERA_MODE: Final = 530
VIDEO_START_CAPTURE: Final = 2500
VIDEO_STOP_CAPTURE: Final = 2501
_CAMERA_AT: Final = {SET_CAMERA_MODE: "param1", VIDEO_STOP_CAPTURE: "param2", VIDEO_START_CAPTURE: "param3"}
_VIDEO_MODE: Final = 1
_BY_ID: Final = {one.id: one for one in ASKED_FOR.values()}


class Result(IntEnum):
    """MAV_RESULT."""

    ACCEPTED = 0
    TEMPORARILY_REJECTED = 1
    """It may be accepted later."""
    DENIED = 2
    """A parameter is wrong."""
    UNSUPPORTED = 3
    FAILED = 4
    IN_PROGRESS = 5


@dataclass(frozen=True, slots=True)
class Question:
    """Send a message, now or repeatedly."""

    message: wire.Message
    steps: int | None = None
    """The interval; None = now, 0 = no longer."""


@dataclass(frozen=True, slots=True)
class Capture:
    """Start recording, or stop."""

    on: bool
    steps: int = 0
    """The interval of CAMERA_CAPTURE_STATUS while it records; 0 = none."""


Meaning = Question | Capture | Result


def camera_meant(values: wire.Values) -> int:
    """The component that a command's parameter for the target camera names, or ALL, as NaN is; NO_NUMBER if
    it is not a whole number."""
    value = float(values.get(_CAMERA_AT.get(int(values["command"]), ""), ALL))
    return ALL if math.isnan(value) else _whole(value)


def meaning(values: wire.Values) -> Meaning:
    """The meaning of a command, COMMAND_LONG or COMMAND_INT, or the result that answers it."""
    number, first, second = int(values["command"]), float(values["param1"]), float(values["param2"])
    if number in ASKED_FOR:
        return Question(ASKED_FOR[number])
    if number == VIDEO_START_CAPTURE:
        return Capture(on=True, steps=_steps(1 / second) if 0 < second < math.inf else 0)
    if number == VIDEO_STOP_CAPTURE:
        return Capture(on=False)
    if number == SET_CAMERA_MODE:
        return Result.ACCEPTED if second == _VIDEO_MODE else Result.DENIED
    message, interval_us = _BY_ID.get(_whole(first)), _whole(second)
    if number == REQUEST_MESSAGE and message is not None:
        return Question(message)
    if number == SET_MESSAGE_INTERVAL and message is not None:
        return Question(message, _steps(interval_us / 1e6)) if interval_us >= -1 else Result.DENIED
    return Result.UNSUPPORTED


def _steps(interval_s: float) -> int:
    return round(min(max(interval_s / STEP_S, 1), MOST_STEPS)) if interval_s > 0 else 0


def _whole(value: float) -> int:
    """A whole number; NO_NUMBER for NaN, infinity and 0.5."""
    return int(value) if math.isfinite(value) and value == int(value) else NO_NUMBER
