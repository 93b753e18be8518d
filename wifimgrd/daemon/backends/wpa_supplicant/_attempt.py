"""One attempt to join a network: find it, associate, and wait for an address or an error."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, cast

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusError
from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.daemon.backends.supplicant.association import AssociationMonitor, SupplicantChange
from wifimgrd.daemon.backends.supplicant.attempt import SupplicantAttempt, refused_by
from wifimgrd.daemon.backends.supplicant.bss_users import BssUsers
from wifimgrd.daemon.backends.supplicant.lease_check import LeaseCheck
from wifimgrd.daemon.backends.supplicant.network_search import locate
from wifimgrd.daemon.backends.wpa_supplicant._inventory import Inventory, WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._lease_request import LeaseRequest
from wifimgrd.daemon.backends.wpa_supplicant._link_address import (
    LinkAddress,
    LinkReading,
    NextRead,
    read_address,
)
from wifimgrd.daemon.backends.wpa_supplicant._services import Services
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.errors import AddressFailed, BackendUnavailable, WifimgrdError
from wifimgrd.domain.interface import absent
from wifimgrd.proxies.wpa_supplicant import bss
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

_APPEARANCE_S: Final = 5.0
"""How long the kernel may take to show an adapter that udev has reported; mostly it is there first."""
_OLD_ADDRESS_S: Final = 2.0
"""How long networkd may take to delete the address of the link before."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A link that has just come up."""

    interface: WifiInterface
    supplicant: SupplicantInterface
    reading: LinkReading
    bssid: str
    """The only access point that the supplicant is configured to join; empty = any with the SSID."""


@dataclass(frozen=True, slots=True)
class AddedNetwork:
    """A network that the supplicant is configured for."""

    path: str
    points: list[bss.Bss]
    """Its access points."""
    monitor: AssociationMonitor


class AddressChanged:
    """An address of the interface was added, changed or deleted."""


class LeaseDue:
    """networkd is to request the lease from the beginning."""


