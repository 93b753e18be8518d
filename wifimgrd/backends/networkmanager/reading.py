"""What NetworkManager knows of a link: read once it is up, or already while it is coming up."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import NmDevice
from wifimgrd.backends.networkmanager.profile import link_of
from wifimgrd.dbus.bus import BusConnection, BusError
from wifimgrd.domain.device import Link


@dataclass(frozen=True, slots=True)
class Reading:
    """A link as it is now, and the objects whose changes change it."""

    link: Link
    ip4: str
    access_point: str


@dataclass(frozen=True, slots=True)
class _Object:
    """An object of NetworkManager's, and its properties when it was read; none where it was gone."""

    path: str
    properties: dict[str, Any]


async def read_link(connection: BusConnection, device: NmDevice) -> Reading | None:
    """Read the addresses and the access point of a device's link; None where it has no address (yet)."""
    properties, point = await asyncio.gather(
        connection.get_all(defs.NM, device.path, defs.NM_DEVICE), _access_point(connection, device)
    )
    ip4, dhcp4 = await _addresses(connection, properties)
    return _reading(ip4, dhcp4, point)


class EarlyReader:
    """Reads a link while it is coming up, each part as soon as NetworkManager has it."""

    def __init__(self, connection: BusConnection, device: NmDevice) -> None:
        self._connection = connection
        self._device = device
        self._point: asyncio.Task[_Object] | None = None
        self._addresses: asyncio.Task[tuple[_Object, _Object]] | None = None

    def reached(self, state: int) -> None:
        """The device came to this state (defs.DeviceState)."""
        spawn = asyncio.get_running_loop().create_task
        if state < DeviceState.IP_CONFIG:
            self.close()  # it begins anew, maybe at another access point
            self._point = self._addresses = None
        elif state == DeviceState.IP_CONFIG and self._point is None:
            self._point = spawn(_access_point(self._connection, self._device))
        elif state == DeviceState.IP_CHECK and self._addresses is None:
            self._addresses = spawn(_addresses(self._connection, self._device.properties))

    async def reading(self) -> Reading | None:
        """The link, for a device that is ACTIVATED; None where it has no address.

        Raises BusError, BusClosed, TimeoutError.
        """
        if self._point is not None and self._addresses is not None:
            point, (ip4, dhcp4) = await self._point, await self._addresses
            self._point = self._addresses = None
            if point.properties and (reading := _reading(ip4, dhcp4, point)) is not None:
                return reading
        return await read_link(self._connection, self._device)

    def close(self) -> None:
        """Read no more."""
        for task in (self._point, self._addresses):
            if task is not None:
                task.cancel()
                task.add_done_callback(_take_note)


def _take_note(task: asyncio.Task[Any]) -> None:
    """Nobody waits for what came of it any more."""
    if not task.cancelled():
        task.exception()


def _reading(ip4: _Object, dhcp4: _Object, point: _Object) -> Reading | None:
    link = link_of(ip4.properties, dhcp4.properties, point.properties)
    return Reading(link, ip4.path, point.path) if link else None


async def _access_point(connection: BusConnection, device: NmDevice) -> _Object:
    path = await connection.get(defs.NM, device.path, defs.NM_WIRELESS, "ActiveAccessPoint")
    return await _object(connection, path, defs.NM_ACCESS_POINT)


async def _addresses(connection: BusConnection, properties: dict[str, Any]) -> tuple[_Object, _Object]:
    return await asyncio.gather(
        _object(connection, properties["Ip4Config"], defs.NM_IP4_CONFIG),
        _object(connection, properties["Dhcp4Config"], defs.NM_DHCP4_CONFIG),
    )


async def _object(connection: BusConnection, path: str, interface: str) -> _Object:
    if path == defs.NO_OBJECT:
        return _Object(path, {})
    try:
        return _Object(path, await connection.get_all(defs.NM, path, interface))
    except BusError:
        return _Object(path, {})  # replaced meanwhile
