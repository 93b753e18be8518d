"""Observes connected cameras that answer nothing: evidence for `domain/dead_links.py`, which judges it.

The counters of the link are read at the begin of a silence and later, the camera is asked by ARP, and where
both say that the link is dead, another idle adapter scans for its access point. All of that is done before
the link is taken down, which destroys the counters and what the kernel knows of the camera's address.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from wifimgrd.daemon.manager._airtime import Airtime
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import Backend, LinkEvidence
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.dead_links import HEARD, Asked, Counters, Counting, Evidence, compare
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.time_limits import SCAN_S
from wifimgrd.runtime.tasks import Tasks

_SCANS: Final = 12
"""Another adapter scans at most so often in one silence; one scan in three hears an access point."""
_SECOND_US: Final = 1_000_000
"""The times at which networks were received are of whole seconds."""


@dataclass(slots=True)
class Silence:
    """A silence of a connected camera, and what was observed in it."""

    entry: DeviceEntry
    interface: str
    since_s: float
    """When it began, on the loop's clock."""
    before: Counters | None = None
    """The counters at its begin."""
    evidence: Evidence = field(default_factory=Evidence)
    scans: int = 0
    task: asyncio.Task[None] | None = None
    """Observes it, and ends with it."""


class LinkObserver:
    """Collects evidence about links that are up, and may be dead."""

    def __init__(
        self, state: HubState, evidence: LinkEvidence, airtime: Airtime, backend: Backend, tasks: Tasks
    ) -> None:
        self._state = state
        self._evidence = evidence
        self._airtime = airtime
        self._backend = backend
        self._tasks = tasks
        self._scanning: dict[str, asyncio.Task[bool]] = {}
        """Running scans, by the interface that scans."""

    def begin(self, entry: DeviceEntry, interface: str) -> Silence:
        """A probe was not answered."""
        return Silence(entry, interface, asyncio.get_running_loop().time())

    async def count(self, silence: Silence) -> None:
        """Read the counters at the begin of a silence."""
        silence.before = await self._evidence.counters(silence.interface)

    async def look(self, silence: Silence) -> None:
        """Observe the link once more: that takes up to 25 s."""
        counting = compare(silence.before, await self._evidence.counters(silence.interface))
        silence.evidence = silence.evidence.counted(counting)
        await self._ask(silence)
        seen = silence.evidence
        if seen.arp is Asked.SILENT and seen.counting is Counting.STILL and seen.heard < HEARD:
            await self._listen(silence)

    async def _ask(self, silence: Silence) -> None:
        link = silence.entry.link
        if link is None or not link.camera_address:
            return
        within_s = asyncio.get_running_loop().time() - silence.since_s
        asked = await self._evidence.asked(silence.interface, link.camera_address, within_s)
        if asked is not Asked.NOT_ASKED:
            silence.evidence = silence.evidence.asked(asked is Asked.ANSWERED)

    async def _listen(self, silence: Silence) -> None:
        """Have another adapter scan for the access point of a link, if one is idle."""
        sighting = None if silence.entry.link is None else silence.entry.link.sighting
        if sighting is None or silence.scans >= _SCANS:
            return
        name = self._listener(silence.interface, Band.of_frequency(sighting.frequency_mhz))
        if name is None:
            return
        silence.scans += 1
        scan = self._tasks.start("listen", self._hears(name, sighting.bssid), expected=(WifimgrdError,))
        self._scanning[name] = scan
        self._airtime.begin(name, scan)
        try:
            with suppress(WifimgrdError, TimeoutError):
                silence.evidence = silence.evidence.scanned(await scan)
        except asyncio.CancelledError:
            if not scan.cancelled():  # this task was cancelled, not the scan
                scan.cancel()
                raise
        finally:
            if self._scanning.get(name) is scan:
                del self._scanning[name]
            self._airtime.end(name, scan)

    def _listener(self, interface: str, band: Band | None) -> str | None:
        """An idle interface of another USB device that can receive a band."""
        allocator = self._state.allocator
        if interface not in allocator.interfaces or self._backend.status.state is not BackendState.READY:
            return None
        own = allocator.of_usb_device(interface)
        for name in allocator.available:
            listed = allocator.interfaces[name]
            fits = not listed.facts.bands or band in listed.facts.bands
            if fits and not listed.suspect and name not in own and name not in self._airtime:
                return name
        return None

    async def _hears(self, name: str, bssid: str) -> bool:
        """Whether an adapter receives an access point in a scan; a result of no known time may be older."""
        began_us = self._state.clock() // _SECOND_US * _SECOND_US
        async with asyncio.timeout(SCAN_S):
            await self._backend.scan(name)
            points = await self._backend.recent_scan_results(name)
        return any(
            point.interface == name
            and point.sighting.bssid == bssid
            and point.last_seen_us >= max(began_us, 1)
            for point in points
        )

    def interface_changed(self, name: str) -> None:
        """An interface may have been assigned to a device: it no longer scans then."""
        if name in self._scanning and name in self._state.allocator.holders:
            self._scanning[name].cancel()

    async def stop(self) -> None:
        """End all scans."""
        await self._tasks.stop()
