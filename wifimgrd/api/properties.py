"""The records of `wifimgrd.domain.records` as properties on D-Bus, and back."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from html import escape
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, TypeVar

from wifimgrd.api import names
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.records import BoundField, DeviceRecord, InterfaceRecord, Kind, fields_of

Properties = Mapping[str, Any]
"""Property name -> plain Python value (variants already unpacked)."""

_Record = TypeVar("_Record", DeviceRecord, InterfaceRecord)
_Conversion = Callable[[Any], Any]

SIGNATURES: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        Kind.ID: "t",
        Kind.TEXT: "s",
        Kind.OCTETS: "ay",
        Kind.TIME: "t",
        Kind.PERCENT: "y",
        Kind.NUMBER: "i",
        Kind.FLAG: "b",
        Kind.TEXTS: "as",
        Kind.MAPPING: "a{ss}",
        Kind.INTERFACE: "o",
        Kind.DEVICE: "o",
    }
)
"""The D-Bus type of each kind."""
_EMPTY: Final[Mapping[Kind, Any]] = MappingProxyType(
    {
        Kind.TEXT: "",
        Kind.TIME: 0,
        Kind.PERCENT: 0,
        Kind.NUMBER: 0,
        Kind.INTERFACE: names.NO_OBJECT,
        Kind.DEVICE: names.NO_OBJECT,
    }
)
"""What stands for None on D-Bus, which has no such value; an empty mapping for a mapping."""
_LONGEST_LINE: Final = 100
_UNITS: Final[Mapping[Kind, str]] = MappingProxyType(
    {Kind.TIME: "Microseconds since the epoch", Kind.PERCENT: "Percent"}
)


def properties_of(record: DeviceRecord | InterfaceRecord) -> dict[str, Any]:
    """All properties of a record."""
    return {name: encode(record) for name, encode in _ENCODERS[type(record)]}


def updated(record: _Record, properties: Properties) -> _Record:
    """A record with changed properties; unknown ones are ignored."""
    decoders = _DECODERS[type(record)]
    changes: dict[str, Any] = {}
    for name, value in properties.items():
        if (decoder := decoders.get(name)) is not None:
            attribute, decode = decoder
            changes[attribute] = decode(value)
    if isinstance(record, DeviceRecord) and changes.get("state", record.state) != DeviceState.CONNECTED:
        changes |= _WHILE_NOT_CONNECTED
    return replace(record, **changes)


def property_xml(record: type[DeviceRecord] | type[InterfaceRecord]) -> str:
    """The properties of a record's D-Bus interface as introspection XML, each with its description."""
    lines = []
    for one in fields_of(record):
        text = escape(" ".join([one.field.description, *_on_dbus(one)]), quote=False)
        lines += _comment(text)
        signature = SIGNATURES[one.field.kind]
        lines.append(f'    <property name="{one.dbus_name}" type="{signature}" access="read"/>')
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    """A comment of the introspection XML, on lines that are not too long."""
    if len(text) <= _LONGEST_LINE:
        return [f"    <!-- {text} -->"]
    indent = " " * 6
    lines = textwrap.wrap(text, _LONGEST_LINE, initial_indent=indent, subsequent_indent=indent)
    return ["    <!--", *lines, "    -->"]


def _on_dbus(one: BoundField) -> list[str]:
    """The conventions for a field's value on D-Bus, as sentences."""
    parts = [_UNITS[one.field.kind]] if one.field.kind in _UNITS else []
    if one.is_nullable:
        empty = _EMPTY.get(one.field.kind, "")
        parts.append(f"`{empty}` if there is none" if empty != "" else "empty if there is none")
    text = "; ".join(parts)
    return [f"{text[0].upper()}{text[1:]}."] if text else []


def _encoder(one: BoundField) -> _Conversion:
    """How the value of its property is made of a record."""
    kind, value = one.field.kind, attrgetter(one.name)
    match kind:
        case Kind.MAPPING:
            return lambda record: dict(value(record) or {})
        case Kind.TEXTS:
            return lambda record: list(value(record))
        case Kind.INTERFACE:
            return lambda record: names.interface_path(value(record)) if value(record) else names.NO_OBJECT
        case Kind.DEVICE:
            return lambda record: names.device_path(value(record)) if value(record) else names.NO_OBJECT
        case _ if one.is_nullable:
            empty = _EMPTY[kind]
            return lambda record: empty if (found := value(record)) is None else found
    return value


def _decoder(one: BoundField) -> _Conversion:
    match one.field.kind:
        case Kind.OCTETS:
            return bytes
        case Kind.TEXTS:
            return tuple
        case Kind.INTERFACE:
            return names.interface_name_of
        case Kind.DEVICE:
            return names.device_id_of
        case Kind.MAPPING:
            return lambda value: MappingProxyType(dict(value)) if value else None
        case _ if one.is_nullable and not one.field.while_connected:
            return lambda value: value or None
    return _unchanged  # 0 % is a value, while the device is connected


def _unchanged(value: Any) -> Any:
    return value


_RECORDS: Final = (DeviceRecord, InterfaceRecord)
_ENCODERS: Final[Mapping[type, Sequence[tuple[str, _Conversion]]]] = {
    record: [(one.dbus_name, _encoder(one)) for one in fields_of(record)] for record in _RECORDS
}
"""Of each record the names of its properties, and how their values are made of a record."""
_DECODERS: Final[Mapping[type, Mapping[str, tuple[str, _Conversion]]]] = {
    record: {one.dbus_name: (one.name, _decoder(one)) for one in fields_of(record)} for record in _RECORDS
}
"""Of each record the names of its properties, their fields, and how their values are converted."""
_DEFAULTS: Final = {one.name: one.default for one in fields(DeviceRecord)}
_WHILE_NOT_CONNECTED: Final = {
    one.name: _DEFAULTS[one.name] for one in fields_of(DeviceRecord) if one.field.while_connected
}
"""The values of the fields that count only while a device is connected."""
