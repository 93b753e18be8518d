"""The record of the hub itself, and all records by topic. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

from wifimgrd.client.json_members import JsonObject, members_of
from wifimgrd.client.json_text import dumps
from wifimgrd.domain.records import ServiceRecord

OF_SERVICE: Final = frozenset(
    {
        "version",
        "backend",
        "backend_state",
        "backend_reason",
        "total_interfaces",
        "assigned_interfaces",
    }
)
"""The fields of the service that the record has."""
_SERVICE: Final = tuple(one for one in members_of(ServiceRecord) if one.name in OF_SERVICE)


class HubRecordJson(JsonObject):
    """A hub: the state of its service."""

    members = MappingProxyType(
        {
            "hub": Annotated[str, "The hub's id, as in its topics."],
            **{one.name: one.type for one in _SERVICE},
            "epoch": Annotated[str, "That of the events now."],
            "commands": Annotated[bool, "Whether commands are carried out."],
        }
    )


def hub_json(hub: str, service: ServiceRecord, epoch: str, *, commands: bool) -> HubRecordJson:
    """The record of the hub."""
    of_service = {one.name: one.read(service) for one in _SERVICE}
    return HubRecordJson(hub=hub, **of_service, epoch=epoch, commands=commands)


def encoded(record: Mapping[str, object]) -> bytes:
    """A record as it is published."""
    return dumps(record).encode()
