"""A thousand clients on the management channel, some of which read nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.footprint import Footprint
from tests.faults.shim import Shim, running_shim
from tests.processes import Hub

CLIENTS = 1_100
"""More than a service may have files open before it asks for more."""
STUCK = 10
EVENTS = 100
PATIENCE_S = 180.0
GROWTH_KB = 96 * 1024
"""Of the shim with a thousand clients: what a connection costs, and no more."""


class Listener:
    """A WebSocket client that keeps the numbers of what it receives, and sends nothing."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def join(cls, shim: Shim) -> Listener:
        """Join, as far as the shim's consent."""
        host, port = shim.address
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(
            f"GET /ws/management/ HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        return cls(reader, writer)

    async def numbers(self, name: bytes) -> list[int]:
        """The number of the snapshot, and those of all events up to the first that has a name in it."""
        received = b""
        while name not in received:
            data = await self._reader.read(65536)
            assert data, "the shim closed the channel"
            received += data
        return [int(number) for number in re.findall(rb'"seq": ?(\d+)', received.partition(name)[0])]

    async def leave(self) -> None:
        """Go without a word."""
        self._writer.transport.abort()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


@pytest.fixture
async def shim(hub: Hub, tmp_path: Path) -> AsyncIterator[Shim]:
    async with running_shim(hub.address, tmp_path / "shim.log") as shim:
        yield shim


@dataclass
class Crowd:
    """All that have joined."""

    shim: Shim
    listeners: list[Listener] = field(default_factory=list)

    async def grow(self, size: int) -> None:
        """Have them join, not all in the same moment: the backlog of a socket has its limit."""
        while missing := size - len(self.listeners):
            joining = [Listener.join(self.shim) for _ in range(min(50, missing))]
            self.listeners += await asyncio.gather(*joining)

    async def leave(self) -> None:
        while self.listeners:
            await self.listeners.pop().leave()


@pytest.fixture
async def crowd(shim: Shim) -> AsyncIterator[Crowd]:
    crowd = Crowd(shim)
    yield crowd
    await crowd.leave()


async def test_each_of_a_thousand_receives_everything_though_some_read_nothing(
    hub: Hub, shim: Shim, crowd: Crowd
) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    before = Footprint.of(shim.pid)
    async with asyncio.timeout(PATIENCE_S):
        await crowd.grow(CLIENTS // 2)
        await hub.client.update_device(device, {"name": "while they join"})
        await crowd.grow(CLIENTS)
        receiving = [asyncio.create_task(one.numbers(b'"the last"')) for one in crowd.listeners[STUCK:]]
        for number in range(EVENTS - 1):
            await hub.client.update_device(device, {"name": f"{number} {'n' * 40}"})
        await hub.client.update_device(device, {"name": "the last"})
        received = await asyncio.gather(*receiving)
    last = received[0][-1]
    for snapshot, *events in received:  # which is of when the client joined
        assert len(events) >= EVENTS  # what is measured of the link comes beside the names
        assert events == list(range(snapshot + 1, last + 1)), "not all have received the same"
    crowded = Footprint.of(shim.pid)
    assert crowded.peak_kb - before.resident_kb < GROWTH_KB
    await crowd.leave()
    async with asyncio.timeout(PATIENCE_S):
        while Footprint.of(shim.pid).fds > before.fds:
            await hub.client.update_device(device, {"name": "gone"})
