"""The address of a link, as networkd describes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface
from typing import Final

from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.backends.wpa_supplicant._inventory import WifiInterface
from wifimgrd.domain.device import Link, Sighting
from wifimgrd.domain.errors import AddressFailed
from wifimgrd.domain.leases import camera_address
from wifimgrd.proxies.networkd.addresses import addresses_in
from wifimgrd.proxies.networkd.definitions import LinkDescription
from wifimgrd.proxies.networkd.link_file import other_configuration
from wifimgrd.proxies.networkd.manager import Networkd

_FIRST_PAUSE_S: Final = 0.05
_LAST_PAUSE_S: Final = 1.0
_READS_IN_VAIN: Final = (3, 6, 12)
"""After so many, the address will no longer come by itself: after 0.35, 2.5 and 8.5 s."""


@dataclass(frozen=True, slots=True)
class LinkAddress:
    """The host's address on a link."""

    lease: IPv4Interface
    server: str = ""
    """The address of the DHCP server that gave it; empty for a static one."""


@dataclass(frozen=True, slots=True)
class LinkReading:
    """A link's current data."""

    link: Link
    lease: IPv4Interface
    """The host's address on the link, with its prefix."""
    is_leased: bool = True
    """A DHCP server gave it."""

    @classmethod
    def of(cls, address: LinkAddress, sighting: Sighting | None, signal_percent: int) -> LinkReading:
        """The reading of a link that has this address."""
        local = str(address.lease.ip)
        link = Link(
            local_address=local,
            camera_address=camera_address([address.server], local),
            signal_percent=signal_percent,
            sighting=sighting,
        )
        return cls(link, address.lease, bool(address.server))

    def at(self, address: LinkAddress) -> LinkReading:
        """This link with another address."""
        return LinkReading.of(address, self.link.sighting, self.link.signal_percent)

    def seen(self, sighting: Sighting, signal_percent: int) -> LinkReading:
        """This link at an access point."""
        return self.with_link(replace(self.link, sighting=sighting, signal_percent=signal_percent))

    def with_link(self, link: Link) -> LinkReading:
        """This reading with other data of the link."""
        return replace(self, link=link)


class Withdrawn:
    """There is no address: networkd had a lease, and no longer sets its address."""


def address_in(description: LinkDescription) -> LinkAddress | Withdrawn | None:
    """The IPv4 address in networkd's description of a link, or why there is none; None where one may come."""
    addresses = addresses_in(description)
    for one in addresses:
        if one.is_set:
            return LinkAddress(one.lease, one.server)
    return Withdrawn() if any(one.is_withdrawn for one in addresses) else None


class NotOurs(AddressFailed):
    """networkd configures the link by a file of the host's."""


async def read_address(connection: BusConnection, interface: WifiInterface) -> LinkAddress | Withdrawn | None:
    """The address of a link, as `address_in`; None also where networkd does not have the link.

    Raises NotOurs, BusError, BusClosed, TimeoutError.
    """
    description = await Networkd(connection).describe(interface.index)
    if other := other_configuration(interface.name, description):
        raise NotOurs(other)
    return address_in(description)


class NextRead:
    """When to read an address again that is not there, although the kernel has one, or networkd had a lease.

    networkd describes a new address some milliseconds after the kernel has it, and signals no change that was
    undone by then, such as that of a lease that is requested anew just when it has come. Where the address
    does not come by itself, networkd is to request it anew.
    """

    def __init__(
        self, interface: WifiInterface, due: Callable[[], None], lease_due: Callable[[], None]
    ) -> None:
        self._interface = interface
        self._due = due
        self._lease_due = lease_due
        self._reads = 0
        self._is_lease_due = False
        """The lease is to be requested where the read that comes is in vain, too."""
        self._timer: asyncio.TimerHandle | None = None

    def start(self, seen: Withdrawn | None) -> None:
        """No address was read, but `seen`: call `due` after a pause, each longer than the one before."""
        if self._timer is not None:
            self._timer.cancel()
        if seen or self._interface.has_address:
            if self._is_lease_due:
                self._is_lease_due = False
                self._lease_due()
            self._timer = asyncio.get_running_loop().call_later(
                min(_FIRST_PAUSE_S * 2**self._reads, _LAST_PAUSE_S), self._read_again
            )

    def stop(self) -> None:
        """The address is known, or there is no association, or nobody waits."""
        self._reads, self._is_lease_due = 0, False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _read_again(self) -> None:
        self._reads += 1
        self._is_lease_due = self._reads in _READS_IN_VAIN
        self._due()
