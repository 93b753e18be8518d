"""AsyncAPI 3.0 (https://www.asyncapi.com/docs/reference/specification/v3.0.0) of a hub's topics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, NotRequired, TypedDict

from tools.descriptions.examples import TAKE_EXAMPLE
from tools.descriptions.json_schema import Schemas
from tools.descriptions.open_values import OPEN, open_values
from wifimgrd import __version__
from wifimgrd.client.channel_messages import DATA, POWER, STATUS
from wifimgrd.client.json_members import (
    DeviceJson,
    InterfaceJson,
    NetworkJson,
    OutcomeJson,
    PowerStateJson,
    ResultJson,
)
from wifimgrd.client.json_records import connection_status_json, device_json, interface_json
from wifimgrd.client.json_types import Id, Keywords
from wifimgrd.domain.commands import DEVICE_COMMANDS
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.records import (
    CameraRecord,
    DeviceRecord,
    InterfaceRecord,
    ResultRecord,
    ServiceRecord,
)
from wifimgrd.http.api.body_types import RecordingOfManyInput
from wifimgrd.mqtt._command_messages import OF_EVERYONE, OF_HUB, PAYLOAD_TOO_LARGE
from wifimgrd.mqtt._discovery import Discovery, DiscoveryRecordJson
from wifimgrd.mqtt._events import LEFT_OUT
from wifimgrd.mqtt._hub_record import HubRecordJson, hub_json
from wifimgrd.mqtt._topics import Topics

_CODES: Final = sorted({*(one.value for one in ErrorCode), PAYLOAD_TOO_LARGE})
_EPOCH: Final = "5f1d0c7be2a94830"
_ABOUT: Final = (
    "The topics below `PREFIX/HUB`, of one hub. Retained records are those of the HTTP API. Commands are"
    " answered at MQTT 5's response topic, with its correlation data, otherwise at `result`. Discovery"
    f" messages are those of Home Assistant's MQTT integration. {OPEN}"
)


_MOST_OPTIONS: Final = max(len(one.options) + len(one.texts) for one in DEVICE_COMMANDS.values())


class ClaimJson(TypedDict):
    """Which process publishes as this hub."""

    instance: Annotated[str, Keywords(pattern="^[0-9a-f]{16}$")]
    challenge: Annotated[bool, "A request to the holder of the claim to publish it again."]


class DeviceCommandJson(TypedDict):
    """A command to one device."""

    command: Annotated[str, Keywords(enum=list(DEVICE_COMMANDS))]
    options: NotRequired[
        Annotated[
            dict[str, bool],
            "`wait`; for connect also `when_free` and `wake`, for pair `address`, a text: as on D-Bus.",
            Keywords(maxProperties=_MOST_OPTIONS, properties={"address": {"type": "string"}}),
        ]
    ]


class HubCommandJson(TypedDict):
    """A command to the hub."""

    command: Annotated[str, Keywords(enum=list(OF_HUB))]
    options: NotRequired[
        Annotated[
            dict[str, Any],
            "For create as `CreateDevice` on D-Bus has them; for scan `interface`; for record `recording`,"
            " and `device_ids` or `all`, for connect `group` and `partial`, as over HTTP.",
        ]
    ]


class EveryoneCommandJson(TypedDict):
    """A command to all cameras together."""

    command: Annotated[str, Keywords(enum=list(OF_EVERYONE))]
    options: RecordingOfManyInput


class AnswerJson(TypedDict):
    """The answer to a command."""

    command: Annotated[str, "As it was sent, if it could be read."] | None
    device_id: Id | None
    ok: bool
    code: Annotated[str, "Why it failed.", Keywords(enum=_CODES)] | None
    message: Annotated[str, "A sentence for people."]
    results: NotRequired[
        Annotated[
            list[ResultJson] | list[OutcomeJson],
            "Of record: one for each camera. Of connect with a group: one for each of its devices.",
        ]
    ]
    networks: NotRequired[Annotated[list[NetworkJson], "Of scan: the strongest first."]]
    scanned_interfaces: NotRequired[list[str]]
    skipped_interfaces: NotRequired[dict[str, str]]


_REPLY: Final = {
    "address": {
        "location": "$message.header#/responseTopic",
        "description": "MQTT 5's response topic. Without one the answer is at `result`.",
    },
    "channel": {"$ref": "#/channels/response"},
}
_NODE: Final = "{discovery_prefix}/device/wifimgrd_{hub}"
_HOME_ASSISTANT: Final = "https://www.home-assistant.io/integrations/mqtt/#device-discovery-payload"


def asyncapi() -> dict[str, Any]:
    """The description of a hub's topics, with an example of each message."""
    schemas = Schemas()
    messages = _messages(schemas)
    retained = {"mqtt": {"qos": 1, "retain": True, "bindingVersion": "0.2.0"}}
    plain = {"mqtt": {"qos": 1, "retain": False, "bindingVersion": "0.2.0"}}
    sent = {
        "availability": ("availability", ["availability"], retained),
        "hub": ("hub", ["hub"], retained),
        "device": ("devices/{device_id}", ["device"], retained),
        "interface": ("interfaces/{name}", ["interface"], retained),
        "claim": ("claim", ["claim"], retained),
        "marker": ("marker", ["marker"], plain),
        "discovery": ("discovery", ["discovery"], retained),
        "hub_discovery": (f"{_NODE}_hub/config", ["discovery_message"], retained),
        "device_discovery": (f"{_NODE}_{{device_id}}/config", ["discovery_message"], retained),
        "events": ("events", [name for name in messages if name.startswith("event.")], plain),
        "device_result": ("devices/{device_id}/result", ["answer"], plain),
        "result": ("result", ["answer"], plain),
        "everyone_result": ("devices/all/result", ["answer"], plain),
    }
    received = {
        "device_command": ("devices/{device_id}/command", ["device_command"], plain),
        "command": ("command", ["hub_command"], plain),
        "everyone_command": ("devices/all/command", ["everyone_command"], plain),
    }
    channels = {name: _channel(topic, names) for name, (topic, names, _) in (sent | received).items()}
    channels["response"] = {"address": None, "messages": channels["result"]["messages"]}
    operations = {
        f"{'receive' if name in received else 'send'}_{name}": {
            "action": "receive" if name in received else "send",
            "channel": {"$ref": f"#/channels/{name}"},
            "bindings": bindings,
            **({"reply": _REPLY} if name in received else {}),
        }
        for name, (_, _, bindings) in (sent | received).items()
    }
    document: dict[str, Any] = {
        "asyncapi": "3.0.0",
        "info": {"title": "wifimgrd, MQTT", "version": __version__, "description": _ABOUT},
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas.named},
    }
    commands = [name for _, names, _ in received.values() for name in names]
    published = [message for name, message in messages.items() if name not in commands]
    open_values(document, published, [messages[name] for name in commands])
    return document


