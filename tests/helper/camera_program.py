"""A camera's programs: HTTP that answers its number, a stream without an end on port 81, UDP echo on 82."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Any

NUMBER = sys.argv[1]


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        body = f"camera {NUMBER}"
        writer.write(f"HTTP/1.0 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        await writer.drain()
    writer.close()


async def stream(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while True:
            writer.write(f"{NUMBER}\n".encode())
            await writer.drain()
            await asyncio.sleep(0.01)


class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.transport.sendto(f"{NUMBER}:".encode() + data, addr)


async def main() -> None:
    await asyncio.start_server(answer, "0.0.0.0", 80)
    await asyncio.start_server(stream, "0.0.0.0", 81)
    await asyncio.get_running_loop().create_datagram_endpoint(Echo, ("0.0.0.0", 82))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


asyncio.run(main())
