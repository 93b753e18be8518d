"""What there is to reach of simulated cameras: nothing, since they have no network."""

from __future__ import annotations

import socket

from wifimgrd.domain.errors import DeviceNotReachable
from wifimgrd.domain.socket_kind import SocketKind


class SimulatedSockets:
    """A CameraSockets of a world whose interfaces and addresses may be somebody's real ones."""

    async def open(self, interface: str, address: str, port: int, kind: SocketKind) -> socket.socket:
        """Raises DeviceNotReachable."""
        raise DeviceNotReachable(
            f"a simulated camera answers to nobody: {kind.value} port {port} of {address} at {interface}"
        )
