"""Read a link's addresses and access point from NetworkManager, once it is up or while it is coming up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface
from typing import Final, Generic

from wifimgrd.bus.connection import BusConnection, BusError, Signal
from wifimgrd.bus.proxy import P, ProxyWithProperties
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice
from wifimgrd.daemon.backends.networkmanager._profile import link_of, prefix_of
from wifimgrd.domain.device import Link, Sighting
from wifimgrd.proxies.networkmanager.definitions import NO_OBJECT, DeviceState, Dhcp4ConfigProperties
from wifimgrd.proxies.networkmanager.device import Device, WirelessDevice
from wifimgrd.proxies.networkmanager.objects import AccessPoint, Dhcp4Config, Ip4Config
from wifimgrd.proxies.wpa_supplicant.bss import Bss

_RETRY_DELAY_S: Final = 0.4
"""Between two reads, where NetworkManager shows no address."""
READS_FOR_FIRST_ADDRESS: Final = 13
"""NetworkManager may finish an activation some time before it shows the address on the bus."""


@dataclass(frozen=True, slots=True)
class LinkReading:
    """A link's current data, and the objects that it was read from, where they were read already."""

    link: Link
    ip4: str = NO_OBJECT
    access_point: str = NO_OBJECT
    prefix: int = 32
    """Of the host's address on the link."""

    @property
    def lease(self) -> IPv4Interface:
        """The host's address on the link, with its prefix."""
        return IPv4Interface((self.link.local_address, self.prefix))

    def after(self, before: LinkReading) -> LinkReading:
        """This reading; with the access point of `before`, where NetworkManager does not show one yet."""
        if self.link.sighting is not None:
            return self
        link = replace(self.link, sighting=before.link.sighting, signal_percent=before.link.signal_percent)
        return self.with_link(link)

    def with_link(self, link: Link) -> LinkReading:
        """This reading with other data of the link."""
        return replace(self, link=link)


@dataclass(frozen=True, slots=True)
class _Object(Generic[P]):
    """An object of NetworkManager's, and its properties when read; None where it was gone."""

    path: str
    properties: P | None


async def read_link(connection: BusConnection, device: NmDevice) -> LinkReading | None:
    """Read the addresses and the access point of a device's link; None where it has no address (yet).

    Raises BusError, BusClosed, TimeoutError.
    """
    nm_device, wireless = Device(connection, device.path), WirelessDevice(connection, device.path)
    ip4, dhcp4, point = await asyncio.gather(
        _behind(connection, nm_device.ip4_config, Ip4Config),
        _behind(connection, nm_device.dhcp4_config, Dhcp4Config),
        _behind(connection, wireless.active_access_point, AccessPoint),
    )
    seen = point.properties or {}
    bssid, frequency = seen.get("HwAddress", "").lower(), seen.get("Frequency", 0)
    sighting = Sighting(bssid, frequency) if bssid and frequency else None
    addresses, lease = ip4.properties or {}, dhcp4.properties or {}
    link = link_of(addresses, lease, sighting, min(100, seen.get("Strength", 0)))
    prefix = prefix_of(addresses, lease)
    return LinkReading(link, ip4.path, point.path, prefix) if link else None


async def read_link_with_retries(
    connection: BusConnection, device: NmDevice, reads: int
) -> LinkReading | None:
    """As `read_link`, up to `reads` times while the device's state implies an address that is not shown."""
    while True:
        reads -= 1
        reading = await read_link(connection, device)
        if reading is not None or not device.has_address or reads <= 0:
            return reading
        await asyncio.sleep(_RETRY_DELAY_S)


class EarlyReader:
    """Reads a link while it is coming up, because NetworkManager answers slowly just after it is up."""

    def __init__(self, connection: BusConnection, device: NmDevice, points: Sequence[Bss]) -> None:
        """`points` are the access points of the network that the device is about to join."""
        self._connection = connection
        self._device = device
        self._points = {point.path: point for point in points}
        self._point: Bss | None = None
        self._lease: asyncio.Task[Dhcp4ConfigProperties] | None = None
        self._has_lease = asyncio.Event()
        self._lease_options: Dhcp4ConfigProperties = {}
        """Of the last lease, also where NetworkManager did not apply it."""

    @property
    def lease(self) -> LinkReading | None:
        """The last lease as a link without an access point, also where NetworkManager did not apply it."""
        link = link_of({}, self._lease_options, None, 0)
        return LinkReading(link, prefix=prefix_of({}, self._lease_options)) if link else None

    def associated(self, path: str) -> None:
        """The supplicant's CurrentBSS changed to this object."""
        self._point = self._points.get(path)

    def reached(self, state: int) -> None:
        """The device entered this state (definitions.DeviceState)."""
        if state <= DeviceState.IP_CONFIG:
            self.close()  # the activation starts over
        if state == DeviceState.IP_CONFIG:
            self._has_lease.clear()
            self._lease = asyncio.get_running_loop().create_task(self._read_lease())
        elif state == DeviceState.IP_CHECK:
            self._has_lease.set()

    async def _read_lease(self) -> Dhcp4ConfigProperties:
        """The lease, from NetworkManager's signal where possible: it replies slowly once it has the lease."""
        lease = Dhcp4Config(
            self._connection, await Device(self._connection, self._device.path).dhcp4_config()
        )
        if lease.path == NO_OBJECT:
            return {}
        observed: list[Dhcp4ConfigProperties] = []

        def changed(signal: Signal) -> None:
            changes = lease.changes(signal.body)
            observed.append(changes)
            if changes.get("Options"):
                self._lease_options = changes

        watch = await lease.watch_properties(changed)
        try:
            await self._has_lease.wait()
        finally:
            watch.drop()
        if observed and observed[-1].get("Options"):
            return observed[-1]
        return (await _read(lease)).properties or {}

    async def reading(self, reads: int) -> LinkReading | None:
        """The link, for a device that is in IP_CHECK or beyond; None where it has no address (yet).

        `reads` as in `read_link_with_retries`. Raises BusError, BusClosed, TimeoutError.
        """
        if self._lease is not None:
            dhcp4 = await self._lease
            point = self._point
            if point and (link := link_of({}, dhcp4, point.sighting, point.link_percent)):
                return LinkReading(link, prefix=prefix_of({}, dhcp4))
        return await read_link_with_retries(self._connection, self._device, reads)

    def close(self) -> None:
        """Stop reading."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.cancel()
            lease.add_done_callback(_retrieve_exception)


def _retrieve_exception(task: asyncio.Task[Dhcp4ConfigProperties]) -> None:
    """Mark a cancelled reader's exception as retrieved; no caller awaits it any longer."""
    if not task.cancelled():
        task.exception()


async def _behind(
    connection: BusConnection,
    path: Callable[[], Awaitable[str]],
    kind: Callable[[BusConnection, str], ProxyWithProperties[P]],
) -> _Object[P]:
    """Read the object that a property of the device refers to."""
    return await _read(kind(connection, await path()))


async def _read(proxy: ProxyWithProperties[P]) -> _Object[P]:
    if proxy.path == NO_OBJECT:
        return _Object(proxy.path, None)
    try:
        return _Object(proxy.path, await proxy.get_all())
    except BusError:
        return _Object(proxy.path, None)  # replaced meanwhile
