"""What a command to a camera means. Pure; sources: common.xml, and what ground programs send.

A parameter that names a camera: 7 to 255 is a component, 1 to 6 an autopilot's own, 0 (and NaN) all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._components import COMPONENTS

ALL: Final = 0
"""The component, and the system, that is everybody's."""
ASKED_FOR: Final = MappingProxyType(
    {
        521: wire.CAMERA_INFORMATION,
        522: wire.CAMERA_SETTINGS,
        525: wire.STORAGE_INFORMATION,
        527: wire.CAMERA_CAPTURE_STATUS,
    }
)
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
    parameters: tuple[wire.Value, ...]
    """The first three."""
    target_system: int
    target_component: int
    system: int
    component: int

    @classmethod
    def of(cls, frame: wire.Frame) -> Command:
        """Read it from its frame."""
        values = frame.values
        number, system, component = (
            int(values[name]) for name in ("command", "target_system", "target_component")
        )
        parameters = tuple(values[f"param{place}"] for place in (1, 2, 3))
        return cls(number, parameters, system, component, frame.system, frame.component)


@dataclass(frozen=True, slots=True)
class Question:
    """Send a message now."""

    message: wire.Message


@dataclass(frozen=True, slots=True)
class Interval:
    """Send a message repeatedly from now on."""

    message: wire.Message
    interval_s: float
    """0 = no longer."""


@dataclass(frozen=True, slots=True)
class Capture:
    """Start recording, or stop."""

    on: bool
    camera: int
    """A component, or ALL."""
    interval_s: float = 0.0
    """The interval of CAMERA_CAPTURE_STATUS while it records; 0 = none."""


def meaning(command: Command) -> Question | Interval | Capture | Result:
    """What a command is, or the result that answers it."""
    first, second, third = map(wire.whole, command.parameters)
    match command.number:
        case older if older in ASKED_FOR:
            return Question(ASKED_FOR[older])
        case number if number in (REQUEST_MESSAGE, SET_MESSAGE_INTERVAL):
            message = _BY_ID.get(-1 if first is None else first)
            if message is None:
                return Result.UNSUPPORTED
            return Question(message) if number == REQUEST_MESSAGE else _interval(message, second)
        case number if number == SET_CAMERA_MODE:
            return Result.ACCEPTED if second == _VIDEO_MODE else Result.DENIED
        case number if number == VIDEO_START_CAPTURE:
            rate_hz = float(command.parameters[1])
            every_s = _within(1 / rate_hz) if 1 / LONGEST_S <= rate_hz < float("inf") else 0.0
            return _capture(third, on=True, interval_s=every_s)
        case number if number == VIDEO_STOP_CAPTURE:
            return _capture(second, on=False)
    return Result.UNSUPPORTED


def _interval(message: wire.Message, interval_us: int | None) -> Interval | Result:
    if interval_us is None or interval_us < -1:
        return Result.DENIED
    return Interval(message, _within(interval_us / 1e6) if interval_us > 0 else 0.0)


def _within(interval_s: float) -> float:
    return min(max(interval_s, SHORTEST_S), LONGEST_S)


def _capture(camera: int | None, *, on: bool, interval_s: float = 0.0) -> Capture | Result:
    if camera is None or camera == ALL:
        return Capture(on, ALL, interval_s)
    return Capture(on, camera, interval_s) if camera in COMPONENTS else Result.DENIED
