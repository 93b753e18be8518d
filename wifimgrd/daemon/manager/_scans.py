"""Scans on idle interfaces; requests at the same time share one scan."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from wifimgrd.daemon.manager._airtime import Airtime
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import Backend
from wifimgrd.domain import sentences
from wifimgrd.domain.camera_model import guess_model
from wifimgrd.domain.errors import BackendUnavailable, Busy, WifimgrdError
from wifimgrd.domain.interface import InterfaceStatus
from wifimgrd.domain.network import Network, networks
from wifimgrd.domain.time_limits import SCAN_S

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ScanReport:
    """Which interfaces scanned, and why others did not."""

    scanned: Sequence[str]
    skipped: Mapping[str, str]
    """A reason for each, as a predicate ("wlan0 ...")."""
    failed: Sequence[str] = ()
    """Those of the skipped whose scan was started and failed."""


class Scans:
    """The running scans, at most one per interface."""

    def __init__(self, state: HubState, airtime: Airtime, backend: Backend) -> None:
        self._state = state
        self._airtime = airtime
        self._backend = backend
        self._running: dict[str, asyncio.Task[None]] = {}

    async def scan(self, interface: str | None = None) -> ScanReport:
        """Scan on every idle interface, or on one; on an interface that is scanning, wait for that scan. A
        search for a lost camera ends for it, and is repeated; one that was ended so before is waited for.

        An interface that is assigned to a device never scans: that would take its radio off the
        link's channel. Raises InterfaceNotFound, BackendUnavailable.
        """
        self._backend.status.require_ready(self._backend.name)
        allocator = self._state.allocator
        statuses = list(allocator.statuses()) if interface is None else [allocator.status(interface)]
        skipped = {one.interface.name: why for one in statuses if (why := self._why_not(one))}
        tasks = {
            one.interface.name: self._task(one.interface.name)
            for one in statuses
            if one.interface.name not in skipped
        }
        scanned, failed = [], []
        for name, task in tasks.items():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                if not task.cancelled():
                    raise
                skipped[name] = "its scan was aborted"
            except WifimgrdError as error:
                skipped[name] = error.message
                if isinstance(error, BackendUnavailable):
                    failed.append(name)
            else:
                scanned.append(name)
        return ScanReport(scanned, skipped, failed)

    async def networks(self, interface: str | None = None) -> list[Network]:
        """The networks of the recent scan results; raises InterfaceNotFound, BackendUnavailable."""
        self._backend.status.require_ready(self._backend.name)
        allocator = self._state.allocator
        if interface is not None:
            allocator.status(interface)
        listed = allocator.interfaces if interface is None else {interface}
        read = await self._backend.recent_scan_results(interface)
        results = [point for point in read if point.interface in listed]
        found = networks(results, (entry.device for entry in self._state.entries.values()))
        models = self._state.settings.models.values()
        return [
            replace(
                one,
                codename=guess_model(models, one.ssid.text, [point.sighting.bssid for point in one.points]),
            )
            for one in found
        ]

    async def stop(self) -> None:
        """Cancel running scans."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _task(self, name: str) -> asyncio.Task[None]:
        task = self._running.get(name)
        if task is None:
            task = self._running[name] = asyncio.create_task(self._scan(name))
            task.add_done_callback(lambda done: self._ended(name, done))
        return task

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        del self._running[name]
        self._airtime.end(name, task)
        if not task.cancelled():
            task.exception()  # marked as retrieved: the callers may have been cancelled

    async def _scan(self, name: str) -> None:
        try:
            await self._airtime.take(name, self._running[name])
            self._require_idle(name)
            async with asyncio.timeout(SCAN_S):
                await self._backend.scan(name)
        except TimeoutError:
            raise BackendUnavailable("its scan took too long") from None
        except WifimgrdError as error:
            _log.info("scan_failed", interface=name, reason=error.message)
            raise
        except Exception:  # noqa: BLE001 - a backend's bug must not fail the other interfaces
            _log.exception("scan_crashed", interface=name)
            raise BackendUnavailable("its scan failed") from None

    def _require_idle(self, name: str) -> None:
        """Raises Busy if an interface was assigned while it was waited for: the search has found its camera,
        or a client has connected one."""
        allocator = self._state.allocator
        if name in allocator.holders and (why := self._why_not(allocator.status(name))):
            raise Busy(why)

    def _why_not(self, status: InterfaceStatus) -> str:
        if status.device_id is not None:
            return sentences.in_use_by(status.device_id, self._state.device_name(status.device_id))
        return status.reason
