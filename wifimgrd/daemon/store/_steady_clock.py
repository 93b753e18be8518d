"""When the host's clock may be believed about how old something is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wifimgrd.domain.clocks import Clocks
from wifimgrd.runtime.clock import now_us, steady_s

_STEADY_S: Final = 3600.0
"""Hosts without a clock of their own set it within minutes of their start."""


class SteadyClock:
    """The host's clock, which may be ahead or behind until it is set: what is deleted then is gone."""

    def __init__(self, wall_us: Callable[[], int] = now_us, passed_s: Callable[[], float] = steady_s) -> None:
        """`wall_us` is the host's clock, `passed_s` one that is never set."""
        self._wall_us = wall_us
        self._passed_s = passed_s
        self._last: Clocks | None = None
        self._steady_since_s = 0.0

    def due_us(self) -> int | None:
        """The present time, in microseconds since the epoch, for deleting what is too old: once an hour, and
        only if the clock was not set in that hour; otherwise None."""
        now = Clocks(self._wall_us(), self._passed_s())
        if self._last is None or self._last.was_set_until(now):
            self._steady_since_s = now.steady_s
        self._last = now
        if now.steady_s - self._steady_since_s < _STEADY_S:
            return None
        self._steady_since_s = now.steady_s
        return now.host_us
