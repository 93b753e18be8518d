"""Brokers that are full, or have limits that are lower than a hub's messages need."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from contextlib import AsyncExitStack

import pytest

from tests.mqtt.conftest import HUB, Start
from tests.mqtt.mosquitto import Mosquitto, copy, in_front, read_packet
from tests.mqtt.observer import Observer, observer
from tests.processes import Hub
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.mqtt import _connection as connection
from wifimgrd.mqtt._connection import BrokerError
from wifimgrd.mqtt._events import EventQueue
from wifimgrd.mqtt._records import RetainedRecords
from wifimgrd.mqtt._session import Session
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import Topics

RECORD = f"{HUB}/devices/1"
CAMERAS = "\U0001f4f7" * 128
"""A name whose record is larger than LIMIT."""
LIMIT = 1700


async def until_online(seen: Observer) -> None:
    await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")


async def fill(broker: Mosquitto, others: AsyncExitStack) -> None:
    for _ in range(3):  # Mosquitto 2.0.11 accepts one more than `max_connections`
        await others.enter_async_context(observer(broker.port))


@pytest.mark.usefixtures("hub")
async def test_with_too_many_connections_the_hub_comes_when_there_is_room(
    broker: Mosquitto, bridges: Start
) -> None:
    ended = "closed its connection"
    before = (broker.folder / "mosquitto.log").read_text().count(ended)
    await broker.restart("max_connections 1")
    await broker.until_logged(ended, before + 1)  # that of `restart`
    bridge = bridges()
    async with AsyncExitStack() as others:
        with pytest.raises(BrokerError, match="has it reached a limit, of connections"):
            await fill(broker, others)
        await bridge.start()
        assert "has it reached a limit, of connections" in await bridge.until_logged("broker_unavailable")
    await bridge.until_logged("broker_connected")


@pytest.mark.parametrize("limit", ["message_size_limit", "max_packet_size"])
async def test_a_record_that_is_too_large_is_left_out_and_logged_once(
    hub: Hub, broker: Mosquitto, bridges: Start, limit: str
) -> None:
    await broker.restart(f"{limit} {LIMIT}")
    device = await hub.create(1, name=CAMERAS)
    await hub.until(device, "connected", 20)
    bridge = bridges('discovery_prefix = ""')
    await bridge.start()
    async with observer(broker.port) as seen:
        await until_online(seen)
        line = await bridge.until_logged("message_refused")
        assert f"topic={RECORD}" in line
        assert "larger than the broker accepts" in line
        assert f"{HUB}/interfaces/wlan2" in seen.retained
        assert RECORD not in seen.retained
        await hub.client.update_device(device, {"name": "Front"})
        await seen.until(lambda: seen.record(RECORD)["name"] == "Front" if RECORD in seen.retained else False)
        assert seen.retained[f"{HUB}/availability"] == b"online"
    assert bridge.log.read_text().count("message_refused") == 1
    assert bridge.log.read_text().count("broker_connected") == 1


async def test_after_a_broker_ran_out_of_memory_it_has_everything(
    hub: Hub, broker: Mosquitto, bridges: Start
) -> None:
    await broker.restart("memory_limit 1000000")
    for camera in (1, 2, 3, 4):
        await hub.create(camera)
    async with observer(broker.port) as filling:
        while not filling.connection.closed.done():
            filling.send(f"rubbish/{secrets.token_hex(4)}", b"x" * 10_000, retain=True)
            await filling.connection.until_delivered(20)
    bridge = bridges()
    await bridge.start()
    await bridge.until_logged("broker_unavailable")
    await broker.restart()  # Mosquitto 2.0 may have crashed
    async with observer(broker.port) as seen:
        records = {f"{HUB}/hub", *(f"{HUB}/interfaces/{name}" for name in hub.client.interfaces)}
        await seen.until(lambda: records <= seen.retained.keys())
        await until_online(seen)


@pytest.mark.usefixtures("hub")
async def test_a_broker_that_drops_messages_beyond_its_queue_is_read_all_the_same(
    broker: Mosquitto, bridges: Start
) -> None:
    await broker.restart("max_queued_messages 10")
    async with observer(broker.port) as filling:
        for number in range(1500):  # more than the sockets' buffers hold
            filling.send(f"{HUB}/rubbish/{number}", b"x" * 10_000, retain=True)
            await filling.connection.until_delivered(20)

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (data := await reader.read(4096)) and b"rubbish" not in data:
            writer.write(data)
        writer.write(data)
        await broker.until_logged("Outgoing messages are being dropped")
        await copy(reader, writer)

    async with in_front(broker.port, late) as port:
        bridge = bridges(address=f"mqtt://127.0.0.1:{port}")
        await bridge.start()
        await bridge.until_logged("broker_connected")


def settings(port: int) -> Settings:
    return Settings(BrokerAddress("127.0.0.1", port, tls=False), Topics("wifimgrd", "boat"))


async def test_over_a_slow_link_what_is_retained_is_read_to_its_end(
    broker: Mosquitto, capsys: pytest.CaptureFixture[str]
) -> None:
    records = RetainedRecords()
    records.replace({RECORD: b"{}"})

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            writer.write(data)
            await asyncio.sleep(0.05)  # what makes it slow

    async with observer(broker.port) as seen:
        for number in range(50):
            seen.send(f"{HUB}/rubbish/{number}", b"x" * 1_000, retain=True)
        await seen.until(lambda: f"{HUB}/rubbish/49" in seen.retained)
        async with in_front(broker.port, slowly) as port:
            session = Session(settings(port), records, EventQueue("0" * 16), mark_s=0.1)
            running = asyncio.create_task(session.run())
            await seen.until(lambda: RECORD in seen.retained)
            running.cancel()
            await asyncio.wait([running])
    assert "broker_unavailable" not in capsys.readouterr().out


PUBACK, QUOTA_EXCEEDED = 0x40, 0x97


async def test_what_was_refused_for_the_quota_is_published_again(
    broker: Mosquitto, capsys: pytest.CaptureFixture[str]
) -> None:
    records = RetainedRecords()
    records.replace({RECORD: b"{}"})
    first = 5  # after three at the topic `marker`, and the claim
    refused = {first, first + 1}
    acknowledged = itertools.count(1)

    async def over_quota(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The broker's quota is exceeded at some of its acknowledgements; it has the message nevertheless."""
        while True:
            head, packet = await read_packet(reader)
            if head[0] == PUBACK and next(acknowledged) in refused:
                head, packet = bytes([PUBACK, 3]), packet[:2] + bytes([QUOTA_EXCEEDED])
            writer.write(head + packet)

    async with in_front(broker.port, over_quota) as port, observer(broker.port) as seen:
        session = Session(settings(port), records, EventQueue("0" * 16), retry_s=0.1)
        running = asyncio.create_task(session.run())
        await seen.until(lambda: len(seen.seen(RECORD)) == 3)
        running.cancel()
        await asyncio.wait([running])
    log = capsys.readouterr().out
    assert log.count("message_refused") == 1
    assert "the broker's quota is exceeded" in log


