"""One connection to the message bus: NetworkManager and wpa_supplicant coming and going on it."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

import structlog

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import NmDevice
from wifimgrd.backends.networkmanager.inventory import Inventory, InventoryListener
from wifimgrd.dbus.bus import BusConnection, BusError, Signal, Watch
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger(__name__)

_RETRY_S: Final = 1.0
"""At the latest, a NetworkManager that owns its name and has no objects yet is asked again."""


class SessionListener(InventoryListener, Protocol):
    """Told by a session."""

    def status_changed(self, status: BackendStatus) -> None:
        """What can be done now."""

    async def manager_found(self, connection: BusConnection, inventory: Inventory) -> None:
        """NetworkManager is there, and its devices are known; READY comes after this."""

    def manager_lost(self) -> None:
        """NetworkManager went away, and its objects with it."""

    def supplicant_lost(self) -> None:
        """wpa_supplicant went away, and its objects with it."""


class Session:
    """Follows the two names on a bus, by NameOwnerChanged alone, for as long as the bus lasts."""

    def __init__(self, connection: BusConnection, listener: SessionListener, tasks: Tasks) -> None:
        self.connection = connection
        self.inventory: Inventory | None = None
        """While NetworkManager is there and its devices are known."""
        self._listener = listener
        self._tasks = tasks
        self._watches: list[Watch] = []
        self._owners: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._supplicant_seen = False
        self._settled = False

    async def run_until_closed(self) -> None:
        """Follow both until the connection is gone."""
        following = asyncio.get_running_loop().create_task(self._follow())
        closing = asyncio.get_running_loop().create_task(self.connection.wait_closed())
        try:
            await asyncio.wait([following, closing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (following, closing):
                task.cancel()
            await asyncio.wait([following, closing])
        if not following.cancelled() and (error := following.exception()):
            raise error

    async def _follow(self) -> None:
        for name in (defs.NM, defs.WPAS):
            watch = await self.connection.watch(
                self._owner_changed, sender=defs.BUS, interface=defs.BUS, member="NameOwnerChanged", arg0=name
            )
            self._watches.append(watch)
        for name in (defs.NM, defs.WPAS):
            self._owners[name] = await self.connection.name_owner(name) or ""
        self._supplicant_seen = bool(self._owners[defs.WPAS])
        while True:
            if not self._owners[defs.NM]:
                self._tell(BackendState.UNAVAILABLE, "NetworkManager is not running")
                await self._next_change()
                continue
            await self._with_manager(self._owners[defs.NM])

    async def close(self) -> None:
        """Stop following names and devices."""
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.drop()
        inventory, self.inventory = self.inventory, None
        if inventory:
            await inventory.stop()

    def device_seen(self, device: NmDevice, facts: BackendFacts | None) -> None:
        """Pass on what the inventory tells."""
        self._listener.device_seen(device, facts)
        if self._settled:
            self._tell_supplicant()

    def device_gone(self, device: NmDevice) -> None:
        """Pass on what the inventory tells."""
        self._listener.device_gone(device)
        if self._settled:
            self._tell_supplicant()

    async def _with_manager(self, owner: str) -> None:
        """From the moment NetworkManager is there until it is gone."""
        self._tell(BackendState.STARTING, "NetworkManager is starting")
        inventory = Inventory(self.connection, self, self._tasks.part("inventory"))
        try:
            await inventory.start()
            self.inventory = inventory
            await self._listener.manager_found(self.connection, inventory)
            if self._owners[defs.NM] == owner:
                self._settled = True
                self._tell_supplicant()
            while self._owners[defs.NM] == owner:
                await self._next_change()
        except (BusError, TimeoutError) as error:
            _log.info("networkmanager_not_ready", error=str(error))
            await self._next_word_of_manager()
        finally:
            self._settled = False
            self.inventory = None
            await inventory.stop()

    async def _next_word_of_manager(self) -> None:
        """NetworkManager takes its name before it has objects, and speaks up when it has."""
        watch = await self.connection.watch(
            lambda _: self._changed.set(), sender=defs.NM, path=defs.NM_PATH, member="PropertiesChanged"
        )
        await self._next_change(_RETRY_S)
        watch.drop()

    def _tell_supplicant(self) -> None:
        """READY, unless an adapter waits for a supplicant that is not there."""
        inventory = self.inventory
        if inventory is None or self._owners[defs.WPAS] or not inventory.radio.enabled:
            self._tell(BackendState.READY)
        elif all(device.state < DeviceState.UNAVAILABLE for device in inventory.devices.values()):
            self._tell(BackendState.READY)  # NetworkManager starts the supplicant for its first adapter
        elif self._supplicant_seen:
            self._tell(BackendState.UNAVAILABLE, "wpa_supplicant is not running")
        else:
            self._tell(BackendState.STARTING, "wpa_supplicant is starting")

    def _tell(self, state: BackendState, reason: str = "") -> None:
        self._listener.status_changed(BackendStatus(state, reason))

    def _owner_changed(self, signal: Signal) -> None:
        name, before, after = signal.body
        self._owners[name] = after
        if name == defs.NM and before:
            self._settled = False
            self._tell(BackendState.UNAVAILABLE, "NetworkManager is not running")
            self._listener.manager_lost()
        elif name == defs.WPAS:
            if before:
                self._listener.supplicant_lost()
            self._supplicant_seen = self._supplicant_seen or bool(after)
            if self._settled:
                self._tell_supplicant()
        self._changed.set()

    async def _next_change(self, timeout_s: float | None = None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return
        finally:
            self._changed.clear()
