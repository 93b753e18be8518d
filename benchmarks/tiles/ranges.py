"""CPU time of an answer with 64 kB of an archive, as PMTiles clients in browsers ask: ours against nginx.

Random places of an archive of 256 MB that the page cache holds, over 16 connections, each answer checked;
the servers take turns. `python -m benchmarks.tiles.ranges PORT PATH FILE COUNT SEED` is the client, a process
of its own.
"""

from __future__ import annotations

import asyncio
import mmap
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks import progress
from benchmarks.accounting import Account
from benchmarks.table import Row, Target
from benchmarks.tiles.servers import running_map, running_nginx

CONNECTIONS: Final = 16
_LENGTH: Final = 64 * 1024
_ROUNDS: Final = 3
_REQUESTS: Final = 6_000
_SIZE: Final = 256 << 20
_LEAST: Final = 0.5
"""Requests per CPU second, against nginx."""
_PATH: Final = "/plugin-views/platform_plugin_map/map/tiles/"


def ranges() -> list[Row]:
    """The row of Range requests."""
    with tempfile.TemporaryDirectory(prefix="wifimgrd-bench-") as name:
        folder = Path(name)
        file = folder / "world.pmtiles"
        chance = random.Random(5)
        with file.open("wb") as archive:
            for _ in range(_SIZE >> 20):
                archive.write(chance.randbytes(1 << 20))
        samples: dict[str, list[float]] = {"nginx": [], "ours": []}
        with running_nginx(folder, folder) as theirs, running_map(folder, file) as ours:
            for turn in range(_ROUNDS + 1):
                progress.say(f"ranges: turn {turn} of {_ROUNDS}" if turn else "ranges: warming up")
                for who, server, path in (("nginx", theirs, "/world.pmtiles"), ("ours", ours, _PATH)):
                    cost = _cost(*server, path, file, turn)
                    if turn:
                        samples[who].append(cost)
    return [
        Row(
            "tiles", "CPU time of 64 kB of an archive, by Range", "us", samples["ours"], samples["nginx"],
            "nginx, the same file", Target("ratio", 1 / _LEAST), True,
            f"at least {_LEAST} of nginx's requests per CPU second",
        )
    ]  # fmt: skip


def _cost(account: Account, port: int, path: str, file: Path, seed: int) -> float:
    """Microseconds of CPU for an answer."""
    before = account.cpu_s()
    command = [sys.executable, "-m", "benchmarks.tiles.ranges", str(port), path, str(file)]
    subprocess.run([*command, str(_REQUESTS), str(seed)], check=True)
    return (account.cpu_s() - before) / _REQUESTS * 1e6


async def _ask(port: int, path: str, data: mmap.mmap, work: list[int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    while work:
        first = work.pop()
        last = first + _LENGTH - 1
        asked = (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nRange: bytes={first}-{last}\r\n\r\n"
        )
        writer.write(asked.encode())
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(_LENGTH)
        if not head.startswith(b"HTTP/1.1 206") or body != data[first : last + 1]:
            raise AssertionError(f"{first} was answered wrongly")
    writer.close()


async def _load(port: int, path: str, file: Path, count: int, seed: int) -> None:
    chance = random.Random(seed)
    with file.open("rb") as archive, mmap.mmap(archive.fileno(), 0, prot=mmap.PROT_READ) as data:
        work = [chance.randrange(len(data) - _LENGTH) for _ in range(count)]
        await asyncio.gather(*(_ask(port, path, data, work) for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    asyncio.run(_load(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])))
