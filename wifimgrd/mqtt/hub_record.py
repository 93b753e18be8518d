"""The record of the hub itself, and all records by topic. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypedDict

from wifimgrd.client.json_text import dumps
from wifimgrd.client.json_types import Keywords
from wifimgrd.client.records import ServiceRecord
from wifimgrd.domain.events import BackendState

_STATES: Final = [one.value for one in BackendState]


class HubRecordJson(TypedDict):
    """A hub: the state of its service."""

    hub: Annotated[str, "The hub's id, as in its topics."]
    version: Annotated[str, "Of wifimgrd; empty if it was never available."]
    backend: Annotated[str, "`networkmanager`, `wpa_supplicant` or `simulated`."]
    backend_state: Annotated[str, Keywords(enum=_STATES)]
    backend_reason: Annotated[str, "Why it is not ready, as a sentence; empty if it is ready."]
    total_interfaces: int
    assigned_interfaces: int
    epoch: Annotated[str, "That of the events now."]
    commands: Annotated[bool, "Whether commands are carried out."]


def hub_json(hub: str, service: ServiceRecord, epoch: str, *, commands: bool) -> HubRecordJson:
    """The record of the hub."""
    return {
        "hub": hub,
        "version": service.version,
        "backend": service.backend,
        "backend_state": service.backend_state,
        "backend_reason": service.backend_reason,
        "total_interfaces": service.total_interfaces,
        "assigned_interfaces": service.assigned_interfaces,
        "epoch": epoch,
        "commands": commands,
    }


def encoded(record: Mapping[str, Any]) -> bytes:
    """A record as it is published."""
    return dumps(record).encode()
