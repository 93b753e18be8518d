"""Connecting a group over MQTT."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.grouped_hub import CHIN, LEFT, NOSE, TAIL, grouped_hub, until_connected
from tests.message_bus import MessageBusDaemon
from tests.mqtt.conftest import HUB
from tests.mqtt.observer import Observer
from tests.processes import Hub


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with grouped_hub(message_bus.address, tmp_path) as hub:
        yield hub


async def connect(seen: Observer, topic: str = f"{HUB}/command", **options: object) -> dict[str, Any]:
    message = {"command": "connect", "options": options}
    answer: dict[str, Any] = await seen.command(topic, message, topic.replace("/command", "/result"))
    return answer


async def test_a_group_is_connected_or_nothing_is_changed(hub: Hub, seen: Observer) -> None:
    answer = await connect(seen, group="everyone")
    assert (answer["ok"], answer["code"], answer["device_id"]) == (False, "no-interface-available", None)
    await until_connected(hub, {LEFT, TAIL})
    answer = await connect(seen, group="nose")
    done = {"done": True, "code": None, "message": None}
    assert answer == {
        "command": "connect",
        "device_id": None,
        "ok": True,
        "code": None,
        "message": "2 of 2 done",
        "results": [{"device_id": one} | done for one in (NOSE, CHIN)],
    }
    await until_connected(hub, {NOSE, CHIN, LEFT})
    answer = await connect(seen, group="everyone", partial=True)
    assert (answer["ok"], answer["message"]) == (True, "3 of 4 done")


async def test_a_refusal_says_why(hub: Hub, seen: Observer) -> None:
    assert (await connect(seen, group="nobody"))["code"] == "group-not-found"
    assert (await connect(seen))["code"] == "invalid-request"
    assert (await connect(seen, group="nose", partial=1))["code"] == "invalid-request"
    assert (await connect(seen, group="nose", wait=True))["code"] == "invalid-request"
    of_device = await connect(seen, f"{HUB}/devices/{NOSE}/command", group="nose")
    assert of_device["code"] == "invalid-request"
    await until_connected(hub, {LEFT, TAIL})
