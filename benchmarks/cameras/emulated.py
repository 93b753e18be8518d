"""Emulated cameras at TCP ports of this host; when the kernel has received what they are sent."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, emulator, settings_of

DRIVERS: Final = (CameraDriver.INSTA360, CameraDriver.GOPRO, CameraDriver.OSC)
CODENAMES: Final = ("insta360-x4", "gopro-hero12", "ricoh-theta-x")
"""Models with these drivers: the cameras take turns."""
_MAIN_PORTS: Final = {CameraDriver.GOPRO: 8080, CameraDriver.INSTA360: 6666, CameraDriver.OSC: 80}
_TIMESTAMPS: Final = 35
"""SO_TIMESTAMPNS and SCM_TIMESTAMPNS, which the socket module does not have."""
_TIMESPEC: Final = struct.Struct("@qq")
_READ_BYTES: Final = 65_536


class Served:
    """A camera, and the moment at which it was sent what it last did."""

    def __init__(self, number: int) -> None:
        """The first camera is number 1."""
        self.driver = DRIVERS[(number - 1) % len(DRIVERS)]
        state = CameraSettings(card_bytes=1_000_000_000_000)
        settings = settings_of(
            self.driver, model=None, serial_number=f"{number:014}", firmware_version=None, state=state
        )
        self.camera = EmulatedCamera(settings)
        self.requested_s = 0.0
        """When the kernel received the request that led to the last change, seconds since the epoch."""
        self.changed = asyncio.Event()
        self._received_s = 0.0
        self._emulator = emulator(self.driver, self.camera)
        self._tasks: set[asyncio.Task[None]] = set()
        self.camera.subscribe(lambda _: self._note())

    def _note(self) -> None:
        self.requested_s = self._received_s
        self.changed.set()

    async def serve(self, listening: socket.socket) -> None:
        """Accept connections until it is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                accepted, _ = await loop.sock_accept(listening)
                task = asyncio.create_task(self._serve(accepted))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        finally:
            for task in self._tasks:
                task.cancel()

    async def _serve(self, accepted: socket.socket) -> None:
        """Serve one: it is read here, so that the kernel's timestamps are seen, and written by a stream."""
        loop = asyncio.get_running_loop()
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        accepted.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        other = socket.socket(fileno=os.dup(accepted.fileno()))
        transport, _ = await loop.create_connection(lambda: protocol, sock=other)
        transport.pause_reading()
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)

        def receive() -> None:
            try:
                data, notes, _, _ = accepted.recvmsg(_READ_BYTES, 64)
            except BlockingIOError:
                return
            except ConnectionError:
                data, notes = b"", []
            for level, kind, value in notes:
                if (level, kind) == (socket.SOL_SOCKET, _TIMESTAMPS):
                    seconds, nanoseconds = _TIMESPEC.unpack(value)
                    self._received_s = seconds + nanoseconds / 1e9
            if data:
                reader.feed_data(data)
            else:
                loop.remove_reader(accepted)
                reader.feed_eof()

        loop.add_reader(accepted, receive)
        try:
            await self._emulator.serve(_MAIN_PORTS[self.driver], reader, writer)
        finally:
            loop.remove_reader(accepted)
            accepted.close()
            writer.close()


@asynccontextmanager
async def served_cameras(count: int) -> AsyncIterator[tuple[Sequence[Served], Sequence[int]]]:
    """So many cameras that answer, and their ports."""
    cameras = [Served(number) for number in range(1, count + 1)]
    sockets, tasks = [], []
    try:
        for camera in cameras:
            listening = socket.create_server(("127.0.0.1", 0), backlog=16)
            listening.setblocking(False)
            sockets.append(listening)
            tasks.append(asyncio.create_task(camera.serve(listening)))
        yield cameras, [one.getsockname()[1] for one in sockets]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for one in sockets:
            one.close()