@pytest.mark.parametrize("later", [False, True])
async def test_acknowledgements_that_are_lost_or_come_later_hold_up_no_record(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    monkeypatch.setattr(connection, "_REORDERED_S", 0.1)
    records = RetainedRecords()
    topics = [f"{HUB}/devices/{number}" for number in range(5 * connection.WINDOW)]
    records.replace({RECORD: b"{}"})

    async def one_in_four(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held = []
        while True:
            head, packet = await read_packet(reader)
            if head[0] != PUBACK or RECORD not in seen.retained:
                writer.write(head + packet)
                continue
            held.append(head + packet)
            if len(held) == 4:
                writer.write(b"".join(reversed(held)) if later else held[-1])
                held.clear()

    async with in_front(broker.port, one_in_four) as port, observer(broker.port) as seen:
        session = Session(settings(port), records, EventQueue("0" * 16))
        running = asyncio.create_task(session.run())
        await seen.until(lambda: RECORD in seen.retained)
        for topic in topics:
            records.set(topic, b"{}")
        session.publish()
        await seen.until(lambda: seen.retained.keys() >= {*topics})
        assert [len(seen.seen(topic)) for topic in topics] == [1] * len(topics)
        running.cancel()
        await asyncio.wait([running])


async def test_a_broker_that_acknowledges_nothing_is_left(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_UNACKNOWLEDGED_S", 0.2)
    monkeypatch.setattr(connection, "_CHECKS", 300)

    async def without(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head, packet = await read_packet(reader)
            if head[0] != PUBACK:
                writer.write(head + packet)

    async with in_front(broker.port, without) as port:
        session = Session(settings(port), RetainedRecords(), EventQueue("0" * 16))
        with pytest.raises(BrokerError, match="acknowledges no message"):
            await asyncio.wait_for(session.run(), 20)
