"""What cameras serve, each in its namespace: HTTP that answers its number, a stream without an end on port
81, UDP echo on 82. The sockets are of the namespaces; one thread of this process serves them all."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final

from tests.namespaces import in_network

_NAMESPACES: Final = Path("/run/netns")
_PATIENCE_S: Final = 20.0


class CameraServers:
    """On an event loop of their own, since a test may wait for a program meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._servers: list[asyncio.Server | asyncio.DatagramTransport] = []

    def serve(self, namespace: str, number: int) -> None:
        """Have a camera's servers listen in a namespace."""
        with in_network(_NAMESPACES / namespace):
            web, stream = (socket.create_server(("0.0.0.0", port), backlog=100) for port in (80, 81))
            echo = socket.socket(type=socket.SOCK_DGRAM)
            echo.bind(("0.0.0.0", 82))
        asyncio.run_coroutine_threadsafe(self._start(number, web, stream, echo), self._loop).result(
            _PATIENCE_S
        )

    async def _start(
        self, number: int, web: socket.socket, stream: socket.socket, echo: socket.socket
    ) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                with suppress(OSError, asyncio.IncompleteReadError):
                    await reader.readuntil(b"\r\n\r\n")
                    body = f"camera {number}"
                    writer.write(f"HTTP/1.0 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
                    await writer.drain()
            finally:
                writer.close()

        async def send(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                with suppress(OSError):
                    while True:
                        writer.write(f"{number}\n".encode())
                        await writer.drain()
                        await asyncio.sleep(0.01)
            finally:
                writer.transport.abort()  # whether or not anybody reads it

        self._servers.append(await asyncio.start_server(answer, sock=web))
        self._servers.append(await asyncio.start_server(send, sock=stream))
        transport, _ = await self._loop.create_datagram_endpoint(lambda: _Echo(number), sock=echo)
        self._servers.append(transport)

    async def end(self) -> None:
        """Close them, and what is open to them."""
        for server in self._servers:
            server.close()
        answering = asyncio.all_tasks() - {asyncio.current_task()}
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)
        await asyncio.sleep(0)  # the transports close their sockets in the next round


class _Echo(asyncio.DatagramProtocol):
    def __init__(self, number: int) -> None:
        self._number = number

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._transport.sendto(f"{self._number}:".encode() + data, addr)


@contextmanager
def camera_servers() -> Iterator[CameraServers]:
    """Cameras' servers until the end of a test."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="cameras")
    thread.start()
    servers = CameraServers(loop)
    try:
        yield servers
    finally:
        asyncio.run_coroutine_threadsafe(servers.end(), loop).result(_PATIENCE_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
