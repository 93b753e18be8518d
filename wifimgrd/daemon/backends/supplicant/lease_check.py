"""Refuse the address of a link that this host cannot use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Protocol, Self

import structlog

from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.domain.device import HeldLink, Link, Ssid
from wifimgrd.domain.leases import HostAddresses, obstacle
from wifimgrd.kernel.host_addresses import host_addresses

_log = structlog.get_logger(__name__)


class LinkReading(Protocol):
    """A link's current data."""

    @property
    def link(self) -> Link:
        """The link, with its address."""

    @property
    def lease(self) -> IPv4Interface:
        """The host's address on the link, with its prefix."""

    def with_link(self, link: Link) -> Self:
        """This reading with other data of the link."""


class LeaseCheck:
    """Compares the addresses of links with those in use elsewhere."""

    def __init__(
        self,
        reserved: Callable[[], Collection[str]],
        cameras: IPv4Network | None,
        links: Callable[[], Iterable[HeldLink]] = tuple,
    ) -> None:
        """`reserved` returns the interfaces that attempts and links of the hub use; `cameras` is the network
        of the cameras' addresses on this host, if there is one; `links` returns the links that are up."""
        self._reserved = reserved
        self._cameras = cameras
        self._links = links

    def require_usable(self, ssid: Ssid, reading: LinkReading) -> None:
        """Raises AddressFailed if the address of a link cannot be used."""
        try:
            host = host_addresses(self._reserved())
        except OSError as error:
            _log.error("host_addresses_unknown", reason=error.strerror or str(error))
            host = HostAddresses()
        up = {held.interface: held.link for held in self._links()}
        host = replace(
            host,
            cameras={
                IPv4Address(link.camera_address): name for name, link in up.items() if link.camera_address
            },
            leases={IPv4Address(link.local_address): name for name, link in up.items() if link.local_address},
        )
        camera = IPv4Address(reading.link.camera_address) if reading.link.camera_address else None
        if found := obstacle(reading.lease, host, self._cameras, camera):
            raise diagnosis.unusable_address(ssid, found)
