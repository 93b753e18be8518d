"""What a hostile client costs the shim, a process of its own, and others."""

from __future__ import annotations

import asyncio
import gc
import itertools
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.faults.footprint import Footprint
from tests.faults.shim import Shim, running_shim
from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from tests.http.test_exposure import made_certificate
from tests.processes import Hub
from wifimgrd.http._app import build_app
from wifimgrd.http._server import Server, bind
from wifimgrd.http.front import connection
from wifimgrd.http.front.connection_limits import IN_ALL, ConnectionLimits
from wifimgrd.http.settings import Settings
from wifimgrd.runtime.tasks import Tasks

pytestmark = pytest.mark.slow

NO_BUS = "unix:path=/nowhere"
ALLOWED_KB = 60 << 10
IDLE_WITH_TLS_KB = 300_000
_SAMPLE = 200
PATIENCE_S = 20.0
SQUAWK = "/ws/squawk/"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
POST = f"POST {P}/ HTTP/1.1\r\nHost: localhost\r\n".encode()


@pytest.fixture
async def shim(tmp_path: Path) -> AsyncIterator[Shim]:
    async with running_shim(NO_BUS, tmp_path / "log") as shim:
        yield shim


def resident_kb(shim: Shim) -> int:
    return Footprint.of(shim.pid).resident_kb


async def is_answered(shim: Shim) -> None:
    """A liveness check."""
    reader, writer = await asyncio.open_connection(*shim.address)
    writer.write(HEALTH)
    await ended_after_answer(reader)
    writer.close()


async def ended(reader: asyncio.StreamReader) -> None:
    """Wait until the other side has closed a connection."""
    async with asyncio.timeout(PATIENCE_S):
        with suppress(ConnectionError):
            assert await reader.read() == b""


async def ended_after_answer(reader: asyncio.StreamReader) -> None:
    """Read an answer, which is the last."""
    async with asyncio.timeout(PATIENCE_S):
        assert b" 200 " in await reader.read()


class Crowd:
    """Many plain connections, without a task each."""

    def __init__(self, shim: Shim) -> None:
        self._address = shim.address
        self._sockets: list[socket.socket] = []
        self._sources = itertools.cycle([f"127.0.0.{number}" for number in range(2, 20)])

    async def send(self, count: int, raw: bytes) -> None:
        """Open so many connections, and send this on each."""
        loop = asyncio.get_running_loop()
        for _ in range(count):
            one = socket.socket()
            one.setblocking(False)
            one.bind((next(self._sources), 0))
            self._sockets.append(one)
            with suppress(ConnectionError):
                await loop.sock_connect(one, self._address)
                await loop.sock_sendall(one, raw)

    def close(self) -> None:
        for one in self._sockets:
            one.close()


@pytest.fixture
def crowd(shim: Shim) -> Iterator[Crowd]:
    one = Crowd(shim)
    yield one
    one.close()


async def test_half_heads_of_this_host_share_one_budget(shim: Shim, crowd: Crowd) -> None:
    before = resident_kb(shim)
    await crowd.send(2000, b"GET / HTTP/1.1\r\nHost: h" + (b"\r\nX: " + b"y" * 8000) * 7)
    await is_answered(shim)
    assert resident_kb(shim) - before < ALLOWED_KB


async def pour(shim: Shim, start: bytes, flood: bytes) -> None:
    """Send without an end; the connection is opened again when it is closed."""
    while True:
        with suppress(ConnectionError):
            reader, writer = await asyncio.open_connection(*shim.address)
            try:
                writer.write(start)
                while not reader.at_eof():
                    writer.write(flood)
                    await writer.drain()
            finally:
                writer.transport.abort()


@pytest.mark.parametrize(
    ("start", "flood"),
    [
        (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 2500),
        (POST + b"Content-Length: 1000000000\r\n\r\n", b"x" * 16384),
        (b"", (POST + b"Content-Length: 60000\r\n\r\n" + b"x" * 60000)),
        (b"", b"GET /healthz HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n" * 200),
    ],
    ids=["chunks of a byte", "a body without an end", "bodies in a row", "requests in a row"],
)
async def test_beside_a_hundred_floods_others_are_answered(shim: Shim, start: bytes, flood: bytes) -> None:
    before = resident_kb(shim)
    floods = [asyncio.create_task(pour(shim, start, flood)) for _ in range(100)]
    for _ in range(5):
        await is_answered(shim)
    grown = resident_kb(shim) - before
    for one in floods:
        one.cancel()
    await asyncio.gather(*floods, return_exceptions=True)
    assert grown < ALLOWED_KB


