"""The client of all hubs in this process, and records of hubs without a bridge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from tests.mqtt.observer import PATIENCE_S, Observer
from wifimgrd.client.json_records import device_json
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.domain.records import DeviceRecord, ServiceRecord
from wifimgrd.fleet.client import FleetClient
from wifimgrd.mqtt.access import Access
from wifimgrd.mqtt.broker import RECONNECT
from wifimgrd.mqtt.connection import BrokerError
from wifimgrd.mqtt.hub_record import encoded, hub_json
from wifimgrd.runtime.tasks import Tasks

DEVICE = DeviceRecord(1, name="Front", codename="insta360-x3", ssid=b"SIM-CAM-1")


def access(port: int) -> Access:
    """A broker on loopback."""
    return Access(BrokerAddress("127.0.0.1", port, tls=False))


@asynccontextmanager
async def fleet_client(port: int) -> AsyncIterator[FleetClient]:
    """A client that connects again, once its copy is current."""
    client = FleetClient(access(port), "wifimgrd")
    tasks = Tasks("fleet")
    tasks.keep("broker", client.run, RECONNECT, expected=(BrokerError,), quiet=True)
    try:
        await asyncio.wait_for(client.until_current(), PATIENCE_S)
        yield client
    finally:
        await tasks.stop()


async def until(client: FleetClient, holds: Callable[[], bool]) -> None:
    """Wait until something holds, checked after each change."""
    await asyncio.wait_for(client.until(holds), PATIENCE_S)


def is_online(client: FleetClient, hub: str = "boat") -> bool:
    """Whether a hub is there, complete and online."""
    found = client.fleet.hubs.get(hub)
    return found is not None and found.is_read and found.online


async def publish_hub(broker: Observer, hub: str, devices: int = 1) -> None:
    """Publish the records of a hub, as its bridge does."""
    service = ServiceRecord("1.0", "simulated", backend_state="ready")
    records = {f"devices/{number}": device(number) for number in range(1, devices + 1)}
    records["hub"] = encoded(hub_json(hub, service, "0" * 16, commands=True))
    records["availability"] = b"online"
    for below, payload in records.items():
        broker.send(f"wifimgrd/{hub}/{below}", payload, retain=True)
    await broker.connection.until_delivered(PATIENCE_S)


def device(number: int, name: str = "") -> bytes:
    """The record of a device."""
    return encoded(device_json(replace(DEVICE, id=number, name=name or f"Camera {number}")))
