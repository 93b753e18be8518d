"""The client of all hubs at a real broker: what the broker retains, commands, lost connections."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.commands import disconnect
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.conftest import HUB, Start
from tests.mqtt.fleet_process import access, device, fleet_client, is_online, publish_hub, until
from tests.mqtt.mosquitto import Mosquitto, old_broker
from tests.mqtt.observer import observer
from tests.processes import Hub
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.domain.commands import CONNECT, DISCONNECT
from wifimgrd.fleet.client import connected
from wifimgrd.fleet.fleet import BrokerAppeared, BrokerVanished, FleetChange, HubAppeared, HubVanished
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import Topics
from wifimgrd.mqtt.connection import BrokerError

MANY = 50
"""Hubs with ten records each: more at once than Mosquitto keeps for a client that reads slowly."""


async def test_the_copy_is_that_of_the_hub(hub: Hub, broker: Mosquitto, bridge: BridgeProcess) -> None:
    del bridge
    device_id = await hub.create(1)
    async with fleet_client(broker.port) as client:

        def shown() -> object:
            found = client.fleet.hubs.get("boat")
            return None if found is None or not found.online else found.devices.get(device_id)

        await until(client, lambda: getattr(shown(), "state", "") == "connected")
        await until(client, lambda: client.fleet.hubs["boat"].interfaces == hub.client.interfaces)
        await disconnect(hub.client, device_id)
        await until(client, lambda: shown() == hub.client.devices[device_id])
        assert client.fleet.hubs["boat"].last_message_us is not None
        await hub.client.remove_device(device_id)
        await until(client, lambda: shown() is None)
        assert not client.fleet.unreadable


@pytest.mark.parametrize("version", ["5", "3.1.1"])
async def test_a_command_is_answered(
    hub: Hub, broker: Mosquitto, bridge: BridgeProcess, version: str
) -> None:
    del bridge
    device_id = await hub.create(1)
    await hub.until(device_id, "connected", 20)
    async with old_broker(broker.port) as old_port:
        port = broker.port if version == "5" else old_port
        async with fleet_client(port) as client:
            await until(client, lambda: is_online(client))
            answer = await client.command("boat", device_id, DISCONNECT, {}, timeout_s=20)
            assert (answer.code, answer.message) == (None, "disconnected")
            assert hub.client.devices[device_id].state == "disconnected"
            options = {"wait": True}
            both = [client.command("boat", one, CONNECT, options, timeout_s=20) for one in (device_id, 7)]
            first, second = await asyncio.gather(*both)
            assert (first.code, first.message, second.code) == (None, "connected", "device-not-found")


async def test_a_command_that_nobody_answers_ends_in_time(broker: Mosquitto) -> None:
    async with observer(broker.port) as seen, fleet_client(broker.port) as client:
        with pytest.raises(TimeoutError):
            await client.command("boat", 1, CONNECT, {}, timeout_s=2)
        await seen.until(lambda: seen.seen(f"{HUB}/devices/1/command"))
        [sent] = seen.seen(f"{HUB}/devices/1/command")
        assert sent.response_topic is not None
        assert sent.response_topic.startswith(f"{HUB}/response/")
        assert sent.expires_in_s


async def test_an_answer_to_somebody_else_is_not_taken(broker: Mosquitto) -> None:
    async with observer(broker.port) as seen, fleet_client(broker.port) as client:
        waiting = asyncio.create_task(client.command("boat", 1, CONNECT, {}, timeout_s=20))
        await seen.until(lambda: seen.seen(f"{HUB}/devices/1/command"))
        [sent] = seen.seen(f"{HUB}/devices/1/command")
        answer = {"command": "connect", "device_id": 1, "ok": True, "code": None, "message": "other"}
        topic = str(sent.response_topic)
        seen.send(topic, answer, CorrelationData=b"other")
        seen.send(topic, b"\xff", CorrelationData=sent.correlation)
        seen.send(topic, answer | {"message": "ours"}, CorrelationData=sent.correlation)
        assert (await waiting).message == "ours"


@pytest.mark.parametrize("version", ["5", "3.1.1"])
async def test_all_of_many_hubs_are_read_from_a_broker_with_short_queues(
    broker: Mosquitto, version: str
) -> None:
    await broker.kill()
    broker.lines = ("allow_anonymous true", "max_queued_messages 200")
    await broker.start()
    async with observer(broker.port) as seen, old_broker(broker.port) as old_port:
        for number in range(MANY):
            await publish_hub(seen, f"hub-{number}", devices=8)
        port = broker.port if version == "5" else old_port
        async with connected(access(port), "wifimgrd") as client:
            hubs = client.fleet.hubs.values()
            assert len(hubs) == MANY
            assert all(hub.is_read and hub.record.commands and len(hub.devices) == 8 for hub in hubs)


async def test_hubs_come_and_go(broker: Mosquitto) -> None:
    async with observer(broker.port) as seen, fleet_client(broker.port) as client:
        changes: list[FleetChange] = []
        client.subscribe(changes.append)
        for _ in range(2):
            await publish_hub(seen, "boat", devices=2)
            await until(client, lambda: FleetChange("boat", HubAppeared()) in changes)
            await until(client, lambda: len(client.fleet.hubs["boat"].devices) == 2)
            seen.send(f"{HUB}/devices/1", device(1, "Renamed"), retain=True)
            await until(client, lambda: client.fleet.hubs["boat"].devices[1].name == "Renamed")
            for below in ("devices/1", "devices/2", "hub", "availability"):
                seen.send(f"{HUB}/{below}", b"", retain=True)
            await until(client, lambda: FleetChange("boat", HubVanished()) in changes)
            changes.clear()


@pytest.mark.parametrize("persistence", [True, False])
async def test_after_a_restart_of_the_broker_nothing_is_stale(
    hub: Hub, broker: Mosquitto, bridge: BridgeProcess, persistence: bool
) -> None:
    del bridge
    broker.persistence = persistence
    device_id = await hub.create(1)
    await hub.until(device_id, "connected", 20)
    async with fleet_client(broker.port) as client:
        changes: list[FleetChange] = []
        client.subscribe(changes.append)
        await until(client, lambda: is_online(client) and device_id in client.fleet.hubs["boat"].devices)
        await broker.kill()
        await until(client, lambda: any(isinstance(one.change, BrokerVanished) for one in changes))
        assert not client.is_current
        await hub.client.remove_device(device_id)
        other = await hub.create(2)
        await hub.until(other, "connected", 20)
        await broker.start()
        await until(client, lambda: FleetChange("", BrokerAppeared()) in changes)
        await until(client, lambda: is_online(client) and list(client.fleet.hubs["boat"].devices) == [other])


async def test_a_hub_whose_bridge_dies_is_offline(broker: Mosquitto, bridge: BridgeProcess) -> None:
    async with fleet_client(broker.port) as client:
        await until(client, lambda: is_online(client))
        await bridge.end(signal.SIGKILL)
        await until(client, lambda: not client.fleet.hubs["boat"].online)


async def test_hostile_messages_are_ignored(broker: Mosquitto) -> None:
    async with observer(broker.port) as seen, fleet_client(broker.port) as client:
        await publish_hub(seen, "boat")
        seen.send(f"{HUB}/devices/2", b"\xff" * 1000, retain=True)
        seen.send(f"{HUB}/devices/3", b'{"id":3,"name":"' + b"x" * 200_000 + b'"}', retain=True)
        seen.send("wifimgrd/\x1b[2J/availability".replace("\x1b", "~"), b"online", retain=True)
        seen.send(f"{HUB}/devices/4", device(4), retain=True)
        await until(client, lambda: "boat" in client.fleet.hubs and 4 in client.fleet.hubs["boat"].devices)
        assert sorted(client.fleet.hubs["boat"].devices) == [1, 4]
        assert list(client.fleet.hubs) == ["boat"]
        assert sorted(client.fleet.unreadable) == [f"{HUB}/devices/2", f"{HUB}/devices/3"]


async def test_of_a_single_hub_nothing_else_is_read(broker: Mosquitto) -> None:
    async with observer(broker.port) as seen:
        for name in ("boat", "other"):
            await publish_hub(seen, name)
        async with connected(access(broker.port), "wifimgrd", only="boat") as client:
            assert sorted(client.fleet.hubs) == ["boat", "other"]
            assert client.fleet.hubs["boat"].devices
            assert not client.fleet.hubs["other"].devices


async def test_without_the_right_to_write_a_command_is_refused(broker: Mosquitto, tmp_path: Path) -> None:
    rules = tmp_path / "acl"
    rules.write_text("topic read wifimgrd/#\nuser hub\ntopic readwrite #\n")
    await broker.kill()
    broker.lines = ("allow_anonymous true", f"acl_file {rules}")
    await broker.start()
    hub = Settings(BrokerAddress("127.0.0.1", 0, tls=False), Topics("x", "x"), user="hub")
    async with observer(broker.port, hub) as seen:
        await publish_hub(seen, "boat")
    async with connected(access(broker.port), "wifimgrd") as client:
        assert client.fleet.hubs["boat"].devices
        with pytest.raises((BrokerError, TimeoutError)):  # paho 1.6 does not report the refusal
            await client.command("boat", 1, CONNECT, {}, timeout_s=1)


async def test_no_broker_is_said_at_once(broker: Mosquitto) -> None:
    await broker.kill()
    with pytest.raises(BrokerError, match="cannot connect"):
        async with connected(access(broker.port), "wifimgrd"):
            pass


@pytest.mark.usefixtures("hub")
async def test_two_clients_get_their_own_answers(broker: Mosquitto, bridges: Start) -> None:
    await bridges().start()
    async with fleet_client(broker.port) as one, fleet_client(broker.port) as other:
        await until(one, lambda: is_online(one))
        answers = await asyncio.gather(
            *(client.command("boat", 7, CONNECT, {}, timeout_s=20) for client in (one, other) * 4)
        )
        assert {answer.code for answer in answers} == {"device-not-found"}
