"""The limit of the commands of one client, and of what else it asks for."""

from __future__ import annotations

from collections import deque
from typing import Final

COMMANDS_AT_ONCE: Final = 20
"""Commands of one client that are accepted within PERIOD_S; more are refused."""
PERIOD_S: Final = 1.0


class CommandRate:
    """Limits the commands of one client: so many in each period. Pure: time is passed in."""

    def __init__(self, at_once: int = COMMANDS_AT_ONCE, period_s: float = PERIOD_S) -> None:
        self._at_once = at_once
        self._period_s = period_s
        self._admitted: deque[float] = deque(maxlen=at_once)

    def admits(self, now: float) -> bool:
        """Whether another command is accepted at `now`, in seconds; if so, it is counted."""
        if len(self._admitted) == self._at_once and now - self._admitted[0] < self._period_s:
            return False
        self._admitted.append(now)
        return True
