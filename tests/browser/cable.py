"""A cable between the browser and the hub that can be cut: nothing is closed, nothing gets through."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from tests.stream_server import stream_server


class Cable:
    """Carries TCP connections to a hub."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)
        self._whole = asyncio.Event()
        self._whole.set()
        self._ends: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def url(self) -> str:
        """The hub's address through this cable."""
        return f"http://127.0.0.1:{self.port}/"

    def cut(self) -> None:
        """From here on nothing gets through, on connections that are and on new ones."""
        self._whole.clear()

    def mend(self) -> None:
        """What is sent from here on gets through, on new connections: the old ones are lost."""
        for end in self._ends:
            end.cancel()
        self._whole.set()

    async def carry(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Carry one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._ends.add(task)
        far: StreamWriter | None = None
        try:
            await self._whole.wait()
            far_reader, far = await asyncio.open_connection(*self._target)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(reader, far))
                both.create_task(self._pump(far_reader, writer))
        except* (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._ends.discard(task)
            for one in (writer, far):
                if one is not None:
                    one.transport.abort()

    async def _pump(self, source: StreamReader, sink: StreamWriter) -> None:
        while data := await source.read(1 << 16):
            await self._whole.wait()
            sink.write(data)
            await sink.drain()
        raise ConnectionError("one side closed")


@asynccontextmanager
async def cable_to(url: str) -> AsyncIterator[Cable]:
    """A cable, whole at first."""
    cable = Cable(url)
    async with stream_server(cable.carry) as cable.port:
        yield cable
