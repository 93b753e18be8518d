"""Commands from the broker, on real processes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.http.fake_hub import FakeHub
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.conftest import HUB, Start
from tests.mqtt.mosquitto import Mosquitto
from tests.mqtt.observer import Observer, observer
from tests.processes import Hub
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.domain.commands import SLEEP
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.mqtt._commands import Commands
from wifimgrd.mqtt._library import Received
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import Topics
from wifimgrd.runtime.tasks import Tasks

RESULT = f"{HUB}/result"
OPEN: dict[str, Any] = {"codename": "insta360-x3", "connection_type": "wifi", "ssid": "OPEN", "password": ""}


async def test_a_device_is_connected_and_disconnected(hub: Hub, seen: Observer) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    topic = f"{HUB}/devices/{device}"
    answer = await seen.command(f"{topic}/command", {"command": "disconnect"}, f"{topic}/result")
    assert answer == {
        "command": "disconnect",
        "device_id": device,
        "ok": True,
        "code": None,
        "message": "disconnected",
    }
    command = {"command": "connect", "options": {"wait": True}}
    answer = await seen.command(f"{topic}/command", command, f"{topic}/result")
    assert (answer["ok"], answer["message"]) == (True, "connected")
    assert hub.client.devices[device].state == "connected"


@pytest.mark.slow
async def test_a_camera_is_paired_put_to_sleep_and_woken(hub: Hub, seen: Observer) -> None:
    gopro = "F4:DD:11:52:0A:9A"
    options = {"connection_type": "wifi", "bluetooth_address": gopro}
    device = (await seen.command(f"{HUB}/command", {"command": "create", "options": options}, RESULT))[
        "device_id"
    ]
    await hub.until(device, "connected", 20)
    topic = f"{HUB}/devices/{device}"

    async def outcome(command: str, **options: object) -> str | None:
        message = {"command": command, "options": options}
        answer = await seen.command(f"{topic}/command", message, f"{topic}/result")
        return str(answer["message"]) if answer["ok"] else answer["code"]

    assert await outcome("sleep", wait=True) == "done"
    await seen.until(lambda: seen.record(topic)["power_state"] == "asleep")
    assert seen.record(topic)["bluetooth_address"] == gopro
    assert await outcome("wake", wait=True) == "done"
    await seen.until(lambda: seen.record(topic)["power_state"] == "awake")
    assert await outcome("sleep", wait=True) == "done"
    assert await outcome("connect", wake=True, wait=True) == "connected"
    assert await outcome("unpair") == "done"
    await seen.until(lambda: seen.record(topic)["paired"] is False)
    assert await outcome("disconnect") == "disconnected"
    assert await outcome("sleep", wait=True) == "not-paired"
    assert await outcome("pair", address=gopro) == "started"
    await seen.until(lambda: seen.record(topic)["paired"] is True)
    assert await outcome("pair", address=5) == "invalid-request"
    assert await outcome("unpair", wait=True) == "invalid-request"
    assert await outcome("wake", address=gopro) == "invalid-request"


async def test_being_seen_again_is_published_in_the_daemons_steps(hub: Hub, seen: Observer) -> None:
    options = {"connection_type": "wifi", "bluetooth_address": "F4:DD:11:52:0A:9A"}
    device = await hub.client.create_device(options)
    topic = f"{HUB}/devices/{device}"
    await hub.client.command_device(SLEEP, device, wait_s=20)
    await seen.until(lambda: (seen.record(topic) or {}).get("power_state") == "asleep")
    sent = len(seen.seen(topic))
    for _ in range(3):
        await hub.client.search_bluetooth(1)
    await hub.client.update_device(device, {"name": "Nose"})
    await seen.until(lambda: seen.record(topic)["name"] == "Nose")
    # At most one for the 10 s that may have gone by.
    assert len(seen.seen(topic)) <= sent + 2


async def test_the_answer_comes_at_the_response_topic_with_the_correlation_data(seen: Observer) -> None:
    properties = {"ResponseTopic": f"{HUB}/response/one", "CorrelationData": b"\x00\x01"}
    answer = await seen.command(
        f"{HUB}/devices/7/command", {"command": "connect"}, f"{HUB}/response/one", **properties
    )
    assert answer == {
        "command": "connect",
        "device_id": 7,
        "ok": False,
        "code": "device-not-found",
        "message": "there is no camera 7",
    }
    assert seen.seen(f"{HUB}/response/one")[0].correlation == b"\x00\x01"


async def test_a_command_that_is_delivered_again_is_done_once(hub: Hub, seen: Observer) -> None:
    command = {"command": "create", "options": OPEN}
    first = await seen.command(f"{HUB}/command", command, RESULT, CorrelationData=b"k")
    again = await seen.command(f"{HUB}/command", command, RESULT, CorrelationData=b"k")
    other = await seen.command(f"{HUB}/command", command, RESULT, CorrelationData=b"l")
    assert first["ok"]
    assert again == first
    assert other["device_id"] != first["device_id"]
    assert sorted(hub.client.devices) == sorted([first["device_id"], other["device_id"]])


async def test_without_a_free_adapter_a_device_is_refused_or_waits(hub: Hub, seen: Observer) -> None:
    for number in (1, 2, 3):
        await hub.until(await hub.create(number), "connected", 20)
    topic = f"{HUB}/devices/{await hub.create(4)}"
    refused = await seen.command(f"{topic}/command", {"command": "connect"}, f"{topic}/result")
    assert (refused["ok"], refused["code"]) == (False, "no-interface-available")
    command = {"command": "connect", "options": {"when_free": True}}
    answer = await seen.command(f"{topic}/command", command, f"{topic}/result")
    assert (answer["ok"], answer["message"]) == (True, "waiting")
    await seen.until(lambda: seen.record(topic)["waiting_since"])


async def test_a_scan_is_answered_with_the_networks(seen: Observer) -> None:
    answer = await seen.command(f"{HUB}/command", {"command": "scan"}, RESULT)
    assert answer["ok"]
    assert "SIM-CAM-1" in {one["ssid"] for one in answer["networks"]}


class Answers:
    """What was answered."""

    def __init__(self) -> None:
        self.given: list[dict[str, Any]] = []

    def answer(self, topic: str, payload: bytes, correlation: bytes | None) -> None:
        self.given.append(json.loads(payload))


@pytest.mark.parametrize(
    ("error", "code"), [(RuntimeError("secret inside"), "internal"), (TimeoutError(), "backend-unavailable")]
)
async def test_a_command_that_fails_in_no_known_way_is_answered(error: Exception, code: str) -> None:
    fake_hub, answers, tasks = FakeHub(), Answers(), Tasks("test")
    fake_hub.appear(DeviceRecord(1))
    fake_hub.answer = error
    topics = Topics("wifimgrd", "boat")
    settings = Settings(BrokerAddress("127.0.0.1", 1883, tls=False), topics, commands=True)
    commands = Commands(fake_hub, settings, answers, tasks)
    topic = f"{topics.root}/devices/1/command"
    with capture_logs() as logs:
        assert commands.receive(Received(topic, b'{"command":"connect"}', retained=False, is_repeat=False))
        await tasks.settle(10)
    [answer] = answers.given
    assert (answer["ok"], answer["code"]) == (False, code)
    assert "secret" not in answer["message"]
    assert [entry["event"] for entry in logs] == ["command_failed"] * (code == "internal")


WRONG: list[tuple[Any, str]] = [
    (b"{", "invalid-request"),
    (b'{"command":"scan","command":"scan"}', "invalid-request"),
    (b"[" * 60_000, "invalid-request"),
    (b"\xff\xfe\x00", "invalid-request"),
    (b'{"command":"create","options":{"ssid":' + b"[" * 900 + b"]" * 900 + b"}}", "invalid-request"),
    ({"command": "create", "options": OPEN | {"ssid": "\ud800"}}, "invalid-request"),
    ({"command": "create", "options": OPEN | {"priority": 10**400}}, "invalid-request"),
    ({"command": "create", "options": {"\0": "\ud800"}}, "invalid-request"),
    ({"command": "connect"}, "invalid-request"),
    ({"command": "scan", "options": {"interface": 5}}, "invalid-request"),
    ({"command": "scan", "options": {"interface": "wlan77"}}, "interface-not-found"),
    ({"command": "create", "options": {"ssid": "x" * 33}}, "invalid-request"),
    ({"command": "create", "options": OPEN | {"password": "camera-pass-1"}}, "not-authorized"),
    (b'{"command":"scan","options":"' + b"x" * 70_000 + b'"}', "payload-too-large"),
]


async def test_what_is_wrong_is_answered_and_not_done(hub: Hub, seen: Observer) -> None:
    for payload, code in WRONG:
        answer = await seen.command(f"{HUB}/command", payload, RESULT)
        assert (answer["ok"], answer["code"]) == (False, code)
        assert "camera-pass" not in str(answer)
    assert not hub.client.devices


@pytest.mark.parametrize("device", ["0", "-1", "01", "x", "\u0663", "9" * 30])
async def test_a_command_to_what_is_no_id_is_answered(seen: Observer, device: str) -> None:
    answer = await seen.command(f"{HUB}/devices/{device}/command", {"command": "connect"}, RESULT)
    assert (answer["ok"], answer["code"], answer["device_id"]) == (False, "device-not-found", None)


async def test_a_retained_command_is_refused_and_removed(hub: Hub, seen: Observer) -> None:
    answer = await seen.command(f"{HUB}/command", {"command": "create", "options": OPEN}, RESULT, retain=True)
    assert (answer["ok"], answer["code"]) == (False, "invalid-request")
    await seen.until(lambda: f"{HUB}/command" not in seen.retained)
    assert not hub.client.devices


async def test_an_answer_cannot_be_aimed_at_what_hubs_read(hub: Hub, seen: Observer) -> None:
    command = {"command": "create", "options": OPEN}
    for topic in (f"{HUB}/command", "wifimgrd/other/command", f"{HUB}/hub", "homeassistant/x"):
        answer = await seen.command(f"{HUB}/command", command, RESULT, ResponseTopic=topic)
        assert (answer["ok"], answer["code"]) == (False, "invalid-request")
    assert not hub.client.devices


HOSTILE: list[dict[str, Any]] = [
    {"ResponseTopic": "/" * 300},
    {"ResponseTopic": f"{HUB}/response" + "/x" * 200},
    {"ResponseTopic": "answers/\ufeff"},
    {"ContentType": "\ufeff"},
    {"UserProperty": [("\ufeff", "\ufeff")]},
    {"UserProperty": [("", "")] * 10_000},
]


@pytest.mark.parametrize("properties", HOSTILE)
async def test_no_properties_of_a_command_end_the_connection(
    broker: Mosquitto, bridge: BridgeProcess, seen: Observer, properties: dict[str, Any]
) -> None:
    topic = f"{HUB}/devices/7"
    async with observer(broker.port) as sender:
        sender.send(f"{topic}/command", {"command": "connect"}, **properties)
        await sender.connection.until_delivered(20)
        is_refused = sender.connection.closed.done()  # as Mosquitto 2.0.21 does, at a topic of many levels
    answer = await seen.command(f"{HUB}/devices/8/command", {"command": "connect"}, f"{HUB}/devices/8/result")
    assert answer["code"] == "device-not-found"
    start = b'{"command":"connect","device_id":7,'
    answered = [one.topic for one in seen.messages if one.payload.startswith(start)]
    has_topic = "ResponseTopic" in properties and len(properties["ResponseTopic"]) < 200
    at = properties["ResponseTopic"] if has_topic else f"{topic}/result"
    assert answered == ([] if is_refused else [at])
    assert bridge.log.read_text().count("broker_connected") == 1


@pytest.mark.usefixtures("hub")
async def test_commands_are_off_unless_they_are_set(broker: Mosquitto, bridges: Start) -> None:
    await bridges("").start()
    async with observer(broker.port) as seen:
        await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")
        answer = await seen.command(f"{HUB}/command", {"command": "scan"}, RESULT)
    assert (answer["ok"], answer["code"]) == (False, "not-authorized")
