"""The backend that joins networks through wpa_supplicant, and takes addresses by systemd-networkd."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from ipaddress import IPv4Network
from typing import Final, assert_never

import structlog

from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.daemon.backends.supplicant.backend import BUS_ERRORS, READY_S, RestartLink, SupplicantBackend
from wifimgrd.daemon.backends.supplicant.bssid_limit import LimitNetworks
from wifimgrd.daemon.backends.supplicant.country import Country, SetCountry
from wifimgrd.daemon.backends.wpa_supplicant._adoption import adopt
from wifimgrd.daemon.backends.wpa_supplicant._attempt import Attempt, Joined
from wifimgrd.daemon.backends.wpa_supplicant._inventory import Inventory, WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._link_monitor import LinkMonitor
from wifimgrd.daemon.backends.wpa_supplicant._registration import RegisterInterface, Registrations
from wifimgrd.daemon.backends.wpa_supplicant._scan import idle_interface, is_visible, scan, scan_results
from wifimgrd.daemon.backends.wpa_supplicant._services import (
    AddNetwork,
    ConfigureLink,
    ReleaseLink,
    RequestLease,
    Services,
)
from wifimgrd.daemon.ports import BackendListener, BackendMemory, JoinRequest
from wifimgrd.domain.device import DeviceId, HeldLink, Sighting, Ssid
from wifimgrd.domain.errors import ConnectionLost, InterfaceLost, WifimgrdError
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.network import ScanResult
from wifimgrd.domain.recovery import BackendStep, RecoveryStep
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger(__name__)

_NOT_RUNNING: Final = "wpa_supplicant is not running"
_REREAD_S: Final = 1.0
"""Before who uses an interface is asked again, where that was not answered."""
_NETWORKD_RETURN_S: Final = 1.0
"""After a crash or a restart networkd is back within this time."""


class WpaSupplicantBackend(SupplicantBackend[Services, Joined, LinkMonitor]):
    """Implements `ports.Backend`.

    `memory` stores which interfaces were registered. `register_interface` registers one with wpa_supplicant,
    `add_network` configures a network there, `limit_networks` and `set_country` change its settings,
    `configure_link`, `request_lease` and `release_link` have networkd take addresses, and `restart_link`
    takes a link down and up: this process has no privilege for these. `country` is the regulatory domain to
    set, or None to leave it as it is. `bus` is `system` or a D-Bus address. `cameras` is the network of the
    cameras' addresses on this host.
    """

    def __init__(
        self,
        memory: BackendMemory,
        tasks: Tasks,
        *,
        register_interface: RegisterInterface,
        add_network: AddNetwork,
        configure_link: ConfigureLink,
        request_lease: RequestLease,
        release_link: ReleaseLink,
        restart_link: RestartLink | None = None,
        country: str | None = None,
        set_country: SetCountry | None = None,
        limit_networks: LimitNetworks | None = None,
        bus: str = "system",
        cameras: IPv4Network | None = None,
    ) -> None:
        super().__init__(
            tasks,
            bus=bus,
            cameras=cameras,
            country=Country(country, set_country),
            limit_networks=limit_networks,
        )
        self._add_network = add_network
        self._registrations = Registrations(memory, register_interface)
        self._configure_link = configure_link
        self._request_lease = request_lease
        self._release_link = release_link
        self._restart_link = restart_link
        self._inventory = Inventory(self)
        self._to_give_back: set[str] = set()
        """Released while a link or an attempt was on them."""

    @property
    def name(self) -> str:
        """As in `[backend] name`."""
        return "wpa_supplicant"

    async def start(self, listener: BackendListener) -> None:
        """Start watching; see Backend.start."""
        self._inventory.start()
        await super().start(listener)

    async def stop(self) -> None:
        """Give idle interfaces back and close; links stay up."""
        self._listener = None
        with_links = set(self._link_monitors)
        await self._end_work()
        idle = {interface.name for interface in self._inventory.interfaces.values()} - with_links
        await asyncio.gather(*map(self._give_back, idle))
        self._inventory.stop()
        await self._close()

    async def claim(self, interface: str) -> None:
        """The interface is registered when it is first needed; see Backend.claim. Its facts are reported
        again: they may have come before udev reported the adapter that had its name until then as removed."""
        self._to_give_back.discard(interface)
        if known := self._inventory.by_name(interface):
            self.interface_seen(known)

    async def release(self, interface: str) -> None:
        """Give an interface back, once nothing is on it; see Backend.release."""
        if self._is_used(interface):
            self._to_give_back.add(interface)
        else:
            await self._give_back(interface)

    async def scan(self, interface: str) -> None:
        """Scan all channels on an idle interface; see Backend.scan."""
        await scan(await self._ready(), self._inventory, interface)

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
        services, choice = await self._ready(), partial(self._choice, sightings, others)
        return await is_visible(services, self._inventory, interface, ssid, choice, all_channels=all_channels)

    async def recover(self, interface: str, step: BackendStep) -> None:
        """Carry out a recovery step on an idle interface that does not work; see Backend.recover."""
        services = await self._ready()
        match step:
            case RecoveryStep.RESCAN:
                async with idle_interface(services, self._inventory, interface) as (_, supplicant):
                    await supplicant.forget()
                await scan(services, self._inventory, interface)
            case RecoveryStep.RESTART:
                async with idle_interface(services, self._inventory, interface):
                    await services.close_interface(interface)
                    if self._restart_link is not None:
                        await self._restart_link(interface)
            case _:
                assert_never(step)

    def loss_of(self, interface: str) -> InterfaceLost:
        """See Backend.loss_of."""
        return self._services.loss_of(interface) if self._services else super().loss_of(interface)

    async def recent_scan_results(self, interface: str | None = None) -> Sequence[ScanResult]:
        """The scan results of all interfaces, or of one; see Backend.recent_scan_results."""
        return await scan_results(await self._ready(), self._inventory, interface)

    # -- what joining and leaving is with wpa_supplicant

    def _services_on(self, connection: BusConnection) -> Services:
        return Services(
            connection,
            self,
            self._registrations,
            self._add_network,
            self._configure_link,
            self._request_lease,
            self._release_link,
            self._country,
        )

    def _attempt(self, services: Services, request: JoinRequest, deadline: float) -> Attempt:
        return Attempt(services, self._inventory, request, deadline, self._check, self._users)

    def _monitor(self, services: Services, held: HeldLink, joined: Joined, tasks: Tasks) -> LinkMonitor:
        return LinkMonitor(services, held, joined, tasks, self._check.require_usable)

    async def _disconnect(self, monitor: LinkMonitor) -> None:
        if self._services:
            await self._services.disconnect(monitor.supplicant)
        monitor.interface.reserved = False

    def _release_interface(self, monitor: LinkMonitor) -> None:
        monitor.interface.reserved = False

    def _reserved(self) -> set[str]:
        return {interface.name for interface in self._inventory.interfaces.values() if interface.reserved}

    def _services_lost(self) -> None:
        self._country.forget_all()

    def _is_used(self, interface: str) -> bool:
        return interface in self._link_monitors or interface in self._attempts

    def _freed(self, interface: str) -> None:
        if interface in self._to_give_back:
            self._tasks.start("give_back", self._give_back_released(interface))

    async def _give_back_released(self, interface: str) -> None:
        async with self._lock(interface):
            if interface in self._to_give_back and not self._is_used(interface):
                self._to_give_back.discard(interface)
                await self._give_back(interface, was_used=True)

    async def _give_back(self, name: str, *, was_used: bool = False) -> None:
        """Unregister an interface, and end networkd's part in it; a restarted wpa_supplicant no longer has
        the registration of one that `was_used`."""
        services = self._services
        if services is None or not (was_used or services.has_registered(name)):
            return
        try:
            async with asyncio.timeout(READY_S):
                await services.give_back(name)
        except BUS_ERRORS as error:
            _log.warning("interface_not_given_back", interface=name, error=str(error))

    # -- callbacks of the inventory and of the services

    def interface_seen(self, interface: WifiInterface) -> None:
        """An interface appeared, or it may be used by another program now."""
        if self._services and self._status.state is BackendState.READY:
            reporting = self._report_once_known(self._services, interface)
            self._tasks.start("facts", reporting, expected=BUS_ERRORS)

    def interface_gone(self, interface: WifiInterface) -> None:
        """An interface was removed. wpa_supplicant would keep it with its network, and join that by itself
        where an interface of the same name appears."""
        self._tasks.start("give_back", self._give_back(interface.name))
        if self._listener:
            self._listener.interface_facts(interface.name, None)

    def owners_changed(self) -> None:
        """Other programs use other interfaces now."""
        for interface in self._inventory.interfaces.values():
            self.interface_seen(interface)

    async def supplicant_found(self) -> None:
        """wpa_supplicant is running: adopt this daemon's links that are up, and end those that are gone."""
        services = self._services
        if services is None:
            return
        found: list[LinkMonitor] = []
        with contextlib.ExitStack() as unless_all_are_adopted:
            for interface in list(self._inventory.interfaces.values()):
                if services.has_registered(interface.name):
                    try:
                        monitor = await adopt(services, interface, self._tasks, self._check)
                    except InterfaceLost:
                        continue
                    if monitor is not None:
                        unless_all_are_adopted.callback(monitor.close)
                        found.append(monitor)
                await self._report(services, interface)
            unless_all_are_adopted.pop_all()
        self._watch_adopted(found, "wpa_supplicant was restarted")
        self.status_changed(BackendStatus(BackendState.READY, ""))

    def supplicant_lost(self) -> None:
        """wpa_supplicant went away: attempts are aborted, and the links have ended."""
        self.status_changed(BackendStatus(BackendState.UNAVAILABLE, _NOT_RUNNING))
        self._abort_attempts("wpa_supplicant stopped")
        for monitor in list(self._link_monitors.values()):
            ssid = monitor.held.ssid.printable
            monitor.end(ConnectionLost(f'the connection to "{ssid}" dropped: wpa_supplicant stopped'))

    def networkd_lost(self) -> None:
        """Networkd went away; systemd starts it again, unless it was stopped."""
        self._tasks.start("networkd", self._restart_networkd(), expected=(WifimgrdError, *BUS_ERRORS))

    def networkd_changed(self, index: int) -> None:
        """The addresses that networkd has set may be others now."""
        self._inventory.address_changed(index)

    async def _restart_networkd(self) -> None:
        """Have the helper start networkd, where there is a link whose lease it is to renew."""
        await asyncio.sleep(_NETWORKD_RETURN_S)
        services = self._services
        for monitor in list(self._link_monitors.values()):
            if not services or services.has_networkd:
                return
            if monitor.local_address:
                await services.configure_address(monitor.held.interface, monitor.local_address)
            else:
                await services.request_lease(monitor.held.interface)

    async def _report_once_known(self, services: Services, interface: WifiInterface) -> None:
        """Report an interface; where a service does not answer, again, since no other event may come."""
        log = _log.warning
        while services is self._services and self._inventory.by_name(interface.name) is interface:
            try:
                await self._report(services, interface)
            except (BusError, TimeoutError) as error:
                log("interface_unreadable", interface=interface.name, error=str(error) or "time-out")
                log = _log.debug
                await asyncio.sleep(_REREAD_S)
            else:
                return

    async def _report(self, services: Services, interface: WifiInterface) -> None:
        obstacle = await services.obstacle(interface.name)
        facts = BackendFacts(obstacle, interface.bands)
        if self._listener and self._inventory.by_name(interface.name) is interface:
            self._listener.interface_facts(interface.name, facts)