class Attempt(SupplicantAttempt[Joined]):
    """An attempt through wpa_supplicant and networkd."""

    NO_REPLY = "wpa_supplicant or systemd-networkd does not answer"

    def __init__(
        self,
        services: Services,
        inventory: Inventory,
        request: JoinRequest,
        deadline: float,
        check: LeaseCheck,
        users: BssUsers,
    ) -> None:
        super().__init__(request, deadline, check, users)
        self._services = services
        self._inventory = inventory
        self._interface: WifiInterface | None = None
        self._supplicant: SupplicantInterface | None = None
        self._monitor: AssociationMonitor | None = None
        self._lease: LeaseRequest | None = None
        self._next_read: NextRead | None = None
        self._unrequested: BackendUnavailable | None = None
        """Why networkd has not requested the lease anew."""

    def _refusal(self, error: BusError) -> WifimgrdError:
        self._log.warning("join_refused", error=str(error))
        self._services.doubt(self._request.interface)
        if error.name == names.ACCESS_DENIED:
            return BackendUnavailable("the message bus denies wifimgrd access to wpa_supplicant")
        return BackendUnavailable(f"{refused_by(error)} refused: {error.message}")

    async def _join(self) -> Joined:
        self._interface = interface = await self._present_interface()
        interface.on_gone.append(self._interface_gone)
        interface.reserved = True
        self._supplicant = supplicant = await self._services.open_interface(interface)
        found, configured = await asyncio.gather(
            self._add_network(interface, supplicant),
            self._configure_address(interface),
            return_exceptions=True,
        )
        for outcome in (found, configured):
            if isinstance(outcome, BaseException):
                raise outcome
        network = cast(AddedNetwork, found)
        monitor = network.monitor
        interface.on_address.append(self._address_changed)
        if not self._request.local_address:
            self._lease = LeaseRequest(interface, self._lease_due)
        await supplicant.select_network(network.path)
        try:
            address = await self._wait_for_address(interface, monitor)
            reading = await self._reading(supplicant, address, network)
            self._check.require_usable(self._ssid, reading)
        except AddressFailed as error:  # there is one
            await self._services.disconnect(supplicant)
            await self._services.refuse_address(interface.name, error.message)
            raise
        self._unsubscribe(interface)
        monitor.close()
        return Joined(interface, supplicant, reading, self.bssid)

    async def _present_interface(self) -> WifiInterface:
        name = self._request.interface
        if (interface := await self._inventory.wait_for(name, _APPEARANCE_S)) is None:
            raise absent(name)
        return interface

    async def _add_network(self, interface: WifiInterface, supplicant: SupplicantInterface) -> AddedNetwork:
        """Find the network, and configure the supplicant for it."""
        points = await self._found(locate(supplicant, self._ssid, self._choice, interface.bands))
        limit, key_management = await self._choose(supplicant, points)
        self._monitor = monitor = AssociationMonitor(supplicant, self._request, points, limit, self._log)
        monitor.subscribe()
        path = await self._services.add_network(self._request, key_management, limit.bssid)
        return AddedNetwork(path, points, monitor)

    async def _configure_address(self, interface: WifiInterface) -> None:
        """Configure networkd for the link; it begins with DHCP once there is a carrier."""
        await self._services.configure_address(interface.name, self._request.local_address)
        await self._wait_without_address(interface)

    async def _wait_without_address(self, interface: WifiInterface) -> None:
        """Return once the address of the link before is gone, so that it is not taken for the new one."""
        changed = asyncio.Event()
        interface.on_address.append(changed.set)
        try:
            async with asyncio.timeout(_OLD_ADDRESS_S):
                while interface.has_address and await self._is_addressed(interface):
                    await changed.wait()
                    changed.clear()
        except TimeoutError:
            raise BackendUnavailable(
                f"systemd-networkd does not delete the old address of {interface.name}"
            ) from None
        finally:
            interface.on_address.remove(changed.set)

    async def _is_addressed(self, interface: WifiInterface) -> bool:
        return isinstance(await read_address(self._services.connection, interface), LinkAddress)

    async def _wait_for_address(self, interface: WifiInterface, monitor: AssociationMonitor) -> LinkAddress:
        """The address; raises the cause as soon as it is known that there will be none."""
        is_due = False  # whether the address may have changed since it was read
        is_missing = False  # whether neither networkd nor the kernel has one, and none was withdrawn
        is_requested = False  # anew, upon which networkd may withdraw what it has just got
        self._next_read = next_read = NextRead(interface, self._address_changed, self._lease_due)
        while True:
            event = await monitor.next_event()
            await monitor.process(event)
            self._follow_association(monitor)
            if not monitor.is_associated:
                next_read.stop()
            is_requested &= monitor.is_associated
            if isinstance(event, LeaseDue):
                await self._request_lease(interface.name)
                is_requested = True
            is_missing &= monitor.is_associated and not interface.has_address and not is_requested
            is_due |= isinstance(event, AddressChanged)
            is_due |= isinstance(event, SupplicantChange) and "State" in event.properties
            is_joined = monitor.is_associated and monitor.diagnosis.completed
            if monitor.has_events or is_missing or not (is_due and is_joined):
                continue
            address = await read_address(self._services.connection, interface)
            is_due = monitor.has_events
            is_missing = address is None and not interface.has_address
            if not isinstance(address, LinkAddress):
                next_read.start(address)
            elif interface.has_address and not is_due:
                return address

    async def _request_lease(self, name: str) -> None:
        """Have networkd request it once more; the requests before may still bring it where that fails."""
        self._unrequested = None
        try:
            await self._services.request_lease(name)
        except BackendUnavailable as error:
            self._log.warning("lease_not_requested", reason=error.message)
            self._unrequested = error

    def _follow_association(self, monitor: AssociationMonitor) -> None:
        if self._lease is None:
            return
        if monitor.is_associated and monitor.diagnosis.completed:
            self._lease.start()
        else:
            self._lease.stop()

    async def _reading(
        self, supplicant: SupplicantInterface, address: LinkAddress, network: AddedNetwork
    ) -> LinkReading:
        path = network.monitor.current_bss or await supplicant.current_bss()
        known = next((point for point in network.points if point.path == path), None)
        point = known or await supplicant.read_bss(path)
        if point is None:  # it was dropped from the list a moment ago
            return LinkReading.of(address, None, 0)
        return LinkReading.of(address, point.sighting, point.link_percent)

    def _verdict_at_deadline(self) -> WifimgrdError:
        if self._interface is None:
            return absent(self._request.interface)
        if self._monitor is None:
            return self._not_chosen_in_time()
        while self._monitor.has_events:
            if isinstance(event := self._monitor.queued(), SupplicantChange):
                try:
                    self._monitor.properties_changed(event.properties)
                except WifimgrdError as cause:
                    return cause
        if self._monitor.diagnosis.completed and self._monitor.is_associated:
            return self._unrequested or diagnosis.no_address(self._ssid)
        return self._monitor.diagnosis.at_deadline(visible=self._monitor.visible)

    def _interface_gone(self) -> None:
        self.abort(self._services.loss_of(self._request.interface))

    def _address_changed(self) -> None:
        if self._monitor:
            self._monitor.post(AddressChanged())

    def _lease_due(self) -> None:
        if self._monitor:
            self._monitor.post(LeaseDue())

    def _unsubscribe(self, interface: WifiInterface) -> None:
        for timer in (self._lease, self._next_read):
            if timer:
                timer.stop()
        for subscribed, handler in (
            (interface.on_gone, self._interface_gone),
            (interface.on_address, self._address_changed),
        ):
            if handler in subscribed:
                subscribed.remove(handler)

    async def _clean_up(self) -> None:
        monitor, supplicant, interface = self._monitor, self._supplicant, self._interface
        self._monitor = self._supplicant = None
        if monitor:
            monitor.close()
        if interface is None:
            return
        try:
            if supplicant:
                supplicant.close()
                await self._services.disconnect(supplicant)
        finally:  # an attempt that was aborted can be cancelled during its clean-up
            interface.reserved = False
            self._unsubscribe(interface)
