"""Points in time and durations, as people read them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def moment(time_us: int | None, now_us: int) -> str | None:
    """A point in time, local and as the time since; None if there is none."""
    if time_us is None:
        return None
    return f"{local_time(time_us)} ({since(now_us - time_us)})"


def local_time(time_us: int) -> str:
    """A point in time in the zone of this computer."""
    return datetime.fromtimestamp(time_us / 1e6).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def span(passed_us: int) -> str:
    """A duration, in its largest unit."""
    seconds = max(0, passed_us) // 1_000_000
    if not seconds:
        return "< 1 s"
    length, unit = next((length, unit) for length, unit in _UNITS if seconds >= length)
    return f"{seconds // length} {unit}"


def since(passed_us: int) -> str:
    """How long ago it was."""
    return f"{span(passed_us)} ago" if passed_us >= 1_000_000 else "just now"


def hours_and_minutes(passed_us: int) -> str:
    """A duration to the minute, such as `2 h 10 min`; below a minute in seconds."""
    minutes, seconds = divmod(max(0, passed_us) // 1_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min" if minutes else f"{seconds} s"
