"""Whatever cameras and clients send through the relay: an answer that says so, or an end of that connection,
and nothing else. `make soak` goes on for longer."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import random
import re
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from tests.faults.daemon_with_cameras import daemon_with_cameras
from tests.faults.footprint import Footprint
from tests.faults.random_http import RandomHttp
from tests.faults.random_life import duration_s, seed
from tests.faults.shim import Shim, running_shim
from tests.http.served import Served
from tests.message_bus import MessageBusDaemon
from tests.processes import running_hub
from tests.stream_server import stream_server
from wifimgrd.http.relay.cameras import AT_ONCE

DURATION_S: Final = duration_s("8s", "WIFIMGRD_FUZZ")
SEED: Final = seed()
AT_A_TIME: Final = 8
CASE_S: Final = 1.0
"""After that a case ends, whatever is still to come."""
ENDED_S: Final = 20.0
"""What the shim may take for what is left of all cases."""
PATIENCE_S: Final = 30.0
"""For another camera's answer meanwhile: the shim has no idle moment, and the machine may have none."""
PEAK_KB: Final = 96 * 1024
"""Of resident memory: the shim, and for each case at a time a message of a WebSocket, which has 4 MB at most,
in pieces and whole."""
GROWTH_KB: Final = 48 * 1024
"""What the allocator keeps of the largest moment: 18 to 25 MB were measured, after a minute as after 12 s."""
REFUSALS: Final = {
    b"invalid-request", b"not-found", b"method-not-allowed", b"not-authorized", b"device-not-found", b"busy",
    b"device-not-reachable", b"connection-lost", b"payload-too-large",
}  # fmt: skip
"""What the shim may say: 4xx, 502 and 504."""
HELLO: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


def chance_of(who: str, case: int) -> random.Random:
    """What somebody does in a case."""
    return random.Random(f"{SEED} {who} {case}")


@dataclass
class Camera:
    """Behaves in each case as its chance says; with `is_sane` it only says hello."""

    is_sane: bool = True
    failures: list[Exception] = field(default_factory=list)

    async def serve(self, reader: Reader, writer: Writer) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S if self.is_sane else CASE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                if self.is_sane:
                    writer.write(HELLO)
                    await writer.drain()
                else:
                    await self._misbehave(reader, writer, head)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        except Exception as error:  # noqa: BLE001 - of the test itself
            self.failures.append(error)
        finally:
            writer.transport.abort()

    async def _misbehave(self, reader: Reader, writer: Writer, head: bytes) -> None:
        found = re.search(rb"/case/(\d+)", head)
        chance = chance_of("camera", int(found[1]) if found else 0)
        http = RandomHttp(chance)
        key = re.search(rb"(?i)\r\nsec-websocket-key: ?(\S+)\r\n", head)
        in_frames = key is not None and chance.random() < 0.8
        if key is not None and in_frames:
            writer.write(consent(key[1]))
        else:
            in_frames = False
        data = http.frames(masked=False) if in_frames else http.answer()
        await send(chance, http, writer, data, in_frames=in_frames)
        await leave(chance, reader, writer)


def consent(key: bytes) -> bytes:
    """The answer that begins a WebSocket (RFC 6455, 4.2.2)."""
    digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
    )


async def send(
    chance: random.Random, http: RandomHttp, writer: Writer, data: bytes, *, in_frames: bool
) -> None:
    """Send bytes at once, in pieces or slowly, or something that has no end."""
    match chance.choices(("pieces", "slowly", "endless"), (6, 1, 2))[0]:
        case "pieces":
            for piece in http.pieces(data):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        case "slowly":
            for byte in data:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.005)
        case "endless":
            begin, unit = http.endless(in_frames=in_frames)
            writer.write(begin)
            while True:
                writer.write(unit * (1 + 16384 // len(unit)))
                await writer.drain()
                await asyncio.sleep(0)


async def leave(chance: random.Random, reader: Reader, writer: Writer) -> None:
    """End a connection: in order, half of it, by a reset, or not before the other side does."""
    match chance.choice(("close", "half", "reset", "stay")):
        case "half":
            writer.write_eof()
            await reader.read()
        case "reset":
            one = writer.get_extra_info("socket")
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        case "stay":
            await reader.read()


@dataclass
class Clients:
    """Ask for one case after the other, some at a time."""

    shim: Shim
    device: int
    seen: Counter[str] = field(default_factory=Counter)
    """The statuses of answers, and messages of WebSockets."""
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def ask(self, seconds: float) -> None:
        """Go on for some time."""
        end = time.monotonic() + seconds

        async def one_after_the_other() -> None:
            while time.monotonic() < end:
                await self._case(next(self.numbers))

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_A_TIME):
                group.create_task(one_after_the_other())

    async def _case(self, number: int) -> None:
        received = bytearray()
        reader, writer = await asyncio.open_connection(*self.shim.address)
        try:
            async with asyncio.timeout(CASE_S):
                await self._misbehave(number, reader, writer, received)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
        self._judge(number, bytes(received))

    async def _misbehave(self, number: int, reader: Reader, writer: Writer, received: bytearray) -> None:
        chance = chance_of("client", number)
        http = RandomHttp(chance)
        host = b"%s:%d" % (self.shim.address[0].encode(), self.shim.address[1])
        path = b"/cameras/%d/case/%d" % (self.device, number)
        match chance.choices(("get", "socket", "fuzz", "pipeline", "deaf"), (4, 4, 4, 1, 1))[0]:
            case "get":
                writer.write(b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path, host))
            case "socket":
                writer.write(
                    b"GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                    % (path, host)
                )
                received += await reader.readuntil(b"\r\n\r\n")
                if received.startswith(b"HTTP/1.1 101 "):
                    sending = asyncio.create_task(
                        send(chance, http, writer, http.frames(masked=True), in_frames=True)
                    )
                    try:
                        await self._read(reader, received)
                    finally:
                        sending.cancel()
                        await asyncio.gather(sending, return_exceptions=True)
                    return
            case "fuzz":
                await send(chance, http, writer, http.request(path, host), in_frames=False)
            case "pipeline":
                writer.write(b"".join(http.request(path, host) for _ in range(chance.randint(2, 20))))
            case "deaf":
                writer.write(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, host))
                await asyncio.sleep(CASE_S / 2)
        if chance.random() < 0.3:
            await leave(chance, reader, writer)
        await self._read(reader, received)

    @staticmethod
    async def _read(reader: Reader, received: bytearray) -> None:
        while data := await reader.read(65536):
            if len(received) < 1 << 20:
                received += data

    def _judge(self, number: int, received: bytes) -> None:
        """What came back is HTTP, and says nothing of an accident."""
        about = f"seed {SEED}, case {number}: {received[:2000]!r}"
        assert not received or re.match(rb"HTTP/[0-9]\.[0-9] ", received), (
            about
        )  # aiohttp answers in the request's version
        assert b"Server got itself in trouble" not in received, about
        codes = set(re.findall(rb"urn:wifimgrd:error:([a-z-]+)", received))
        assert codes <= REFUSALS, about
        self.seen[received[9:12].decode("latin-1") or "nothing"] += 1
        if received.startswith(b"HTTP/1.1 101 ") and b"hello" in received:
            self.seen["messages"] += 1
        head = received.partition(b"\r\n\r\n")[0].lower()
        assert not re.search(rb"\r\nset-cookie: (?!wifimgrd_camera_\d+_)", head), about


