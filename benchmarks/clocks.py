"""How well cameras' clocks are read, and what that costs.

The cameras are emulated ones in another process, with random offsets and drifts; each way to them and back
takes a random time.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Final

from benchmarks import progress
from benchmarks.table import Row, Target
from wifimgrd.camera._connection import SessionLimits
from wifimgrd.camera.conversations import now_us
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.domain.camera import CameraDriver, CameraReading
from wifimgrd.domain.device import DeviceId
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, emulator

PART: Final = "Clocks: twelve emulated cameras"
_CAMERAS: Final = 12
_SLOWEST_MS: Final = (5, 20, 60)
_FASTEST_MS: Final = 1
_FARTHEST_S: Final = 3.0
_DRIFT_PPM: Final = 40.0
_SERIES_S: Final = 20.0
"""A first series has ended by then, also with the longest ways."""
_COST_S: Final = 120.0
_OFTEN_S: Final = 10.0
"""From one later series to the next while their cost is measured."""
_SERIES_PER_HOUR: Final = 6
_QUESTION: Final = b"/gopro/camera/get_date_time"
_NEVER_S: Final = 1e9
_MS: Final = 1000


@dataclass
class _Readings:
    """What the sessions report; implements CameraControlListener."""

    first: dict[DeviceId, CameraReading] = field(default_factory=dict)
    last: dict[DeviceId, CameraReading] = field(default_factory=dict)

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        """See CameraControlListener.camera_read."""
        if reading.clock_read_us:
            self.first.setdefault(device_id, reading)
            self.last[device_id] = reading


@dataclass(frozen=True)
class _World:
    """The process of the cameras."""

    settings: Sequence[CameraSettings]
    ports: Sequence[int]
    began_us: int
    pipe: Connection

    def questions(self) -> int:
        """How often the cameras were asked for the time."""
        self.pipe.send(None)
        found: int = self.pipe.recv()
        return found

    def error_ms(self, device_id: DeviceId, reading: CameraReading) -> float:
        """By how much a reading of a clock is wrong."""
        one = self.settings[device_id]
        drift_us = (reading.read_us - self.began_us) * one.clock_drift_ppm / 1e6
        return abs((reading.clock_offset_us or 0) - one.clock_offset_s * 1e6 - drift_us) / _MS

    async def open_socket(self, device_id: DeviceId, port: int) -> socket.socket:
        """A connection to a camera."""
        del port
        opened = socket.socket()
        opened.setblocking(False)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(opened, ("127.0.0.1", self.ports[device_id]))
        return opened


async def measure() -> list[Row]:
    """The rows of all delays, and those of the cost."""
    rows: list[Row] = []
    for slowest_ms in _SLOWEST_MS:
        progress.say(f"clocks: up to {slowest_ms} ms each way")
        rows += await _closeness(slowest_ms)
    progress.say("clocks: what they cost")
    return rows + await _cost()


async def _closeness(slowest_ms: int) -> list[Row]:
    with _running(slowest_ms) as world:
        async with _sessions(world, SessionLimits()) as readings:
            await asyncio.sleep(_SERIES_S)
        questions = world.questions() / _CAMERAS
        errors = [world.error_ms(*one) for one in readings.last.items()]
        alone = [world.error_ms(*one) for one in readings.first.items()]
    bounds = [(one.clock_bound_us or 0) / _MS for one in readings.last.values()]
    exceeded = sum(error > bound for error, bound in zip(errors, bounds, strict=True))
    each_way = f"{_FASTEST_MS} to {slowest_ms} ms each way"
    return [
        Row(PART, f"error, {each_way}", "ms", errors, alone, "of one question"),
        Row(PART, f"largest error, {each_way}", "ms", [max(errors)], [max(alone)], "of one question"),
        Row(PART, f"bound, {each_way}", "ms", bounds),
        Row(PART, f"largest bound, {each_way}", "ms", [max(bounds)]),
        Row(PART, f"errors beyond their bound, {each_way}", "", [exceeded], target=Target("ours", 0)),
        Row(PART, f"questions of a camera after its connection, {each_way}", "", [questions]),
    ]


async def _cost() -> list[Row]:
    """What the later series take, measured more often than they are asked, against sessions without them."""
    cpu_s, asked = {}, {}
    for clock_s in (_OFTEN_S, _NEVER_S):
        with _running(_SLOWEST_MS[0]) as world:
            async with _sessions(world, SessionLimits(clock_s=clock_s)):
                await asyncio.sleep(_SERIES_S)
                began_s, before = time.process_time(), world.questions()
                await asyncio.sleep(_COST_S)
                cpu_s[clock_s] = time.process_time() - began_s
                asked[clock_s] = world.questions() - before
    series = _CAMERAS * _COST_S / _OFTEN_S
    each_s = (cpu_s[_OFTEN_S] - cpu_s[_NEVER_S]) / series
    return [
        Row(PART, "questions of a camera in an hour", "", [asked[_OFTEN_S] / series * _SERIES_PER_HOUR]),
        Row(PART, "their CPU for a camera in an hour", "ms", [each_s * _SERIES_PER_HOUR * _MS]),
    ]


@asynccontextmanager
async def _sessions(world: _World, limits: SessionLimits) -> AsyncIterator[_Readings]:
    readings, tasks = _Readings(), Tasks("clocks")
    sessions = CameraSessions(tasks, now_us, limits)
    await sessions.start(readings, world.open_socket)
    for number in range(_CAMERAS):
        sessions.attach(DeviceId(number), CameraDriver.GOPRO)
    try:
        yield readings
    finally:
        await sessions.stop()


class _running:  # noqa: N801 - used as a function
    """The cameras, in a process of their own."""

    def __init__(self, slowest_ms: int) -> None:
        chance = random.Random(slowest_ms)
        self._settings = [
            CameraSettings(
                model="HERO13 Black",
                serial_number=f"C35313000000{number:02}",
                clock_offset_s=chance.uniform(-_FARTHEST_S, _FARTHEST_S),
                clock_drift_ppm=chance.uniform(-_DRIFT_PPM, _DRIFT_PPM),
            )
            for number in range(_CAMERAS)
        ]
        self._pipe, theirs = multiprocessing.Pipe()
        spawn = multiprocessing.get_context("spawn")
        self._process = spawn.Process(target=_serve, args=(self._settings, slowest_ms, theirs), daemon=True)

    def __enter__(self) -> _World:
        self._process.start()
        ports, began_us = self._pipe.recv()
        return _World(self._settings, ports, began_us, self._pipe)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()


def _serve(settings: Sequence[CameraSettings], slowest_ms: int, pipe: Connection) -> None:
    asyncio.run(_Cameras(slowest_ms).run(settings, pipe))


class _Cameras:
    """Serves the cameras until the process ends."""

    def __init__(self, slowest_ms: int) -> None:
        self._slowest_ms = slowest_ms
        self._chance = random.Random(slowest_ms)
        self._asked = 0

    async def run(self, settings: Sequence[CameraSettings], pipe: Connection) -> None:
        """Say the ports, and then how often the time was asked for, each time that the other side asks."""
        began_us = now_us()
        servers = [await self._server(EmulatedCamera(one)) for one in settings]
        pipe.send(([one.sockets[0].getsockname()[1] for one in servers], began_us))
        asked = asyncio.Event()
        asyncio.get_running_loop().add_reader(pipe.fileno(), asked.set)
        while True:
            await asked.wait()
            asked.clear()
            while pipe.poll():
                pipe.recv()
                pipe.send(self._asked)

    async def _server(self, camera: EmulatedCamera) -> asyncio.Server:
        emulated = emulator(CameraDriver.GOPRO, camera)

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            ours, theirs = socket.socketpair()
            inner_reader, inner_writer = await asyncio.open_connection(sock=ours)
            camera_reader, camera_writer = await asyncio.open_connection(sock=theirs)
            ways = [
                emulated.serve(CameraDriver.GOPRO.port, camera_reader, camera_writer),
                self._way(reader, inner_writer),
                self._way(inner_reader, writer),
            ]
            try:
                await asyncio.gather(*ways)
            except OSError:
                pass
            finally:
                for one in (writer, inner_writer, camera_writer):
                    one.close()

        return await asyncio.start_server(connected, "127.0.0.1", 0)

    async def _way(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes, each time after a random delay."""
        while data := await reader.read(1 << 16):
            self._asked += data.count(_QUESTION)
            await asyncio.sleep(self._chance.uniform(_FASTEST_MS, self._slowest_ms) / _MS)
            writer.write(data)
        writer.close()
