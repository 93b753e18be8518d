"""A real Mosquitto of a test's own, on loopback."""

from __future__ import annotations

import asyncio
import random
import shutil
import socket
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.mqtt.logs import lines_with
from tests.mqtt.private_host import PrivateHost, inside, network_of
from tests.stream_server import Serve, closed_after, connection_to, stream_server

PROGRAM = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin") or "mosquitto"
START_S = 60.0
KEEP_ALIVE_S = 10
_SUBSCRIBE, _DO_NOT_SEND_RETAINED = 0x82, 0x20


def free_port() -> int:
    """A port that nothing listens on, and that the kernel gives to no connection (ip_local_port_range): the
    broker cannot choose one itself, and is started there more than once."""
    while True:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@dataclass(slots=True)
class Mosquitto:
    """The broker, with lines of configuration of the test's own."""

    folder: Path
    lines: tuple[str, ...] = ("allow_anonymous true",)
    persistence: bool = False
    port: int = field(default_factory=free_port)
    host: PrivateHost | None = None
    """Where it runs, and listens on all addresses; None = this host, on loopback."""
    process: Process | None = None

    async def start(self) -> None:
        """Start it, and wait until it listens."""
        self.folder.mkdir(exist_ok=True)
        file = self.folder / "mosquitto.conf"
        address = "" if self.host else "127.0.0.1"
        lines = ["user root", f"listener {self.port} {address}", *self.lines]
        if self.persistence:
            lines += ["persistence true", f"persistence_location {self.folder}/", "autosave_on_changes true"]
            lines += ["autosave_interval 1"]
        file.write_text("\n".join(lines) + "\n")
        await self.run(file)

    async def restart(self, *lines: str) -> None:
        """Start it anew for anonymous clients, with further lines of configuration, and without what it
        retained."""
        await self.kill()
        self.lines, self.persistence = ("allow_anonymous true", *lines), False
        await self.start()

    async def run(self, file: Path) -> None:
        """Start it with a configuration file, and wait until it listens."""
        with (self.folder / "mosquitto.log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *inside(self.host), PROGRAM, "-c", str(file), stdin=DEVNULL, stdout=log, stderr=log
            )
        async with asyncio.timeout(START_S):
            while not await self._listens():
                assert self.process.returncode is None, (self.folder / "mosquitto.log").read_text()
                await asyncio.sleep(0.02)  # there is no event to wait for

    async def kill(self) -> None:
        """End it at once, as in a crash."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    async def until_logged(self, text: str, times: int = 1, timeout_s: float = START_S) -> None:
        """Wait until so many lines of its log contain a text."""
        await lines_with(self.folder / "mosquitto.log", text, timeout_s, times)

    async def _listens(self) -> bool:
        try:
            with network_of(self.host):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        async with closed_after(writer):
            return True


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward one direction of a connection until it ends, and end the other side."""
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def read_packet(reader: asyncio.StreamReader) -> tuple[bytes, bytearray]:
    """The next packet of MQTT: its fixed header, and the rest. Raises IncompleteReadError."""
    head = await reader.readexactly(2)
    while head[-1] & 0x80:
        head += await reader.readexactly(1)
    length = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(head[1:]))
    return head, bytearray(await reader.readexactly(length))


@asynccontextmanager
async def in_front(port: int, down: Serve = copy, up: Serve = copy) -> AsyncIterator[int]:
    """A way to a broker: `up` forwards what is sent to it, `down` what comes back. The socket on its side
    holds 1 MB."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner = socket.create_connection(("127.0.0.1", port))
        inner.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 19)  # the kernel doubles it
        inner_reader, inner_writer = await asyncio.open_connection(sock=inner)
        async with closed_after(inner_writer):
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await asyncio.gather(up(reader, inner_writer), down(inner_reader, writer))

    async with stream_server(serve) as way:
        yield way


@asynccontextmanager
async def old_broker(port: int, refusal: bytes | None = b"\x20\x02\x00\x01") -> AsyncIterator[int]:
    """A broker of MQTT 3.1.1 alone, in front of a newer one. It refuses MQTT 5 by this answer, which is what
    3.1.2.2 there wants, and an end of the connection; None = it says nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(4096)
        level = first[first.index(b"MQTT") + 4]
        if level > 4:
            if refusal is None:
                await reader.read()
            else:
                writer.write(refusal)
            return
        async with connection_to("127.0.0.1", port) as (inner_reader, inner_writer):
            inner_writer.write(first)
            await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    async with stream_server(serve) as way:
        yield way


@asynccontextmanager
async def broker_without_wildcards(port: int) -> AsyncIterator[int]:
    """A broker that sends what it retains for filters without wildcards alone, as RabbitMQ: in front of
    another one, which it asks for that by the option of MQTT 5 (3.8.3.1)."""

    async def up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head, packet = await read_packet(reader)
                if head[0] == _SUBSCRIBE:
                    assert packet[2] == 0, "it has no properties"
                    _without_retained(packet)
                writer.write(head + packet)
        writer.close()

    async with in_front(port, up=up) as way:
        yield way


@asynccontextmanager
async def broker_of_short_keep_alive(broker: Mosquitto, address: str = "127.0.0.1") -> AsyncIterator[int]:
    """A broker that wants to hear from its clients every KEEP_ALIVE_S (MQTT 5, 3.2.2.3.14), in front of
    another one. Its own `max_keepalive` would do on Debian 12. Mosquitto 2.0.21 of Debian 13 soon ends a
    connection for which that counts: in its ring of seconds, keepalive.c, a message just now is as one too
    long ago."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            with network_of(broker.host):
                inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", broker.port)
            async with closed_after(inner_writer):
                first = bytearray(await reader.read(4096))
                place = first.index(b"MQTT") + 6
                first[place : place + 2] = KEEP_ALIVE_S.to_bytes(2)
                inner_writer.write(first)
                answer = bytearray(await inner_reader.readexactly(5))
                answer[1] += 3  # bytes of the packet, and of its properties, both less than 128
                answer[4] += 3
                writer.write(answer + b"\x13" + KEEP_ALIVE_S.to_bytes(2))
                await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    async with AsyncExitStack() as running:
        with network_of(broker.host):
            way = await running.enter_async_context(stream_server(serve, address))
        yield way


def _without_retained(packet: bytearray) -> None:
    place = 3
    while place < len(packet):
        end = place + 2 + int.from_bytes(packet[place : place + 2])
        if set(b"+#") & set(packet[place + 2 : end]):
            packet[end] |= _DO_NOT_SEND_RETAINED
        place = end + 1
