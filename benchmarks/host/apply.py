"""What a change of one camera costs the helper, beside how many others are connected."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.accounting import Account
from benchmarks.table import Row, Target
from tests.message_bus import MessageBusDaemon
from tests.namespaces import namespaces
from wifimgrd.bus.connection import BusConnection
from wifimgrd.wire import helper_calls as calls

_PART: Final = "Host: helper"
_CHECKOUT: Final = Path(__file__).parents[2]
_NONE, _SOME, _MANY = 0, 15, 63
"""How many cameras are connected beside the one that changes."""
_ROUNDS: Final = 9
_CHANGES: Final = 20
"""In a row, of each kind."""
_AT_MOST: Final = 1.5
_PATIENCE_S: Final = 30.0
_HELPER: Final = "from tests.helper.helper_program import main; main()"
_CABLES: Final = """
ip link set lo up
for ((number = 1; number <= $1; number++)); do
    echo "link add w$number type veth peer name ap$number"
    echo "link set w$number up"
    echo "link set ap$number up"
    echo "address add 192.168.$number.20/24 dev w$number noprefixroute"
done | ip -batch -
"""
"""Cables stand for links to cameras."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A helper in a network namespace of its own, with cameras."""

    helper: Account
    daemon: BusConnection
    cameras: tuple[calls.CameraEntry, ...]

    async def apply(self, *, linked: bool) -> None:
        """Tell the helper all cameras, the last of them with a link or without."""
        last = self.cameras[-1]._replace(camera_address=self.cameras[-1].camera_address if linked else "")
        planned = [list(one) for one in (*self.cameras[:-1], last)]
        body = ["10.77.0.0/24", planned]
        await self.daemon.call(
            calls.BUS_NAME, calls.PATH, calls.BUS_NAME, "Apply", calls.APPLY.signature, body
        )

    async def change(self) -> float:
        """CPU of the helper per call, in ms, while the link of one camera goes and comes."""
        before = self.helper.cpu_s()
        for number in range(2 * _CHANGES):
            await self.apply(linked=bool(number % 2))
        return (self.helper.cpu_s() - before) / (2 * _CHANGES) * 1e3


@asynccontextmanager
async def connected(cameras: int, checkout: Path = _CHECKOUT) -> AsyncIterator[Hub]:
    """A helper, of the code in `checkout`, with so many cameras; root alone can have one."""
    entries = tuple(
        calls.CameraEntry(number, f"10.77.0.{number}", f"w{number}", f"192.168.{number}.1", "")
        for number in range(1, cameras + 1)
    )
    with TemporaryDirectory() as folder, MessageBusDaemon.start() as bus:
        for one in entries:
            (Path(folder) / one.interface / "phy80211").mkdir(parents=True)
        with namespaces(_CABLES, str(cameras)) as network:
            daemon, is_there = await BusConnection.open(bus.address), asyncio.Event()
            await daemon.watch_owner(lambda _: is_there.set(), calls.BUS_NAME)
            process = await asyncio.create_subprocess_exec(
                *("nsenter", f"--net=/proc/{network}/ns/net"),
                *(sys.executable, "-c", _HELPER, folder),
                *("--bus", bus.address, "--user", "root", "--linger", "3600"),
                env={**os.environ, "PYTHONPATH": str(checkout)},
                cwd=checkout,
                stderr=DEVNULL,
            )
            try:
                hub = Hub(Account(process.pid), daemon, entries)
                async with asyncio.timeout(_PATIENCE_S):
                    await is_there.wait()
                    await hub.apply(linked=True)
                yield hub
            finally:
                await daemon.close()
                process.terminate()
                await process.wait()


async def apply_cost() -> list[Row]:
    """The rows of it, by turns."""
    async with AsyncExitStack() as stack:
        hubs = {
            others: await stack.enter_async_context(connected(others + 1)) for others in (_NONE, _SOME, _MANY)
        }
        costs: dict[int, list[float]] = {others: [] for others in hubs}
        for number in range(_ROUNDS + 1):
            for others, hub in hubs.items():
                cost = await hub.change()
                if number:  # all are warm now
                    costs[others].append(cost)
    return [
        Row(
            _PART,
            f"helper's CPU per `Apply`, beside {others} other cameras",
            "ms",
            costs[others],
            costs[_NONE],
            "beside none",
            Target("ratio", _AT_MOST),
        )
        for others in (_SOME, _MANY)
    ]
