"""What the bridge publishes: records, events, and only differences."""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import replace

import pytest

from benchmarks.ceilings import most_mb
from tests.commands import disconnect
from tests.http.fake_hub import FakeHub, changed
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.conftest import HUB, Start
from tests.mqtt.mosquitto import Mosquitto
from tests.mqtt.observer import PATIENCE_S, Observer, observer
from tests.processes import Hub
from wifimgrd.client.json_records import device_json, interface_json
from wifimgrd.client.json_text import dumps
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.mqtt._bridge import Bridge
from wifimgrd.mqtt._session import Session
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import Topics
from wifimgrd.runtime.tasks import Tasks


async def test_the_records_are_those_of_the_hub(hub: Hub, seen: Observer) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    topic = f"{HUB}/devices/{device}"
    await seen.until(lambda: (seen.record(topic) or {}).get("connection_status") == "connected")

    def is_current() -> bool:
        shown = dict(device_json(hub.client.devices[device])) | {"signal_strength": None}
        published = (seen.record(topic) or {}) | {"signal_strength": None}
        return bool(published == json.loads(dumps(shown)))

    await seen.until(is_current)
    for name, interface in hub.client.interfaces.items():
        assert seen.record(f"{HUB}/interfaces/{name}") == json.loads(dumps(interface_json(interface)))
    assert seen.record(f"{HUB}/hub")["backend"] == "simulated"

    await hub.client.remove_device(device)
    await seen.until(lambda: topic not in seen.retained)
    assert b"camera-pass-1" not in b"".join(one.payload for one in seen.messages)


async def test_the_hub_says_where_its_page_is_if_others_reach_it(
    hub: Hub, broker: Mosquitto, bridges: Start
) -> None:
    assert hub.client.available
    async with observer(broker.port) as seen:
        for listen, page in (("0.0.0.0:8080", None), ("192.0.2.7:8080", "http://192.0.2.7:8080/")):
            one = bridges(f'commands = true\n[http]\nlisten = "{listen}"\ninsecure_without_token = true')
            await one.start()
            await seen.until(lambda page=page: (seen.record(f"{HUB}/hub") or {}).get("page", "") == page)  # type: ignore[misc]
            assert await one.end() == 0


async def test_events_are_numbered_without_gaps_and_in_order(hub: Hub, seen: Observer) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    events = f"{HUB}/events"

    def statuses() -> list[str]:
        found = [json.loads(one.payload) for one in seen.seen(events)]
        return [one["data"]["connection_status"] for one in found if "status" in one["type"]]

    await seen.until(lambda: "connected" in statuses())
    found = [json.loads(one.payload) for one in seen.seen(events)]
    numbers = [one["seq"] for one in found]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert {one["epoch"] for one in found} == {seen.record(f"{HUB}/hub")["epoch"]}
    assert found[0]["type"] in {"device.created", "service.updated"}


async def test_a_bridge_that_starts_changes_only_what_differs(
    hub: Hub, broker: Mosquitto, bridges: Start, bridge: BridgeProcess
) -> None:
    # Without a driver: what a camera says of itself changes by itself, also while no bridge runs.
    kept = await hub.create(1, codename="generic-wifi-camera")
    removed = await hub.create(2)
    await hub.until(kept, "connected", 20)
    await hub.until(removed, "connected", 20)
    async with observer(broker.port) as before:
        await before.until(lambda: before.retained.get(f"{HUB}/availability") == b"online")
        topics = [f"{HUB}/devices/{kept}", f"{HUB}/devices/{removed}"]
        await before.until(
            lambda: all((before.record(one) or {}).get("connection_status") == "connected" for one in topics)
        )
        assert await bridge.end() == 0
        await before.until(lambda: before.retained.get(f"{HUB}/availability") == b"offline")
        await hub.client.remove_device(removed)
        before.send(f"{HUB}/devices/77", b"rubbish", retain=True)
        before.send(f"{HUB}/interfaces/wlan9/deep", b"\xff\xfe", retain=True)
        before.send(f"{HUB}/command", {"command": "scan"}, retain=True)
        await before.connection.until_delivered(10)
    again = bridges()
    async with observer(broker.port) as after:
        await again.start()
        await after.until(lambda: len(after.seen(f"{HUB}/availability")) > 0)
        assert topics[1] not in after.retained
        assert f"{HUB}/devices/77" not in after.retained
        assert f"{HUB}/interfaces/wlan9/deep" not in after.retained
        assert f"{HUB}/command" not in after.retained
        assert not after.seen(f"{HUB}/interfaces/wlan0"), "it was retained as it is"
        assert not after.seen(topics[0])
        assert not after.seen(f"{HUB}/result"), "a retained command is removed, not carried out"


