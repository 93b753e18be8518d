"""The view of all hubs in a process of its own: `python -m benchmarks.fleet.view PORT`.

What is read on stdin is done:

    count NUMBER     print the time once so many hubs are there, complete and online
    latencies        print the ages of the changes since the last time, in ms, as JSON
    state            print the records of the cameras of all hubs, as JSON
"""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import datetime
from typing import Any

from benchmarks.fleet.pipes import lines_of_stdin, reply
from tests.mqtt.fleet_view import FleetView, fleet_view


async def _run(port: int) -> None:
    latencies: list[float] = []

    def take(_: str, below: str, record: Any) -> None:
        if below.startswith("devices/") and record and record["last_connection_attempt"]:
            at = datetime.fromisoformat(record["last_connection_attempt"])
            latencies.append(1000 * (time.time() - at.timestamp()))

    async with fleet_view(port) as view:
        view.subscribe(take)
        async for line in lines_of_stdin():
            word, *rest = line.split()
            match word:
                case "count":
                    wanted = int(rest[0])
                    await view.until(lambda: _online(view) == wanted)  # noqa: B023
                    reply(time.time())
                case "latencies":
                    reply(latencies)
                    latencies.clear()
                case "state":
                    reply({name: _devices(hub.records) for name, hub in view.hubs.items()})


def _online(view: FleetView) -> int:
    return sum(hub.online and hub.is_read for hub in view.hubs.values())


def _devices(records: dict[str, Any]) -> dict[str, Any]:
    return {
        below.removeprefix("devices/"): record
        for below, record in records.items()
        if below.startswith("devices/")
    }


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1])))
