"""Sockets to connected cameras."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import DeviceNotReachable
from wifimgrd.manager.state import HubState
from wifimgrd.ports import CameraSockets


class Sockets:
    """Opens sockets to the cameras that are connected."""

    def __init__(self, state: HubState, sockets: CameraSockets) -> None:
        self._state = state
        self._sockets = sockets

    async def open(self, device_id: DeviceId, port: int, kind: SocketKind) -> socket.socket:
        """A socket to a device's camera, through its interface; the caller closes it.

        Raises DeviceNotFound, DeviceNotReachable where it is not connected, and as CameraSockets does.
        """
        interface, address = self._where(device_id)
        with ExitStack() as unless_it_fits:
            opened = unless_it_fits.enter_context(
                await self._sockets.open(device_id, interface, address, port, kind)
            )
            if self._where(device_id) != (
                interface,
                address,
            ):  # the interface may have been assigned to another camera since
                raise DeviceNotReachable("the device was reconnected meanwhile")
            unless_it_fits.pop_all()
        return opened

    def _where(self, device_id: DeviceId) -> tuple[str, str]:
        status = self._state.status(self._state.entry(device_id))
        if status.link is None or status.interface is None:
            raise DeviceNotReachable(f"the device is {status.state.value}")
        if not status.link.camera_address:
            raise DeviceNotReachable("the camera's address is not known")
        return status.interface, status.link.camera_address
