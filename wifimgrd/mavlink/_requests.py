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
ASKED_FOR: Final = MappingProxyType(dict(zip((521, 522, 525, 527), wire.OF_CAMERAS, strict=True)))
"""The messages that are sent where a station asks for them, by the older command for each."""
SHORTEST_S: Final = 0.5
"""The shortest interval at which a message is repeated."""
LONGEST_S: Final = 60.0
"""The longest one."""
SET_MESSAGE_INTERVAL: Final = 511
REQUEST_MESSAGE: Final = 512
SET_CAMERA_MODE: Final = 530
VIDEO_START_CAPTURE: Final = 2500
VIDEO_STOP_CAPTURE: Final = 2501
_CAMERA_AT: Final = {SET_CAMERA_MODE: 0, VIDEO_STOP_CAPTURE: 1, VIDEO_START_CAPTURE: 2}
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
class Command:
    """COMMAND_LONG or COMMAND_INT, from a system and a component."""

    number: int
    parameters: tuple[float, float, float]
    """The first three."""
    target: int
    """A component, or ALL."""
    system: int
    component: int

    @classmethod
    def of(cls, frame: wire.Frame) -> Command:
        """Read it from its frame."""
        number, target = int(frame.values["command"]), int(frame.values["target_component"])
        first, second, third = (float(frame.values[name]) for name in ("param1", "param2", "param3"))
        return cls(number, (first, second, third), target, frame.system, frame.component)

    @property
    def camera(self) -> int | None:
        """The component that its parameter for the target camera names, or ALL, as NaN is; None if it is
        not a whole number."""
        place = _CAMERA_AT.get(self.number)
        value = ALL if place is None else self.parameters[place]
        return ALL if math.isnan(value) else _whole(value)


@dataclass(frozen=True, slots=True)
class Question:
    """Send a message, now or repeatedly."""

    message: wire.Message
    interval_s: float | None = None
    """None = now; 0 = no longer."""


@dataclass(frozen=True, slots=True)
class Capture:
    """Start recording, or stop."""

    on: bool
    interval_s: float = 0.0
    """The interval of CAMERA_CAPTURE_STATUS while it records; 0 = none."""


def meaning(command: Command) -> Question | Capture | Result:
    """The meaning of a command, or the result that answers it."""
    number, (first, second, _) = command.number, command.parameters
    if number in ASKED_FOR:
        return Question(ASKED_FOR[number])
    if number == VIDEO_START_CAPTURE:
        return Capture(on=True, interval_s=_within(1 / second) if 0 < second < math.inf else 0.0)
    if number == VIDEO_STOP_CAPTURE:
        return Capture(on=False)
    if number == SET_CAMERA_MODE:
        return Result.ACCEPTED if second == _VIDEO_MODE else Result.DENIED
    message = _BY_ID.get(_whole(first) or 0)
    if number == REQUEST_MESSAGE and message is not None:
        return Question(message)
    if number == SET_MESSAGE_INTERVAL and message is not None:
        interval_us = _whole(second)
        if interval_us is None or interval_us < -1:
            return Result.DENIED
        return Question(message, _within(interval_us / 1e6) if interval_us > 0 else 0.0)
    return Result.UNSUPPORTED


def _within(interval_s: float) -> float:
    return min(max(interval_s, SHORTEST_S), LONGEST_S)


def _whole(value: float) -> int | None:
    """A whole number; None if it is none, as NaN, infinity and 0.5 are."""
    return int(value) if math.isfinite(value) and value == int(value) else None
