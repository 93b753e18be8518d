"""Many hubs in one process: `python -m benchmarks.fleet.hubs PORT COUNT`.

Each is a bridge of its own, with its own connection to the broker, on a daemon that is only a table. What is
read on stdin is done:

    change NUMBER    change so many cameras at random; each change has the time in its record
    remove           remove a camera of each hub, and add another
    state            print the records of all hubs, as JSON
    connections      print when each hub's connection began, as JSON, and forget that
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Final, NoReturn, cast

import structlog

from benchmarks.fleet.pipes import lines_of_stdin, reply
from wifimgrd.client.changes import Change, DaemonAppeared, DeviceAdded, DeviceChanged, DeviceRemoved
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_records import device_json
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord, ServiceRecord
from wifimgrd.mqtt._bridge import Bridge
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import Topics
from wifimgrd.runtime.tasks import Tasks

CAMERAS: Final = 4
"""Of each hub, and as many interfaces."""
_STARTS_AT_ONCE: Final = 20
_connected: list[float] = []


class Table:
    """A hub's objects, in the place of the daemon."""

    def __init__(self) -> None:
        self.available = True
        self.reason = ""
        self.service = ServiceRecord("1.0", "simulated", backend_state="ready", total_interfaces=CAMERAS)
        self.devices = {number: _device(number) for number in range(1, CAMERAS + 1)}
        self.interfaces = {name: InterfaceRecord(name) for name in (f"wlan{n}" for n in range(CAMERAS))}
        self._listener: Callable[[Change], None] = lambda _: None

    def subscribe(self, listener: Callable[[Change], None]) -> None:
        self._listener = listener

    async def start(self) -> None:
        self._listener(DaemonAppeared())

    async def stop(self) -> None:
        pass

    def pinging(self) -> AbstractContextManager[None]:
        """It always answers."""
        return nullcontext()

    def change(self, device_id: int) -> None:
        """Connect or disconnect a camera."""
        before = self.devices[device_id]
        state = "disconnected" if before.state == "connected" else "connected"
        now_us = time.time_ns() // 1000
        after = replace(before, state=state, last_connection_attempt=now_us, signal_strength=70)
        self.devices[device_id] = after
        self._listener(DeviceChanged(before, after, is_step=True))

    def replace_one(self) -> None:
        """Remove the first camera and register another."""
        first, last = min(self.devices), max(self.devices)
        del self.devices[first]
        self._listener(DeviceRemoved(first))
        self.devices[last + 1] = _device(last + 1)
        self._listener(DeviceAdded(self.devices[last + 1]))


def _device(number: int) -> DeviceRecord:
    return DeviceRecord(
        number,
        name=f"Camera {number}",
        codename="insta360-x3",
        ssid=f"X3 {number:04}.OSC".encode(),
        interface=f"wlan{number}",
        local_address="192.168.42.10",
        camera_address="192.168.42.1",
        address=f"10.77.0.{number}",
        icon="/icons/panorama-camera.svg",
    )


def _note_connection(_: object, __: str, event: MutableMapping[str, Any]) -> NoReturn:
    if event["event"] == "broker_connected":
        _connected.append(time.time())
    raise structlog.DropEvent


async def _run(port: int, count: int) -> None:
    structlog.configure(processors=[_note_connection])
    address = BrokerAddress("127.0.0.1", port, tls=False)
    tables = {f"hub-{number:04}": Table() for number in range(count)}
    tasks = Tasks("hubs")
    gate = asyncio.Semaphore(_STARTS_AT_ONCE)
    chance = random.Random(4)

    async def start(name: str, table: Table) -> None:
        topics = Topics("wifimgrd", name, ("homeassistant",))
        settings = Settings(address, topics, commands=True, discovery_prefix="homeassistant")
        async with gate:
            bridge = Bridge(cast("HubClient", table), settings, tasks.part(name))
            await bridge.start()
            await asyncio.sleep(0.02)  # as hubs do, they do not start all at once

    await asyncio.gather(*(start(name, table) for name, table in tables.items()))
    async for line in lines_of_stdin():
        word, *rest = line.split()
        match word:
            case "change":
                for _ in range(int(rest[0])):
                    table = chance.choice(list(tables.values()))
                    table.change(chance.choice(list(table.devices)))
            case "remove":
                for table in tables.values():
                    table.replace_one()
            case "state":
                reply(
                    {
                        name: {str(one.id): dict(device_json(one)) for one in table.devices.values()}
                        for name, table in tables.items()
                    }
                )
            case "connections":
                reply(_connected)
                _connected.clear()
    await tasks.stop()


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1]), int(sys.argv[2])))