@pytest.mark.parametrize("persistence", [True, False])
async def test_after_a_crash_of_the_broker_it_has_the_newest_state(
    hub: Hub, broker: Mosquitto, bridge: BridgeProcess, seen: Observer, persistence: bool
) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    topic = f"{HUB}/devices/{device}"
    await seen.until(lambda: (seen.record(topic) or {}).get("connection_status") == "connected")
    await broker.kill()
    broker.persistence = persistence
    await disconnect(hub.client, device)
    other = await hub.create(2)
    await hub.client.remove_device(other)
    assert bridge.process is not None
    bridge.process.send_signal(signal.SIGSTOP)  # so that the observer is there first
    await broker.start()
    async with observer(broker.port) as after:
        bridge.process.send_signal(signal.SIGCONT)
        await after.until(lambda: (after.record(topic) or {}).get("connection_status") == "disconnected")
        await after.until(lambda: after.retained.get(f"{HUB}/availability") == b"online")
        assert f"{HUB}/devices/{other}" not in after.retained
        await after.until(
            lambda: any(b'"device.removed"' in one.payload for one in after.seen(f"{HUB}/events"))
        )


@pytest.mark.slow
@pytest.mark.parametrize("bridge", ["cold"], indirect=True)
async def test_a_broker_that_stalls_gets_the_newest_state_when_it_reads(
    hub: Hub, broker: Mosquitto, bridge: BridgeProcess, seen: Observer
) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    assert broker.process is not None
    broker.process.send_signal(signal.SIGSTOP)
    for number in range(300):
        await hub.client.update_device(device, {"name": f"name {number}"})
    assert bridge.rss_mb <= most_mb("wifimgrd-mqtt")
    broker.process.send_signal(signal.SIGCONT)
    topic = f"{HUB}/devices/{device}"
    await seen.until(lambda: (seen.record(topic) or {}).get("name") == "name 299")
    assert len(seen.seen(topic)) < 300, "older records were left out"


async def test_rubbish_in_its_topics_is_removed(broker: Mosquitto, bridges: Start, hub: Hub) -> None:
    topics = [HUB, f"{HUB}/", f"{HUB}//", f"{HUB}/$x", f"{HUB}/\U0001f4f7 \u202e", f"{HUB}/{'x' * 60_000}"]
    topics += [f"{HUB}/marker", f"{HUB}/claim", f"{HUB}/hub/deep", f"{HUB}/devices/1/command"]
    topics += [f"{HUB}/devices/{number}" for number in range(100, 400)]
    async with observer(broker.port) as seen:
        for topic in topics:
            seen.send(topic, b"\xff rubbish", retain=True)
        await seen.until(lambda: set(topics) <= seen.retained.keys())
        await bridges().start()
        await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")
        known = {f"{HUB}/{name}" for name in ("availability", "claim", "discovery", "hub")}
        known |= {f"{HUB}/interfaces/{name}" for name in hub.client.interfaces}
        events = {f"{HUB}/events"}  # what is published there is not retained, and may come at any time
        await seen.until(lambda: {one for one in seen.retained if one.startswith(HUB)} - events == known)
        assert seen.record(f"{HUB}/claim")["instance"]


async def test_while_the_daemon_is_away_the_hub_is_offline(hub: Hub, seen: Observer) -> None:
    linked, idle = await hub.create(1), await hub.create(2)
    await hub.until(linked, "connected", 20)
    await hub.until(idle, "connected", 20)
    await disconnect(hub.client, idle)
    devices = {f"{HUB}/devices/{linked}", f"{HUB}/devices/{idle}"}
    await seen.until(lambda: seen.record(f"{HUB}/devices/{idle}")["connection_status"] == "disconnected")
    await hub.end()
    await seen.until(lambda: seen.retained[f"{HUB}/availability"] == b"offline")
    await seen.until(lambda: seen.record(f"{HUB}/hub")["backend_state"] == "unavailable")
    assert (seen.record(f"{HUB}/hub")["ready"], seen.record(f"{HUB}/hub")["ready_message"]) == (
        False,
        "The hub does not answer.",
    )
    assert devices <= set(seen.retained)
    await hub.start()
    await seen.until(lambda: seen.retained[f"{HUB}/availability"] == b"online")
    await seen.until(lambda: seen.record(f"{HUB}/hub")["backend_state"] == "ready")
    assert devices <= set(seen.retained)


