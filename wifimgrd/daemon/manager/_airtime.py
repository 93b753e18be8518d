"""Which of the idle adapters the hub scans or searches with now: one thing at a time on each, since a scan
aborts another one on its adapter."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._state import Clock
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.time_limits import GIVE_WAY_S, LOST_SEARCH_S

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


@dataclass(frozen=True, slots=True)
class _Running:
    work: Work
    listened: Listened
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Airtime:
    """The scans and searches that run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[str, _Running] = {}
        self._wanted: set[str] = set()
        """Adapters of which a scan waits for the end of a search: no other search begins before it."""
        self._gave_way: set[DeviceId] = set()
        """The devices whose last search ended for another scan."""
        self.over = Notice[Listened]()
        """An adapter scans no longer; if that is complete, what it has received can be read."""

    def __contains__(self, interface: object) -> bool:
        return interface in self._running or interface in self._wanted

    def begin(self, interface: str, work: Work, device_id: DeviceId | None = None) -> Work | None:
        """A task is about to scan with an adapter. Returns the one that did so until now, which is cancelled:
        the caller waits for its end."""
        before = self._running.get(interface)
        self._running[interface] = _Running(work, Listened(interface, self._clock(), device_id))
        if before is None:
            return None
        if before.listened.device_id is not None:
            self._gave_way.add(before.listened.device_id)
        before.over.set()
        before.work.cancel()
        return before.work

    async def take(self, interface: str, work: Work) -> None:
        """A task is to scan with an adapter by a command; returns once it has it to itself. A search gives
        way to it, but not twice: who scans again and again would keep a camera from being found."""
        running = self._running.get(interface)
        if running is not None and running.listened.device_id in self._gave_way:
            self._wanted.add(interface)
            try:
                async with asyncio.timeout(LOST_SEARCH_S):
                    await running.over.wait()
            except TimeoutError:
                pass  # it has had its time
            finally:
                self._wanted.discard(interface)
        if (before := self.begin(interface, work)) is not None:
            await asyncio.wait((before,), timeout=GIVE_WAY_S)

    def end(self, interface: str, work: Work | None) -> None:
        """A task no longer scans with an adapter."""
        running = self._running.get(interface)
        if work is not None and running is not None and running.work is work:
            del self._running[interface]
            running.over.set()
            if (is_complete := not work.cancelling()) and running.listened.device_id is not None:
                self._gave_way.discard(running.listened.device_id)
            self.over.notify(replace(running.listened, is_complete=is_complete))
