"""Parses the records that hubs publish. Pure; whatever the broker passes on is checked: types, sizes, states.

A member that is missing has its default, and an unknown one is ignored, since the hubs of one broker may
have different versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, TypeVar

from wifimgrd.client.json_text import loads
from wifimgrd.client.records import ServiceRecord
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.records import BoundField, DeviceRecord, InterfaceRecord, Kind, fields_of

LARGEST_RECORD: Final = 64 * 1024
"""Octets of a record."""
_LONGEST_TEXT: Final = 2048
_LONGEST_SSID: Final = 32
"""Octets (IEEE 802.11, 9.4.2.2)."""
_LONGEST_LIST: Final = 64
_LARGEST: Final = 2**63 - 1
_CODE: Final = re.compile(r"[a-z][a-z-]{0,63}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""Times from the epoch until then can be shown in every zone."""

_Record = TypeVar("_Record", DeviceRecord, InterfaceRecord)


class RecordError(Exception):
    """A message that is no record of its topic."""


@dataclass(frozen=True, slots=True)
class HubRecord:
    """What a hub publishes about itself."""

    service: ServiceRecord = field(default_factory=ServiceRecord)
    epoch: str = ""
    """Of its events."""
    commands: bool = False
    """Whether it carries out commands."""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """A hub's answer to a command."""

    command: str
    device_id: int | None
    code: str | None
    """Why it failed; None = it succeeded."""
    message: str


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
    service = ServiceRecord(
        version=_text(members.get("version", "")),
        backend=_text(members.get("backend", "")),
        backend_state=_text(members.get("backend_state", "")),
        backend_reason=_text(members.get("backend_reason", "")),
        total_interfaces=_number(members.get("total_interfaces", 0)),
        assigned_interfaces=_number(members.get("assigned_interfaces", 0)),
    )
    return HubRecord(service, _text(members.get("epoch", "")), _flag(members.get("commands", False)))


def parse_answer(payload: bytes) -> CommandAnswer:
    """A hub's answer to a command; raises RecordError."""
    members = _members(payload)
    device_id, code = members.get("device_id"), members.get("code")
    if _flag(members.get("ok")) != (code is None):
        raise RecordError("ok and code contradict each other")
    return CommandAnswer(
        _text(members.get("command") or ""),
        None if device_id is None else _number(device_id),
        None if code is None else _code(code),
        _text(members.get("message", "")),
    )


def _members(payload: bytes) -> Mapping[str, Any]:
    if len(payload) > LARGEST_RECORD:
        raise RecordError(f"it is over {LARGEST_RECORD // 1024} kB")
    try:
        value = loads(payload, "it")
    except InvalidRequest as error:
        raise RecordError(error.message) from None
    if not isinstance(value, dict):
        raise RecordError("it is no object")
    return value


def _record(kind: type[_Record], members: Mapping[str, Any]) -> _Record:
    values = {}
    for one in _FIELDS[kind]:
        outer, dot, inner = one.json_name.partition(".")
        value = members.get(outer, _ABSENT)
        if dot and value is not _ABSENT:
            if not isinstance(value, dict):
                raise RecordError(f"{outer} is no object")
            value = value.get(inner, _ABSENT)
        if value is _ABSENT or (value is None and (one.is_nullable or one.field.while_connected)):
            continue
        try:
            values[one.name] = _READERS[one.field.kind](value)
        except RecordError as error:
            raise RecordError(f"{one.json_name}: {error}") from None
        if one.name == "state" and value not in one.field.keywords["enum"]:
            raise RecordError(f"{one.json_name} is none that is known")
    try:
        return kind(**values)
    except TypeError:
        raise RecordError("it does not say of what it is") from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise RecordError(f"not a text of at most {_LONGEST_TEXT} characters")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise RecordError("not UTF-8") from None
    return value


def _code(value: Any) -> str:
    if not isinstance(value, str) or not _CODE.fullmatch(value):
        raise RecordError("not a code")
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -_LARGEST <= value <= _LARGEST:
        raise RecordError("not an integer")
    return value


def _id(value: Any) -> int:
    number = _number(value)
    if number < 1:
        raise RecordError("not an id")
    return number


def _percent(value: Any) -> int:
    number = _number(value)
    if not 0 <= number <= 100:
        raise RecordError("not a percentage")
    return number


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RecordError("neither true nor false")
    return value


def _time(value: Any) -> int:
    """Microseconds since the epoch."""
    text = _text(value)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise RecordError("not a time") from None
    if moment.tzinfo is None:
        raise RecordError("a time without a zone")
    if not _EPOCH <= moment < _LAST:
        raise RecordError("a time out of bounds")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _LONGEST_LIST:
        raise RecordError(f"not a list of at most {_LONGEST_LIST} texts")
    return tuple(map(_text, value))


def _mapping(value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict) or len(value) > _LONGEST_LIST:
        raise RecordError(f"not an object of at most {_LONGEST_LIST} texts")
    return {_text(name): _text(one) for name, one in value.items()}


def _ssid(value: Any) -> bytes:
    """The octets of `connection_settings`."""
    if not isinstance(value, dict):
        raise RecordError("not an object")
    name, octets = _text(value.get("ssid")), value.get("ssid_hex")
    try:
        ssid = name.encode() if octets is None else bytes.fromhex(_text(octets))
    except ValueError:
        raise RecordError("ssid_hex is not hexadecimal") from None
    if len(ssid) > _LONGEST_SSID:
        raise RecordError(f"a network's name of more than {_LONGEST_SSID} octets")
    return ssid


_ABSENT: Final = object()
_FIELDS: Final[Mapping[type, tuple[BoundField, ...]]] = MappingProxyType(
    {kind: fields_of(kind) for kind in (DeviceRecord, InterfaceRecord)}
)
_READERS: Final[Mapping[Kind, Callable[[Any], Any]]] = MappingProxyType(
    {
        Kind.ID: _id,
        Kind.TEXT: _text,
        Kind.OCTETS: _ssid,
        Kind.TIME: _time,
        Kind.PERCENT: _percent,
        Kind.NUMBER: _number,
        Kind.FLAG: _flag,
        Kind.TEXTS: _texts,
        Kind.MAPPING: _mapping,
        Kind.INTERFACE: _text,
        Kind.DEVICE: _id,
    }
)
