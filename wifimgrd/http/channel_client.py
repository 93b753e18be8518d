"""One client of the management channel: its bounded queue and its own writer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from aiohttp import WSCloseCode, web

from wifimgrd.http.event_log import Telling

QUEUE_LIMIT: Final = 4096
"""Messages that wait for a client; the texts are shared by all clients."""
_SEND_BUFFER: Final = 128 * 1024
"""Octets that the kernel holds for a client that does not read."""
_CLOSE_S: Final = 1.0


class ChannelClient:
    """A WebSocket that is written to in order, without anybody else waiting for it."""

    def __init__(self, socket_: web.WebSocketResponse, request: web.Request, limit: int) -> None:
        self._socket = socket_
        self._transport = request.transport
        self._queue: asyncio.Queue[str] = asyncio.Queue(limit)
        self._closing: asyncio.Task[None] | None = None
        self.given_up = False
        """It did not read."""
        bound_send_buffer(self._transport)

    def offer(self, told: Telling) -> None:
        """Have a message sent; a client with too many before it is given up."""
        if self._closing is not None:
            return
        try:
            self._queue.put_nowait(told.text)
        except asyncio.QueueFull:
            self.given_up = True
            self.end(WSCloseCode.TRY_AGAIN_LATER, b"too slow; come back with since=")

    async def run(self, greeting: Iterable[Telling]) -> None:
        """Send the greeting, then what is offered, until the client goes or is given up."""
        writer = asyncio.create_task(self._write(greeting))
        try:
            async for _ in self._socket:  # what a client says means nothing here
                pass
        finally:
            writer.cancel()
            with suppress(asyncio.CancelledError):
                await writer
            if self._closing is not None:
                await self._closing

    def end(self, code: int, reason: bytes) -> asyncio.Task[None]:
        """Close, politely while that is possible at once; `run` returns then."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._end(code, reason))
        return self._closing

    async def _write(self, greeting: Iterable[Telling]) -> None:
        with suppress(ConnectionError, RuntimeError):  # it has gone; the reader says so too
            for told in greeting:
                await self._socket.send_str(told.text)
            while self._closing is None:
                await self._socket.send_str(await self._queue.get())

    async def _end(self, code: int, reason: bytes) -> None:
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(_CLOSE_S):
                await self._socket.close(code=code, message=reason)
        if self._transport is not None:
            self._transport.abort()


def bound_send_buffer(transport: asyncio.BaseTransport | None) -> None:
    """Have the kernel hold little for a client that may not read."""
    raw = None if transport is None else transport.get_extra_info("socket")
    if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6):
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
