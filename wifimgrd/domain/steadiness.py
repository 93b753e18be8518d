"""The values of a camera that do not come to rest: which are held, and for how long.

A camera decides how often it says something else, and each change is told to all clients, in the history, in
the journal, and over links that are paid by the byte. So a value that changes more than MOST_CHANGES times a
minute is held: it is not known, rather than one of those that it takes by turns, and its changes are only
counted, until it has changed no more than that for a minute. A value that is left out has changed, too.

A number is told in steps. While it goes on as it went, as the free space does in a recording, it is told at
once ten times a minute, and that does not count: it has an end. A turn by two steps counts. What
flickers by less is told with the next change, as is all that has moved by less than a step. Values without a
clock: instants are passed in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.domain.camera import CameraReading, RecordingState, ended
from wifimgrd.domain.camera_steps import PUBLISHED, is_number, steps

MOST_CHANGES: Final = 10
"""In MINUTE_S; a value that changes more often is held."""
MINUTE_S: Final = 60.0
RECORDING: Final = "recording"
"""The value that decides about recordings."""
_NOTHING: Final = CameraReading()
"""No value is known."""
_PARTS: Final[Mapping[str, Collection[str]]] = MappingProxyType(
    {
        RECORDING: ("recording_since_us", "recorded_s", "stop_reason"),
        "clock_offset_us": ("clock_read_us", "clock_bound_us", "clock_drift_ppm"),
    }
)
"""The other values that are unknown while one is held."""


def _is_known(name: str, reading: CameraReading) -> bool:
    return bool(getattr(reading, name) != getattr(_NOTHING, name))


def _is_another_recording(now: CameraReading, before: CameraReading) -> bool:
    """Whether one has ended, and another one has begun, between two readings of a camera that records."""
    both = now.recording is before.recording is RecordingState.RECORDING
    return both and ended(before.recorded_s or 0, now)


@dataclass(frozen=True, slots=True)
class _Value:
    """One value of a camera."""

    last: CameraReading
    """The reading in which it was told last, or moved last."""
    is_rising: bool | None = None
    """Where a number went then; None before it has moved."""
    is_news: bool = False
    """Clients have not been told yet that it has changed."""
    moved_s: tuple[float, ...] = ()
    """When it went on as it went, and was told at once: the last ten times."""
    known: Any = None
    """Its last known value."""
    known_s: float = 0.0
    """When it was known last."""
    is_free: bool = False
    """A command has changed it, or will, or the camera is read anew: the next change is not its own."""
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
        said, is_known = getattr(reading, name), _is_known(name, reading)
        value = replace(self, known=said, known_s=now_s) if is_known else self
        if is_number(name, reading, self.last):
            return value._moved(reading, steps(name, reading, self.last), now_s)
        if name == RECORDING and _is_another_recording(reading, self.last):
            return value._changed(reading, now_s, 2)
        if said == getattr(self.last, name):
            return replace(value, last=reading)
        return value._changed(reading, now_s, 1, is_free=self.is_free and not is_known)

    def _moved(self, reading: CameraReading, by: float, now_s: float) -> _Value:
        """A number, which was known, has moved by some steps."""
        if abs(by) < 1:
            return self
        is_rising = by > 0
        if self.is_rising is not is_rising:
            is_flicker = self.is_rising is not None and abs(by) < 2
            return self if is_flicker else replace(self._changed(reading, now_s, 1), is_rising=is_rising)
        is_at_once = sum(now_s - one < MINUTE_S for one in self.moved_s) < MOST_CHANGES
        moved_s = (*self.moved_s, now_s)[-MOST_CHANGES:] if is_at_once else self.moved_s
        return replace(
            self,
            last=reading,
            is_news=self.is_news or is_at_once,
            is_free=False,
            moved_s=moved_s,
        )

    def _changed(
        self, reading: CameraReading, now_s: float, changes: int, *, is_free: bool = False
    ) -> _Value:
        """It counts, unless a command has changed it: that `is_free` until it is known what it has done."""
        return replace(
            self,
            last=reading,
            is_news=True,
            is_free=is_free,
            changed_s=(*self.changed_s, *([now_s] * changes * (not self.is_free)))[-MOST_CHANGES - 1 :],
            held=self.held + changes * (self.since_s is not None),
        )

    def published(self, reading: CameraReading, name: str) -> _Value:
        """Clients are told this reading."""
        is_rising = self.is_rising
        if is_number(name, reading, self.last) and (by := steps(name, reading, self.last)):
            is_rising = by > 0
        return replace(self, last=reading, is_rising=is_rising, is_news=False)


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How often each value of one camera has changed lately."""

    _values: Mapping[str, _Value] = field(default_factory=dict)
    _read: CameraReading = _NOTHING
    """The camera's last reading."""
    _read_s: float = 0.0

    def read(self, reading: CameraReading, now_s: float) -> Steadiness:
        """The camera was read, as it says; `now_s` by a clock that is never set."""
        before = self._read
        if reading.recording is before.recording and reading.recorded_s is None:  # it counts on meanwhile
            reading = replace(reading, recorded_s=before.recorded_s)
        values = self._values or {name: _Value(reading) for name in PUBLISHED}
        values = {name: one.read(reading, name, now_s) for name, one in values.items()}
        return Steadiness(values, reading, now_s)

    def published(self) -> Steadiness:
        """Clients are told what the camera has said last: changes count from there."""
        values = {name: one.published(self._read, name) for name, one in self._values.items()}
        return replace(self, _values=values)

    @property
    def has_news(self) -> bool:
        """Whether a value that is not held has changed since clients were told."""
        return any(one.is_news and one.since_s is None for one in self._values.values())

    def commanded(self) -> Steadiness:
        """The camera is told to start or to stop recording: if it does, that is not a change of its own."""
        return self._freed(RECORDING)

    def attached(self) -> Steadiness:
        """The camera is read anew: that its values come one after the other is not a change."""
        return self._freed(*PUBLISHED)

    def _freed(self, *names: str) -> Steadiness:
        freed = {name: replace(one, is_free=True) for name, one in self._values.items() if name in names}
        return replace(self, _values={**self._values, **freed})

    @property
    def held(self) -> Mapping[str, int]:
        """The values that are held, by their names in a reading, and how often each has changed since."""
        return {name: one.held for name, one in self._values.items() if one.since_s is not None}

    def shown(self, reading: CameraReading) -> CameraReading:
        """A reading in which the values that are held are not known."""
        parts = [part for name in self.held for part in (name, *_PARTS.get(name, ()))]
        return replace(reading, **{part: getattr(_NOTHING, part) for part in parts}) if parts else reading

    def remembered(self, reading: CameraReading) -> CameraReading:
        """A reading in which what is not said is as it was said last, if that was within a minute: what is
        wrong with the camera does not come and go with what it leaves out."""
        known = {
            name: one.known
            for name, one in self._values.items()
            if one.known is not None
            and not _is_known(name, reading)
            and self._read_s - one.known_s < MINUTE_S
        }
        return replace(reading, **known) if known else reading
