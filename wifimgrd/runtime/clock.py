"""The clocks of this host."""

from __future__ import annotations

import time


def now_us() -> int:
    """The time by the host's clock, which may be set meanwhile: microseconds since the epoch."""
    return time.time_ns() // 1000


def steady_s() -> float:
    """Seconds by a clock that is never set and goes on while the host sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
