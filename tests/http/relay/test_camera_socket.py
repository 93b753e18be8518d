"""The camera's side of a WebSocket: what it may send, and what becomes of it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from multidict import CIMultiDict

from wifimgrd.http._client import HttpBroken, HttpConnection
from wifimgrd.http.front.framing import PIECE_BYTES
from wifimgrd.http.relay._camera_socket import MESSAGE_BYTES, CameraSocket

HEADERS: CIMultiDict[str] = CIMultiDict({"Host": "192.168.42.1"})


@dataclass
class Peer:
    """A camera, and the connection to it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    connection: HttpConnection

    async def answer(self, *fields: str, accepted: bytes = b"") -> bytes:
        """Answer the request to open a WebSocket; returns that."""
        asked = await self.reader.readuntil(b"\r\n\r\n")
        key = asked.partition(b"Sec-WebSocket-Key: ")[2].partition(b"\r\n")[0]
        digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += b"Sec-WebSocket-Accept: " + (accepted or base64.b64encode(digest)) + b"\r\n"
        self.writer.write(head + "".join(f"{one}\r\n" for one in fields).encode() + b"\r\n")
        return asked

    async def opened(self, *fields: str, offered: tuple[str, ...] = ()) -> CameraSocket:
        opening = asyncio.create_task(CameraSocket.open(self.connection, "/live", HEADERS, offered))
        await self.answer(*fields)
        return await opening


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs, limit=MESSAGE_BYTES * 2)
    connection = await HttpConnection.open(sock=ours)
    async with asyncio.timeout(30):
        yield Peer(reader, writer, connection)
    connection.close()
    writer.transport.abort()


async def messages(camera: CameraSocket) -> list[str | bytes]:
    return [message async for message in camera.messages()]


@pytest.mark.parametrize(
    ("frames", "sent", "code"),
    [
        (b"\x81\x02hi\x82\x01\xff\x88\x02\x0f\xa1", ["hi", b"\xff"], 4001),
        (b"\x01\x01h\x80\x01i\x88\x00", ["hi"], None),
        (b"\x01\x01\xc3\x80\x01\xa4\x88\x00", ["ä"], None),
        (b"\x81\x00\x82\x00\x88\x00", ["", b""], None),
        (b"\x81\x01\xff", [], 1007),
        (b"\x83\x00", [], 1002),
        (b"\x88\x01x", [], 1002),
    ],
)
async def test_messages_are_whole_and_an_invalid_frame_closes(
    peer: Peer, frames: bytes, sent: list[str | bytes], code: int | None
) -> None:
    camera = await peer.opened()
    peer.writer.write(frames)
    assert await messages(camera) == sent
    assert (camera.is_closed, camera.close_code) == (True, code)


async def test_a_ping_is_answered(peer: Peer) -> None:
    camera = await peer.opened()
    peer.writer.write(b"\x89\x02hi\x88\x00")
    assert await messages(camera) == []
    assert (await peer.reader.readexactly(2))[0] == 0x8A


async def test_a_message_over_the_limit_closes(peer: Peer) -> None:
    camera = await peer.opened()
    received = asyncio.create_task(messages(camera))
    peer.writer.write(b"\x82\x7f" + (MESSAGE_BYTES + 1).to_bytes(8) + bytes(MESSAGE_BYTES + 1))
    head = await peer.reader.readexactly(2)
    assert head[0] == 0x88
    peer.writer.write(b"\x88\x00")
    assert await received == []


async def test_a_camera_that_does_not_close_after_too_long_a_message_is_not_waited_for(peer: Peer) -> None:
    camera = await peer.opened()
    peer.writer.write(b"\x82\x7f" + (MESSAGE_BYTES + 1).to_bytes(8) + bytes(MESSAGE_BYTES + 1))
    assert await messages(camera) == []
    assert (camera.is_closed, camera.close_code) == (False, 1009)


async def test_others_have_their_turn_among_many_frames(peer: Peer) -> None:
    """Pieces that have been received already are read without a pause, and a piece has 8,000 empty frames."""
    camera = await peer.opened()
    peer.writer.write(b"\x81\x00" * (PIECE_BYTES // 2))
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(count_turns())
    received = []
    async for _ in camera.messages():
        received.append(turns)
        if len(received) == PIECE_BYTES // 2:
            break
    others.cancel()
    assert max(received.count(turn) for turn in set(received)) <= 64


async def test_what_comes_with_the_answer_is_the_first_message(peer: Peer) -> None:
    opening = asyncio.create_task(CameraSocket.open(peer.connection, "/", HEADERS, ()))
    await peer.answer()
    peer.writer.write(b"\x81\x02hi\x88\x00")
    assert await messages(await opening) == ["hi"]


async def test_a_protocol_that_was_offered_is_chosen(peer: Peer) -> None:
    camera = await peer.opened("Sec-WebSocket-Protocol: osc", offered=("osc", "x"))
    assert camera.protocol == "osc"


@pytest.mark.parametrize(
    ("fields", "accepted"),
    [
        (["Sec-WebSocket-Protocol: other"], b""),
        (["Sec-WebSocket-Extensions: permessage-deflate"], b""),
        ([], b"AAAAAAAAAAAAAAAAAAAAAAAAAAA="),
        ([], b"\x80"),
    ],
)
async def test_an_answer_that_opens_no_websocket_is_refused(
    peer: Peer, fields: list[str], accepted: bytes
) -> None:
    opening = asyncio.create_task(CameraSocket.open(peer.connection, "/", HEADERS, ("osc",)))
    await peer.answer(*fields, accepted=accepted)
    with pytest.raises(HttpBroken):
        await opening


async def test_closing_waits_for_the_camera(peer: Peer) -> None:
    camera = await peer.opened()
    closing = asyncio.create_task(camera.close(4002))
    frame = await peer.reader.readexactly(8)
    assert frame[0] == 0x88
    assert not closing.done()
    peer.writer.write(b"\x81\x02hi\x88\x02\x0f\xa2")
    await closing
    assert camera.close_code == 4002
    await camera.send("too late")
    await camera.close(1000)
