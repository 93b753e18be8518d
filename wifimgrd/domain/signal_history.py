"""The signal strength and the battery of a device, minute by minute, over the last days. No clock, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from wifimgrd.domain.device import DeviceId

MINUTE_US: Final = 60_000_000
KEPT_DAYS: Final = 7
_KEPT_MINUTES: Final = KEPT_DAYS * 24 * 60
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class SignalReading:
    """The signal strength of a connected device was read."""

    device_id: DeviceId
    percent: int
    battery: int | None = None
    """How full its battery is then, percent; None = not known."""


@dataclass(frozen=True, slots=True)
class SignalSample:
    """The readings of one minute."""

    mean: int
    """Percent."""
    minimum: int
    """Percent, at most the mean."""
    battery: int | None = None
    """How full the battery was, percent, as last known in it; None = not known in the whole minute."""


Samples = Mapping[int, SignalSample]
"""By the minute, counted from the epoch; minutes without a reading are absent."""


@dataclass(frozen=True, slots=True)
class RunningMinute:
    """The readings of a minute so far."""

    minute: int
    total: int
    count: int
    minimum: int
    battery: int | None

    @classmethod
    def first(cls, reading: SignalReading, now_us: int) -> RunningMinute:
        """The first reading of a minute."""
        percent = _bounded(reading.percent)
        battery = None if reading.battery is None else _bounded(reading.battery)
        return cls(now_us // MINUTE_US, percent, 1, percent, battery)

    def read(self, reading: SignalReading, now_us: int) -> RunningMinute:
        """After another reading: the same minute, or the one that it begins, earlier or later."""
        one = RunningMinute.first(reading, now_us)
        if one.minute != self.minute:
            return one
        return RunningMinute(
            self.minute,
            self.total + one.total,
            self.count + 1,
            min(self.minimum, one.minimum),
            self.battery if one.battery is None else one.battery,
        )

    @property
    def sample(self) -> SignalSample:
        """The sample that is kept of it."""
        return SignalSample(round(self.total / self.count), self.minimum, self.battery)


def _bounded(percent: int) -> int:
    return min(_MOST, max(0, percent))


def minutes_between(since_us: int, until_us: int, now_us: int) -> range:
    """The minutes that begin in a span of time, from `since_us` on and before `until_us`, as far back as
    samples are kept; 0 = since then, until now."""
    now = now_us // MINUTE_US + 1
    last = min(now, -(-until_us // MINUTE_US)) if until_us else now
    return range(max(now - _KEPT_MINUTES, -(-since_us // MINUTE_US)), last)
