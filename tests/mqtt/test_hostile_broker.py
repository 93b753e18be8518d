"""A broker that means harm: what it sends ends the connection before it fills the memory."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.mqtt.conftest import Start
from tests.mqtt.fleet_view import access
from tests.mqtt.flood import number
from tests.stream_server import stream_server
from wifimgrd.mqtt._broker import Broker
from wifimgrd.mqtt._library import MOST_UNSENT

TOPIC = b"wifimgrd/boat/command"
CONNACK = b"\x20\x03\x00\x00\x00"
PINGREQ, PUBREC, PUBREL, PUBCOMP = b"\xc0\0", b"\x50\2", b"\x62\2", b"\x70\2"
PARTS = 20_000
IN_A_PART = 500
LIMIT_KB = 64 * 1024
"""Memory of a client at any time; without limits it is ten times as much."""
PATIENCE_S = 60.0


def published(qos: int, packet_id: int, payload: bytes) -> bytes:
    content = len(TOPIC).to_bytes(2) + TOPIC + packet_id.to_bytes(2) + b"\0" + payload
    return bytes([0x30 | qos << 1]) + number(len(content)) + content


def ids() -> Iterator[range]:
    """Of packets, in parts."""
    for part in range(PARTS):
        first = part * IN_A_PART % 60_000 + 1
        yield range(first, first + IN_A_PART)


def each(packet: Callable[[int], bytes]) -> Iterator[bytes]:
    return (b"".join(map(packet, part)) for part in ids())


def with_properties(kind: int, before: bytes) -> bytes:
    """A packet with 100,000 pairs of texts, for which paho takes minutes."""
    texts = b"\x26\0\0\0\0" * 100_000
    content = before + number(len(texts)) + texts
    return bytes([kind]) + number(len(content)) + content


HOSTILE: dict[str, tuple[Callable[[], Iterator[bytes]], str]] = {
    "QoS 2": (lambda: each(lambda one: published(2, one, b"x" * 8192)), "QoS 2"),
    "PINGREQ": (lambda: each(lambda _: PINGREQ), "that only clients send"),
    "PUBREC": (lambda: each(lambda one: PUBREC + one.to_bytes(2)), "that only clients send"),
    "PUBREL": (lambda: each(lambda one: PUBREL + one.to_bytes(2)), "that only clients send"),
    "PUBCOMP": (lambda: each(lambda one: PUBCOMP + one.to_bytes(2)), "that only clients send"),
    "CONNACK": (lambda: each(lambda _: CONNACK), "twice"),
    "SUBACK": (lambda: iter([with_properties(0x90, b"\0\1")]), "too large"),
    "DISCONNECT": (lambda: iter([with_properties(0xE0, b"\x8b")]), "too large"),
}


@asynccontextmanager
async def hostile_broker(attack: Callable[[], Iterator[bytes]]) -> AsyncIterator[tuple[int, asyncio.Event]]:
    """A broker that accepts each client, and then sends all it can, and reads nothing; its port, and what is
    set once a client has ended that."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(10)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(CONNACK)
        try:
            for data in attack():
                writer.write(data)
                await writer.drain()
            while True:  # only who writes notices that the other side has ended
                writer.write(PINGREQ)
                await writer.drain()
                await asyncio.sleep(0.05)
        except ConnectionError:
            ended.set()

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    async with stream_server(serve, listening=listening) as port:
        yield port, ended


def most_memory_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize("what", HOSTILE)
async def test_it_does_not_fill_the_memory_of_the_bridge(bridges: Start, what: str) -> None:
    attack, reason = HOSTILE[what]
    async with hostile_broker(attack) as (port, ended):
        bridge = bridges("", f"mqtt://127.0.0.1:{port}")
        await bridge.start()
        assert bridge.process is not None
        assert reason in await bridge.until_logged("broker_unavailable", PATIENCE_S)
        await asyncio.wait_for(ended.wait(), PATIENCE_S)
        assert most_memory_kb(bridge.process.pid) <= LIMIT_KB


async def test_answers_that_the_broker_does_not_read_end_the_connection() -> None:
    async with hostile_broker(lambda: each(lambda one: published(1, one, b""))) as (port, ended):
        connection = await Broker(access(port)).connect("client", None, lambda _: None, lambda: None)
        client, opened = connection._client, connection._socket
        # Otherwise the kernel takes hundreds of thousands of them.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        assert "does not read" in await asyncio.wait_for(asyncio.shield(connection.closed), PATIENCE_S)
        assert len(client._out_packet) <= MOST_UNSENT + 1
        connection.disconnect()
        await asyncio.wait_for(ended.wait(), PATIENCE_S)
