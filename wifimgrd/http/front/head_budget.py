"""How much is held in all of requests that nobody works on yet: heads without an end, and what follows a
request that is being answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

HELD_BYTES: Final = 32 << 20
"""Octets in all. Beyond it the connection that holds something for longest is closed."""


class HeadBudget:
    """Who holds how many octets, the one that began first at the front."""

    def __init__(self, limit: int = HELD_BYTES) -> None:
        self._limit = limit
        self._held: dict[object, tuple[int, Callable[[], None]]] = {}
        self._in_all = 0

    def hold(self, who: object, octets: int, close: Callable[[], None]) -> None:
        """`who` holds so many octets now; 0 = none. `close` is called where the budget needs them, also at
        once."""
        if not octets and who not in self._held:
            return
        before, _ = self._held.get(who, (0, close))
        self._in_all += octets - before
        if octets:
            self._held[who] = octets, close
        else:
            self._held.pop(who, None)
        while self._in_all > self._limit:
            oldest = next(iter(self._held))
            size, close_oldest = self._held.pop(oldest)
            self._in_all -= size
            close_oldest()
