"""Searching the air: on interfaces that nobody uses, once for all who ask at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from wifimgrd.domain.errors import BackendUnavailable, WifimgrdError
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.interface import InterfaceState, InterfaceStatus
from wifimgrd.domain.network import Network, networks
from wifimgrd.manager.state import HubState
from wifimgrd.ports import Backend

_log = structlog.get_logger()

SCAN_TIMEOUT_S: Final = 15.0
"""A scan of all channels takes up to some 10 s."""


@dataclass(frozen=True, slots=True)
class ScanReport:
    """Which interfaces searched, and why others did not."""

    scanned: Sequence[str]
    skipped: Mapping[str, str]
    """A reason for each, as a sentence's end ("wlan0 ...")."""
    failed: Sequence[str] = ()
    """Those of the skipped that tried and could not."""


class Scans:
    """Scans that run, one an interface at most."""

    def __init__(self, state: HubState, backend: Backend) -> None:
        self._state = state
        self._backend = backend
        self._running: dict[str, asyncio.Task[None]] = {}

    async def scan(self, interface: str | None = None) -> ScanReport:
        """Search on every idle interface, or on one; join the scan of an interface that searches.

        An interface that a device uses is never scanned on: that would take its radio off the
        link's channel. Raises InterfaceNotFound, BackendUnavailable.
        """
        self._require_backend()
        allocator = self._state.allocator
        statuses = list(allocator.statuses()) if interface is None else [allocator.status(interface)]
        skipped = {one.interface.name: why for one in statuses if (why := _why_not(one))}
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
                skipped[name] = "its scan was ended"
            except WifimgrdError as error:
                skipped[name] = error.message
                if isinstance(error, BackendUnavailable):
                    failed.append(name)
            else:
                scanned.append(name)
        return ScanReport(scanned, skipped, failed)

    async def networks(self, interface: str | None = None) -> list[Network]:
        """What was heard of late, without a scan; raises InterfaceNotFound, BackendUnavailable."""
        self._require_backend()
        allocator = self._state.allocator
        if interface is not None:
            allocator.status(interface)
        listed = allocator.interfaces if interface is None else {interface}
        heard = [point for point in await self._backend.heard() if point.interface in listed]
        return networks(heard, (entry.device for entry in self._state.entries.values()))

    async def stop(self) -> None:
        """End what runs."""
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
        if not task.cancelled():
            task.exception()  # whoever asked may have gone

    async def _scan(self, name: str) -> None:
        try:
            async with asyncio.timeout(SCAN_TIMEOUT_S):
                await self._backend.scan(name)
        except TimeoutError:
            raise BackendUnavailable("its scan takes too long") from None
        except WifimgrdError as error:
            _log.info("scan_failed", interface=name, reason=error.message)
            raise
        except Exception:  # noqa: BLE001 - a backend's bug must not fail the other interfaces
            _log.exception("scan_crashed", interface=name)
            raise BackendUnavailable("its scan failed") from None

    def _require_backend(self) -> None:
        status = self._backend.status
        if status.state is not BackendState.READY:
            raise BackendUnavailable(status.reason or f"the backend {self._backend.name} is {status.state}")


def _why_not(status: InterfaceStatus) -> str:
    if status.state is InterfaceState.IN_USE:
        return f"in use by device {status.device}"
    return status.reason
