"""The limit of the commands of one client."""

from __future__ import annotations

from collections import deque
from typing import Final

COMMANDS_AT_ONCE: Final = 20
"""Commands of one client that are accepted within PERIOD_S; more are refused."""
PERIOD_S: Final = 1.0


class CommandRate:
    """Limits the commands of one client: COMMANDS_AT_ONCE in each PERIOD_S. Pure: time is passed in."""

    def __init__(self) -> None:
        self._admitted: deque[float] = deque(maxlen=COMMANDS_AT_ONCE)

    def admits(self, now: float) -> bool:
        """Whether another command is accepted at `now`, in seconds; if so, it is counted."""
        if len(self._admitted) == COMMANDS_AT_ONCE and now - self._admitted[0] < PERIOD_S:
            return False
        self._admitted.append(now)
        return True
