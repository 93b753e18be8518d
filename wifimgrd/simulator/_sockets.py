"""Connections to simulated cameras: pairs of sockets whose other ends are served in this process. Probes."""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from typing import Final

from wifimgrd.daemon.ports import Answer
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.camera_model import KeepAlive, Probe
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import DeviceNotReachable, ServiceRefused
from wifimgrd.runtime.streams import open_stream
from wifimgrd.simulator._camera import Camera
from wifimgrd.simulator._faults import Faults
from wifimgrd.simulator._links import Links

ANSWER_S: Final = 0.5
"""How long a camera is waited for that does not answer."""


class _Connection:
    """The camera's end of one."""

    def __init__(self, camera: Camera, task: asyncio.Task[None], writer: asyncio.StreamWriter) -> None:
        self.camera = camera
        self.task = task
        self.writer = writer


class SimulatedSockets:
    """A CameraSockets of a simulated world: it opens nothing on this host's network, where these interfaces
    and addresses may exist. A camera with a driver answers at its TCP ports while its link is up."""

    def __init__(self, links: Links, faults: Faults) -> None:
        self._links = links
        self._faults = faults
        self._connections: dict[str, set[_Connection]] = defaultdict(set)
        """By interface."""

    async def open(
        self, device_id: DeviceId, interface: str, address: str, port: int, kind: SocketKind
    ) -> socket.socket:
        """See CameraSockets.open."""
        where = f"{kind.value} port {port} of device {device_id}, {address} at {interface}"
        camera = self._links.camera(interface)
        if camera is None or camera.emulator is None or kind is not SocketKind.TCP:
            raise DeviceNotReachable(f"simulated cameras without a driver have no network: {where}")
        if not self._faults.serves(interface, camera):
            await asyncio.sleep(ANSWER_S)
            raise DeviceNotReachable(f"the simulated camera does not answer: {where}")
        if port not in camera.emulator.ports:
            raise ServiceRefused(f"the simulated camera refuses connections: {where}")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        try:
            reader, writer = await open_stream(sock=theirs)
        except BaseException:
            ours.close()
            theirs.close()
            raise
        if self._links.camera(interface) is not camera:
            ours.close()
            writer.close()
            raise DeviceNotReachable(f"the connection to the simulated camera was lost: {where}")
        served = camera.emulator.serve(port, reader, writer)
        connection = _Connection(camera, asyncio.create_task(served), writer)
        self._connections[interface].add(connection)
        connection.task.add_done_callback(lambda task: self._ended(interface, connection, task))
        return ours

    def silence(self) -> None:
        """A camera or a link may have died without a word: connections stay, and nothing answers."""
        for interface, connections in self._connections.items():
            for connection in connections:
                if not self._faults.serves(interface, connection.camera):
                    connection.task.cancel()

    def close(self, interface: str) -> None:
        """Close all connections through an interface."""
        for connection in self._connections.pop(interface, ()):
            connection.task.cancel()
            connection.writer.close()

    def _ended(self, interface: str, connection: _Connection, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._connections.get(interface, set()).discard(connection)
            connection.writer.close()


class SimulatedContact:
    """A CameraContact of a simulated world: its cameras answer, or they do not."""

    def __init__(self, links: Links, faults: Faults) -> None:
        self._links = links
        self._faults = faults

    async def probe(  # the arguments of the port
        self,
        device_id: DeviceId,  # noqa: ARG002
        interface: str,
        address: str,  # noqa: ARG002
        probe: Probe,  # noqa: ARG002
    ) -> Answer:
        """A camera answers at once, unless it is off or has a fault."""
        camera = self._links.camera(interface)
        if camera is not None and self._faults.serves(interface, camera):
            return Answer.ANSWERED
        await asyncio.sleep(ANSWER_S)
        return Answer.SILENT

    async def keep_alive(
        self, device_id: DeviceId, interface: str, address: str, keep_alive: KeepAlive
    ) -> None:
        """Does nothing."""

    async def wake_on_lan(self, device_id: DeviceId, interface: str, address: str, mac: str) -> None:
        """Does nothing: the network of a simulated camera that sleeps is gone."""
