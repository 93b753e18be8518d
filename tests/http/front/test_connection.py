"""How long a client may keep a connection, and what it gets that has closed its own side."""

from __future__ import annotations

import asyncio
import gzip
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from tests.http.tiles.making import pyramid, write_mbtiles, write_pmtiles
from wifimgrd.config.configuration import TileSource
from wifimgrd.http.front import connection
from wifimgrd.http.front.connection import FrontConnection
from wifimgrd.http.front.framing import HEAD_BYTES
from wifimgrd.http.settings import Settings

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
TILE = b"GET /tiles/pmtiles/1/1/1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
READ_TILE = TILE.replace(b"pmtiles", b"mbtiles")
"""Its tile is always read by a thread."""
DESCRIPTION = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""Its answer is large, and fills what the kernel keeps for a client with few requests."""
BODY = f"POST {P}/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{{".encode()
PATIENCE_S = 10.0


@pytest.fixture(params=["with tiles", "without tiles"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def served(kind: str, fake_hub: FakeHub, tmp_path: Path) -> AsyncIterator[Served]:
    settings = Settings()
    if kind == "with tiles":
        files = {"pmtiles": write_pmtiles, "mbtiles": write_mbtiles}
        sources = [
            TileSource(kind, kind, write(tmp_path / kind, pyramid(1)))  # type: ignore[operator]
            for kind, write in files.items()
        ]
        settings = Settings(tile_sources=tuple(sources))
    async with Served.start(fake_hub, settings) as served:
        yield served


@pytest.fixture
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_S", 0.2)
    monkeypatch.setattr(connection, "RECEIVE_S", 0.1)


async def wire(served: Served) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = served.host.partition(":")
    return await asyncio.open_connection(host, int(port))


async def to_the_end(reader: asyncio.StreamReader) -> bytes:
    """What comes until the other side closes."""
    async with asyncio.timeout(PATIENCE_S):
        return await reader.read()


@pytest.mark.usefixtures("short_times")
@pytest.mark.parametrize(
    ("said", "answers"),
    [(b"", 0), (HEALTH, 1), (TILE, 1), (HEALTH + TILE, 2), (READ_TILE, 1), (TILE + HEALTH, 2)],
)
async def test_an_idle_connection_is_closed(served: Served, said: bytes, answers: int) -> None:
    reader, writer = await wire(served)
    writer.write(said)
    assert (await to_the_end(reader)).count(b"HTTP/1.1 ") == answers
    writer.close()


@pytest.mark.usefixtures("short_times")
@pytest.mark.parametrize(
    "said", [TILE[:1], TILE[:-1], HEALTH[:20], TILE + TILE[:20], BODY, HEALTH + HEALTH[:9]]
)
async def test_a_request_that_stays_in_pieces_is_closed(served: Served, said: bytes) -> None:
    reader, writer = await wire(served)
    writer.write(said)
    await to_the_end(reader)
    writer.close()


@pytest.mark.usefixtures("short_times")
async def test_a_request_that_trickles_in_is_closed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_S", 100 * PATIENCE_S)
    reader, writer = await wire(served)
    writer.write(TILE[:-2])

    async def trickle() -> None:
        with suppress(ConnectionError):
            while True:
                writer.write(b"X: y\r\n")
                await writer.drain()
                await asyncio.sleep(0)

    trickling = asyncio.create_task(trickle())
    with suppress(ConnectionError):
        await to_the_end(reader)
    trickling.cancel()
    writer.close()


@pytest.mark.usefixtures("short_times")
async def test_a_client_that_takes_nothing_is_let_go(served: Served) -> None:
    host, _, port = served.host.partition(":")
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, (host, int(port)))
        async with asyncio.timeout(PATIENCE_S):
            with suppress(ConnectionError):
                while True:
                    await loop.sock_sendall(client, TILE + DESCRIPTION)


@pytest.mark.usefixtures("short_times")
async def test_a_channel_is_not_idle(served: Served, fake_hub: FakeHub) -> None:
    channel = await served.channel()
    reader, writer = await wire(served)
    await to_the_end(reader)  # this one came later, and is gone
    fake_hub.vanish()
    async with asyncio.timeout(PATIENCE_S):
        while (await channel.receive_json())["type"] != "service.updated":
            pass
    writer.close()


async def test_a_connection_that_asks_for_tiles_stays(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "IDLE_S", 1.0)
    reader, writer = await wire(served)
    loop = asyncio.get_running_loop()
    end_s = loop.time() + 2.5 * connection.IDLE_S
    while loop.time() < end_s:
        writer.write(TILE)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
    writer.close()


@pytest.mark.parametrize(
    "said", [TILE, HEALTH, READ_TILE, READ_TILE + HEALTH + TILE, HEALTH * 3, READ_TILE * 2]
)
async def test_who_has_said_all_is_answered(served: Served, said: bytes) -> None:
    reader, writer = await wire(served)
    writer.write(said)
    writer.write_eof()
    assert (await to_the_end(reader)).count(b"HTTP/1.1 ") == said.count(b"GET ")
    writer.close()


@pytest.mark.parametrize("first", [HEALTH, READ_TILE, TILE])
@pytest.mark.parametrize("later", [HEALTH, TILE])
async def test_nothing_behind_a_request_to_close_is_answered(
    served: Served, first: bytes, later: bytes
) -> None:
    reader, writer = await wire(served)
    writer.write(first.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + later * 2)
    assert (await to_the_end(reader)).count(b"HTTP/1.1 ") == 1
    writer.close()


@pytest.mark.parametrize("said", [b"", TILE[:9], BODY])
async def test_who_has_said_half_is_let_go(served: Served, said: bytes) -> None:
    reader, writer = await wire(served)
    writer.write(said)
    writer.write_eof()
    assert await to_the_end(reader) == b""
    writer.close()


@pytest.mark.parametrize("kind", ["with tiles"])
async def test_a_request_right_behind_another_waits_for_it(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when the application has taken the first one and not begun with it."""
    host, _, port = served.host.partition(":")
    client = socket.create_connection((host, int(port)))
    receive = FrontConnection.buffer_updated

    def receive_and_send(one: FrontConnection, size: int) -> None:
        receive(one, size)
        if size == len(HEALTH):
            client.send(TILE)

    monkeypatch.setattr(FrontConnection, "buffer_updated", receive_and_send)
    client.send(HEALTH)
    client.setblocking(False)
    said = b""
    async with asyncio.timeout(PATIENCE_S):
        while b"PNG" not in said:
            raw = await asyncio.get_running_loop().sock_recv(client, 65536)
            assert raw, "it has closed the connection"
            said += raw
    client.close()
    assert said.index(b"ok") < said.index(b"PNG")


