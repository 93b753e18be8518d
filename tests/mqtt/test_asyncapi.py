"""The description of the topics: its examples are valid, and what the bridge publishes fits it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from typing import Any, Final

import jsonschema

from tests.mqtt.conftest import HUB
from tests.mqtt.observer import Observer
from tests.processes import Hub

DOCUMENT: Final = json.loads((resources.files("wifimgrd.mqtt") / "asyncapi.json").read_text())


def check(value: Any, name: str) -> None:
    """Check a value against the schema of a message."""
    schema = DOCUMENT["components"]["messages"][name]["payload"] | {"components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(schema).validate(value)


def test_every_example_is_valid() -> None:
    messages = DOCUMENT["components"]["messages"]
    examples = [(name, example) for name, one in messages.items() for example in one.get("examples", [])]
    assert len(examples) >= 10
    for name, example in examples:
        check(example["payload"], name)


def test_every_reference_has_its_place() -> None:
    text = json.dumps(DOCUMENT)
    for part in text.split('"$ref": "#/')[1:]:
        place: Any = DOCUMENT
        for step in part.partition('"')[0].split("/"):
            place = place[step]


def test_each_command_has_an_answer() -> None:
    commands = [one for one in DOCUMENT["operations"].values() if one["action"] == "receive"]
    assert len(commands) == 3
    for command in commands:
        reply = command["reply"]
        channel = DOCUMENT["channels"][reply["channel"]["$ref"].rpartition("/")[2]]
        assert reply["address"]["location"] == "$message.header#/responseTopic"
        assert (channel["address"], list(channel["messages"])) == (None, ["answer"])


def test_the_program_prints_it() -> None:
    command = [sys.executable, "-m", "wifimgrd.mqtt", "--asyncapi"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == DOCUMENT


async def test_what_is_published_fits_it(hub: Hub, seen: Observer) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    result = f"{HUB}/result"
    check(await seen.command(f"{HUB}/command", {"command": "scan"}, result), "answer")
    await hub.client.remove_device(device)
    await seen.until(lambda: any(b"device.removed" in one.payload for one in seen.seen(f"{HUB}/events")))
    for one in seen.messages:
        if one.topic.startswith("homeassistant/") and one.payload:
            check(json.loads(one.payload), "discovery_message")
        topic = one.topic.removeprefix(f"{HUB}/")
        if not one.payload or topic in {"command", "result"} or not one.topic.startswith(HUB):
            continue
        if topic in {"availability", "marker"}:
            check(one.payload.decode(), topic)
            continue
        value = json.loads(one.payload)
        kind = topic.partition("/")[0].removesuffix("s")
        check(value, f"event.{value['type']}" if topic == "events" else kind)
