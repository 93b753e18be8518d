"""The backend that joins networks through NetworkManager, with wpa_supplicant watched beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from ipaddress import IPv4Network

import structlog

from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.backends.networkmanager._active_connection import (
    ActiveConnection,
    Joined,
    deactivate,
    delete_profile,
    is_free,
)
from wifimgrd.daemon.backends.networkmanager._adapter_reset import recover
from wifimgrd.daemon.backends.networkmanager._adoption import adopt, delete_leftovers
from wifimgrd.daemon.backends.networkmanager._attempt import Attempt
from wifimgrd.daemon.backends.networkmanager._autoconnect import AutoconnectBlock
from wifimgrd.daemon.backends.networkmanager._changes import Changes
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice
from wifimgrd.daemon.backends.networkmanager._inventory import Inventory
from wifimgrd.daemon.backends.networkmanager._link_monitor import LinkMonitor
from wifimgrd.daemon.backends.networkmanager._scan import is_visible, scan, scan_results
from wifimgrd.daemon.backends.networkmanager._service_watcher import ServiceWatcher
from wifimgrd.daemon.backends.supplicant.backend import RestartLink, SupplicantBackend
from wifimgrd.daemon.backends.supplicant.bssid_limit import LimitNetworks
from wifimgrd.daemon.backends.supplicant.country import Country, SetCountry
from wifimgrd.daemon.ports import BackendMemory, JoinRequest
from wifimgrd.domain.device import DeviceId, HeldLink, Sighting, Ssid
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.network import ScanResult
from wifimgrd.domain.recovery import BackendStep
from wifimgrd.proxies.networkmanager.definitions import DeviceState
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger(__name__)


class NetworkManagerBackend(SupplicantBackend[ServiceWatcher, Joined, LinkMonitor]):
    """Implements `ports.Backend`.

    `memory` stores what `claim` changed. `country` is the regulatory domain to set (two letters), or
    None to leave it as it is. `bus` is `system` or a D-Bus address; an open `connection` to begin with
    can be passed, and is closed by `stop`. `changes` makes those in NetworkManager for which this process has
    no privilege. It has none either for taking a link down and up (`restart_link`), and for wpa_supplicant's
    settings (`set_country`, `limit_networks`). `cameras` is the network of the cameras' addresses on this
    host.
    """

    def __init__(
        self,
        memory: BackendMemory,
        tasks: Tasks,
        *,
        changes: Changes,
        country: str | None = None,
        set_country: SetCountry | None = None,
        limit_networks: LimitNetworks | None = None,
        bus: str = "system",
        connection: BusConnection | None = None,
        restart_link: RestartLink | None = None,
        cameras: IPv4Network | None = None,
    ) -> None:
        super().__init__(
            tasks,
            bus=bus,
            connection=connection,
            cameras=cameras,
            country=Country(country, set_country),
            limit_networks=limit_networks,
        )
        self._changes = changes
        self._autoconnect = AutoconnectBlock(memory, changes)
        self._restart_link = restart_link

    @property
    def name(self) -> str:
        """As in `[backend] name`."""
        return "networkmanager"

    async def stop(self) -> None:
        """Restore autoconnect and close; links stay up."""
        self._listener = None
        self._autoconnect.release_all()
        if self._services and self._services.inventory and self._services.connection.is_open:
            devices = list(self._services.inventory.devices.values())
            await asyncio.gather(*(self._autoconnect.restore(device) for device in devices))
        await self._end_work()
        await self._close()

    async def claim(self, interface: str) -> None:
        """Disable autoconnect on an interface; see Backend.claim."""
        self._autoconnect.claim(interface)
        device = self._device(interface)
        if device:
            await self._autoconnect.apply(device)

    async def release(self, interface: str) -> None:
        """Restore an interface's autoconnect; see Backend.release."""
        self._autoconnect.release(interface)
        device = self._device(interface)
        if device:
            await self._autoconnect.restore(device)

    async def scan(self, interface: str) -> None:
        """Scan all channels on an idle interface; see Backend.scan."""
        services = await self._ready()
        await scan(services.connection, self._device(interface), interface)

    async def is_visible(
        self,
        interface: str,
        ssid: Ssid,
        sightings: Sequence[Sighting],
        others: Mapping[str, DeviceId],
        *,
        all_channels: bool = True,
    ) -> bool:
        """Scan for one network on an idle interface; see Backend.is_visible."""
        services = await self._ready()
        choice = partial(self._choice, sightings, others)
        device = self._device(interface)
        return await is_visible(
            services.connection, device, interface, ssid, choice, all_channels=all_channels
        )

    async def recover(self, interface: str, step: BackendStep) -> None:
        """Carry out a recovery step on an idle interface that does not work; see Backend.recover."""
        services = await self._ready()
        await recover(
            services.connection, self._changes, self._device(interface), interface, step, self._restart_link
        )

    async def recent_scan_results(self, interface: str | None = None) -> Sequence[ScanResult]:
        """The scan results of all interfaces, or of one; see Backend.recent_scan_results."""
        services = await self._ready()
        devices = self._inventory_of(services).devices.values()
        return await scan_results(
            services.connection, [one for one in devices if interface in (None, one.name)]
        )

    # -- what joining and leaving is with NetworkManager

    def _services_on(self, connection: BusConnection) -> ServiceWatcher:
        return ServiceWatcher(connection, self, self._tasks)

    def _attempt(self, services: ServiceWatcher, request: JoinRequest, deadline: float) -> Attempt:
        return Attempt(
            services.connection,
            self._changes,
            self._inventory_of(services),
            request,
            deadline,
            self._check,
            self._users,
        )

    def _monitor(self, services: ServiceWatcher, held: HeldLink, joined: Joined, tasks: Tasks) -> LinkMonitor:
        return LinkMonitor(
            services.connection, self._changes, held, joined, tasks, self._check.require_usable
        )

    async def _disconnect(self, monitor: LinkMonitor) -> None:
        services = self._services
        if services and services.inventory and (found := _found_again(services.inventory, monitor)):
            device, activation = found
            await deactivate(services.connection, self._changes, device, activation)
            services.inventory.reserve(device, False)

    def _release_interface(self, monitor: LinkMonitor) -> None:
        inventory = self._services.inventory if self._services else None
        if inventory is not None and monitor.device.run is inventory:  # profiles left by a run go at the next
            self._tasks.start("delete-profile", delete_profile(self._changes, monitor.activation.profile))
            inventory.reserve(monitor.device, False)

    def _reserved(self) -> set[str]:
        inventory = self._services.inventory if self._services else None
        return (
            {device.name for device in inventory.devices.values() if device.reserved} if inventory else set()
        )

    def _services_lost(self) -> None:
        self.manager_lost()

    # -- callbacks of the service watcher

    def device_seen(self, device: NmDevice, facts: BackendFacts | None) -> None:
        """A device appeared, or something about it changed."""
        if self._listener and facts:
            self._listener.interface_facts(device.name, facts)
        if self._services:
            self._autoconnect.check_drift(device)
            self._tasks.start("autoconnect", self._autoconnect.apply(device))
            if self._is_orphan(device):
                self._tasks.start("orphan", self._end_orphan(device))
            if device.state >= DeviceState.DISCONNECTED:
                country = self._country.apply(device.name, device.path)
                self._tasks.start("country", country)

    def device_gone(self, device: NmDevice) -> None:
        """A device was removed, and its obstacles with it."""
        self._autoconnect.forget(device)
        self._country.forget(device.path)
        if self._listener:
            self._listener.interface_facts(device.name, None)

    async def manager_found(self, connection: BusConnection, inventory: Inventory) -> None:
        """NetworkManager is there: adopt this daemon's links that are up, and end those that are gone."""
        found = await adopt(connection, self._changes, inventory, self._tasks, self._check.require_usable)
        await delete_leftovers(connection, self._changes, {one.activation.profile for one in found})
        self._watch_adopted(found, "NetworkManager was restarted")

    def manager_lost(self) -> None:
        """NetworkManager went away: attempts are aborted, links may stay up until they drop."""
        self._country.forget_all()
        self._autoconnect.forget_drifts()
        for monitor in self._link_monitors.values():
            monitor.manager_lost()
        self._abort_attempts("NetworkManager stopped")

    def supplicant_lost(self) -> None:
        """wpa_supplicant went away: attempts are aborted; NetworkManager reports the ended links shortly."""
        self._country.forget_all()
        if self._services and self._services.inventory:
            self._services.inventory.forget_supplicant()
        self._abort_attempts("wpa_supplicant stopped")

    # -- links that nobody waits for

    def _is_orphan(self, device: NmDevice) -> bool:
        """Whether a device carries a profile of the hub's that no attempt and no link uses: the helper, which
        was just starting, has activated it when the attempt was over."""
        if device.reserved or is_free(device.state) or self._status.state is not BackendState.READY:
            return False  # until READY it may be adopted
        return device.carried is not None and device.carried.ours

    async def _end_orphan(self, device: NmDevice) -> None:
        async with self._lock(device.name):
            services, carried = self._services, device.carried
            if services is None or carried is None or not self._is_orphan(device):
                return
            _log.info("leftover_removed", interface=device.name, profile=carried.name)
            activation = ActiveConnection(carried.uuid, carried.profile, carried.path)
            await deactivate(services.connection, self._changes, device, activation)

    # -- helpers

    def _inventory_of(self, services: ServiceWatcher) -> Inventory:
        if services.inventory is None:
            raise BackendUnavailable(self._status.reason)
        return services.inventory

    def _device(self, interface: str) -> NmDevice | None:
        inventory = self._services.inventory if self._services else None
        return inventory.by_name(interface) if inventory else None


def _found_again(inventory: Inventory, monitor: LinkMonitor) -> tuple[NmDevice, ActiveConnection] | None:
    """A link as this run of NetworkManager has it; None where it is gone. A link of an earlier run, which is
    still to be adopted, has other object paths now."""
    if monitor.device.run is inventory:
        is_there = monitor.device.path in inventory.devices
        return (monitor.device, monitor.activation) if is_there else None
    for device in inventory.devices.values():
        if (carried := device.carried) is not None and carried.uuid == monitor.identity:
            return device, ActiveConnection(carried.uuid, carried.profile, carried.path)
    return None
