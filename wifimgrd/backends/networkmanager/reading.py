"""What is known of a link: read once it is up, or already while it is coming up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.air import Bss
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import NmDevice
from wifimgrd.backends.networkmanager.following import watch_properties
from wifimgrd.backends.networkmanager.profile import link_of
from wifimgrd.dbus.bus import BusConnection, BusError
from wifimgrd.domain.device import Link, Sighting

_BREATH_S: Final = 0.4
"""Between two looks for an address that is not shown."""
LOOKS_FOR_FIRST_ADDRESS: Final = 13
"""NetworkManager may be done with a link some time before it shows the address on the bus."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A link as it is now, and the objects whose changes change it, where they were read already."""

    link: Link
    ip4: str = defs.NO_OBJECT
    access_point: str = defs.NO_OBJECT

    def after(self, before: Reading) -> Reading:
        """This one; with the access point of the one before, where NetworkManager has not named it yet."""
        if self.link.sighting is not None:
            return self
        met = replace(self.link, sighting=before.link.sighting, signal_percent=before.link.signal_percent)
        return replace(self, link=met)


@dataclass(frozen=True, slots=True)
class _Object:
    """An object of NetworkManager's, and its properties when it was read; none where it was gone."""

    path: str
    properties: dict[str, Any]


async def read_link(connection: BusConnection, device: NmDevice) -> Reading | None:
    """Read the addresses and the access point of a device's link; None where it has no address (yet).

    Raises BusError, BusClosed, TimeoutError.
    """
    ip4, dhcp4, point = await asyncio.gather(
        _behind(connection, device, defs.NM_DEVICE, "Ip4Config", defs.NM_IP4_CONFIG),
        _behind(connection, device, defs.NM_DEVICE, "Dhcp4Config", defs.NM_DHCP4_CONFIG),
        _behind(connection, device, defs.NM_WIRELESS, "ActiveAccessPoint", defs.NM_ACCESS_POINT),
    )
    bssid = str(point.properties.get("HwAddress", "")).lower()
    frequency = int(point.properties.get("Frequency", 0))
    signal_percent = min(100, int(point.properties.get("Strength", 0)))
    sighting = Sighting(bssid, frequency) if bssid and frequency else None
    link = link_of(ip4.properties, dhcp4.properties, sighting, signal_percent)
    return Reading(link, ip4.path, point.path) if link else None


async def look_for_link(connection: BusConnection, device: NmDevice, looks: int) -> Reading | None:
    """As `read_link`; where NetworkManager says that it is done and shows no address yet, look again."""
    while True:
        looks -= 1
        reading = await read_link(connection, device)
        if reading is not None or not device.has_address or looks <= 0:
            return reading
        await asyncio.sleep(_BREATH_S)


class EarlyReader:
    """Reads a link while it is coming up: NetworkManager is busy, and slow to answer, once it is up."""

    def __init__(self, connection: BusConnection, device: NmDevice, points: Sequence[Bss]) -> None:
        """The device is about to join one of these access points."""
        self._connection = connection
        self._device = device
        self._points = {point.path: point for point in points}
        self._point: Bss | None = None
        self._lease: asyncio.Task[_Object] | None = None
        self._has_lease = asyncio.Event()

    def associated(self, path: str) -> None:
        """The supplicant says that it is with this access point."""
        self._point = self._points.get(path)

    def reached(self, state: int) -> None:
        """The device came to this state (defs.DeviceState)."""
        if state <= DeviceState.IP_CONFIG:
            self.close()  # it begins anew
        if state == DeviceState.IP_CONFIG:
            self._has_lease.clear()
            self._lease = asyncio.get_running_loop().create_task(self._read_lease())
        elif state == DeviceState.IP_CHECK:
            self._has_lease.set()

    async def _read_lease(self) -> _Object:
        """What the lease says: NetworkManager tells when it has it, and is busy from then on."""
        path = await self._connection.get(defs.NM, self._device.path, defs.NM_DEVICE, "Dhcp4Config")
        if path == defs.NO_OBJECT:
            return _Object(path, {})
        told: list[dict[str, Any]] = []
        watch = await watch_properties(
            self._connection,
            defs.NM,
            path,
            defs.NM_DHCP4_CONFIG,
            lambda signal: told.append(signal.body[1]),
        )
        try:
            await self._has_lease.wait()
        finally:
            watch.drop()
        if told and told[-1].get("Options"):
            return _Object(path, told[-1])
        return await _object(self._connection, path, defs.NM_DHCP4_CONFIG)

    async def reading(self, looks: int) -> Reading | None:
        """The link, for a device that is in IP_CHECK or beyond; None where it has no address (yet).

        `looks` as in `look_for_link`. Raises BusError, BusClosed, TimeoutError.
        """
        if self._lease is not None:
            dhcp4 = await self._lease
            point = self._point
            if point and (link := link_of({}, dhcp4.properties, point.sighting, point.link_percent)):
                return Reading(link)
        return await look_for_link(self._connection, self._device, looks)

    def close(self) -> None:
        """Read no more."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.cancel()
            lease.add_done_callback(_take_note)


def _take_note(task: asyncio.Task[Any]) -> None:
    """Nobody waits for what came of it any more."""
    if not task.cancelled():
        task.exception()


async def _behind(
    connection: BusConnection, device: NmDevice, interface: str, name: str, wanted: str
) -> _Object:
    """The object that a property of the device names, read by its interface `wanted`."""
    return await _object(connection, await connection.get(defs.NM, device.path, interface, name), wanted)


async def _object(connection: BusConnection, path: str, wanted: str) -> _Object:
    if path == defs.NO_OBJECT:
        return _Object(path, {})
    try:
        return _Object(path, await connection.get_all(defs.NM, path, wanted))
    except BusError:
        return _Object(path, {})  # replaced meanwhile
