"""Asks a server for tiles over some connections that stay, and checks every byte.

A process of its own, so that its work is nobody else's: `python -m benchmarks.tiles.load PORT PATTERN
TRUTH COUNT SEED` prints the number of answers. PATTERN has {z}, {x} and {y}; TRUTH is a pickle
of the tiles by place.
"""

from __future__ import annotations

import asyncio
import gzip
import pickle
import random
import sys
from pathlib import Path

CONNECTIONS = 16
MISSES = 0.1
Place = tuple[int, int, int]


def requests_of(pattern: str, places: list[Place], count: int, seed: int) -> list[tuple[bytes, Place | None]]:
    """Random requests, one in ten for a tile that is not there."""
    chance = random.Random(seed)
    deepest = max(place[0] for place in places)
    made: list[tuple[bytes, Place | None]] = []
    for _ in range(count):
        place: Place | None = chance.choice(places)
        asked = place or (0, 0, 0)
        if chance.random() < MISSES:
            z = deepest + 1
            place, asked = None, (z, chance.randrange(1 << z), chance.randrange(1 << z))
        path = pattern.format(z=asked[0], x=asked[1], y=asked[2])
        made.append((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: image/png\r\n\r\n".encode(), place))
    return made


class Wire(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, work: list[tuple[bytes, Place | None]], truth: dict[Place, bytes]) -> None:
        self._work = work
        self._truth = truth
        self._place: Place | None = None
        self._encoded = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.checked = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._encoded += data
        head, ended, body = self._encoded.partition(b"\r\n\r\n")
        if not ended:
            return
        lower = head.lower()
        if b"transfer-encoding: chunked" in lower:
            if not body.endswith(b"0\r\n\r\n"):
                return
            body = _joined(body)
        else:
            said = lower.partition(b"content-length:")[2].split(None, 1)
            length = int(said[0]) if said else 0  # a 204 says none
            if len(body) < length:
                return
        if b"content-encoding: gzip" in lower:  # tileserver-gl-light packs, asked or not
            body = gzip.decompress(body)
        self._check(int(head[9:12]), body)
        self._encoded = b""
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))

    def _ask(self) -> None:
        if not self._work:
            self.done.set_result(None)
            self._transport.close()
            return
        request, self._place = self._work.pop()
        self._transport.write(request)

    def _check(self, status: int, body: bytes) -> None:
        fits = status in {204, 404} if self._place is None else body == self._truth[self._place]
        if not fits:
            raise AssertionError(f"{self._place} was answered wrongly, with {status}")
        self.checked += 1


def _joined(chunks: bytes) -> bytes:
    body = b""
    while True:
        size, _, chunks = chunks.partition(b"\r\n")
        if not int(size, 16):
            return body
        body += chunks[: int(size, 16)]
        chunks = chunks[int(size, 16) + 2 :]


async def load(port: int, work: list[tuple[bytes, Place | None]], truth: dict[Place, bytes]) -> int:
    """Send all requests; the number of right answers."""
    loop = asyncio.get_running_loop()
    wires = []
    for _ in range(CONNECTIONS):
        _, wire = await loop.create_connection(lambda: Wire(work, truth), "127.0.0.1", port)
        wires.append(wire)
    await asyncio.gather(*(wire.done for wire in wires))
    return sum(wire.checked for wire in wires)


def main() -> None:
    port, pattern, truth_file, count, seed = sys.argv[1:]
    truth: dict[Place, bytes] = pickle.loads(Path(truth_file).read_bytes())
    work = requests_of(pattern, sorted(truth), int(count), int(seed))
    print(asyncio.run(load(int(port), work, truth)))


if __name__ == "__main__":
    main()
