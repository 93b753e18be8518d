"""A served camera for tests: its clock is moved by hand, and its clients are pairs of streams."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, Emulator, emulator
from wifimgrd.simulator.emulators._protobuf import Value, decode, encode

USUAL: Final = CameraSettings()
WALL_S: Final = 1_760_000_000.0
"""2025-10-09T08:53:20Z, when every camera is made."""


class Clock:
    """Both clocks of a camera."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def monotonic(self) -> float:
        return 1000.0 + self.passed_s

    def wall(self) -> float:
        return WALL_S + self.passed_s


def made(settings: CameraSettings = USUAL) -> tuple[EmulatedCamera, Clock]:
    clock = Clock()
    return EmulatedCamera(settings, clock.monotonic, clock.wall), clock


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class ServedCamera:
    """A camera and the connections to it."""

    camera: EmulatedCamera
    clock: Clock
    emulator: Emulator
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self, port: int) -> Streams:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=theirs)
        self._tasks.append(asyncio.create_task(self._serve(port, reader, writer)))
        opened = await asyncio.open_connection(sock=ours)
        self._writers.append(opened[1])
        return opened

    async def _serve(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.emulator.serve(port, reader, writer)
        finally:
            writer.close()

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
        async with asyncio.timeout(5):
            await asyncio.gather(*self._tasks)


@asynccontextmanager
async def served(driver: CameraDriver, settings: CameraSettings = USUAL) -> AsyncIterator[ServedCamera]:
    """At the end, every connection's task ends without an error."""
    camera, clock = made(settings)
    one = ServedCamera(camera, clock, emulator(driver, camera))
    yield one
    await one.close()


async def http(
    streams: Streams, method: str, target: str, body: object = None, **headers: str
) -> tuple[int, Any]:
    """The status and the content of an answer."""
    reader, writer = streams
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {target} HTTP/1.1", "Host: camera", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + content)
    async with asyncio.timeout(5):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().partition("content-length: ")[2].split("\r\n")[0])
        return int(head.split(" ")[1]), json.loads(await reader.readexactly(length) or b"null")


HELLO: Final = b"\x06\x00\x00syNceNdinS"


class Insta360Client:
    """A client of port 6666, by hand."""

    def __init__(self, streams: Streams) -> None:
        self.reader, self.writer = streams
        self._sequence = 0
        self.pushed: list[tuple[int, list[tuple[int, Value]]]] = []

    @classmethod
    async def open(cls, one: ServedCamera) -> Insta360Client:
        client = cls(await one.connect(6666))
        client.send(HELLO)
        assert await client.receive() == HELLO
        return client

    def send(self, frame: bytes) -> None:
        self.writer.write((len(frame) + 4).to_bytes(4, "little") + frame)

    async def receive(self) -> bytes:
        async with asyncio.timeout(5):
            length = int.from_bytes(await self.reader.readexactly(4), "little")
            return await self.reader.readexactly(length - 4)

    async def call(self, code: int, *fields: tuple[int, Value | str]) -> tuple[int, dict[int, Value]]:
        """The code and the fields of an answer; what comes before it is `pushed`."""
        self._sequence += 1
        header = b"\x04\x00\x00" + code.to_bytes(2, "little") + b"\x02" + self._sequence.to_bytes(3, "little")
        self.send(header + b"\x80\x00\x00" + encode(fields))
        while True:
            answer = await self.receive()
            answered, body = int.from_bytes(answer[3:5], "little"), decode(answer[12:])
            if int.from_bytes(answer[6:9], "little") == self._sequence:
                return answered, dict(body)
            self.pushed.append((answered, body))

    async def next_pushed(self) -> tuple[int, list[tuple[int, Value]]]:
        """The oldest that has been pushed."""
        if self.pushed:
            return self.pushed.pop(0)
        frame = await self.receive()
        return int.from_bytes(frame[3:5], "little"), decode(frame[12:])
