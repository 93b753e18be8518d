"""The lab's only waiting: ask again until it is so, and fail with what was awaited when the time is over.

For what the kernel, hostapd and other programs do without a signal. What comes as a D-Bus signal is awaited
as one (system_bus.py).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.25
"""In between as long as the question took, so that what is awaited has half of the processor."""


class DeadlineError(AssertionError):
    """What was awaited did not happen in time."""


def poll_until(condition: Callable[[], T], what: str, seconds: float = 10.0) -> T:
    """Ask `condition` until its answer is true, and return that answer."""
    end = time.monotonic() + seconds
    while True:
        asked = time.monotonic()
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= end:
            raise DeadlineError(f"after {seconds:g} s still not so: {what} (last answer: {answer!r})")
        time.sleep(_pause_s(asked))


async def async_poll_until(condition: Callable[[], Awaitable[T]], what: str, seconds: float = 10.0) -> T:
    """Await `condition` until its answer is true, and return that answer; the event loop stays free."""
    end = time.monotonic() + seconds
    while True:
        asked = time.monotonic()
        answer = await condition()
        if answer:
            return answer
        if time.monotonic() >= end:
            raise DeadlineError(f"after {seconds:g} s still not so: {what} (last answer: {answer!r})")
        await asyncio.sleep(_pause_s(asked))


def _pause_s(asked: float) -> float:
    return min(max(_PAUSE_S, time.monotonic() - asked), _LONGEST_PAUSE_S)
