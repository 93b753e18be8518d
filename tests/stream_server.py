"""Servers and connections of a test that leave nothing to the next one."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def stream_server(
    serve: Serve, host: str = "127.0.0.1", port: int = 0, *, listening: socket.socket | None = None
) -> AsyncIterator[int]:
    """Serve connections to a port, or to a socket that listens; yields the port. A connection is closed once
    `serve` returns. At the end whatever still serves one is cancelled, and each has been closed."""
    serving: set[asyncio.Task[Any]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            async with closed_after(writer):
                await serve(reader, writer)
        finally:
            serving.discard(task)

    where: dict[str, Any] = {"host": host, "port": port} if listening is None else {"sock": listening}
    server = await asyncio.start_server(accept, **where)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        for one in server.sockets:
            asyncio.get_running_loop().remove_reader(one)
        # A connection that was accepted just now has its task then. asyncio would lose it where the server is
        # closed before.
        for _ in range(4):
            await asyncio.sleep(0)
        server.close()
        while serving:
            for task in serving:
                task.cancel()
            await asyncio.wait(serving)


@asynccontextmanager
async def connection_to(
    host: str, port: int
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection, which has been closed at the end."""
    reader, writer = await asyncio.open_connection(host, port)
    async with closed_after(writer):
        yield reader, writer


@asynccontextmanager
async def closed_after(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Close a connection at the end, once what was written has been sent; at once if something fails."""
    try:
        yield
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()
