"""The offset of a camera's clock from this host's, by answers that have only whole seconds.

An answer "second d" to a question that was sent at t0, and was heard at t1, says that d - t1 <= offset <
d + 1 s - t0. The next question is sent so that it is read at the end of a second if the offset is in the
middle of what is left: its answer leaves one half. So each question halves the bounds, until the way there
and back is the limit. The last ones are read just before and just after the end of a second: a clock that was
set meanwhile gives another answer. Later only these are asked, about where the clock should be.

All times are of a clock that nobody sets or corrects (CLOCK_MONOTONIC_RAW): the host's own may be set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

_SECOND_US: Final = 1_000_000
_MILLION: Final = 1e6
_LARGEST_DRIFT_PPM: Final = 500.0
"""Two quartz clocks differ by less: a clock that differs by more was set."""
_USUAL_DRIFT_PPM: Final = 50.0
"""Most differ by less, as long as it is not measured."""
_UNSTEADY_PPM: Final = 5.0
"""By how much a drift that was measured changes, with the camera's temperature."""
_KNOWN_DRIFT_PPM: Final = 15.0
"""A drift that is known less exactly is not told."""
_CLOSE_US: Final = 4_000
"""Bounds of this width are not narrowed."""
_REACH_US: Final = 15_000
"""A later series looks so far before and after the time where the clock should be."""
_FARTHEST_REACH_US: Final = 60_000
"""Where that would be farther, the series is as a first one."""
_HALVINGS: Final = 6


