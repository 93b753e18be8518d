"""Brokers that are full, or have limits that are lower than a hub's messages need."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest

from tests.mqtt.conftest import HUB, Start
from tests.mqtt.mosquitto import Mosquitto
from tests.mqtt.observer import Observer, observer
from tests.processes import Hub
from wifimgrd.mqtt._events import EventQueue
from wifimgrd.mqtt._records import RetainedRecords
from wifimgrd.mqtt._session import Session
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt.connection import BrokerError
from wifimgrd.mqtt.topics import Topics
from wifimgrd.web_address import BrokerAddress

RECORD = f"{HUB}/devices/1"
CAMERAS = "\U0001f4f7" * 128
"""A name whose record is larger than LIMIT."""
LIMIT = 1500


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
        for number in range(1500):
            filling.send(f"{HUB}/rubbish/{number}", b"x" * 10_000, retain=True)
            await filling.connection.until_delivered(20)
    bridge = bridges()
    await bridge.start()
    await bridge.until_logged("broker_connected")
    assert "Outgoing messages are being dropped" in (broker.folder / "mosquitto.log").read_text()


PUBACK, QUOTA_EXCEEDED = 0x40, 0x97


@asynccontextmanager
async def over_quota(port: int, refused: set[int]) -> AsyncIterator[int]:
    """A broker whose quota is exceeded at some of the acknowledgements, by their number, in front of a real
    one, which nevertheless has the message."""
    counted = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(up(reader, inner_writer), down(inner_reader, writer))

    async def up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while octets := await reader.read(65536):
                writer.write(octets)
        writer.close()

    async def down(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal counted
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                first = await reader.readexactly(2)
                assert first[1] < 0x80
                packet = await reader.readexactly(first[1])
                if first[0] == PUBACK:
                    counted += 1
                    if counted in refused:
                        first, packet = bytes([PUBACK, 3]), packet[:2] + bytes([QUOTA_EXCEEDED])
                writer.write(first + packet)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def test_what_was_refused_for_the_quota_is_published_again(
    broker: Mosquitto, capsys: pytest.CaptureFixture[str]
) -> None:
    records = RetainedRecords()
    records.replace({RECORD: b"{}"})
    first = 5  # after three at the topic `marker`, and the claim
    refused = {first, first + 1}
    async with over_quota(broker.port, refused) as port, observer(broker.port) as seen:
        settings = Settings(BrokerAddress("127.0.0.1", port, tls=False), Topics("wifimgrd", "boat"))
        session = Session(settings, records, EventQueue("0" * 16), retry_s=0.1)
        running = asyncio.create_task(session.run())
        await seen.until(lambda: len(seen.seen(RECORD)) == 3)
        running.cancel()
        await asyncio.wait([running])
    log = capsys.readouterr().out
    assert log.count("message_refused") == 1
    assert "the broker's quota is exceeded" in log
