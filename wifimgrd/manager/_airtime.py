"""Which of the idle adapters the hub scans or searches with now: one thing at a time on each, since a scan
aborts another one on its adapter."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from wifimgrd.domain.device import DeviceId
from wifimgrd.manager._notices import Notice
from wifimgrd.manager._state import Clock

Work = asyncio.Task[Any]


@dataclass(frozen=True, slots=True)
class Listened:
    """An adapter has scanned."""

    interface: str
    since_us: int
    """When that began, microseconds since the epoch."""
    device_id: DeviceId | None = None
    """The device that was searched for, if it was a single one."""
    is_complete: bool = True
    """It was not cancelled, as for an attempt with the adapter."""


class Airtime:
    """The scans and searches that run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[str, tuple[Work, Listened]] = {}
        self.over = Notice[Listened]()
        """An adapter scans no longer; if that is complete, what it has received can be read."""

    def __contains__(self, interface: object) -> bool:
        return interface in self._running

    def begin(self, interface: str, work: Work, device_id: DeviceId | None = None) -> Work | None:
        """A task is about to scan with an adapter. Returns the one that did so until now, which is cancelled:
        the caller waits for its end."""
        before = self._running.get(interface)
        self._running[interface] = work, Listened(interface, self._clock(), device_id)
        if before is None:
            return None
        before[0].cancel()
        return before[0]

    def end(self, interface: str, work: Work | None) -> None:
        """A task no longer scans with an adapter."""
        running = self._running.get(interface)
        if work is not None and running is not None and running[0] is work:
            del self._running[interface]
            self.over.notify(replace(running[1], is_complete=not work.cancelling()))
