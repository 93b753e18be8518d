"""`python3 -m benchmarks.lab.guest FILE`, in the lab's guest: measures, and writes the rows to FILE."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks import progress
from benchmarks.lab import addresses, joins, losses, rest
from benchmarks.lab.hub import running_hub
from benchmarks.lab.stage import Stage, daemons_user
from benchmarks.table import Row
from tests.lab.guest.namespace import run
from tests.lab.guest.system_bus import SystemBus


async def measure() -> list[Row]:
    """All rows of the lab."""
    rows: list[Row] = []
    run("systemctl", "start", "NetworkManager.service")
    async with SystemBus() as bus, AsyncExitStack() as held:
        with daemons_user():
            bus_as_daemon = await held.enter_async_context(SystemBus())
        stage = await Stage.open(bus, bus_as_daemon)
        progress.say("NetworkManager alone: cameras that go, a wrong password, an absent camera")
        alone = await losses.networkmanager_alone(stage)
        async with running_hub(bus) as hub:
            at_rest = rest.memory(hub, "after start")
            progress.say("connect, network in the scan list")
            rows += await joins.listed(stage, hub)
            progress.say("connect, just switched on")
            rows += await joins.switched_on(stage, hub)
            progress.say("losses")
            rows += await losses.losses(stage, hub, alone)
            progress.say("failures")
            rows += await losses.failures(stage, hub, alone)
            progress.say("addresses")
            rows += await addresses.addresses(stage, hub)
            rows += at_rest + rest.memory(hub, "after all of that")
            progress.say("a minute of rest")
            adapters = [await stage.plugged(f"3.{number}", "short") for number in (1, 2)]
            for adapter in adapters:
                await hub.free(adapter.interface)
            rows += await rest.idle(hub)
    for adapter in adapters:
        adapter.unplug()
    return rows


if __name__ == "__main__":
    os.environ.setdefault("LANG", "C.UTF-8")
    Path(sys.argv[1]).write_text(json.dumps([row.as_json() for row in asyncio.run(measure())]))