@pytest.mark.parametrize("frame", [b"\x89\x80mask", b"\x81\x80mask"], ids=["pings", "texts"])
async def test_a_channel_that_is_flooded_is_closed(daemon: Hub, tmp_path: Path, frame: bytes) -> None:
    async with AsyncExitStack() as stack:
        shim = await stack.enter_async_context(running_shim(daemon.address, tmp_path / "log"))
        served = await stack.enter_async_context(Served.at(shim.url))
        sockets = [await served.session.ws_connect(shim.url + SQUAWK) for _ in range(12)]
        for one in sockets:
            stack.push_async_callback(one.close)
        writers: list[Any] = [one._writer.transport for one in sockets]
        for writer in writers:
            writer.write(frame * 20_000)
        await is_answered(shim)
        for one in sockets:
            async with asyncio.timeout(PATIENCE_S):
                while (message := await one.receive()).type is not aiohttp.WSMsgType.CLOSE:
                    pass
            assert message.data == aiohttp.WSCloseCode.POLICY_VIOLATION


def any_server() -> ssl.SSLContext:
    """A client that verifies nothing."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return tls


def answered_with_tls(address: tuple[str, int], count: int) -> list[ssl.SSLSocket]:
    """So many connections, each of which has had an answer. Blocks."""
    tls, sockets = any_server(), []
    for _ in range(count):
        one = tls.wrap_socket(socket.create_connection(address, PATIENCE_S))
        one.sendall(HEALTH.replace(b"close", b"keep-alive"))
        assert b" 200 " in one.recv(4096)
        sockets.append(one)
    return sockets


async def test_all_idle_connections_with_tls_fit_into_the_memory_of_the_service(tmp_path: Path) -> None:
    config = tmp_path / "wifimgrd.toml"
    certificate = await made_certificate(tmp_path)
    config.write_text(f'[http]\ntls_certificate = "{certificate}"\ntls_key = "{tmp_path / "key.pem"}"\n')
    async with running_shim(NO_BUS, tmp_path / "log", "--config", str(config)) as shim:
        first = await asyncio.to_thread(answered_with_tls, shim.address, 1)
        before = resident_kb(shim)
        others = await asyncio.to_thread(answered_with_tls, shim.address, _SAMPLE)
        each_kb = (resident_kb(shim) - before) / _SAMPLE
        for one in first + others:
            one.close()
    assert before + each_kb * IN_ALL < IDLE_WITH_TLS_KB


class TestTls:
    """Connections that do not begin with TLS, where that is served."""

    @pytest.fixture
    async def address(self, tmp_path: Path, fake_hub: FakeHub) -> AsyncIterator[tuple[str, int]]:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(await made_certificate(tmp_path), tmp_path / "key.pem")
        server = Server(build_app(fake_hub, Settings(), Tasks("test")), tls, ConnectionLimits(4))
        await server.start(bind("127.0.0.1", 0))
        host, _, port = server.addresses[0].removeprefix("https://").rstrip("/").partition(":")
        yield host, int(port)
        await server.stop()

    async def test_they_are_counted(self, address: tuple[str, int]) -> None:
        silent = [await asyncio.open_connection(*address) for _ in range(10)]
        for reader, writer in silent[:6]:
            await ended(reader)
            writer.close()
        for reader, writer in silent[6:]:
            assert not reader.at_eof()
            writer.transport.abort()

    async def test_they_have_a_time_limit(
        self, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection, "HANDSHAKE_S", 0.1)
        reader, writer = await asyncio.open_connection(*address)
        await ended(reader)
        writer.close()

    async def test_one_that_has_ended_leaves_nothing(self, address: tuple[str, int]) -> None:
        def kept() -> int:
            return sum(isinstance(one, SSLProtocol) and one._server_side for one in gc.get_objects())

        gc.collect()
        gc.disable()  # what only a search for cycles finds piles up under load
        try:
            before = kept()
            for _ in range(3):
                reader, writer = await asyncio.open_connection(*address, ssl=any_server())
                writer.write(HEALTH)
                await ended_after_answer(reader)
                writer.transport.abort()
            async with asyncio.timeout(PATIENCE_S):
                while kept() > before:  # noqa: ASYNC110 - nothing tells that an object is gone
                    await asyncio.sleep(0)
        finally:
            gc.enable()