def _channel(topic: str, names: list[str]) -> dict[str, Any]:
    address = topic if topic.startswith(_NODE) else f"{{prefix}}/{{hub}}/{topic}"
    about = {
        "discovery_prefix": "`[mqtt] discovery_prefix`, `homeassistant` by default.",
        "prefix": "`[mqtt] prefix`, `wifimgrd` by default.",
        "hub": "`[mqtt] hub`, derived from the machine id by default.",
        "device_id": "The device's id, in decimal.",
        "name": "The interface's name; `%`, `+`, `#`, `/` and all but ASCII are escaped as in a URL.",
    }
    parameters = {name: {"description": text} for name, text in about.items() if f"{{{name}}}" in address}
    return {
        "address": address,
        "parameters": parameters,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
    }


def _messages(schemas: Schemas) -> dict[str, Any]:
    device = replace(
        DeviceRecord(3),
        name="Front",
        codename="insta360-x3",
        ssid=b"X3 AB12.OSC",
        state="connected",
        interface="wlan1",
        auto_wake=False,
        camera=CameraRecord(battery_level=84, recording_state="recording", recording_requested=True),
    )
    interface = replace(InterfaceRecord("wlan1"), state="in-use", device_id=3)
    service = ServiceRecord(
        __version__, "networkmanager", backend_state="ready", total_interfaces=2, assigned_interfaces=1
    )
    hub = hub_json("a1b2c3d4e5f6", service, _EPOCH, commands=True, page="https://192.0.2.7:8443/")
    answered = {"command": "connect", "device_id": 3, "ok": True, "code": None, "message": "connecting"}
    refused = answered | {"ok": False, "code": "busy", "message": "Front is disconnecting"}
    results = [
        ResultRecord(device_id=3, done=True, after=132_000),
        ResultRecord(device_id=4, done=False, code="not-connected", message="the device is disconnected"),
    ]
    recorded = answered | {"command": "record", "device_id": None, "message": "1 of 2 done"}
    recorded |= {"results": list(map(ResultJson.of, results))}
    failed = {"id": 3, "operation": "wake", "code": "wake-failed", "message": "the camera did not wake"}
    plain: dict[str, tuple[Any, list[Any]]] = {
        "hub": (HubRecordJson, [hub]),
        "device": (DeviceJson, [device_json(device)]),
        "interface": (InterfaceJson, [interface_json(interface)]),
        "discovery": (DiscoveryRecordJson, [{"prefix": "homeassistant"}]),
        "claim": (ClaimJson, [{"instance": _EPOCH, "challenge": False}]),
        "device_command": (DeviceCommandJson, [{"command": "connect", "options": {"wait": True}}]),
        "hub_command": (HubCommandJson, [_CREATE, {"command": "scan"}, _RECORD]),
        "everyone_command": (EveryoneCommandJson, [_RECORD]),
        "answer": (AnswerJson, [answered, refused, recorded]),
    }
    states = {"type": "string", "enum": ["online", "offline"]}
    messages = {"availability": _message("availability", states, ["online"], content_type="text/plain")}
    marker = {
        "type": "string",
        "pattern": "^[0-9a-f]{16}$",
        "description": "The bridge's own: what the broker retains arrives before it.",
    }
    messages["marker"] = _message("marker", marker, [_EPOCH], content_type="text/plain")
    messages |= {name: _message(name, schemas.of(kind), examples) for name, (kind, examples) in plain.items()}
    examples: dict[str, list[Any]] = {
        STATUS: [_event(STATUS, connection_status_json(device))],
        "device.created": [_event("device.created", device_json(device))],
        "device.removed": [_event("device.removed", {"id": 3})],
        POWER: [_event(POWER, PowerStateJson.of(replace(device, power_state="asleep")))],
        "device.recording.stopped": [_event("device.recording.stopped", {"id": 3, "reason": "full"})],
        "device.operation.failed": [_event("device.operation.failed", failed)],
        "take.ended": [_event("take.ended", TAKE_EXAMPLE)],
    }
    messages["discovery_message"] = _discovery_message(device, interface)
    for kind in (one for one in DATA if one not in LEFT_OUT):
        schema = _event_schema(kind, schemas)
        messages[f"event.{kind}"] = _message(kind, schema, examples.get(kind, []))
    return dict(sorted(messages.items()))


