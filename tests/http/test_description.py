"""The API's description: valid, complete, and what is really answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.http.conftest import START_S
from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.records import CameraRecord
from wifimgrd.http.channel.message_types import DATA
from wifimgrd.http.description.resource import PLATFORM, SCRIPT
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles._tile import TYPE_OF_FORMAT

ASYNCAPI_SCHEMA = Path("frontend/node_modules/@asyncapi/specs/schemas/3.0.0.json")


async def test_it_is_valid_openapi(served: Served) -> None:
    document = (await served.get("/openapi.json")).json
    assert document["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(document).validate()


async def test_with_a_token_it_describes_sessions_too() -> None:
    async with Served.start(FakeHub(), Settings(token="t")) as served:
        answer = await served.get("/openapi.json", headers={"Authorization": "Bearer t"})
        assert answer.status == 200
        paths = answer.json["paths"]
        assert {f"{P}/", f"{P}/{{id}}/", f"{P}/wifi/networks", "/tiles/{tileset}/{z}/{x}/{y}"} <= paths.keys()
        assert "/session" in paths
        assert paths["/healthz"]["get"]["security"] == []
        assert set(paths[f"{P}/wifi/connect"]) == {"get", "post"}
        ids = [one["operationId"] for path in paths.values() for one in path.values()]
        assert len(ids) == len(set(ids))


async def test_it_names_the_platform_and_the_script_of_the_page(served: Served) -> None:
    answer = await served.get("/openapi.json")
    paths = answer.json["paths"]
    assert f"{P}/" in paths
    asset = paths["/assets/{name}"]["get"]
    assert (await served.get(f"/assets/{asset['parameters'][0]['example']}")).status == 200
    async with Served.start(FakeHub(), Settings(platform="b.os")) as other:
        assert P.replace("platform_", "b.os_") + "/" in (await other.get("/openapi.json")).json["paths"]
    for marker in (PLATFORM, SCRIPT):
        assert marker not in answer.data.decode()


async def test_it_begins_with_devices_and_ends_with_the_page(served: Served) -> None:
    document = (await served.get("/openapi.json")).json
    operations = [one for methods in document["paths"].values() for one in methods.values()]
    assert operations[0]["operationId"] == "list_devices"
    order = [tag["name"] for tag in document["tags"]]
    assert [tag for tag, _ in groupby(one["tags"][0] for one in operations)] == order
    assert order[-1] == "page"
    assert [one["operationId"] for one in operations if "x-internal" in one] == ["asset"]


@pytest.mark.parametrize("name", TYPE_OF_FORMAT)
async def test_it_has_the_media_type_of_each_format_of_tiles(name: str, served: Served) -> None:
    paths = (await served.get("/openapi.json")).json["paths"]
    answer = paths["/tiles/{tileset}/{z}/{x}/{y}"]["get"]["responses"]["200"]
    assert TYPE_OF_FORMAT[name] in answer["content"]


async def test_no_answer_has_a_place_for_a_password(served: Served) -> None:
    document = (await served.get("/openapi.json")).json
    with_password = [name for name, schema in document["components"]["schemas"].items()
                     if "password" in schema.get("properties", {})]  # fmt: skip
    assert sorted(with_password) == ["SettingsChange", "SettingsInput"]
    for name in with_password:
        schema = document["components"]["schemas"][name]["properties"]["password"]
        assert schema["writeOnly"] is True


@pytest.fixture
def official_asyncapi() -> Any:
    """The specification's own schema, from npm."""
    return json.loads(ASYNCAPI_SCHEMA.read_text())


async def test_the_channel_is_described_as_asyncapi(served: Served, official_asyncapi: Any) -> None:
    document = (await served.get("/asyncapi.json")).json
    Draft202012Validator.check_schema(document["components"]["schemas"]["Device"])
    _validator(official_asyncapi).validate(document)


async def test_what_the_channel_sends_is_as_described(shim: Served, hub: HubClient) -> None:
    document = (await shim.get("/asyncapi.json")).json
    channel = await shim.channel()
    reported = [json.loads((await channel.receive()).data)]
    made = (await shim.post(P, json=_camera())).json["id"]
    await shim.get(f"{P}/wifi/connect?device_id={made}&wait=10")
    sleeping = (await shim.post(P, json=_sleeping_camera())).json["id"]
    await shim.post(f"{P}/bluetooth/search?seconds=1")
    await hub.wait_until(lambda hub: hub.devices[sleeping].connection_error_code is not None, START_S)
    await shim.post(f"{P}/{sleeping}/wake")
    await shim.get(f"{P}/wifi/disconnect?device_id={sleeping}")
    await shim.get(f"{P}/wifi/connect?device_id={sleeping}&wake=1&wait=30")
    await hub.wait_until(lambda hub: is_idle(hub.devices[sleeping].camera), START_S)
    for on in (True, False, True):
        assert (await shim.ask("PUT", f"{P}/{sleeping}/recording", json={"recording": on})).status == 200
    await shim.ask("DELETE", f"{P}/{sleeping}")  # the end of a take whose files are not waited for
    await hub.simulate("UnplugAdapter", "s", hub.devices[made].interface)
    await hub.simulate("PlugAdapter", "s", "wlan0")
    await hub.simulate("SetFault", "sa{sv}", "backend-gone", {})
    command = {"type": "command.device.device_connection.connect", "device_connection_id": 0}
    _check(document, command | {"device_connection_id": str(made)}, name="command")
    await channel.send_json(command)
    while reported[-1]["type"] != "command.failed":
        reported.append(json.loads((await channel.receive()).data))
    await shim.ask("DELETE", f"{P}/{made}")
    while reported[-1]["type"] != "device.removed":
        reported.append(json.loads((await channel.receive()).data))
    for message in reported:
        _check(document, message)
    kinds = {message["type"] for message in reported}
    assert kinds >= {"snapshot", *DATA.keys()} - {"device.signal", "tileset.updated"}


def is_idle(camera: CameraRecord | None) -> bool:
    """Whether a camera was read, and does not record."""
    return camera is not None and camera.recording_state == "idle"


def _check(document: Mapping[str, Any], message: Mapping[str, Any], name: str = "") -> None:
    [schema] = [
        one["payload"]
        for one in document["components"]["messages"].values()
        if one["name"] == (name or message["type"])
    ]
    _validator({**schema, "components": document["components"]}).validate(message)


def _validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema.validators import validator_for  # noqa: PLC0415

    return validator_for(schema, Draft202012Validator)(schema)


def _sleeping_camera() -> dict[str, Any]:
    settings = {"ssid": "X4 SIM360.OSC", "password": "insta-pass-1"}
    return {"codename": "insta360-x4", "connection_type": "wifi", "connection_settings": settings}


def _camera() -> dict[str, Any]:
    settings = {"ssid": "SIM-CAM-1", "password": "camera-pass-1"}
    return {"codename": "x", "connection_type": "wifi", "connection_settings": settings}
