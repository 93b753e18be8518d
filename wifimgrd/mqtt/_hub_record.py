"""The record of the hub itself, and all records by topic. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Final

from wifimgrd.client.json_members import JsonObject, members_of
from wifimgrd.client.json_text import dumps
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain import sentences
from wifimgrd.domain.camera_state import is_recording
from wifimgrd.domain.check import check_rig
from wifimgrd.domain.records import DeviceRecord, ServiceRecord

_OF_SERVICE: Final = frozenset(
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
_SERVICE: Final = tuple(one for one in members_of(ServiceRecord) if one.name in _OF_SERVICE)


class HubRecordJson(JsonObject):
    """A hub: the state of its service."""

    members = MappingProxyType(
        {
            "hub": Annotated[str, "The hub's id, as in its topics."],
            **{one.name: one.type for one in _SERVICE},
            "recording_devices": Annotated[int, "How many cameras record.", Keywords(minimum=0)],
            "expected_devices": Annotated[
                int, "How many expected cameras the hub has a driver for: the rig.", Keywords(minimum=0)
            ],
            "expected_recording_devices": Annotated[int, "How many of those record.", Keywords(minimum=0)],
            "ready": Annotated[
                bool,
                "Whether the rig is ready: devices are expected, and each is connected, answers and has"
                " no problem.",
            ],
            "ready_message": Annotated[str, "The same as a sentence for people, and what stands in the way."],
            "epoch": Annotated[str, "That of the events now."],
            "commands": Annotated[bool, "Whether commands are carried out."],
            "page": Annotated[str, "The address of its page, where others are known to reach it."] | None,
        }
    )


def hub_json(
    hub: str,
    service: ServiceRecord,
    epoch: str,
    *,
    commands: bool,
    devices: Iterable[DeviceRecord] = (),
    page: str = "",
    is_away: bool = False,
) -> HubRecordJson:
    """The record of the hub with these `devices`; `page` is the address of its page, empty if none is known
    that others reach; `is_away`: its daemon is."""
    of_service = {one.name: one.read(service) for one in _SERVICE}
    devices = tuple(devices)
    checked = check_rig(devices)
    driven = [one for one in devices if one.camera is not None]
    expected = [one for one in driven if one.expected]
    return HubRecordJson(
        hub=hub,
        **of_service,
        recording_devices=sum(map(is_recording, driven)),
        expected_devices=len(expected),
        expected_recording_devices=sum(map(is_recording, expected)),
        ready=checked.ok and not is_away,
        ready_message=sentences.HUB_AWAY if is_away else checked.sentence,
        epoch=epoch,
        commands=commands,
        page=page or None,
    )


def encoded(record: Mapping[str, object]) -> bytes:
    """A record as it is published."""
    return dumps(record).encode()
