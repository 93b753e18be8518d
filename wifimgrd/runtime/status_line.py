"""The line that `systemctl status` shows for a service, kept up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

_DELAY_S: Final = 0.25
"""Clients get an event first, because a notification wakes up the service manager."""


class StatusLine:
    """An event sink: after each event, the line is built again and sent if it has changed.

    Nothing is sent before `start`. A burst of events causes one notification, `_DELAY_S` later.
    """

    def __init__(self, send: Callable[[str], None], ignored: tuple[type, ...] = ()) -> None:
        """`ignored` are the types of frequent events that never change the line."""
        self._send = send
        self._ignored = ignored
        self._describe: Callable[[], str] | None = None
        self._sent = ""
        self._timer: asyncio.TimerHandle | None = None

    def start(self, describe: Callable[[], str]) -> None:
        """Send the line that `describe` returns, now and after each event."""
        self._describe = describe
        self._update()

    def stop(self) -> None:
        """Stop sending."""
        self._describe = None

    def publish(self, event: object) -> None:
        """Update the line soon."""
        if self._describe is not None and self._timer is None and not isinstance(event, self._ignored):
            self._timer = asyncio.get_running_loop().call_later(_DELAY_S, self._update)

    def _update(self) -> None:
        self._timer = None
        if self._describe is None:
            return
        line = self._describe()
        if line != self._sent:
            self._sent = line
            self._send(line)
