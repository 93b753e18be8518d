"""How long something has lasted, by a host's clock that may be set meanwhile.

A host without a clock of its own starts with a wrong time, which is set hours forward once the network has
one. What lasts then keeps the begin by the clock of then, as clients were told and the journal has, and its
length is measured by a clock that is never set. So it ends by the clock of its begin, not by that of its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_SET_US: Final = 60_000_000
"""A host's clock that is off by more than this was set; less are its usual corrections, which it follows so
that the times of different rows agree."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Two clocks at one moment."""

    host_us: int
    """Microseconds since the epoch, by the host's clock."""
    steady_s: float
    """Seconds by a clock that only goes forward, also while the host sleeps."""

    @property
    def steady_us(self) -> int:
        """The same in microseconds."""
        return round(self.steady_s * 1e6)

    def time_of(self, later: Clocks) -> int:
        """The time of a later moment, microseconds since the epoch, by the host's clock as it went at this
        one."""
        return self._expected_us(later) if self.was_set_until(later) else later.host_us

    def was_set_until(self, later: Clocks) -> bool:
        """Whether the host's clock was set between this moment and a later one."""
        return abs(later.host_us - self._expected_us(later)) > _SET_US

    def _expected_us(self, later: Clocks) -> int:
        return self.host_us + later.steady_us - self.steady_us
