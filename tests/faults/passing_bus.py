"""A message bus that passes on what dbus-daemon would not: a relay before a real one."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from wifimgrd.bus._framing import FIXED


class PassingBus:
    """Relays whole messages, so that between two of them others can be sent."""

    def __init__(self, directory: Path, address: str) -> None:
        self.address = f"unix:path={directory}/passing-bus"
        self._socket = directory / "passing-bus"
        self._real = address.partition("path=")[2].partition(",")[0]
        self._clients: list[asyncio.StreamWriter] = []

    def send(self, data: bytes) -> None:
        """Send some bytes to each client, as they are."""
        for client in self._clients:
            client.write(data)

    def drop_clients(self) -> None:
        """End each client's connection, before anything more is relayed."""
        for client in self._clients:
            client.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[PassingBus]:
        """Relay until the end."""
        server = await asyncio.start_unix_server(self._connected, self._socket)
        try:
            yield self
        finally:
            server.close()
            for client in self._clients:
                client.transport.abort()  # whether or not it reads what is left
                with suppress(OSError):
                    await client.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_bus, to_bus = await asyncio.open_unix_connection(self._real)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, to_bus))
                group.create_task(self._relay(from_bus, writer))
        except* (OSError, asyncio.IncompleteReadError):
            pass
        to_bus.close()
        writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(2)
        while first[0] not in b"lB":  # lines of the authentication, in upper case
            writer.write(first + await reader.readuntil(b"\n"))
            first = await reader.readexactly(2)
        self._clients.append(writer)
        while True:
            fixed = first + await reader.readexactly(FIXED - len(first))
            body, _, fields = struct.unpack("<III" if fixed[0] == ord("l") else ">III", fixed[4:])
            writer.write(fixed + await reader.readexactly(fields + -fields % 8 + body))
            first = b""


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()
    raise ConnectionError("the client is gone")
