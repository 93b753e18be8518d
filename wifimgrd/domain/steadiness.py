"""The values of a camera that do not come to rest: which are held, and for how long.

A camera decides how often it says something else, and each change is told to all clients, in the history, in
the journal, and over links that are paid by the byte. So a value that changes more than MOST_CHANGES times a
minute is held: it is not known, rather than one of those that it takes by turns, and its changes are only
counted, until it has changed no more than that for a minute. Values without a clock: instants are passed in.
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
_FREE_STEP: Final = 512_000_000
"""Bytes: less goes by in six seconds of the fastest recording."""
_TIME_LEFT_STEP_S: Final = 60
_CLOCK_STEP_US: Final = 2_000_000
"""Cameras tell whole seconds."""


def _other(now: CameraReading, before: CameraReading, name: str) -> bool:
    return bool(getattr(now, name) != getattr(before, name))


def _moved(step: int) -> Callable[[CameraReading, CameraReading, str], bool]:
    def has_moved(now: CameraReading, before: CameraReading, name: str) -> bool:
        value, last = getattr(now, name), getattr(before, name)
        if value is None or last is None:
            return value is not last
        return bool(abs(value - last) >= step)

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
        "battery_level": _Rule(_moved(1), {"battery_level": None}),
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
    """When it changed, in the last minute; while it is held, in the minute that ends at `until_s`."""
    until_s: float | None = None
    """When it may be known again; None while it is not held."""
    held: int = 0
    """How often it has changed since it is held."""

    def read(self, reading: CameraReading, name: str, now_s: float) -> _Value:
        value, is_changed = self, _RULES[name].is_other(reading, self.last, name)
        if is_changed:
            counted = () if self.is_free else (now_s,)
            changed_s = (*self.changed_s, *counted)[-MOST_CHANGES - 1 :]
            held = self.held + (self.until_s is not None)
            value = replace(self, last=reading, is_free=False, changed_s=changed_s, held=held)
        elif self.until_s is None:
            return self
        return value._held(now_s) if value.until_s is None else value._released(now_s)

    def _held(self, now_s: float) -> _Value:
        recent = tuple(one for one in self.changed_s if now_s - one < MINUTE_S)
        if len(recent) <= MOST_CHANGES:
            return replace(self, changed_s=recent)
        return replace(self, changed_s=(), until_s=now_s + MINUTE_S)

    def _released(self, now_s: float) -> _Value:
        if self.until_s is None or now_s < self.until_s:
            return self
        is_over = len(self.changed_s) <= MOST_CHANGES
        if is_over:
            return _Value(self.last, self.is_free)
        return replace(self, changed_s=(), until_s=now_s + MINUTE_S)


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
        return {name: one.held for name, one in self._values.items() if one.until_s is not None}

    def shown(self, reading: CameraReading) -> CameraReading:
        """A reading in which the values that are held are not known."""
        unknown = {key: value for name in self.held for key, value in _RULES[name].unknown.items()}
        return replace(reading, **unknown) if unknown else reading
