"""Recording over MQTT, with emulated cameras of three makes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import disconnect
from tests.message_bus import MessageBusDaemon
from tests.mqtt.conftest import HUB
from tests.mqtt.observer import Observer
from tests.processes import Hub, running_hub
from tests.recording_cameras import CAMERAS, SCENARIO, connected
from wifimgrd.bus.connection import Variant

HUB_MESSAGE = "homeassistant/device/wifimgrd_boat_hub/config"


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The daemon, with a GoPro, an Insta360 and a Theta that are connected."""
    state = tmp_path / "state"
    async with running_hub(message_bus.address, state, f"--simulate={SCENARIO}") as hub:
        names = ("Nose", "Left", "Tail")
        await asyncio.gather(
            *(connected(hub, codename, name) for codename, name in zip(CAMERAS, names, strict=True))
        )
        yield hub


def named(hub: Hub, name: str) -> int:
    return next(one.id for one in hub.client.devices.values() if one.name == name)


def ended(seen: Observer) -> list[dict[str, Any]]:
    """The events of recordings that have ended."""
    events = [json.loads(one.payload) for one in seen.seen(f"{HUB}/events")]
    assert not [one for one in events if one["type"] == "device.camera.update"]
    return [one["data"] for one in events if one["type"] == "device.recording.stopped"]


async def test_a_hub_records_on_all_and_each_has_a_result(hub: Hub, seen: Observer) -> None:
    left = named(hub, "Left")
    fault = {"ssid": Variant("s", CAMERAS["insta360-x4"][0])}
    await hub.client.simulate("SetFault", "sa{sv}", "refuses-recording", fault)
    order = {"command": "record", "options": {"recording": True, "all": True}}
    answer = await seen.command(f"{HUB}/command", order, f"{HUB}/result")
    assert (answer["ok"], answer["device_id"], answer["message"]) == (True, None, "2 of 3 cameras record.")
    assert {one["device_id"]: (one["done"], one["code"]) for one in answer["results"]} == {
        one: (True, None) if one != left else (False, "camera-refused") for one in hub.client.devices
    }
    assert all(one["after_ms"] >= 0 for one in answer["results"] if one["done"])
    topics = [f"{HUB}/devices/{one}" for one in hub.client.devices if one != left]
    await seen.until(lambda: all(seen.record(topic)["camera"]["recording"] for topic in topics))
    await seen.until(lambda: seen.record(f"{HUB}/hub")["recording_devices"] == 2)
    order = {"command": "record", "options": {"recording": False, "device_ids": list(hub.client.devices)}}
    answer = await seen.command(f"{HUB}/devices/all/command", order, f"{HUB}/devices/all/result")
    assert [one["done"] for one in answer["results"]] == [True, True, True]
    await seen.until(lambda: seen.record(f"{HUB}/hub")["recording_devices"] == 0)
    await seen.until(lambda: len(ended(seen)) == 2)
    assert {one["reason"] for one in ended(seen)} == {"stopped"}


async def test_the_end_of_a_take_is_one_event(hub: Hub, seen: Observer) -> None:
    nose, left = named(hub, "Nose"), named(hub, "Left")
    await hub.client.record([nose, left], on=True)
    await seen.until(lambda: seen.record(f"{HUB}/devices/{left}")["camera"]["recording"])
    for device in (nose, left):  # the files of a removed camera are not waited for
        await hub.client.remove_device(device)

    def takes() -> list[dict[str, Any]]:
        events = [json.loads(one.payload) for one in seen.seen(f"{HUB}/events")]
        return [one["data"] for one in events if one["type"] == "take.ended"]

    await seen.until(lambda: bool(takes()))
    [take] = takes()
    assert {row["device_name"] for row in take["recordings"]} == {"Nose", "Left"}
    assert [one["device_name"] for one in take["missing"]] == ["Tail"]
    assert take["ended"] > take["time"]


async def test_one_camera_is_commanded_and_its_end_has_a_reason(hub: Hub, seen: Observer) -> None:
    device = named(hub, "Nose")
    topic = f"{HUB}/devices/{device}"

    async def outcome(command: str, **options: object) -> str | None:
        message = {"command": command, "options": options}
        answer = await seen.command(f"{topic}/command", message, f"{topic}/result")
        return str(answer["message"]) if answer["ok"] else answer["code"]

    assert await outcome("set_clock") == "done"
    assert await outcome("start_recording") == "done"
    assert await outcome("set_clock") == "camera-busy"
    assert await outcome("start_recording", wait=True) == "invalid-request"
    fault = {"ssid": Variant("s", CAMERAS["gopro-hero12"][0])}
    await hub.client.simulate("SetFault", "sa{sv}", "card-full", fault)
    await seen.until(lambda: ended(seen) == [{"id": device, "reason": "full"}])
    assert await outcome("stop_recording") == "done"


async def test_home_assistant_has_a_switch_for_all_while_there_is_a_camera_to_command(
    hub: Hub, seen: Observer
) -> None:
    await seen.until(lambda: "command_topic" in seen.record(HUB_MESSAGE)["components"]["recording"])
    switch = seen.record(HUB_MESSAGE)["components"]["recording"]
    seen.send(switch["command_topic"], switch["payload_on"].encode())
    await seen.until(lambda: seen.record(switch["state_topic"])["recording_devices"] == 3)
    first, *others = hub.client.devices
    for device in others:
        await hub.client.remove_device(device)
    await seen.until(lambda: seen.record(switch["state_topic"])["recording_devices"] == 1)
    await hub.client.update_device(first, {"codename": "generic-wifi-camera"})
    await seen.until(lambda: seen.record(HUB_MESSAGE)["components"]["recording"] == {"platform": "switch"})


async def test_the_hub_says_whether_the_rig_is_ready(hub: Hub, seen: Observer) -> None:
    def said() -> tuple[bool, str]:
        record = seen.record(f"{HUB}/hub")
        return record["ready"], record["ready_message"]

    await seen.until(lambda: said() == (False, "2 of 3 cameras are ready: Tail has an almost full card."))
    await disconnect(hub.client, named(hub, "Tail"))
    await seen.until(lambda: said() == (True, "Both cameras are ready."))
    fault = {"ssid": Variant("s", CAMERAS["gopro-hero12"][0])}
    await hub.client.simulate("SetFault", "sa{sv}", "card-full", fault)
    await seen.until(lambda: said() == (False, "1 of 2 cameras is ready: Nose has a full card."))
    await hub.client.update_device(named(hub, "Nose"), {"name": "Bow"})
    await seen.until(lambda: said() == (False, "1 of 2 cameras is ready: Bow has a full card."))
    ready = seen.record(HUB_MESSAGE)["components"]["ready"]
    assert ready["state_topic"] == ready["json_attributes_topic"] == f"{HUB}/hub"