async def test_the_broker_publishes_that_a_bridge_has_crashed(bridge: BridgeProcess, seen: Observer) -> None:
    assert bridge.process is not None
    bridge.process.kill()
    await seen.until(lambda: seen.retained[f"{HUB}/availability"] == b"offline")


async def test_the_daemon_is_pinged_only_while_the_broker_listens_and_a_camera_is_linked() -> None:
    fake, tasks = FakeHub(), Tasks("test")
    settings = Settings(BrokerAddress("127.0.0.1", 1, tls=False), Topics("wifimgrd", "boat"))
    bridge = Bridge(fake, settings, tasks)
    fake.subscribe(bridge._on_change)
    linked, away = DeviceRecord(1, state="connected"), DeviceRecord(1, state="disconnected")
    fake.appear(linked)
    assert fake.relying == 0
    with bridge._while_serving():
        assert fake.relying == 1
        fake.happen(changed(away, "State"))
        assert fake.relying == 0
        fake.happen(changed(linked, "State"))
        assert fake.relying == 1
        fake.vanish()
        assert fake.relying == 0
        fake.appear(linked)
        assert fake.relying == 1
    assert fake.relying == 0
    await tasks.stop()


async def test_a_change_that_was_held_back_keeps_nothing_busy_while_the_daemon_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    published: list[Session] = []
    monkeypatch.setattr(Session, "publish", lambda session: published.append(session))  # noqa: PLW0108 - a method
    monkeypatch.setattr("wifimgrd.mqtt._pace.SIGNAL_S", 0.01)
    fake, tasks = FakeHub(), Tasks("test")
    bridge = Bridge(fake, Settings(BrokerAddress("127.0.0.1", 1, tls=False), Topics("x", "boat")), tasks)
    fake.subscribe(bridge._on_change)
    weak = DeviceRecord(1, state="connected", signal_strength=40)
    fake.appear(weak)
    fake.happen(changed(replace(weak, signal_strength=80), "SignalStrength"))
    fake.vanish()
    published.clear()
    await asyncio.sleep(0.1)
    assert len(published) <= 1
    await tasks.stop()


@pytest.mark.slow
async def test_while_the_daemon_is_frozen_the_hub_is_offline(hub: Hub, seen: Observer) -> None:
    await hub.until(await hub.create(1), "connected")
    with hub.frozen():
        await seen.until(lambda: seen.retained[f"{HUB}/availability"] == b"offline", 2 * PATIENCE_S)
        await seen.until(lambda: seen.record(f"{HUB}/hub")["backend_reason"] == "wifimgrd does not answer")
    await seen.until(lambda: seen.retained[f"{HUB}/availability"] == b"online")
    await seen.until(lambda: seen.record(f"{HUB}/hub")["backend_state"] == "ready")


async def test_the_last_will_of_an_earlier_connection_does_not_leave_it_offline(seen: Observer) -> None:
    seen.send(f"{HUB}/availability", b"offline", retain=True)
    await seen.until(
        lambda: [one.payload for one in seen.seen(f"{HUB}/availability")][-2:] == [b"offline", b"online"]
    )


async def test_a_second_hub_with_the_same_id_publishes_nothing(bridges: Start, seen: Observer) -> None:
    second = bridges()
    await second.start()
    line = await second.until_logged("hub_id_taken")
    assert "error" in line
    await seen.until(
        lambda: len({json.loads(one.payload)["instance"] for one in seen.seen(f"{HUB}/claim")}) == 2
    )
    assert len({one.payload for one in seen.messages if one.topic == f"{HUB}/hub"}) == 1
    assert await second.end() == 0
    assert seen.retained[f"{HUB}/availability"] == b"online"