@dataclass(frozen=True, slots=True)
class ClockAnswer:
    """The answer of a camera that was asked for the time."""

    second_us: int
    """The second that it said, microseconds since the epoch."""
    sent_us: int
    """When it was asked."""
    heard_us: int
    """When the answer came."""

    @property
    def way_us(self) -> int:
        """The way there and back."""
        return self.heard_us - self.sent_us

    @property
    def bounds(self) -> Bounds:
        """The bounds by this answer."""
        return Bounds(
            self.second_us - self.heard_us, self.second_us + _SECOND_US - self.sent_us, self.heard_us
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """The offset of a clock at one moment: its time minus that of the clock here, microseconds."""

    low_us: int
    high_us: int
    at_us: int

    @property
    def width_us(self) -> int:
        """From one to the other."""
        return self.high_us - self.low_us

    @property
    def middle_us(self) -> int:
        """Right to half the width."""
        return (self.low_us + self.high_us) // 2

    def narrowed(self, other: Bounds) -> Bounds:
        """The bounds that both leave, of a moment of seconds ago and of a later one; of no width or less if
        they exclude each other."""
        drift_us = round((other.at_us - self.at_us) * _LARGEST_DRIFT_PPM / _MILLION)
        low_us, high_us = self.low_us - drift_us, self.high_us + drift_us
        return Bounds(max(low_us, other.low_us), min(high_us, other.high_us), other.at_us)


@dataclass(frozen=True, slots=True)
class ClockBounds:
    """All that is known of a camera's clock."""

    last: Bounds | None = None
    """By the last series of questions; None before the end of the first one."""
    first: Bounds | None = None
    """By the series from which the drift is measured."""
    drift_ppm: float = 0.0
    """By how much it runs fast, in millionths."""
    drift_bound_ppm: float = _USUAL_DRIFT_PPM
    """Within that of it."""
    series: Bounds | None = None
    """By the answers of the series that is not over."""
    target: Bounds | None = None
    """Where the last two questions of the series look; None while it is narrowed."""
    halvings: int = 0
    """Of this series."""
    looks: int = 0
    """The answers about the ends of `target`: the upper one, the lower one, and in a first series the upper
    one once more, since the clock may have been set forward between the two."""
    is_over: bool = False
    """The series is over: `last` is what it says."""
    way_us: int = 0
    """The last way there and back."""

    @property
    def now(self) -> Bounds | None:
        """The bounds by the last series, or by the first one so far."""
        return self.last or self.series

    def later(self, bounds: Bounds, at_us: int) -> Bounds:
        """These bounds at a later moment: it drifts as was measured, or as clocks usually do."""
        passed = max(0, at_us - bounds.at_us) / _MILLION
        middle_us, widened_us = round(passed * self.drift_ppm), math.ceil(passed * self.drift_bound_ppm)
        return Bounds(bounds.low_us + middle_us - widened_us, bounds.high_us + middle_us + widened_us, at_us)

    def begun(self, now_us: int) -> ClockBounds:
        """A series of questions begins: about where the clock should be, if that is known."""
        target = None
        if self.last is not None:
            expected = self.later(self.last, now_us)
            # It may be twice as far off, and mostly is nearer; so the bounds do not grow each time.
            reach_us = max(expected.width_us // 4, _REACH_US, self.way_us)
            if reach_us <= max(_FARTHEST_REACH_US, self.way_us):
                middle_us = expected.middle_us
                target = Bounds(middle_us - reach_us, middle_us + reach_us, now_us)
        return replace(self, series=None, target=target, halvings=0, looks=0, is_over=False)

    @property
    def _edge_us(self) -> int | None:
        """The offset by which the next question is read at the end of a second."""
        if self.target is not None:
            return self.target.low_us if self._is_lower else self.target.high_us
        return None if self.series is None else self.series.middle_us

    @property
    def _is_lower(self) -> bool:
        """Whether the next question is about the lower end of `target`."""
        return self.looks == 1

    def due_us(self, now_us: int) -> int:
        """When to ask next: now, before the first answer."""
        if (edge_us := self._edge_us) is None:
            return now_us
        return now_us + -(now_us + self.way_us // 2 + edge_us) % _SECOND_US

    def with_answer(self, answer: ClockAnswer) -> ClockBounds:
        """The same with one more answer of the series."""
        alone, way_us = answer.bounds, answer.way_us
        both = alone if self.series is None else self.series.narrowed(alone)
        if self.target is None:
            if both.width_us <= 0:  # it was set since the last question
                return replace(self, series=alone, halvings=0, way_us=way_us)
            return replace(
                self, series=both, halvings=self.halvings + (self.series is not None), way_us=way_us
            )._aimed()
        is_later = alone.middle_us > self.target.middle_us
        if both.width_us <= 0 or is_later is not self._is_lower:
            return replace(self, series=alone, target=None, halvings=0, looks=0, way_us=way_us)
        looked = replace(self, series=both, looks=self.looks + 1, way_us=way_us)
        return looked._ended() if looked.looks == (3 if self.last is None else 2) else looked

    def _aimed(self) -> ClockBounds:
        """Narrow on, or look at both ends of what is left, if that is close."""
        series = self.series
        if series is None:
            return self
        if self.halvings < _HALVINGS and series.width_us > max(_CLOSE_US, self.way_us * 5 // 4):
            return self
        return replace(
            self,
            target=Bounds(series.low_us - self.way_us, series.high_us + self.way_us, series.at_us),
            looks=0,
        )

    def _ended(self) -> ClockBounds:
        """The series is over: what it says of the drift since the first one."""
        last, first = self.series, self.first
        over = replace(self, last=last, target=None, is_over=True)
        if last is None or first is None:
            return replace(over, first=last)
        if (passed := (last.at_us - first.at_us) / _MILLION) <= 0:
            return over
        if self._was_set(last):
            return replace(over, first=last, drift_ppm=0.0, drift_bound_ppm=_USUAL_DRIFT_PPM)
        drift_ppm = (last.middle_us - first.middle_us) / passed
        bound_ppm = (last.width_us + first.width_us) / 2 / passed
        if bound_ppm + _UNSTEADY_PPM >= _USUAL_DRIFT_PPM:
            return over
        return replace(over, drift_ppm=drift_ppm, drift_bound_ppm=bound_ppm + _UNSTEADY_PPM)

    def _was_set(self, now: Bounds) -> bool:
        """Whether the clock is farther from where it should be than it can have drifted."""
        if self.last is None:
            return False
        passed = (now.at_us - self.last.at_us) / _MILLION
        is_measured = self.drift_bound_ppm < _USUAL_DRIFT_PPM
        bound_ppm = 2 * self.drift_bound_ppm if is_measured else _LARGEST_DRIFT_PPM
        off_us = abs(now.middle_us - self.last.middle_us - passed * self.drift_ppm)
        return off_us > (now.width_us + self.last.width_us) / 2 + passed * bound_ppm

    @property
    def known_drift_ppm(self) -> int | None:
        """By how much it runs fast, in millionths; None if that is not known well enough."""
        return round(self.drift_ppm) if self.drift_bound_ppm <= _KNOWN_DRIFT_PPM else None
