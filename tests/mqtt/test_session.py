"""Two bridges with one id, and one that was not ended in order: sessions in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mqtt.conftest import HUB
from tests.mqtt.mosquitto import Mosquitto, broker_without_wildcards, old_broker
from tests.mqtt.observer import observer
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.mqtt._connection import BrokerError
from wifimgrd.mqtt._events import EventQueue
from wifimgrd.mqtt._hub_id import Claim, HubIdTaken
from wifimgrd.mqtt._pace import BURST
from wifimgrd.mqtt._records import RetainedRecords
from wifimgrd.mqtt._session import Session
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import OFFLINE, ONLINE, Topics

CLAIM = f"{HUB}/claim"
AVAILABILITY = f"{HUB}/availability"


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Mosquitto]:
    broker = Mosquitto(tmp_path / "broker")
    await broker.start()
    yield broker
    await broker.kill()


def session(
    port: int, challenge_s: float, availability: bytes = ONLINE, records: RetainedRecords | None = None
) -> Session:
    """A session that publishes whether it is online, and nothing else until it is added to `records`."""
    records = records or RetainedRecords()
    records.replace({AVAILABILITY: availability})
    settings = Settings(BrokerAddress("127.0.0.1", port, tls=False), Topics("wifimgrd", "boat"))
    return Session(settings, records, EventQueue("0" * 16), challenge_s=challenge_s)


async def test_it_serves_as_long_as_the_broker_listens(broker: Mosquitto) -> None:
    serving: list[bool] = []

    @contextmanager
    def while_serving() -> Iterator[None]:
        serving.append(True)
        try:
            yield
        finally:
            serving.append(False)

    records = RetainedRecords()
    records.replace({AVAILABILITY: ONLINE})
    settings = Settings(BrokerAddress("127.0.0.1", broker.port, tls=False), Topics("wifimgrd", "boat"))
    one = Session(settings, records, EventQueue("0" * 16), while_serving=while_serving)
    async with observer(broker.port) as seen:
        running = asyncio.create_task(one.run())
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == ONLINE)
        assert serving == [True]
    await broker.kill()
    with pytest.raises(BrokerError):
        await running
    with pytest.raises(BrokerError):
        await one.run()
    assert serving == [True, False]


@contextmanager
def time_stands(one: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """However long the work within takes, its messages are counted at the same moment."""
    now = asyncio.get_running_loop().time()
    with monkeypatch.context() as still:
        still.setattr(one, "_admits", lambda topic: one._rate.admits(topic, now))
        yield


async def test_of_a_record_that_changes_too_often_the_newest_is_published_in_the_end(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, topic = RetainedRecords(), f"{HUB}/devices/1"
    one = session(broker.port, challenge_s=0.3, records=records)
    async with observer(broker.port) as seen:
        running = asyncio.create_task(one.run())
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == ONLINE)
        with time_stands(one, monkeypatch):
            for number in range(BURST + 5):
                records.set(topic, str(number).encode())
                one.publish()
        assert list(records.changed) == [topic]
        await seen.until(lambda: seen.retained.get(topic) == b"14")
        assert len(seen.seen(topic)) == BURST + 1
        running.cancel()
        await asyncio.wait([running])


async def test_a_record_that_comes_and_goes_has_one_burst(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, topic = RetainedRecords(), f"{HUB}/interfaces/wlan0"
    one = session(broker.port, challenge_s=0.3, records=records)
    async with observer(broker.port) as seen:
        running = asyncio.create_task(one.run())
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == ONLINE)
        with time_stands(one, monkeypatch):
            for number in range(3 * BURST):
                records.set(topic, str(number).encode())
                one.publish()
                records.remove(topic)
                one.publish()
        records.set(topic, b"last")
        one.publish()
        await seen.until(lambda: seen.retained.get(topic) == b"last")
        assert len([message for message in seen.seen(topic) if message.payload]) == BURST + 1
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.parametrize("version", ["5", "3.1.1"])
async def test_a_claim_that_nobody_answers_for_is_taken_over(broker: Mosquitto, version: str) -> None:
    async with observer(broker.port) as seen, old_broker(broker.port) as old_port:
        before = Claim("0" * 16)
        seen.send(CLAIM, before.payload(), retain=True)
        seen.send(AVAILABILITY, ONLINE, retain=True)
        await seen.until(lambda: AVAILABILITY in seen.retained)
        port = broker.port if version == "5" else old_port
        running = asyncio.create_task(session(port, challenge_s=0.3).run())
        await seen.until(lambda: len(seen.seen(CLAIM)) == 3)
        challenges = [json.loads(one.payload)["challenge"] for one in seen.seen(CLAIM)]
        assert challenges == [False, True, False]
        assert seen.record(CLAIM)["instance"] != before.instance
        running.cancel()
        await asyncio.wait([running])


async def test_of_two_that_start_at_once_one_publishes(broker: Mosquitto) -> None:
    both = [asyncio.create_task(session(broker.port, challenge_s=10.0).run()) for _ in range(2)]
    done, running = await asyncio.wait(both, timeout=30, return_when=asyncio.FIRST_COMPLETED)
    [ended], [other] = done, running
    assert isinstance(ended.exception(), HubIdTaken)
    async with observer(broker.port) as seen:
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == ONLINE)
    other.cancel()
    await asyncio.wait([other])


async def test_a_hub_whose_daemon_is_away_keeps_its_id(broker: Mosquitto) -> None:
    first = session(broker.port, challenge_s=10.0, availability=OFFLINE)
    running = asyncio.create_task(first.run())
    async with observer(broker.port) as seen:
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == OFFLINE)
        for _ in range(5):  # whichever claim is the greater one
            with pytest.raises(HubIdTaken):
                await asyncio.wait_for(session(broker.port, challenge_s=10.0).run(), 30)
        assert not running.done()
        assert seen.retained[AVAILABILITY] == OFFLINE
        await first.stop()
        await seen.until(lambda: CLAIM not in seen.retained)
        running.cancel()
        await asyncio.wait([running])


async def test_a_running_hub_answers_each_challenge(broker: Mosquitto) -> None:
    running = asyncio.create_task(session(broker.port, challenge_s=10.0).run())
    async with observer(broker.port) as seen:
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == ONLINE)
        own = seen.retained[CLAIM]
        for instance in ("0" * 16, "f" * 16):  # the second one soon after the answer to the first
            seen.send(CLAIM, Claim(instance, challenge=True).payload())
            await seen.until(lambda: seen.retained[CLAIM] != own)
            await seen.until(lambda: seen.retained[CLAIM] == own)
        running.cancel()
        await asyncio.wait([running])


async def test_a_running_hub_is_not_stopped_by_a_claim_without_a_bridge(broker: Mosquitto) -> None:
    running = asyncio.create_task(session(broker.port, challenge_s=10.0).run())
    async with observer(broker.port) as seen:
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == ONLINE)
        own = seen.retained[CLAIM]
        seen.send(CLAIM, b"rubbish", retain=True)
        await seen.until(lambda: seen.seen(CLAIM) and seen.retained[CLAIM] == own)
        await broker.kill()
        with pytest.raises(BrokerError, match="lost"):
            await asyncio.wait_for(running, 30)


async def test_many_answers_do_not_hold_up_a_record(broker: Mosquitto) -> None:
    records = RetainedRecords()
    one = session(broker.port, challenge_s=0.3, records=records)
    async with observer(broker.port) as seen:
        running = asyncio.create_task(one.run())
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == ONLINE)
        for number in range(200):
            one.answer(f"{HUB}/result", str(number).encode(), None)
        records.set(f"{HUB}/hub", b"{}")
        one.publish()
        await seen.until(lambda: len(seen.seen(f"{HUB}/result")) == 200)
        topics = [message.topic for message in seen.messages]
        assert topics.index(f"{HUB}/hub") < topics.index(f"{HUB}/result") + 50
        running.cancel()
        await asyncio.wait([running])


async def test_at_a_broker_without_wildcards_a_second_hub_with_one_id_publishes_nothing(
    broker: Mosquitto, capsys: pytest.CaptureFixture[str]
) -> None:
    async with broker_without_wildcards(broker.port) as port, observer(broker.port) as seen:
        running = asyncio.create_task(session(port, challenge_s=10.0).run())
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == ONLINE)
        own = seen.record(CLAIM)
        records = RetainedRecords()
        second = session(port, challenge_s=10.0, records=records)
        records.set(f"{HUB}/hub", b"{}")
        for _ in range(2):
            with pytest.raises(HubIdTaken):
                await asyncio.wait_for(second.run(), 30)
        await seen.until(lambda: seen.record(CLAIM) == own)  # again, after the second one's question
        assert not seen.seen(f"{HUB}/hub")
        running.cancel()
        await asyncio.wait([running])
    assert capsys.readouterr().out.count("broker_unsuitable") == 2, "once for each bridge"


@pytest.mark.parametrize("version", ["5", "3.1.1"])
async def test_a_broker_with_wildcards_is_not_taken_for_one_without(
    broker: Mosquitto, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    async with observer(broker.port) as seen, old_broker(broker.port) as old_port:
        port = broker.port if version == "5" else old_port
        one = session(port, challenge_s=0.1)
        for _ in range(2):  # with nothing retained, and with what the first one left
            running = asyncio.create_task(one.run())
            await seen.until(lambda: seen.retained.get(AVAILABILITY) == b"online")
            await one.stop()
            running.cancel()
            await asyncio.wait([running])
            await seen.until(lambda: seen.retained.get(AVAILABILITY) == b"offline")
        assert f"{HUB}/marker" not in seen.retained
    assert "broker_unsuitable" not in capsys.readouterr().out
