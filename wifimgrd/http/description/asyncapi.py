"""AsyncAPI 3.0 (https://www.asyncapi.com/docs/reference/specification/v3.0.0) of the channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from wifimgrd import __version__
from wifimgrd.http.channel_types import DATA, UNNUMBERED, SnapshotJson
from wifimgrd.http.description.schema import Schemas

_ADDRESS: Final = "/ws/management/"
_ABOUT: Final = (
    "First a snapshot, then every event, numbered without gaps (`seq`) within one life of the service"
    " (`epoch`). Who was away asks for `?since=EPOCH:SEQ` and gets what it missed, or a fresh snapshot"
    " where that is too old. Who does not read is closed with 1013 and may come again."
)


def asyncapi() -> dict[str, Any]:
    """The description of the management channel."""
    schemas = Schemas()
    messages = {"snapshot": _message("snapshot", schemas.of(SnapshotJson))}
    messages |= {kind: _message(kind, event_schema(kind, schemas)) for kind in DATA}
    names = {kind: _name(kind) for kind in messages}
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "wifimgrd, the management channel", "version": __version__, "description": _ABOUT},
        "defaultContentType": "application/json",
        "channels": {
            "management": {
                "address": _ADDRESS,
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names.values()},
                "bindings": {"ws": {"method": "GET", "query": _query(), "bindingVersion": "0.1.0"}},
            }
        },
        "operations": {
            "receive": {
                "action": "send",
                "channel": {"$ref": "#/channels/management"},
                "summary": "What the service sends to every client.",
                "messages": [{"$ref": f"#/channels/management/messages/{name}"} for name in names.values()],
            }
        },
        "components": {
            "messages": {names[kind]: message for kind, message in messages.items()},
            "schemas": schemas.named,
        },
    }


def event_schema(kind: str, schemas: Schemas) -> dict[str, Any]:
    """The schema of an event: what is around its data, and the data."""
    properties: dict[str, Any] = {
        "type": {"type": "string", "const": kind},
        "seq": {"type": "integer", "minimum": 1, "description": "One more than that of the event before."},
        "time": {"type": "string", "format": "date-time"},
        "data": schemas.of(DATA[kind]),
    }
    if kind in UNNUMBERED:
        del properties["seq"]
    return {"type": "object", "properties": properties, "required": list(properties)}


def _message(kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": kind, "title": kind, "payload": payload}


def _name(kind: str) -> str:
    return "".join(part.capitalize() for part in kind.replace("_", ".").split("."))


def _query() -> dict[str, Any]:
    since = {"type": "string", "description": "EPOCH:SEQ, the last event that the client saw."}
    return {"type": "object", "properties": {"since": since}}
