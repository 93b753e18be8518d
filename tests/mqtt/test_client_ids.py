"""Whoever connects with a client id ends the connection that has it: it is told to nobody."""

from __future__ import annotations

import re

import pytest

from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.conftest import HUB
from tests.mqtt.fleet_process import access, fleet_client, is_online, until
from tests.mqtt.mosquitto import Mosquitto, broker_without_wildcards
from tests.mqtt.observer import Observer
from wifimgrd.domain.commands import CONNECT
from wifimgrd.fleet.client import connected
from wifimgrd.mqtt.connection import BrokerError


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


async def test_that_of_a_person_is_not_told_to_the_hub_that_is_commanded(
    bridge: BridgeProcess, broker: Mosquitto, seen: Observer
) -> None:
    del bridge
    async with fleet_client(broker.port) as client:
        await until(client, lambda: is_online(client))
        answer = await client.command("boat", 7, CONNECT, {}, timeout_s=20)
        assert answer.code == "device-not-found"
    assert not [one for one in client_ids(broker, "wifimgrd-fleet-") if one in told(seen)]


async def test_that_of_a_person_is_not_told_when_a_broker_is_tested(
    broker: Mosquitto, seen: Observer
) -> None:
    async with broker_without_wildcards(broker.port) as port:
        with pytest.raises(BrokerError, match="wildcards"):
            async with connected(access(port), "wifimgrd"):
                pass
    assert not [one for one in client_ids(broker, "wifimgrd-fleet-") if one in told(seen)]
