"""When to have a lease requested again that does not come.

A camera's access point can drop the first frames after an association, among them networkd's request: it
installs the key of the link some milliseconds after the client. A camera that was switched off does not reply
to a request for the address of its last run, which networkd begins with. networkd repeats a request after 1
to 5 s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

_FIRST_PAUSE_S: Final = 0.015
"""For a request that came before the access point had the key. One that it answers may be sent once more,
which costs no more than this pause."""
_SECOND_PAUSE_S: Final = 0.25
"""Cameras reply within tenths of a second. Each further pause is twice as long as the one before it, so that
a server that is slow has time to reply: dnsmasq takes 3 s to find out that a new address is not in use."""


class LeaseRetry:
    """Calls `overdue` again and again, from `start` on until `stop`."""

    def __init__(self, overdue: Callable[[], None]) -> None:
        self._overdue = overdue
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The lease is requested from now on, if it was not yet."""
        if self._timer is None:
            self._schedule(_FIRST_PAUSE_S)

    def stop(self) -> None:
        """The lease is there, or the association is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self, pause_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(pause_s, self._due, pause_s)

    def _due(self, pause_s: float) -> None:
        self._schedule(max(_SECOND_PAUSE_S, 2 * pause_s))
        self._overdue()
