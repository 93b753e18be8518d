"""A camera's DHCP server that takes its time for each offer; requests do not wait for one another.

`slow_dhcp.py INTERFACE ADDRESS LENT SECONDS` lends one address. It prints each request: its time in seconds,
its kind as of RFC 2132 (1 DISCOVER, 3 REQUEST), and its transaction id: `0.02 1 5f3c9a10`.
"""

import asyncio
import socket
import struct
import sys

DISCOVER, OFFER, REQUEST, ACK = 1, 2, 3, 5
MAGIC = b"\x63\x82\x53\x63"
KIND, SERVER, LEASE, MASK, ROUTER, END = 53, 54, 51, 1, 3, 255


def options_of(message: bytes) -> dict[int, bytes]:
    """The options after a message's fixed part."""
    options, at = dict[int, bytes](), 240
    while at + 1 < len(message) and message[at] != END:
        if message[at] == 0:
            at += 1
            continue
        length = message[at + 1]
        options[message[at]] = message[at + 2 : at + 2 + length]
        at += 2 + length
    return options


class Server(asyncio.DatagramProtocol):
    """Lends one address."""

    def __init__(self, address: str, lent: str, offer_s: float) -> None:
        self._address = socket.inet_aton(address)
        self._lent = socket.inet_aton(lent)
        self._offer_s = offer_s
        self._loop = asyncio.get_running_loop()
        self._begin = self._loop.time()

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        """Keep the way back."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Print a request, and reply once it is time."""
        kind = options_of(data)[KIND][0]
        sys.stdout.write(f"{self._loop.time() - self._begin:.2f} {kind} {data[4:8].hex()}\n")
        sys.stdout.flush()
        if kind == DISCOVER:
            self._loop.call_later(self._offer_s, self._reply, data, OFFER)
        elif kind == REQUEST:
            self._reply(data, ACK)

    def _reply(self, request: bytes, kind: int) -> None:
        head = bytes([2, 1, 6, 0]) + request[4:8] + struct.pack("!HH", 0, 0x8000) + bytes(4)
        head += self._lent + self._address + bytes(4) + request[28:44] + bytes(192) + MAGIC
        options = {
            KIND: bytes([kind]),
            SERVER: self._address,
            LEASE: struct.pack("!I", 3600),
            MASK: bytes([255, 255, 255, 0]),
            ROUTER: self._address,
        }
        tail = b"".join(bytes([code, len(value)]) + value for code, value in options.items())
        self._transport.sendto((head + tail + bytes([END])).ljust(300, b"\0"), ("255.255.255.255", 68))


async def main(interface: str, address: str, lent: str, seconds: str) -> None:
    """Serve until it is ended."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
    receiver.bind(("", 67))
    receiver.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: Server(address, lent, float(seconds)), sock=receiver)
    await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
