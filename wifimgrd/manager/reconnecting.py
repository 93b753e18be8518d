"""Lost devices brought back: when to look, where, and what comes of it.

What is due when is decided by the pure `Pursuits`; this module has the clock, the one timer and the
tasks. With nothing pursued there is no timer, and with no idle interface none either: then the next
interface that becomes available is the event that goes on with it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from wifimgrd.domain.device import Device, DeviceId, DeviceState, Ssid
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.domain.events import BackendState, DeviceUpdated
from wifimgrd.domain.pursuit import Pursuits
from wifimgrd.manager.connections import Connections
from wifimgrd.manager.entry import DeviceEntry
from wifimgrd.manager.state import HubState, nobody_minds
from wifimgrd.ports import Backend

_log = structlog.get_logger()

_LOOK_S: Final = 20.0
"""No look for one network takes longer."""


class Reconnecting:
    """Pursues devices that were lost until they are back or somebody commands otherwise."""

    def __init__(self, state: HubState, connections: Connections, backend: Backend) -> None:
        self._state = state
        self._connections = connections
        self._backend = backend
        self._pursuits = Pursuits()
        self._timer: asyncio.TimerHandle | None = None
        self._chases: dict[DeviceId, asyncio.Task[None]] = {}
        self._looking: dict[str, DeviceId] = {}
        """On which interfaces a look runs; no assignment is made for that."""
        self.on_unseen: Callable[[Device, str], None] = nobody_minds
        """The network of a device was not found by an interface."""
        self._chance = random.Random()  # noqa: S311 - jitter
        state.on_lost = self.lost
        state.on_established.append(lambda entry: self._end(entry.device.id))
        state.on_interface.append(self._interface_changed)
        connections.on_command = self.commanded

    # -- what happened

    def lost(self, entry: DeviceEntry) -> None:
        """A device is disconnected that nobody wanted disconnected."""
        device = entry.device
        if self._state.is_brought_back(device):
            if self._state.note_loss(entry):
                self._state.publish(DeviceUpdated(self._state.status(entry)))
            self._pursuits = self._pursuits.lost(device.id, device.priority, self._now())
            self._go_on()

    def commanded(self, entry: DeviceEntry) -> None:
        """A client takes a device in hand: nothing happens to it by itself until it is connected."""
        self._end(entry.device.id)
        entry.lost_us = 0
        self._state.amend(entry, replace(entry.device, wanted=False), at_once=entry.device.wanted)

    def removed(self, device: DeviceId) -> None:
        """A device is forgotten."""
        self._end(device)

    def amended(self, entry: DeviceEntry, *, credentials: bool) -> None:
        """A client changed a device: whether it is brought back, or its network."""
        device = entry.device
        if not device.auto_reconnect:
            self._end(device.id)
        elif device.id in self._pursuits.all:
            if credentials:
                self._pursuits = self._pursuits.pardoned(device.id)
            self._go_on()
        elif entry.state is DeviceState.DISCONNECTED:
            self.lost(entry)

    def reconfigured(self) -> None:
        """Whether lost devices are brought back at all may be another setting now."""
        for entry in self._state.entries.values():
            if not self._state.is_brought_back(entry.device):
                self._end(entry.device.id)
            elif entry.state is DeviceState.DISCONNECTED and entry.device.id not in self._pursuits.all:
                self.lost(entry)

    def backend_ready(self) -> None:
        """The backend is there, for the first time or again, and agrees with us."""
        for entry in self._state.entries.values():
            if entry.state is DeviceState.DISCONNECTED and entry.device.id not in self._pursuits.all:
                self.lost(entry)
        self._pursuits = self._pursuits.sign(self._now())
        self._go_on()

    def heard(self, ssids: Collection[Ssid]) -> None:
        """A scan showed these networks."""
        for device in self._pursuits.all:
            if self._state.entries[device].device.ssid in ssids:
                self._pursuits = self._pursuits.sign(self._now(), device)
        self._go_on()

    def looks_on(self, interface: str) -> bool:
        """Whether a look runs on an interface."""
        return interface in self._looking

    async def stop(self) -> None:
        """Look for nothing more."""
        self._pursuits = Pursuits()
        self._arm()
        chases = list(self._chases.values())
        for chase in chases:
            chase.cancel()
        if chases:
            await asyncio.wait(chases)

    # -- going on

    def _interface_changed(self, name: str) -> None:
        """An interface may be available now, or be taken from under a look."""
        looker = self._looking.get(name)
        if looker is not None and self._state.allocator.holders.get(name, looker) != looker:
            self._chases[looker].cancel()
        if self._pursuits.all:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """Start what is due and can be done, and wait for the rest."""
        if self._is_ready():
            for device in self._pursuits.due(self._now()):
                entry = self._state.entries.get(device)
                interface = None if entry is None else self._idle_interface(entry)
                if entry is not None and interface is not None:
                    self._pursuits = self._pursuits.begun(device)
                    self._looking[interface] = device
                    task = self._chases[device] = asyncio.create_task(self._chase(entry, interface))
                    task.add_done_callback(partial(self._chased, device))
        self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now_s = self._now()
        next_s = self._pursuits.next_s(now_s)
        if next_s is not None:
            self._timer = asyncio.get_running_loop().call_later(next_s - now_s, self._go_on)

    def _idle_interface(self, entry: DeviceEntry) -> str | None:
        """An interface that the device would get, and on which no look runs."""
        allocator = self._state.allocator
        for name, looker in self._looking.items():
            if name in allocator.interfaces and name not in allocator.holders:
                allocator = allocator.adopt(looker, name)
        return allocator.would_get(self._connections.claim(entry))

    async def _chase(self, entry: DeviceEntry, interface: str) -> None:
        """Look for a device's network, and join it where it is in the air."""
        device, code = entry.device, None
        try:
            async with asyncio.timeout(_LOOK_S):
                seen = await self._backend.look(interface, device.ssid, device.sightings)
            if not seen:
                self.on_unseen(device, interface)
        except (WifimgrdError, TimeoutError) as error:
            _log.info("look_failed", device=device.id, interface=interface, reason=str(error))
            seen = False
        except Exception:  # noqa: BLE001 - a backend's bug must not end the pursuit
            _log.exception("look_crashed", device=device.id, interface=interface)
            seen = False
        finally:
            self._looking.pop(interface, None)
        if seen and entry.state is DeviceState.DISCONNECTED and not entry.removing:
            _log.info("network_is_back", device=device.id, interface=interface)
            code = await self._try(entry)
        self._pursuits = self._pursuits.failed(device.id, self._now(), self._chance.random(), code)

    async def _try(self, entry: DeviceEntry) -> ErrorCode | None:
        """An attempt, to its end; what it ended by, or None."""
        try:
            if not self._is_ready() or self._idle_interface(entry) is None:
                return None  # gone or taken meanwhile
            self._connections.begin(entry, automatic=True)
            if entry.outcome is not None:
                await asyncio.shield(entry.outcome)
        except WifimgrdError as error:
            return error.code
        return None

    def _chased(self, device: DeviceId, task: asyncio.Task[None]) -> None:
        if self._chases.get(device) is task:
            del self._chases[device]
        if task.cancelled():
            self._pursuits = self._pursuits.postponed(device)
        elif (error := task.exception()) is not None:
            _log.error("chase_crashed", device=device, exc_info=error)
            self._pursuits = self._pursuits.failed(device, self._now(), self._chance.random())
        self._go_on()

    def _end(self, device: DeviceId) -> None:
        self._pursuits = self._pursuits.ended(device)
        chase = self._chases.get(device)
        if chase is not None and device in self._looking.values():
            chase.cancel()
        self._arm()

    def _is_ready(self) -> bool:
        return self._backend.status.state is BackendState.READY

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
