"""A camera's program beside its web server: UDP echo on port 7, and HTTP on port 8080 that answers a crowd.

`camera_program.py NAME CROWD`: the answer is its name, once so many requests wait for it at the same time.
"""

import asyncio
import sys


class Echo(asyncio.DatagramProtocol):
    """Answers with the name and what it was sent."""

    def __init__(self, name: str) -> None:
        self._name = name.encode()

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        """Keep the way back."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Send it back, and print it."""
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.flush()
        self._transport.sendto(self._name + b" " + data, addr)


async def main(name: str, crowd: int) -> None:
    """Serve until it is ended."""
    everybody = asyncio.Barrier(crowd)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await everybody.wait()
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + name.encode())
        writer.close()

    await asyncio.start_server(answer, "0.0.0.0", 8080, backlog=crowd)
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: Echo(name), ("0.0.0.0", 7))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
