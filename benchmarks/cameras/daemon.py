"""wifimgrd with simulated Wi-Fi, whose cameras are spoken to as real ones: by wifimgrd-camera, over sockets.

`python -m benchmarks.cameras.daemon PORT,PORT,... OPTION...`: the camera of device 1 is at the first of these
ports of this host, and so on; options are those of wifimgrd.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon import _daemon as daemon
from wifimgrd.daemon.__main__ import main
from wifimgrd.daemon.camera_client.control import ProcessControl
from wifimgrd.daemon.parts import Parts
from wifimgrd.daemon.ports import BackendMemory
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.camera import CameraDriver, CommandResult
from wifimgrd.domain.camera_control import CameraControlListener, OpenCameraSocket
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator import parts


class _Sockets:
    """A CameraSockets to ports of this host."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports

    async def open(
        self, device_id: DeviceId, interface: str, address: str, port: int, kind: SocketKind
    ) -> socket.socket:
        """See CameraSockets."""
        del interface, address, port, kind
        opened = socket.socket()
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, ("127.0.0.1", self._ports[device_id - 1]))
        return opened


class _Control:
    """The daemon's ProcessControl, on a connection of its own: the simulated parts are made without one."""

    def __init__(self, bus: str, tasks: Tasks) -> None:
        self._bus = bus
        self._tasks = tasks
        self._connection: BusConnection | None = None
        self._control: ProcessControl | None = None

    async def start(self, listener: CameraControlListener, open_socket: OpenCameraSocket) -> None:
        """See CameraControl."""
        self._connection = await BusConnection.open(self._bus, sockets=True)
        self._control = ProcessControl(self._connection, self._tasks)
        await self._control.start(listener, open_socket)

    async def stop(self) -> None:
        """See CameraControl."""
        if self._control is not None and self._connection is not None:
            await self._control.stop()
            await self._connection.close()

    @property
    def _started(self) -> ProcessControl:
        if self._control is None:
            raise RuntimeError("used before start")
        return self._control

    def attach(self, device_id: DeviceId, driver: CameraDriver) -> None:
        """See CameraControl."""
        self._started.attach(device_id, driver)

    def detach(self, device_id: DeviceId) -> None:
        """See CameraControl."""
        self._started.detach(device_id)

    async def record(self, device_ids: Sequence[DeviceId], *, on: bool) -> Mapping[DeviceId, CommandResult]:
        """See CameraControl."""
        return await self._started.record(device_ids, on=on)

    async def set_clock(self, device_id: DeviceId) -> None:
        """See CameraControl."""
        await self._started.set_clock(device_id)

    async def register_host(self, device_id: DeviceId) -> str:
        """See CameraControl."""
        return await self._started.register_host(device_id)

    async def recorded_files(
        self, device_id: DeviceId, began_us: int, ended_us: int
    ) -> tuple[RecordedFile, ...] | None:
        """See CameraControl."""
        return await self._started.recorded_files(device_id, began_us, ended_us)


def _run(ports: Sequence[int], bus: str) -> None:
    def simulate(
        scenario: Path | None, memory: BackendMemory, tasks: Tasks, now_us: Callable[[], int]
    ) -> Parts:
        control = _Control(bus, tasks.part("cameras"))
        return replace(parts(scenario, memory, tasks, now_us), sockets=_Sockets(ports), control=control)

    daemon._simulator = lambda: simulate
    main()


if __name__ == "__main__":
    _run([int(port) for port in sys.argv.pop(1).split(",")], sys.argv[sys.argv.index("--bus") + 1])
