"""HTTP towards cameras and tile servers: answers in any pieces, their bounds, connections that are kept."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stream_server import stream_server
from wifimgrd.http._client import Answer, HttpBroken, HttpConnection, Origin
from wifimgrd.http.front.framing import FRAMING_BYTES

HEADERS = {"Host": "camera"}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[HttpConnection, asyncio.StreamReader, asyncio.StreamWriter]]:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    connection = await HttpConnection.open(sock=ours)
    try:
        async with asyncio.timeout(30):
            yield connection, reader, writer
    finally:
        connection.close()
        writer.transport.abort()


async def exchanged(*pieces: bytes, method: str = "GET", ends: bool = True) -> tuple[Answer, bytes]:
    """The answer in these pieces, and its body."""
    async with connected() as (connection, _, writer):

        async def say() -> None:
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0)
            if ends:
                writer.write_eof()

        saying = asyncio.create_task(say())
        answer = await connection.request(method, "/", HEADERS)
        body = b"".join([piece async for piece in connection.content()])
        await saying
        return answer, body


ANSWERS = [
    (OK, b"ok"),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK, b"ok"),
    (
        b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3;a=b\r\n!!!\r\n0\r\nA: b\r\n\r\n",
        b"ok!!!",
    ),
    (b"HTTP/1.0 200\r\n\r\nuntil the end", b"until the end"),
    (b"gpHttpServer: [04325594][INFO ] conn 0: / @civetweb.c:17872\n" + OK, b"ok"),
]


@given(st.sampled_from(ANSWERS), st.lists(st.integers(0, 120), max_size=6))
def test_an_answer_is_the_same_in_any_pieces(answer: tuple[bytes, bytes], cuts: list[int]) -> None:
    data, body = answer
    places = [0, *sorted(cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert asyncio.run(exchanged(*pieces))[1] == body


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("HEAD", OK[:-2]),
        ("GET", b"HTTP/1.1 304 Same\r\nContent-Length: 7\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 None\r\n\r\n"),
    ],
)
async def test_an_answer_without_a_body_ends_with_its_head(method: str, answer: bytes) -> None:
    assert (await exchanged(answer, method=method, ends=False))[1] == b""


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        b"SSH-2.0-camera\r\n",
    ],
)
async def test_what_is_not_whole_or_not_http_is_an_error(answer: bytes) -> None:
    with pytest.raises(HttpBroken):
        await exchanged(answer)


async def test_the_framing_of_a_body_is_no_larger_than_its_content() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    small = b"1\r\nx\r\n" * (FRAMING_BYTES // 8)
    assert len((await exchanged(head + small + b"0\r\n\r\n"))[1]) == FRAMING_BYTES // 8
    with pytest.raises(HttpBroken, match="framing"):
        await exchanged(head, *[small] * 8, ends=False)


async def test_others_have_their_turn_among_many_chunks() -> None:
    """A piece that is received has 1,600 chunks of five bytes, and is passed on as one."""
    count = 1600
    async with connected() as (connection, _, writer):
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"5\r\nhello\r\n" * count + b"0\r\n\r\n")
        await connection.request("GET", "/", HEADERS)
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        others = asyncio.create_task(count_turns())
        pieces = [piece async for piece in connection.content()]
        others.cancel()
    assert b"".join(pieces) == b"hello" * count
    assert len(pieces) < 5
    assert turns >= count // 64


async def test_a_body_is_sent_while_its_answer_is_read() -> None:
    async with connected() as (connection, reader, writer):

        async def body() -> AsyncIterator[bytes]:
            yield b"one"
            await asyncio.Event().wait()

        asking = asyncio.create_task(connection.request("POST", "/", HEADERS, body()))
        asked = await reader.readuntil(b"one\r\n")
        assert b"\r\nTransfer-Encoding: chunked\r\n" in asked
        writer.write(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        assert (await asking).status == 413


async def test_a_body_that_breaks_off_breaks_off_at_the_server() -> None:
    async with connected() as (connection, reader, _):

        async def body() -> AsyncIterator[bytes]:
            yield b"one"
            raise ConnectionResetError

        with pytest.raises(HttpBroken):
            await connection.request("POST", "/", HEADERS, body())
        assert not (await reader.read()).endswith(b"0\r\n\r\n")


class Server:
    """Answers as many requests on a connection as it is told."""

    def __init__(self, each: int) -> None:
        self.each = each
        self.connections = 0
        self.asked: list[bytes] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            for _ in range(self.each):
                self.asked.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(OK)
        except asyncio.IncompleteReadError:
            pass


@asynccontextmanager
async def origin(server: Server, user: str = "") -> AsyncIterator[Origin]:
    async with stream_server(server.answer) as port:
        origin = Origin(f"http://{user}127.0.0.1:{port}/{{z}}", 2)
        async with asyncio.timeout(30):
            yield origin
        origin.close()


async def got(origin: Origin) -> int:
    async with origin.get("/1", {}) as (answer, _):
        return answer.status


async def test_a_connection_is_used_again_also_where_the_body_was_not_read() -> None:
    server = Server(9)
    async with origin(server, user="a:b%40@") as ours:
        assert [await got(ours) for _ in range(5)] == [200] * 5
    assert server.connections == 1
    assert b"\r\nAuthorization: Basic YTpiQA==\r\n" in server.asked[-1]


async def test_a_connection_that_the_server_has_closed_is_replaced() -> None:
    server = Server(1)
    async with origin(server) as ours:
        assert [await got(ours) for _ in range(5)] == [200] * 5
    assert server.connections == 5


@pytest.mark.parametrize("before", [0, 1], ids=["a new one", "a kept one"])
async def test_a_request_that_is_given_up_closes_its_connection(before: int) -> None:
    closed, asked = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(before):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        assert await reader.read() == b""
        closed.set()

    async with stream_server(serve) as port, asyncio.timeout(30):
        ours = Origin(f"http://127.0.0.1:{port}/{{z}}", 2)
        for _ in range(before):
            assert await got(ours) == 200
        request = asyncio.create_task(got(ours))
        await asked.wait()
        request.cancel()
        await closed.wait()
        ours.close()
