"""Send probes and keep-alive messages to connected cameras.

There is one task per kind of message for each connected camera, and none for other cameras. The pure
`Reachability` decides what is reported; this module has the clock.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

import structlog

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._state import HubState, LinkEnd
from wifimgrd.daemon.ports import Answer, CameraContact
from wifimgrd.domain.camera_model import Addressing, CameraModel, KeepAlive
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.events import DeviceUpdated
from wifimgrd.domain.reachability import ANSWERED_S, Reachability
from wifimgrd.runtime.tasks import Backoff, Tasks

_log = structlog.get_logger()

_BACKOFF: Final = Backoff(first_s=1.0, last_s=60.0)
_FIRST_S: Final = 0.25
"""Delay after the link is up, so that callers that wait for the link are served first."""


class Liveness:
    """Probes each camera while its link is up."""

    def __init__(self, state: HubState, contact: CameraContact, tasks: Tasks) -> None:
        self._state = state
        self._contact = contact
        self._tasks = tasks
        self._watches: dict[DeviceId, Tasks] = {}
        """The probes and keep-alive messages of each connected device."""
        self.probed = Notice[DeviceEntry]()
        """A connected camera has answered a probe, or has not: its reachability is up to date, and was
        published."""

    def start(self, entry: DeviceEntry) -> None:
        """Start to probe a camera, which is connected now."""
        watch = self._watches[entry.device.id] = self._tasks.part(f"device-{entry.device.id}")
        model = self._state.model(entry.device)
        watch.keep("probe", partial(self._probe_loop, entry, model), _BACKOFF)
        if model.keep_alive is not None:
            watch.keep("keep-alive", partial(self._keep_alive_loop, entry, model.keep_alive), _BACKOFF)

    def link_up(self, entry: DeviceEntry) -> None:
        """A link is up: a camera that has given an address answers."""
        if self._state.model(entry.device).addressing is Addressing.DHCP:
            entry.reachability = Reachability.addressed()

    def link_ended(self, end: LinkEnd) -> None:
        """A camera is no longer connected."""
        entry = end.entry
        entry.reachability = Reachability()
        if (watch := self._watches.pop(entry.device.id, None)) is not None:
            watch.cancel()

    async def stop(self) -> None:
        """Stop all probes and keep-alive messages."""
        await self._tasks.stop()

    async def _probe_loop(self, entry: DeviceEntry, model: CameraModel) -> None:
        await asyncio.sleep(_FIRST_S)
        while True:
            interface, address = self._where(entry)
            answer = Answer.UNKNOWN
            if address:
                answer = await self._contact.probe(entry.device.id, interface, address, model.probe)
            match answer:
                case Answer.ANSWERED:
                    self._apply(entry, entry.reachability.answered())
                case Answer.SILENT:
                    self._apply(entry, entry.reachability.silent())
                    await self._wake_on_lan(entry, model)
            await asyncio.sleep(ANSWERED_S if answer is Answer.UNKNOWN else entry.reachability.wait_s)

    async def _wake_on_lan(self, entry: DeviceEntry, model: CameraModel) -> None:
        """Wake a camera that is joined and does not answer, if its model listens for that."""
        interface, address = self._where(entry)
        sighting = None if entry.link is None else entry.link.sighting
        if model.bluetooth is not None and model.bluetooth.wake_on_lan and address and sighting is not None:
            await self._contact.wake_on_lan(entry.device.id, interface, address, sighting.bssid)

    async def _keep_alive_loop(self, entry: DeviceEntry, keep_alive: KeepAlive) -> None:
        await asyncio.sleep(_FIRST_S)
        while True:
            interface, address = self._where(entry)
            if address:
                await self._contact.keep_alive(entry.device.id, interface, address, keep_alive)
            await asyncio.sleep(keep_alive.interval_s)

    def _where(self, entry: DeviceEntry) -> tuple[str, str]:
        """Interface and address of a connected camera, the address empty where it is not known."""
        interface = self._state.interface_of(entry)
        return interface or "", entry.link.camera_address if entry.link is not None and interface else ""

    def _apply(self, entry: DeviceEntry, reachability: Reachability) -> None:
        before, entry.reachability = entry.reachability, reachability
        if reachability.reachable != before.reachable:
            _log.info("reachable" if reachability.reachable else "silent", device=entry.device.id)
            self._state.publish(DeviceUpdated(self._state.status(entry)))
        self.probed.notify(entry)
