"""The camera sockets of the simulated world: none can be opened, because its cameras have no network."""

from __future__ import annotations

import socket

from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import DeviceNotReachable


class SimulatedSockets:
    """A CameraSockets that opens nothing: the simulated interfaces and addresses may exist on this host."""

    async def open(
        self, device_id: DeviceId, interface: str, address: str, port: int, kind: SocketKind
    ) -> socket.socket:
        """Raises DeviceNotReachable."""
        raise DeviceNotReachable(
            f"simulated cameras have no network: {kind.value} port {port} of device {device_id}, "
            f"{address} at {interface}"
        )
