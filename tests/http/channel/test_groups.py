"""Connecting a group over the management channel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.grouped_hub import CHIN, LEFT, NOSE, TAIL, grouped_hub, until_connected
from tests.http.channel.test_channel import UPDATE, receive
from tests.http.served import Served
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub

CONNECT = "command.device.device_connection.connect"
FAILED = "command.failed"
ACTION_FAILED = "observation.device.action.failed"


@pytest.fixture
async def daemon(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with grouped_hub(message_bus.address, tmp_path) as hub:
        yield hub


@pytest.fixture
async def channel(shim: Served) -> Any:
    channel = await shim.channel()
    await receive(channel)
    return channel


async def test_the_members_states_are_events(channel: Any, daemon: Hub) -> None:
    await channel.send_json({"type": CONNECT, "group": "nose"})
    wanted = {NOSE: "connected", CHIN: "connected", TAIL: "disconnected"}
    states: dict[int, str] = {}
    while not wanted.items() <= states.items():
        message = await receive(channel)
        if message["type"] == UPDATE:
            states[message["data"]["id"]] = message["data"]["connection_status"]


async def test_a_member_that_was_not_tried_is_a_refusal(channel: Any, daemon: Hub) -> None:
    await channel.send_json({"type": CONNECT, "group": "everyone", "partial": True})
    while (message := await receive(channel))["type"] != FAILED:
        pass
    assert message.pop("message")
    assert message == {
        "type": FAILED,
        "command": CONNECT,
        "device_connection_id": CHIN,
        "group": "everyone",
        "code": "no-interface-available",
    }
    assert (await receive(channel))["type"] == ACTION_FAILED
    await until_connected(daemon, {NOSE, LEFT, TAIL})


@pytest.mark.parametrize(
    ("members", "code", "echo"),
    [
        ({"group": "everyone"}, "no-interface-available", "everyone"),
        ({"group": "x" * 1000}, "group-not-found", "x" * 64),
        ({"group": ""}, "invalid-request", ""),
        ({"group": 5}, "invalid-request", None),
        ({"group": "nose", "partial": "1"}, "invalid-request", "nose"),
        ({"group": "nose", "device_connection_id": 1}, "invalid-request", "nose"),
    ],
)
async def test_a_refusal_changes_nothing(
    channel: Any, daemon: Hub, members: dict[str, object], code: str, echo: str | None
) -> None:
    await channel.send_json({"type": CONNECT, **members})
    message = await receive(channel)
    assert (message["type"], message["code"], message.get("group")) == (FAILED, code, echo)
    await until_connected(daemon, {LEFT, TAIL})