_CREATE: Final = {
    "command": "create",
    "options": {"codename": "insta360-x3", "connection_type": "wifi", "ssid": "X3 AB12.OSC", "password": ""},
}

_RECORD: Final = {"command": "record", "options": {"recording": True, "device_ids": [3, 4]}}


def _discovery_message(device: DeviceRecord, interface: InterfaceRecord) -> dict[str, Any]:
    component = {"type": "object", "required": ["platform"], "properties": {"platform": {"type": "string"}}}
    members = {
        "device": {"type": "object", "required": ["identifiers", "name"]},
        "origin": {"type": "object", "required": ["name"]},
        "components": {"type": "object", "additionalProperties": component},
    }
    schema = {
        "description": f"A device with its entities, as in {_HOME_ASSISTANT}",
        "type": "object",
        "required": list(members),
        "properties": members,
    }
    discovery = Discovery(Topics("wifimgrd", "a1b2c3d4e5f6"), "homeassistant", commands=True)
    sent = [discovery.hub(__version__, [interface.name], records=True), discovery.camera(device)]
    return _message("discovery_message", schema, [json.loads(payload) for _, payload in sent])


def _event(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": kind, "epoch": _EPOCH, "seq": 17, "time": "2026-11-22T19:00:00.000000Z", "data": data}


def _event_schema(kind: str, schemas: Schemas) -> dict[str, Any]:
    properties = {
        "type": {"type": "string", "const": kind},
        "epoch": {"type": "string", "description": "Identifies one run of the bridge."},
        "seq": {"type": "integer", "minimum": 1, "description": "One more than that of the event before."},
        "time": {"type": "string", "format": "date-time"},
        "data": schemas.of(DATA[kind]),
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _message(
    name: str, schema: Mapping[str, Any], examples: list[Any], content_type: str = "application/json"
) -> dict[str, Any]:
    message = {"name": name, "title": name, "contentType": content_type, "payload": schema}
    return message | ({"examples": [{"payload": one} for one in examples]} if examples else {})
