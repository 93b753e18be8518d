"""The cameras' side of the camera process, scripted; as a program, a camera process with it.

A camera that is attached wants a connection to its port, says at once what it is, and repeats the first bytes
that come over its connection as its model.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
from collections.abc import Mapping, Sequence

from wifimgrd.bus.connection import BusConnection
from wifimgrd.camera._service import CameraService
from wifimgrd.domain.camera import CameraDriver, CameraReading, CommandResult, RecordingState
from wifimgrd.domain.camera_control import CameraControlListener, OpenCameraSocket
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import CameraBusy, CameraRefused, NotConnected, WifimgrdError
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire.private_process import process, serve

PORT = CameraDriver.GOPRO.port
REFUSING = DeviceId(13)
"""It refuses every command."""


class ScriptedControl:
    """Implements CameraControl."""

    def __init__(self, *, opens: bool = True) -> None:
        """`opens`: each camera wants a connection."""
        self._opens = opens
        self.listener: CameraControlListener | None = None
        self.open_socket: OpenCameraSocket | None = None
        self.attached: dict[DeviceId, CameraDriver] = {}
        self.attachments = 0
        self.sockets: dict[DeviceId, socket.socket] = {}
        self.errors: list[WifimgrdError] = []
        self.reading = CameraReading(read_us=1, battery_level=80)
        self.clocks: list[DeviceId] = []
        self.files: tuple[RecordedFile, ...] | None = None
        """Those of each recording."""
        self.spans: list[tuple[int, int]] = []
        """Of the recordings whose files were wanted."""
        self.is_stopped = False
        self.never = False
        """Commands do not end before `stop`."""
        self._stopped = asyncio.Event()
        self._tasks: dict[DeviceId, asyncio.Task[None]] = {}

    async def start(self, listener: CameraControlListener, open_socket: OpenCameraSocket) -> None:
        self.listener, self.open_socket = listener, open_socket

    async def stop(self) -> None:
        self.is_stopped = True
        self._stopped.set()
        for device_id in list(self.attached):
            self.detach(device_id)

    def attach(self, device_id: DeviceId, driver: CameraDriver) -> None:
        assert device_id not in self.attached
        self.attached[device_id] = driver
        self.attachments += 1
        if self._opens:
            self._tasks[device_id] = asyncio.create_task(self._talk(device_id))
        else:
            self.say(device_id, self.reading)

    def detach(self, device_id: DeviceId) -> None:
        del self.attached[device_id]
        if (task := self._tasks.pop(device_id, None)) is not None:
            task.cancel()
        if (opened := self.sockets.pop(device_id, None)) is not None:
            opened.close()

    def say(self, device_id: DeviceId, reading: CameraReading) -> None:
        assert self.listener is not None
        self.listener.camera_read(device_id, reading)

    async def _talk(self, device_id: DeviceId) -> None:
        assert self.open_socket is not None
        self.say(device_id, self.reading)
        try:
            opened = self.sockets[device_id] = await self.open_socket(device_id, PORT)
        except WifimgrdError as error:
            self.errors.append(error)
            return
        data = await asyncio.get_running_loop().sock_recv(opened, 100)
        self.say(device_id, CameraReading(read_us=2, model=data.decode()))

    async def record(self, device_ids: Sequence[DeviceId], *, on: bool) -> Mapping[DeviceId, CommandResult]:
        if self.never:
            await self._stopped.wait()
        state = RecordingState.RECORDING if on else RecordingState.IDLE
        results = {}
        for device_id in device_ids:
            if device_id not in self.attached:
                results[device_id] = CommandResult(error=NotConnected("the camera is not connected"))
            elif device_id == REFUSING:
                results[device_id] = CommandResult(2000, CameraRefused("the card is full"))
            else:
                results[device_id] = CommandResult(1000 + device_id)
                self.say(device_id, CameraReading(read_us=3, recording=state))
        return results

    async def set_clock(self, device_id: DeviceId) -> None:
        if device_id == REFUSING:
            raise CameraRefused("its clock cannot be set")
        self.clocks.append(device_id)

    async def register_host(self, device_id: DeviceId) -> str:
        if device_id == REFUSING:
            raise CameraRefused("it knows no hosts")
        return f"camera {device_id}"

    async def recorded_files(
        self, device_id: DeviceId, began_us: int, ended_us: int
    ) -> tuple[RecordedFile, ...] | None:
        if device_id == REFUSING:
            raise CameraBusy("it records")
        self.spans.append((began_us, ended_us))
        return self.files


async def _serve(bus: str, linger_s: float) -> None:
    connection = await BusConnection.open(bus, sockets=True)
    tasks = Tasks("wifimgrd-camera")
    try:
        service = CameraService(connection, os.getuid(), linger_s, tasks.part("service"), ScriptedControl())
        await serve(service, connection, tasks, bus)
    finally:
        await connection.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bus")
    parser.add_argument("--linger", type=float, default=30.0)
    arguments = parser.parse_args()
    with process("wifimgrd-camera"):
        asyncio.run(_serve(arguments.bus, arguments.linger))
