"""The values of a camera that do not come to rest: which are held, and for how long.

A camera decides how often it says something else, and each change is told to all clients, in the history, in
the journal, and over links that are paid by the byte. So a value that changes more than MOST_CHANGES times a
minute is held: it is not known, rather than one of those that it takes by turns, and its changes are only
counted, until it has changed no more than that for a minute. That it is not known now and then is no change.
Values without a clock: instants are passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.domain.camera import CameraReading

MOST_CHANGES: Final = 10
"""In MINUTE_S; a value that changes more often is held."""
MINUTE_S: Final = 60.0
RECORDING: Final = "recording"
"""The value that decides about recordings."""
_UNKNOWN: Final = (None, "")
_BATTERY_STEP: Final = 2
"""Percent: a level between two of them is told as one and the other by turns."""
_FREE_STEP: Final = 512_000_000
"""Bytes: less goes by in six seconds of the fastest recording."""
_TIME_LEFT_STEP_S: Final = 60
_CLOCK_STEP_US: Final = 2_000_000
"""Cameras tell whole seconds."""


def _other(now: CameraReading, before: CameraReading, name: str) -> bool:
    return bool(getattr(now, name) != getattr(before, name))


def _moved(step: int) -> Callable[[CameraReading, CameraReading, str], bool]:
    def has_moved(now: CameraReading, before: CameraReading, name: str) -> bool:
        return bool(abs(getattr(now, name) - getattr(before, name)) >= step)

    return has_moved


def _free(now: CameraReading, before: CameraReading, name: str) -> bool:
    return _moved(max(_FREE_STEP, (before.storage_total or 0) // 20))(now, before, name)


@dataclass(frozen=True, slots=True)
class _Rule:
    """When a value counts as another one, and what is not known while it is held."""

    is_other: Callable[[CameraReading, CameraReading, str], bool] = _other
    unknown: Mapping[str, Any] = field(default_factory=dict)


_RULES: Final[Mapping[str, _Rule]] = MappingProxyType(
    {
        RECORDING: _Rule(
            unknown={"recording": None, "recording_since_us": None, "recorded_s": None, "stop_reason": None}
        ),
        "battery_level": _Rule(_moved(_BATTERY_STEP), {"battery_level": None}),
        "battery_state": _Rule(unknown={"battery_state": None}),
        "storage_state": _Rule(unknown={"storage_state": None}),
        "storage_free": _Rule(_free, {"storage_free": None}),
        "storage_total": _Rule(unknown={"storage_total": None}),
        "time_left_s": _Rule(_moved(_TIME_LEFT_STEP_S), {"time_left_s": None}),
        "temperature": _Rule(unknown={"temperature": None}),
        "clock_offset_us": _Rule(_moved(_CLOCK_STEP_US), {"clock_offset_us": None, "clock_read_us": 0}),
        "model": _Rule(unknown={"model": ""}),
        "serial_number": _Rule(unknown={"serial_number": ""}),
        "firmware_version": _Rule(unknown={"firmware_version": ""}),
    }
)
"""What a camera counts as it records has steps that no recording takes ten times a minute."""


@dataclass(frozen=True, slots=True)
class _Value:
    """One value of a camera."""

    last: CameraReading
    """The reading in which it changed last."""
    is_free: bool = False
    """A command has changed it, or will: the next change is not the camera's own."""
    changed_s: tuple[float, ...] = ()
    """When it changed, the last eleven times."""
    since_s: float | None = None
    """Since when it is held; None while it is not."""
    held: int = 0
    """How often it has changed since."""

    def read(self, reading: CameraReading, name: str, now_s: float) -> _Value:
        value = self._said(reading, name, now_s)
        is_often = sum(now_s - one < MINUTE_S for one in value.changed_s) > MOST_CHANGES
        if value.since_s is None:
            return replace(value, since_s=now_s) if is_often else value
        if is_often or now_s - value.since_s < MINUTE_S:  # so that it does not alternate, too
            return value
        return replace(value, since_s=None, held=0)

    def _said(self, reading: CameraReading, name: str, now_s: float) -> _Value:
        """That a value is not known now is no other one."""
        if getattr(reading, name) in _UNKNOWN:
            return self
        if getattr(self.last, name) in _UNKNOWN:
            return replace(self, last=reading, is_free=False)
        if not _RULES[name].is_other(reading, self.last, name):
            return self
        counted = () if self.is_free else (now_s,)
        changed_s = (*self.changed_s, *counted)[-MOST_CHANGES - 1 :]
        held = self.held + (self.since_s is not None)
        return replace(self, last=reading, is_free=False, changed_s=changed_s, held=held)


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How often each value of one camera has changed lately."""

    _values: Mapping[str, _Value] = field(default_factory=dict)

    def read(self, reading: CameraReading, now_s: float) -> Steadiness:
        """The camera was read, as it says; `now_s` by a clock that is never set."""
        if not self._values:
            return Steadiness({name: _Value(reading) for name in _RULES})
        return Steadiness({name: one.read(reading, name, now_s) for name, one in self._values.items()})

    def commanded(self) -> Steadiness:
        """The camera is told to start or to stop recording: that it does is no change of its own."""
        if not self._values:
            return self
        return Steadiness({**self._values, RECORDING: replace(self._values[RECORDING], is_free=True)})

    @property
    def held(self) -> Mapping[str, int]:
        """The values that are held, by their names in a reading, and how often each has changed since."""
        return {name: one.held for name, one in self._values.items() if one.since_s is not None}

    def shown(self, reading: CameraReading) -> CameraReading:
        """A reading in which the values that are held are not known."""
        unknown = {key: value for name in self.held for key, value in _RULES[name].unknown.items()}
        return replace(reading, **unknown) if unknown else reading
