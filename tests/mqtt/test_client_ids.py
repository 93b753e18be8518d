"""Whoever connects with a client id ends the connection that has it: it is told to nobody."""

from __future__ import annotations

import re

from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.conftest import HUB
from tests.mqtt.mosquitto import Mosquitto
from tests.mqtt.observer import Observer


def client_ids(broker: Mosquitto, beginning: str) -> set[str]:
    """Those with which clients have connected, from the log of the broker, and their random parts."""
    log = (broker.folder / "mosquitto.log").read_text()
    found = set(re.findall(rf"New client connected from \S+ as ({beginning}\S+)", log))
    assert found
    return found | {one.rpartition("-")[2] for one in found}


def told(seen: Observer) -> str:
    """All that can be read at the broker."""
    return "\n".join(
        f"{one.topic} {one.payload!r} {one.response_topic} {one.correlation!r}" for one in seen.messages
    )


async def test_that_of_a_hub_is_neither_published_nor_logged(
    bridge: BridgeProcess, broker: Mosquitto, seen: Observer
) -> None:
    answer = await seen.command(f"{HUB}/devices/7/command", {"command": "connect"}, f"{HUB}/devices/7/result")
    assert answer["code"] == "device-not-found"
    read = told(seen) + bridge.log.read_text()
    assert not [one for one in client_ids(broker, "wifimgrd-boat-") if one in read]