@pytest.mark.parametrize(
    ("host", "length", "status"), [(b"elsewhere.example", 1 << 30, b"403"), (b"localhost", 70_000, b"413")]
)
async def test_an_answer_before_the_end_of_the_body_closes(
    served: Served, host: bytes, length: int, status: bytes
) -> None:
    start = f"POST {P}/ HTTP/1.1\r\n".encode() + b"Host: %b\r\nContent-Length: %d\r\n\r\n" % (host, length)
    reader, writer = await wire(served)
    writer.write(start + b"x" * 1000)
    answer = await to_the_end(reader)
    writer.close()
    assert answer[9:12] == status
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize("before", [b"", HEALTH, TILE, READ_TILE])
async def test_what_is_no_request_is_answered(served: Served, before: bytes) -> None:
    reader, writer = await wire(served)
    writer.write(before + b"GET / HTTP/3.0\r\n\r\n" + HEALTH)
    answers = (await to_the_end(reader)).split(b"HTTP/1.1 ")[1:]
    writer.close()
    assert [answer[:3] for answer in answers][bool(before) :] == [b"400"]
    assert b"application/problem+json" in answers[-1]


async def test_a_body_that_was_sent_for_and_is_none_is_answered(served: Served) -> None:
    reader, writer = await wire(served)
    fields = "Host: localhost\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    writer.write(f"POST {P}/ HTTP/1.1\r\n{fields}".encode())
    assert (await reader.readuntil(b"\r\n\r\n"))[9:12] == b"100"
    writer.write(b"no number\r\n")
    assert (await to_the_end(reader))[9:12] == b"400"
    writer.close()


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
async def test_a_body_behind_the_wish_for_another_protocol_is_no_request(
    served: Served, protocol: bytes
) -> None:
    fields = b"Host: localhost\r\nConnection: Upgrade\r\nUpgrade: %b\r\nContent-Length: %d\r\n\r\n"
    reader, writer = await wire(served)
    writer.write(b"POST /nope HTTP/1.1\r\n" + fields % (protocol, len(TILE)) + TILE)
    writer.write(HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    answers = (await to_the_end(reader)).split(b"HTTP/1.1 ")[1:]
    writer.close()
    assert [answer[:3] for answer in answers] == [b"404", b"200"]


@pytest.mark.usefixtures("short_times")
async def test_requests_in_a_row_are_no_request_in_parts(served: Served) -> None:
    reader, writer = await wire(served)
    loop = asyncio.get_running_loop()
    end = loop.time() + 5 * connection.RECEIVE_S
    while loop.time() < end:
        writer.write(TILE * 10)
        for _ in range(10):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
    writer.close()


async def test_an_empty_line_may_come_first(served: Served) -> None:
    reader, writer = await wire(served)
    writer.write(b"\r\n" + HEALTH)
    assert b" 200 " in await reader.readline()
    writer.close()


async def test_events_end_for_a_client_that_has_said_all(served: Served) -> None:
    reader, writer = await wire(served)
    writer.write(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    writer.write_eof()
    with suppress(ConnectionError):
        await to_the_end(reader)
    writer.close()


async def test_pieces_of_any_size_get_the_same_answers(served: Served) -> None:
    body = b"b\r\n[1, 2, 3, 4\r\n1\r\n]\r\n0\r\n\r\n"
    chunked = f"POST {P}/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + body
    last = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    said = HEALTH + chunked + TILE + HEALTH + last
    expected: list[bytes] = []
    for size in (len(said), 1, 7, 50):
        reader, writer = await wire(served)
        for at in range(0, len(said), size):
            writer.write(said[at : at + size])
            await asyncio.sleep(0)
        answers = await to_the_end(reader)
        writer.close()
        expected = expected or [line for line in answers.split(b"\r\n") if b"HTTP/1.1" in line]
        assert [line for line in answers.split(b"\r\n") if b"HTTP/1.1" in line] == expected
    assert len(expected) == 5


ENDLESS = {
    "fields": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n" * 5000),
    "behind another": (HEALTH + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n" * 5000),
    "a field": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", b"y" * 30000),
    "a path": (b"GET /", b"y" * 30000),
    "trailers": (
        BODY.replace(b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"),
        b"X: y\r\n" * 5000,
    ),
    "behind an upgrade": (
        HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
        b"y" * 30000,
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_what_has_no_end_is_cut_off(served: Served, name: str) -> None:
    start, flood = ENDLESS[name]
    reader, writer = await wire(served)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    writer.write(start)
    sent = 0
    with suppress(ConnectionError):
        async with asyncio.timeout(PATIENCE_S):
            while not reader.at_eof() and sent < 1 << 26:
                writer.write(flood)
                await writer.drain()
                sent += len(flood)
    writer.transport.abort()
    assert sent < 1 << 26
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10


@pytest.mark.parametrize("size", [HEAD_BYTES + 1, 3 * HEAD_BYTES])
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_head_has_64_kilobytes_at_most(served: Served, size: int, at_once: bool) -> None:
    def head(size: int) -> bytes:
        start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close"
        count = size // 8000
        fields = b"".join(b"\r\nX-%d: %s" % (n, b"y" * 7900) for n in range(count))
        return (
            start + fields + b"\r\nX-Z: " + b"z" * max(1, size - len(start) - len(fields) - 11) + b"\r\n\r\n"
        )

    for length, expected in ((size, b"4"), (HEAD_BYTES - 500, b"2")):
        reader, writer = await wire(served)
        raw = head(length)
        with suppress(ConnectionError):
            for piece in [raw] if at_once else [raw[:30000], raw[30000:60000], raw[60000:]]:
                writer.write(piece)
                await writer.drain()
        assert (await to_the_end(reader))[9:10] == expected
        writer.close()


async def test_a_head_has_128_fields_at_most(served: Served) -> None:
    answer = await served.raw(HEALTH[:-2] + b"X: y\r\n" * 128 + b"Connection: close\r\n\r\n")
    assert answer[9:10] == b"4"
    answer = await served.raw(HEALTH[:-2] + b"X: y\r\n" * 120 + b"Connection: close\r\n\r\n")
    assert answer[9:12] == b"200"


async def test_a_packed_body_is_unpacked_to_its_limit(served: Served) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bomb = gzip.compress(bytes(60 << 20), 9)
    answer = await served.post(f"{P}/", data=bomb, headers={"Content-Encoding": "gzip"})
    assert answer.problem["code"] == "payload-too-large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10
    packed = gzip.compress(b"[]")
    answer = await served.post(f"{P}/", data=packed, headers={"Content-Encoding": "gzip"})
    assert answer.problem["detail"] == (await served.post(f"{P}/", data=b"[]")).problem["detail"]
