"""The examples in `/openapi.json`: each fits its schema, and is what is sent and answered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import pytest
from jsonschema import Draft202012Validator

from tests.http.conftest import START_S
from tests.http.fake_hub import FakeHub
from tests.http.served import Answer, Served
from tests.http.tiles.making import pyramid, write_folder
from tests.http.tiles.map.conftest import write_map
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tools.descriptions.examples import EXAMPLES
from wifimgrd.client.hub import HubClient
from wifimgrd.config.configuration import Map, TileSource
from wifimgrd.config.web_address import web_socket_address
from wifimgrd.domain.commands import CONNECT, PAIR, STOP_RECORDING
from wifimgrd.domain.records import CameraRecord
from wifimgrd.http.settings import Fleet, Settings

pytestmark = pytest.mark.slow

TOKEN: Final = EXAMPLES["create_session"].body["token"]
BEARER: Final = {"Authorization": f"Bearer {TOKEN}"}
SWITCHING_PROTOCOLS: Final = 101
FIRST: Final = ("create_device",)
LAST: Final = (
    *("set_clock", "record", "record_on_many", "wake", "sleep", "pair", "unpair"),
    *("recover", "remove_device"),
)
ELSEWHERE: Final = "relay"
"""Simulated cameras have no network: tests/http/relay sends these."""


@dataclass(frozen=True, slots=True)
class Documented:
    """An operation as the description has it."""

    name: str
    method: str
    path: str
    details: Mapping[str, Any]

    @property
    def status(self) -> int:
        """That of the main answer."""
        return int(next(iter(self.details["responses"])))

    @property
    def content(self) -> Mapping[str, Mapping[str, Any]]:
        """The main answer's, by media type."""
        found: Mapping[str, Mapping[str, Any]] = self.details["responses"][str(self.status)].get(
            "content", {}
        )
        return found

    @property
    def address(self) -> str:
        """With the examples of what is required."""
        path, query = self.path, {}
        for one in self.details.get("parameters", []):
            if one["in"] == "path":
                path = path.replace(f"{{{one['name']}}}", quote(str(one["example"])))
            elif one["required"]:
                query[one["name"]] = one["example"]
        return f"{path}?{urlencode(query)}" if query else path

    @property
    def body(self) -> Any:
        """The example of the request's body."""
        content = self.details.get("requestBody", {}).get("content", {})
        return content["application/json"]["example"] if content else None


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """All that an example is about: a token, a broker, a tileset, and the platform's map."""
    folder = write_map(tmp_path)
    terrain = write_folder(tmp_path / "terrain", pyramid(1), name="World", bounds=[-10, -20, 30, 40])
    return Settings(
        token=TOKEN,
        fleet=Fleet(web_socket_address("wss://broker.example"), "wifimgrd"),
        tile_sources=(TileSource("terrain", "folder", terrain),),
        map=Map(
            tiles=folder / "world.pmtiles",
            contours=folder / "contours.pmtiles",
            resources=folder / "resources",
        ),
    )


