"""Watch NetworkManager and wpa_supplicant start and stop, over one connection to the message bus."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

import structlog

from wifimgrd.bus.connection import BusConnection, BusError, OwnerChange, Watch
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice
from wifimgrd.daemon.backends.networkmanager._inventory import Inventory, InventoryListener
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.proxies.networkmanager.definitions import NM, DeviceState
from wifimgrd.proxies.networkmanager.manager import NetworkManager
from wifimgrd.proxies.wpa_supplicant.definitions import IWD, WPAS
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger(__name__)

_USES_IWD: Final = (
    "NetworkManager uses iwd, with which the hub joins no cameras: set `wifi.backend=wpa_supplicant` in the "
    "section `[device]` of a file in /etc/NetworkManager/conf.d, then `systemctl disable --now iwd` and "
    "`systemctl restart NetworkManager`"
)
_RETRY_S: Final = 1.0
"""Retry after this long where NetworkManager owns its name but has no objects yet."""


class ServiceListener(InventoryListener, Protocol):
    """Notified by the service watcher."""

    def status_changed(self, status: BackendStatus) -> None:
        """The backend's state changed."""

    async def manager_found(self, connection: BusConnection, inventory: Inventory) -> None:
        """NetworkManager is there, and its devices were read; READY follows."""

    def manager_lost(self) -> None:
        """NetworkManager went away, and its objects with it."""

    def supplicant_lost(self) -> None:
        """wpa_supplicant went away, and its objects with it."""


class ServiceWatcher:
    """Watches the bus names of both, and of iwd, by NameOwnerChanged, until the connection is closed."""

    def __init__(self, connection: BusConnection, listener: ServiceListener, tasks: Tasks) -> None:
        self.connection = connection
        self.inventory: Inventory | None = None
        """Set while NetworkManager is there and its devices were read."""
        self._listener = listener
        self._tasks = tasks
        self._watches: list[Watch] = []
        self._owners: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._supplicant_seen = False
        self._settled = False

    @property
    def missing(self) -> str:
        """The reason why the start waits; see WatchedServices.missing."""
        if self.inventory is None:
            return "NetworkManager does not answer; `systemctl restart NetworkManager` may help"
        return (
            "NetworkManager does not start wpa_supplicant: it needs the package wpasupplicant, and no "
            "wifi.backend=iwd in /etc/NetworkManager; `journalctl -u NetworkManager` says more"
        )

    async def watch(self) -> None:
        """Watch the names until cancelled; raises BusError, BusClosed, TimeoutError."""
        for name in (NM, WPAS, IWD):
            self._watches.append(await self.connection.watch_owner(self._owner_changed, name))
        for name in (NM, WPAS, IWD):
            self._owners[name] = await self.connection.name_owner(name) or ""
        self._supplicant_seen = bool(self._owners[WPAS])
        while True:
            if not self._owners[NM]:
                self._report(BackendState.UNAVAILABLE, "NetworkManager is not running")
                await self._next_change()
                continue
            await self._with_manager(self._owners[NM])

    async def close(self) -> None:
        """Stop watching names and devices."""
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.drop()
        inventory, self.inventory = self.inventory, None
        if inventory:
            await inventory.stop()

    def device_seen(self, device: NmDevice, facts: BackendFacts | None) -> None:
        """Pass on an event of the inventory."""
        self._listener.device_seen(device, facts)
        if self._settled:
            self._report_supplicant()

    def device_gone(self, device: NmDevice) -> None:
        """Pass on an event of the inventory."""
        self._listener.device_gone(device)
        if self._settled:
            self._report_supplicant()

    async def _with_manager(self, owner: str) -> None:
        """Run the inventory while `owner` owns NetworkManager's name."""
        self._report(BackendState.STARTING, "NetworkManager is starting")
        inventory = Inventory(self.connection, self, self._tasks.part("inventory"))
        try:
            await inventory.start()
            self.inventory = inventory
            await self._listener.manager_found(self.connection, inventory)
            if self._owners[NM] == owner:
                self._settled = True
                self._report_supplicant()
            while self._owners[NM] == owner:
                await self._next_change()
        except (BusError, TimeoutError) as error:
            _log.info("networkmanager_not_ready", error=str(error))
            await self._next_manager_signal()
        finally:
            self._settled = False
            self.inventory = None
            await inventory.stop()

    async def _next_manager_signal(self) -> None:
        """NetworkManager takes its name before it has objects, and sends a signal when it has them."""
        watch = await NetworkManager(self.connection).watch_any_property(lambda _: self._changed.set())
        await self._next_change(_RETRY_S)
        watch.drop()

    def _report_supplicant(self) -> None:
        """Report READY, unless an adapter waits for a supplicant that is not running."""
        inventory = self.inventory
        if inventory is None or self._owners[WPAS] or not inventory.radio.enabled:
            self._report(BackendState.READY)
        elif self._owners[IWD] and any(map(_is_ready, inventory.devices.values())):
            self._report(BackendState.UNAVAILABLE, _USES_IWD)
        elif all(device.state < DeviceState.UNAVAILABLE for device in inventory.devices.values()):
            self._report(BackendState.READY)  # NetworkManager starts the supplicant for its first adapter
        elif self._supplicant_seen:
            self._report(BackendState.UNAVAILABLE, "wpa_supplicant is not running")
        else:
            self._report(BackendState.STARTING, "wpa_supplicant is starting")

    def _report(self, state: BackendState, reason: str = "") -> None:
        self._listener.status_changed(BackendStatus(state, reason))

    def _owner_changed(self, change: OwnerChange) -> None:
        name, before, after = change
        self._owners[name] = after
        if name == NM and before:
            self._settled = False
            self._report(BackendState.UNAVAILABLE, "NetworkManager is not running")
            self._listener.manager_lost()
        elif name == IWD:
            if self._settled:
                self._report_supplicant()
        elif name == WPAS:
            if before:
                self._listener.supplicant_lost()
            self._supplicant_seen = self._supplicant_seen or bool(after)
            if self._settled:
                self._report_supplicant()
        self._changed.set()

    async def _next_change(self, timeout_s: float | None = None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return
        finally:
            self._changed.clear()


def _is_ready(device: NmDevice) -> bool:
    """Whether NetworkManager can join networks by it; it needs a supplicant for that."""
    return device.state >= DeviceState.DISCONNECTED
