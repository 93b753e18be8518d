"""AsyncAPI 3.0 (https://www.asyncapi.com/docs/reference/specification/v3.0.0) of the channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired, TypedDict

from tools.descriptions.json_schema import Schemas
from tools.descriptions.open_values import OPEN, open_values
from wifimgrd import __version__
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain.commands import CONNECT
from wifimgrd.http.channel.message_types import (
    ACTION_FAILED,
    COMMAND_FAILED,
    COMMANDS,
    DATA,
    ActionFailedJson,
    CommandFailedJson,
    SnapshotJson,
)
from wifimgrd.http.platform.squawk import ADDRESS as SQUAWK_ADDRESS
from wifimgrd.http.platform.squawk import MESSAGES as SQUAWK_MESSAGES

_ADDRESS: Final = "/ws/management/"
_SQUAWK: Final = "squawk"
_COMMAND: Final = "command"
_GROUP_COMMAND: Final = "group_command"
_SENT: Final = (_COMMAND, _GROUP_COMMAND)
_CONNECT: Final = next(kind for kind, command in COMMANDS.items() if command is CONNECT)
_UNNUMBERED: Final = frozenset({"device.signal"})
_ABOUT: Final = (
    "First a snapshot, then every event, numbered without gaps (`seq`) within one run of the service"
    " (`epoch`). A client that reconnects with `?since=EPOCH:SEQ` gets the events since then, or a"
    " snapshot if that is too old. One that does not read is closed with 1013 and may reconnect. A client"
    " may send commands; their results are events, a refusal is `command.failed`, only for that client, and"
    f" `{ACTION_FAILED}` if nothing else says why. {OPEN}"
)
_ABOUT_SQUAWK: Final = (
    "The same in the dialect of the platform's newest frontend: only statuses and refusals, without numbers."
    " `on_connect` comes first, and again when the list of devices has to be fetched."
)


class CommandJson(TypedDict):
    """A command of a client to connect or disconnect a device."""

    type: Annotated[str, Keywords(enum=list(COMMANDS))]
    device_connection_id: Annotated[
        int | str,
        "The device's id, as a number or as a text of digits.",
        Keywords(minimum=1, pattern="^[0-9]+$"),
    ]
    when_free: NotRequired[Annotated[bool, "For connect: the device waits for an adapter if none is free."]]


class GroupCommandJson(TypedDict):
    """A command of a client to connect the devices of a group."""

    type: Annotated[str, Keywords(const=_CONNECT)]
    group: Annotated[str, "The group's name.", Keywords(minLength=1)]
    partial: NotRequired[
        Annotated[bool, "If not every device can have an adapter, connect as many as possible."]
    ]


def asyncapi() -> dict[str, Any]:
    """The description of the management channel."""
    schemas = Schemas()
    messages = {"snapshot": _message("snapshot", schemas.of(SnapshotJson))}
    messages |= {kind: _message(kind, _event_schema(kind, schemas)) for kind in DATA}
    messages[COMMAND_FAILED] = _message(COMMAND_FAILED, schemas.of(CommandFailedJson))
    messages[ACTION_FAILED] = _message(ACTION_FAILED, schemas.of(ActionFailedJson))
    received = {kind: _name(kind) for kind in messages}
    messages[_COMMAND] = _message(_COMMAND, schemas.of(CommandJson))
    messages[_GROUP_COMMAND] = _message(_GROUP_COMMAND, schemas.of(GroupCommandJson))
    names = {kind: _name(kind) for kind in messages}
    dialect = {kind: _message(kind, schemas.of(payload)) for kind, payload in SQUAWK_MESSAGES.items()}
    dialect_names = {kind: _name(kind) for kind in dialect}
    document: dict[str, Any] = {
        "asyncapi": "3.0.0",
        "info": {"title": "wifimgrd, the management channel", "version": __version__, "description": _ABOUT},
        "defaultContentType": "application/json",
        "channels": {
            "management": {
                "address": _ADDRESS,
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names.values()},
                "bindings": {"ws": {"method": "GET", "query": _query(), "bindingVersion": "0.1.0"}},
            },
            _SQUAWK: {
                "address": SQUAWK_ADDRESS,
                "description": _ABOUT_SQUAWK,
                "messages": {
                    name: {"$ref": f"#/components/messages/{name}"}
                    for name in (*dialect_names.values(), *(names[kind] for kind in _SENT))
                },
                "bindings": {"ws": {"method": "GET", "bindingVersion": "0.1.0"}},
            },
        },
        "operations": {
            "receive": {
                "action": "send",
                "channel": {"$ref": "#/channels/management"},
                "summary": "Messages of the service: events for every client, refusals for one.",
                "messages": [
                    {"$ref": f"#/channels/management/messages/{name}"} for name in received.values()
                ],
            },
            "command": {
                "action": "receive",
                "channel": {"$ref": "#/channels/management"},
                "summary": "Messages of a client, at most 20 a second.",
                "messages": [{"$ref": f"#/channels/management/messages/{names[kind]}"} for kind in _SENT],
            },
            "receive_squawk": {
                "action": "send",
                "channel": {"$ref": f"#/channels/{_SQUAWK}"},
                "summary": "Messages of the service.",
                "messages": [
                    {"$ref": f"#/channels/{_SQUAWK}/messages/{name}"} for name in dialect_names.values()
                ],
            },
            "command_squawk": {
                "action": "receive",
                "channel": {"$ref": f"#/channels/{_SQUAWK}"},
                "summary": "Messages of a client, at most 20 a second.",
                "messages": [{"$ref": f"#/channels/{_SQUAWK}/messages/{names[kind]}"} for kind in _SENT],
            },
        },
        "components": {
            "messages": {_name(kind): message for kind, message in (messages | dialect).items()},
            "schemas": schemas.named,
        },
    }
    open_values(document, [messages, dialect], [messages.pop(kind) for kind in _SENT])
    return document


def _event_schema(kind: str, schemas: Schemas) -> dict[str, Any]:
    """The schema of an event: its envelope and its data."""
    properties: dict[str, Any] = {
        "type": {"type": "string", "const": kind},
        "seq": {"type": "integer", "minimum": 1, "description": "One more than that of the event before."},
        "time": {"type": "string", "format": "date-time"},
        "data": schemas.of(DATA[kind]),
    }
    if kind in _UNNUMBERED:
        del properties["seq"]
    return {"type": "object", "properties": properties, "required": list(properties)}


def _message(kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": kind, "title": kind, "payload": payload}


def _name(kind: str) -> str:
    return "".join(part.capitalize() for part in kind.replace("_", ".").split("."))


def _query() -> dict[str, Any]:
    since = {"type": "string", "description": "EPOCH:SEQ, the last event that the client received."}
    return {"type": "object", "properties": {"since": since}}