@pytest.fixture
async def daemon(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """With the examples' group."""
    configuration, state = tmp_path / "wifimgrd.toml", tmp_path / "state"
    configuration.write_text('[[connect.group]]\nname = "nose"\ndevices = [1]\n')
    state.mkdir()
    arguments = ("--simulate", "--config", str(configuration))
    async with running_hub(message_bus.address, state, *arguments) as hub:
        yield hub


async def description(shim: Served) -> Mapping[str, Any]:
    answer = await shim.get("/openapi.json", headers=BEARER)
    assert answer.status == 200, answer.data
    document: Mapping[str, Any] = answer.json
    return document


def operations(document: Mapping[str, Any]) -> list[Documented]:
    """Every operation, in an order in which all can be used."""
    found = [
        Documented(details["operationId"], method.upper(), path, details)
        for path, methods in document["paths"].items()
        for method, details in methods.items()
    ]
    return sorted(
        found, key=lambda one: LAST.index(one.name) + 1 if one.name in LAST else -(one.name in FIRST)
    )


async def sent(shim: Served, one: Documented) -> Answer:
    """What is answered to an example."""
    if one.status == SWITCHING_PROTOCOLS:
        await (await shim.channel(one.address, headers=BEARER)).close()
        return Answer(SWITCHING_PROTOCOLS, {}, b"")
    options = {"headers": BEARER} if one.body is None else {"headers": BEARER, "json": one.body}
    if "text/event-stream" in one.content:
        async with shim.session.request(one.method, shim.url + one.address, **options) as stream:
            return Answer(stream.status, stream.headers, await stream.content.readuntil(b"\n\n"))
    return await shim.ask(one.method, one.address, **options)


async def all_sent(shim: Served, hub: HubClient) -> list[tuple[Documented, Answer]]:
    """Every example but those for cameras themselves, and its answer."""
    answers = []
    for one in operations(await description(shim)):
        if one.name.startswith(ELSEWHERE):
            continue
        if one.name == "recover":  # which needs a connected camera
            await hub.command_device(CONNECT, 1, wait_s=START_S)
        answers.append((one, await sent(shim, one)))
        if one.name in FIRST:
            await hub.wait_until(lambda hub: hub.devices[1].state == "connected", START_S)
            await register_paired(hub)
        if one.name == "record_on_many":  # a camera that records is not put to sleep
            await hub.command_device(STOP_RECORDING, 2)
        if one.name == "sleep":
            await hub.wait_until(lambda hub: hub.devices[2].power_state == "asleep", START_S)
    return answers


async def register_paired(hub: HubClient) -> None:
    """Device 2 of the examples, which is paired and connected, and was read."""
    network = {"ssid": "GP25140001", "password": "gopro-pass-1"}
    device = await hub.create_device({"codename": "gopro-hero12", "connection_type": "wifi"} | network)
    await hub.wait_until(lambda hub: hub.devices[device].connection_error_code is not None, START_S)
    await hub.command_device(PAIR, device, wait_s=START_S)
    await hub.command_device(CONNECT, device, wait_s=START_S)
    await hub.wait_until(lambda hub: is_idle(hub.devices[device].camera), START_S)


def is_idle(camera: CameraRecord | None) -> bool:
    """Whether a camera was read, and does not record."""
    return camera is not None and camera.recording_state == "idle"


def missing(example: Any, answer: Any, where: str) -> list[str]:
    """What an example has and the answer has not: members, by their place."""
    if isinstance(example, dict) and isinstance(answer, dict):
        found = []
        for name, value in example.items():
            inside = f"{where}.{name}"
            found += missing(value, answer[name], inside) if name in answer else [inside]
        return found
    if isinstance(example, list) and isinstance(answer, list) and example and answer:
        # An answer has others beside that of the example, not all with each optional member.
        return min((missing(example[0], one, f"{where}[]") for one in answer), key=len)
    return []


def schema_faults(document: Mapping[str, Any], schema: Mapping[str, Any], value: Any) -> list[str]:
    validator = Draft202012Validator({**schema, "components": document["components"]})
    return [fault.message for fault in validator.iter_errors(value)]


async def test_each_example_is_answered_with_the_status_of_its_description(
    shim: Served, hub: HubClient
) -> None:
    answers = await all_sent(shim, hub)
    assert len(answers) > 30
    assert {one.name: answer.status for one, answer in answers} == {
        one.name: one.status for one, _ in answers
    }


async def test_what_an_example_shows_is_in_the_answer(shim: Served, hub: HubClient) -> None:
    absent = []
    for one, answer in await all_sent(shim, hub):
        for media_type, content in one.content.items():
            example = content.get("example")
            if media_type == "text/plain" and example is not None:
                lines = answer.data.decode().splitlines()
                absent += [f"{one.name}: {line}" for line in example.splitlines() if line not in lines]
            elif media_type == "application/json" and example is not None:
                absent += missing(example, answer.json, one.name)
    assert absent == []


async def test_every_example_fits_its_schema(settings: Settings) -> None:
    async with Served.start(FakeHub(), settings) as served:
        document = await description(served)
    faults, checked = [], 0
    for one in operations(document):
        parts = [
            *one.details.get("parameters", []),
            *one.details.get("requestBody", {}).get("content", {}).values(),
        ]
        for status, answer in one.details["responses"].items():
            if int(status) < 300:
                parts += answer.get("content", {}).values()
        for part in parts:
            if "example" in part:
                checked += 1
                faults += [
                    f"{one.name}: {fault}"
                    for fault in schema_faults(document, part.get("schema", {}), part["example"])
                ]
    assert faults == []
    assert checked > 60


async def test_every_parameter_body_and_main_answer_has_an_example(settings: Settings) -> None:
    async with Served.start(FakeHub(), settings) as served:
        document = await description(served)
    without = []
    for one in operations(document):
        given = [
            *one.details.get("parameters", []),
            *one.details.get("requestBody", {}).get("content", {}).values(),
        ]
        without += [f"{one.name}: {json.dumps(part)}" for part in given if "example" not in part]
        for media_type, content in one.content.items():
            elsewhere = content.get("examples", {}).get("example", {}).get("externalValue")
            if "example" not in content and elsewhere != one.address:
                without.append(f"{one.name}: {media_type}")
    assert without == []


def test_a_wrong_example_is_found() -> None:
    document = {"components": {"schemas": {"A": {"type": "object", "required": ["b"]}}}}
    assert schema_faults(document, {"$ref": "#/components/schemas/A"}, {}) == ["'b' is a required property"]
    assert missing({"a": [{"b": 1, "c": None}]}, {"a": [{"b": 2}]}, "x") == ["x.a[].c"]