@dataclass
class Onlooker:
    """Asks meanwhile whether the shim is alive, and another camera for its page."""

    http: Served
    device: int
    waits_s: list[float] = field(default_factory=list)

    async def ask(self) -> None:
        """Ask both, once."""
        asked = time.monotonic()
        assert (await self.http.get("/healthz")).status == 200
        self.waits_s.append(time.monotonic() - asked)
        answer = await self.http.get(f"/cameras/{self.device}/")
        assert (answer.status, answer.data) == (200, b"hello"), f"seed {SEED}: {answer}"
        self.waits_s.append(time.monotonic() - asked)

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Ask some twenty times a second, until the block is left."""
        stop = asyncio.Event()

        async def ask_on() -> None:
            while not stop.is_set():
                await self.ask()
                await asyncio.sleep(0.05)

        asking = asyncio.create_task(ask_on())
        try:
            yield
        finally:
            stop.set()
            await asking


@dataclass
class Relay:
    """The shim with two cameras that are connected."""

    shim: Shim
    log: Path
    camera: Camera
    odd: int
    """The device of `camera`, which is not sane."""
    sane: int


@pytest.fixture
async def relay(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Relay]:
    cameras = {f"wlan{number}": Camera() for number in range(3)}
    async with AsyncExitStack() as running:
        ports = {}
        for interface, camera in cameras.items():
            ports[interface] = await running.enter_async_context(stream_server(camera.serve))
        hub = await running.enter_async_context(
            running_hub(message_bus.address, tmp_path / "state", program=daemon_with_cameras(ports))
        )
        odd, sane = [await hub.create(1), await hub.create(2)]
        for device in (odd, sane):
            await hub.until(device, "connected")
        camera = cameras[str(hub.client.devices[odd].interface)]
        camera.is_sane = False
        log = tmp_path / "shim.log"
        shim = await running.enter_async_context(running_shim(hub.address, log))
        yield Relay(shim, log, camera, odd, sane)


async def are_all_served(http: Served, path: str) -> bool:
    """Whether a camera has a place for each of AT_ONCE requests."""
    answers = await asyncio.gather(*(http.get(path) for _ in range(AT_ONCE)))
    return {answer.data for answer in answers} == {b"hello"}


async def test_anything_through_the_relay_is_answered_or_ended_and_leaves_nothing_behind(
    relay: Relay, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\nseed {SEED}\n")
    async with Served.at(relay.shim.url) as http:
        onlooker = Onlooker(http, relay.sane)
        async with asyncio.timeout(PATIENCE_S):
            while (await http.get(f"/cameras/{relay.sane}/")).status == 503:
                continue  # the shim has not found the daemon yet
        before = Footprint.of(relay.shim.pid)
        clients = Clients(relay.shim, relay.odd)
        async with onlooker.asking():
            await clients.ask(DURATION_S)
        async with asyncio.timeout(ENDED_S):
            while Footprint.of(relay.shim.pid).fds > before.fds:
                await onlooker.ask()
        await onlooker.ask()
        assert max(onlooker.waits_s) < PATIENCE_S, f"seed {SEED}"
        relay.camera.is_sane = True
        path = f"/cameras/{relay.odd}/"
        async with asyncio.timeout(ENDED_S):  # else places are lost
            while not await are_all_served(http, path):
                continue  # a place is free again some time after its socket is closed
    after = Footprint.of(relay.shim.pid)
    with capsys.disabled():
        sys.stdout.write(f"{clients.seen}, {max(onlooker.waits_s):.2f} s, {before}, {after}\n")
    assert relay.camera.failures == []
    assert {"101", "400", "502"} <= clients.seen.keys(), "too little was tried"
    assert after.peak_kb - before.resident_kb < PEAK_KB, f"seed {SEED}"
    assert after.resident_kb - before.resident_kb < GROWTH_KB, f"seed {SEED}"
    assert not re.search("(?m)^(error|warning|ERROR|WARNING)", relay.log.read_text()), (
        f"seed {SEED}: {relay.log.read_text()}"
    )
