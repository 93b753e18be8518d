"""The address of a link, as networkd describes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Interface
from typing import Final

from wifimgrd.backends.wpa_supplicant._inventory import WifiInterface
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.domain.device import Link, Sighting
from wifimgrd.domain.errors import AddressFailed
from wifimgrd.domain.leases import camera_address
from wifimgrd.proxies.networkd.definitions import NO_SUCH_LINK, DescribedAddress, LinkDescription
from wifimgrd.proxies.networkd.link_file import other_configuration
from wifimgrd.proxies.networkd.manager import Networkd

_IPV4: Final = 2
_SOURCES: Final = ("DHCPv4", "static")
_SET: Final = frozenset({"configuring", "configured"})
_REMOVING: Final = "removing"
"""networkd describes a static address from its file on, as `requesting` while the link has no carrier, and
each address until the kernel has confirmed its end."""
_FIRST_PAUSE_S: Final = 0.05
_LAST_PAUSE_S: Final = 1.0


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


def address_in(description: LinkDescription) -> LinkAddress | None:
    """The IPv4 address in networkd's description of a link; None where it has none.

    The description's `ConfigProvider` is the DHCP server:
    https://www.freedesktop.org/software/systemd/man/252/org.freedesktop.network1.html
    """
    try:
        found = [one for one in description.get("Addresses", ()) if _is_taken(one)]
        return _address(found[0]) if found else None
    except (ValueError, KeyError):
        return None


def _is_taken(described: DescribedAddress) -> bool:
    """Whether networkd has set an IPv4 address, and is not about to delete it."""
    if described["Family"] != _IPV4 or described["ConfigSource"] not in _SOURCES:
        return False
    states = described["ConfigState"].split(",")
    return not _SET.isdisjoint(states) and _REMOVING not in states


def _address(described: DescribedAddress) -> LinkAddress:
    lease = IPv4Interface((bytes(described["Address"]), described["PrefixLength"]))
    provider = described.get("ConfigProvider")
    return LinkAddress(lease, str(IPv4Address(bytes(provider))) if provider else "")


class NotOurs(AddressFailed):
    """networkd configures the link by a file of the host's."""


async def read_address(connection: BusConnection, interface: WifiInterface) -> LinkAddress | None:
    """The address of a link; None where it has none, or networkd does not have the link.

    Raises NotOurs, BusError, BusClosed, TimeoutError.
    """
    try:
        description = await Networkd(connection).describe(interface.index)
    except BusError as error:
        if error.name == NO_SUCH_LINK:
            return None
        raise
    if other := other_configuration(interface.name, description):
        raise NotOurs(other)
    return address_in(description)


class NextRead:
    """When to read an address again that the kernel has, while networkd does not describe it.

    networkd describes a new address some milliseconds after the kernel has it, and signals no change that was
    undone by then, such as that of a lease that is requested anew just when it has come.
    """

    def __init__(self, interface: WifiInterface, due: Callable[[], None]) -> None:
        self._interface = interface
        self._due = due
        self._pause_s = _FIRST_PAUSE_S
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Networkd has described none: call `due` after a pause, each longer than the one before."""
        if self._timer is not None:
            self._timer.cancel()
        if self._interface.has_address:
            self._timer = asyncio.get_running_loop().call_later(self._pause_s, self._due)
            self._pause_s = min(2 * self._pause_s, _LAST_PAUSE_S)

    def stop(self) -> None:
        """The address is known, or nobody waits for it."""
        self._pause_s = _FIRST_PAUSE_S
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
