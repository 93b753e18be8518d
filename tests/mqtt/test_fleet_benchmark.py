"""The hubs of the benchmark are bridges on a daemon that is a table: it has what a bridge uses."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from benchmarks.fleet.bridge import running_broker
from benchmarks.fleet.pipes import program

PATIENCE_S: Final = 60.0


async def test_a_change_of_its_hubs_comes_to_a_client_of_the_broker(tmp_path: Path) -> None:
    async with (
        running_broker(tmp_path) as broker,
        program("hubs", broker.port, 1) as hubs,
        program("view", broker.port) as view,
        asyncio.timeout(PATIENCE_S),
    ):
        await view.request("count 1")
        await view.request("latencies")
        hubs.send("change 1")
        while not await view.request("latencies"):
            pass
