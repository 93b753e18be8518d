"""The client of all hubs in a process of its own: `python -m benchmarks.fleet.view PORT`.

What is read on stdin is done:

    count NUMBER     print the time once so many hubs are there, complete and online
    latencies        print the ages of the changes since the last time, in ms, as JSON
    state            print the records of all hubs, as JSON
    size             print the octets of all records, in memory
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from typing import Any

from benchmarks.fleet.pipes import lines_of_stdin, reply
from wifimgrd.client.changes import DeviceChanged
from wifimgrd.client.json_records import device_json
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.fleet.client import FleetClient
from wifimgrd.fleet.fleet import FleetChange
from wifimgrd.mqtt.access import Access
from wifimgrd.mqtt.broker import RECONNECT
from wifimgrd.mqtt.connection import BrokerError
from wifimgrd.runtime.tasks import Tasks


async def _run(port: int) -> None:
    client = FleetClient(Access(BrokerAddress("127.0.0.1", port, tls=False)), "wifimgrd")
    latencies: list[float] = []

    def take(change: FleetChange) -> None:
        match change.change:
            case DeviceChanged(_, after) if after.last_connection_attempt:
                latencies.append(time.time_ns() / 1e6 - after.last_connection_attempt / 1e3)

    client.subscribe(take)
    tasks = Tasks("view")
    tasks.keep("broker", client.run, RECONNECT, expected=(BrokerError,), quiet=True)
    async for line in lines_of_stdin():
        word, *rest = line.split()
        match word:
            case "count":
                wanted = int(rest[0])
                await client.until(lambda: client.is_current and _online(client) == wanted)  # noqa: B023
                reply(time.time())
            case "latencies":
                reply(latencies)
                latencies.clear()
            case "state":
                reply(
                    {
                        hub.id: {str(one.id): dict(device_json(one)) for one in hub.devices.values()}
                        for hub in client.fleet.hubs.values()
                    }
                )
            case "size":
                reply(_size(client.fleet.hubs))
    await tasks.stop()


def _online(client: FleetClient) -> int:
    return sum(hub.online and hub.is_read for hub in client.fleet.hubs.values())


def _size(root: Any) -> int:
    """The octets of an object and all that it alone refers to; classes and modules are everybody's."""
    seen: set[int] = set()
    left, total = [root], 0
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, type) or callable(one):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        left += gc.get_referents(one)
    return total


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1])))
