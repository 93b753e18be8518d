"""A host's clock that tests set, beside one that goes on evenly."""

from __future__ import annotations

import time

from wifimgrd.daemon.store._steady_clock import SteadyClock


class HostClock:
    """Begins at the present time."""

    def __init__(self) -> None:
        self.wall_us = time.time_ns() // 1000
        self.passed_s = 0.0
        self.steady = SteadyClock(lambda: self.wall_us, lambda: self.passed_s)

    def go_on(self, seconds: float) -> None:
        """Time passes."""
        self.passed_s += seconds
        self.wall_us += round(seconds * 1e6)

    def set_ahead(self, seconds: float) -> None:
        """The clock is set."""
        self.wall_us += round(seconds * 1e6)
