"""Parses the records that hubs publish. Pure; whatever the broker passes on is checked: types, sizes, states.

A member that is missing has its default, and an unknown one is ignored, since the hubs of one broker may
have different versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

from wifimgrd.client.json_text import loads
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.fields import BoundField, Kind, Record, fields_of
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.records import CameraRecord, DeviceRecord, InterfaceRecord, ResultRecord, ServiceRecord
from wifimgrd.mqtt.hub_record import OF_SERVICE
from wifimgrd.wire.kinds import FORMS, RecordError, read_flag, read_number, read_text

LARGEST_RECORD: Final = 64 * 1024
"""Octets of a record."""
_CODE: Final = re.compile(r"[a-z][a-z-]{0,63}")

_Record = TypeVar("_Record", bound=Record)


@dataclass(frozen=True, slots=True)
class HubRecord:
    """What a hub publishes about itself."""

    service: ServiceRecord = field(default_factory=ServiceRecord)
    epoch: str = ""
    """Of its events."""
    commands: bool = False
    """Whether it carries out commands."""
    page: str = ""
    """The address of its page; empty where none is known."""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """A hub's answer to a command."""

    command: str
    device_id: int | None
    code: str | None
    """Why it failed; None = it succeeded."""
    message: str
    results: tuple[ResultRecord, ...] = ()
    """Of a command to several cameras: what it has done at each."""


def parse_device(payload: bytes, device_id: int) -> DeviceRecord:
    """The record of that device; raises RecordError."""
    device = _record(DeviceRecord, _members(payload))
    if device.id != device_id:
        raise RecordError("it is of another device")
    return device


def parse_interface(payload: bytes) -> InterfaceRecord:
    """The record of an interface; raises RecordError."""
    return _record(InterfaceRecord, _members(payload))


def parse_hub(payload: bytes, hub_id: str) -> HubRecord:
    """The record of that hub; raises RecordError."""
    members = _members(payload)
    if members.get("hub", hub_id) != hub_id:
        raise RecordError("it is of another hub")
    epoch, commands = read_text(members.get("epoch", "")), read_flag(members.get("commands", False))
    page = read_text(members.get("page") or "")
    return HubRecord(_record(ServiceRecord, members), epoch, commands, page)


def parse_answer(payload: bytes) -> CommandAnswer:
    """A hub's answer to a command; raises RecordError."""
    members = _members(payload)
    device_id, code = members.get("device_id"), members.get("code")
    if read_flag(members.get("ok")) != (code is None):
        raise RecordError("ok and code contradict each other")
    return CommandAnswer(
        read_text(members.get("command") or ""),
        None if device_id is None else read_number(device_id),
        None if code is None else _code(code),
        read_text(members.get("message", "")),
        _results(members.get("results", [])),
    )


def _results(value: object) -> tuple[ResultRecord, ...]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise RecordError("results is no list of objects")
    return tuple(_record(ResultRecord, one) for one in value)


def _members(payload: bytes) -> Mapping[str, object]:
    if len(payload) > LARGEST_RECORD:
        raise RecordError(f"it is over {LARGEST_RECORD // 1024} kB")
    try:
        value = loads(payload, "it")
    except InvalidRequest as error:
        raise RecordError(error.message) from None
    if not isinstance(value, dict):
        raise RecordError("it is no object")
    return value


def _code(value: object) -> str:
    if not isinstance(value, str) or not _CODE.fullmatch(value):
        raise RecordError("not a code")
    return value


def _record(kind: type[_Record], members: Mapping[str, object]) -> _Record:
    values: dict[str, Any] = {}
    for one in _FIELDS[kind]:
        outer, dot, inner = one.json_name.partition(".")
        value = members.get(outer, _ABSENT)
        if dot and value is not _ABSENT:
            if not isinstance(value, dict):
                raise RecordError(f"{outer} is no object")
            value = value.get(inner, _ABSENT)
        if value is _ABSENT or (value is None and _may_be_null(one)):
            continue
        if one.field.kind is Kind.RECORD and one.records is not None:
            if not isinstance(value, dict):
                raise RecordError(f"{one.json_name} is no object")
            values[one.name] = _record(one.records, value)
            continue
        try:
            values[one.name] = FORMS[one.field.kind].of_json(value)
        except RecordError as error:
            raise RecordError(f"{one.json_name}: {error}") from None
        if one.name == "state" and value not in _STATES[kind]:
            raise RecordError(f"{one.json_name} is none that is known")
    try:
        return kind(**values)
    except TypeError:
        raise RecordError("it does not say of what it is") from None


def _may_be_null(one: BoundField) -> bool:
    return one.is_nullable or one.field.while_connected or one.field.kind is Kind.OFFSET


_ABSENT: Final = object()
_FIELDS: Final[Mapping[type[Record], tuple[BoundField, ...]]] = MappingProxyType(
    {kind: fields_of(kind) for kind in (DeviceRecord, CameraRecord, InterfaceRecord, ResultRecord)}
    | {ServiceRecord: tuple(one for one in fields_of(ServiceRecord) if one.name in OF_SERVICE)}
)
_STATES: Final[Mapping[type[Record], frozenset[str]]] = MappingProxyType(
    {DeviceRecord: frozenset(DeviceState), InterfaceRecord: frozenset(InterfaceState)}
)
