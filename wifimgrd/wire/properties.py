"""The records of `wifimgrd.domain.records` on D-Bus, and back: as the properties of an object, or as a row,
which is one dictionary of a list."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeVar

from wifimgrd.bus.library import Variant
from wifimgrd.bus.packing import ROWS_SIGNATURE, Value
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.fields import BoundField, Kind, Record, fields_of
from wifimgrd.domain.records import (
    AbsentRecord,
    BluetoothRecord,
    CameraRecord,
    DeviceRecord,
    FileRecord,
    FindingRecord,
    HistoryRecord,
    InterfaceRecord,
    MissingRecord,
    NetworkRecord,
    OutcomeRecord,
    ResultRecord,
    ServiceRecord,
    TakeRecord,
)
from wifimgrd.wire.kinds import FORMS, Conversion

Properties = Mapping[str, Any]
"""The name of a property, or of an entry of a row -> plain Python value (variants already unpacked)."""

_Record = TypeVar("_Record", bound=Record)

_LEAVES_OUT: Final = frozenset({HistoryRecord, FileRecord, MissingRecord, TakeRecord})
"""Records in whose rows an entry is left out for None; in others its empty value stands for None."""
_LONGEST_LINE: Final = 100
_AS_XML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""For text; the standard library's modules for it load more than this process has otherwise."""
_CONSTANT: Final = (
    '      <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="const"/>\n'
)
_BYTES: Final = '      <annotation name="org.gtk.GDBus.C.ForceGVariant" value="true"/>\n'
"""gdbus-codegen would make a C string of it, which ends at the first zero."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A field of a record on D-Bus."""

    attribute: str
    interface: str
    """The D-Bus interface that has its property; empty = the record's own."""
    property_name: str
    row_name: str
    signature: str
    encode: Conversion
    decode: Conversion
    is_left_out: bool
    """Whether it is, in a row, if it is None."""


@dataclass(frozen=True, slots=True)
class _Inner:
    """A field of a record that is a record itself, on a D-Bus interface of its own."""

    attribute: str
    kind: type[Record]


def _entry(one: BoundField, *, leaves_out: bool) -> _Entry:
    form, encode, decode = FORMS[one.field.kind], _encoder(one), _decoder(one, leaves_out=leaves_out)
    left_out = leaves_out and one.is_nullable
    return _Entry(
        one.name, one.field.interface, one.dbus_name, one.row_name, form.signature, encode, decode, left_out
    )


def _encoder(one: BoundField) -> Conversion:
    """How a value is converted for D-Bus."""
    form = FORMS[one.field.kind]
    if one.records is not None:
        return lambda records: list(map(row_of, records))
    if one.is_nullable:
        return lambda value: form.empty if value is None else form.to_dbus(value)
    return form.to_dbus


def _decoder(one: BoundField, *, leaves_out: bool) -> Conversion:
    """How a value from D-Bus is converted. 0 % is a value, while a device is connected, and if None is left
    out."""
    form, records = FORMS[one.field.kind], one.records
    if records is not None:
        return lambda rows: tuple(record_of(records, row) for row in rows)
    if one.is_nullable and not one.field.while_connected and not leaves_out:
        return lambda value: None if value == form.empty else form.of_dbus(value)
    return form.of_dbus


def properties_of(record: Record, interface: str = "") -> dict[str, object]:
    """All properties of a record that its own D-Bus interface has, or another one."""
    if (inner := _INNER.get((type(record), interface))) is not None:
        return properties_of(getattr(record, inner.attribute))
    return {
        one.property_name: _value(one.signature, one.encode(getattr(record, one.attribute)))
        for one in _ENTRIES[type(record)]
        if one.interface == interface
    }


def has_interface(record: Record, interface: str) -> bool:
    """Whether the object of a record has one of the interfaces that it may lack."""
    return any(
        getattr(record, one.attribute) is not None
        for one in _ENTRIES[type(record)]
        if one.interface == interface
    )


def without_interface(record: _Record, interface: str) -> _Record:
    """A record whose object has lost an interface."""
    gone = (one.attribute for one in _ENTRIES[type(record)] if one.interface == interface)
    return replace(record, **dict.fromkeys(gone))


def updated(record: _Record, properties: Properties, interface: str = "") -> _Record:
    """A record with changed properties of an interface; unknown ones are ignored."""
    if (inner := _INNER.get((type(record), interface))) is not None:
        before = getattr(record, inner.attribute)
        changed = updated(inner.kind() if before is None else before, properties)
        return replace(record, **{inner.attribute: changed})
    changes: dict[str, Any] = {
        one.attribute: one.decode(properties[one.property_name])
        for one in _ENTRIES[type(record)]
        if one.property_name in properties and one.interface == interface
    }
    if isinstance(record, DeviceRecord) and changes.get("state", record.state) != DeviceState.CONNECTED:
        changes |= _WHILE_NOT_CONNECTED
    return replace(record, **changes)


def row_of(record: Record) -> dict[str, Value]:
    """A record as a row: the signature and the value of each entry."""
    row: dict[str, Value] = {}
    for one in _ENTRIES[type(record)]:
        value = getattr(record, one.attribute)
        if value is not None or not one.is_left_out:
            row[one.row_name] = one.signature, one.encode(value)
    return row


def variants_of(record: Record) -> dict[str, Variant]:
    """A record as a row, for an outgoing message."""
    return _variants(row_of(record))


def _variants(row: Mapping[str, Value]) -> dict[str, Variant]:
    return {name: Variant(signature, _value(signature, value)) for name, (signature, value) in row.items()}


def _value(signature: str, value: Any) -> object:
    """A value of a field for an outgoing message."""
    return list(map(_variants, value)) if signature == ROWS_SIGNATURE else value


def record_of(kind: type[_Record], row: Properties) -> _Record:
    """The record of a row; unknown entries are ignored, and a field without one has its default."""
    values: dict[str, Any] = {
        one.attribute: one.decode(row[one.row_name]) for one in _ENTRIES[kind] if one.row_name in row
    }
    return kind(**values)


# -- descriptions


def property_xml(record: type[Record], interface: str = "") -> str:
    """The properties of a record that its own D-Bus interface has, or another one, as introspection XML, each
    with its description."""
    if (inner := _INNER.get((record, interface))) is not None:
        return property_xml(inner.kind)
    lines = []
    for one in (one for one in fields_of(record) if one.field.interface == interface):
        rows = [] if one.records is None else _row_texts(one.records)
        lines += _comment(" ".join((f"{one.dbus_name}: {_described(one)}", *rows)))
        signature = FORMS[one.field.kind].signature
        head = f'    <property name="{one.dbus_name}" type="{signature}" access="read"'
        annotations = _CONSTANT * one.field.is_constant + _BYTES * (signature == "ay")
        lines.append(f"{head}>\n{annotations}    </property>" if annotations else f"{head}/>")
    return "\n".join(lines) + "\n"


def row_xml(record: type[Record]) -> str:
    """The entries of a record's rows, as lines of the description of the method that returns them."""
    indent = " " * 8
    lines: list[str] = []
    for text in _row_texts(record):
        lines += textwrap.wrap(text, _LONGEST_LINE, initial_indent=indent, subsequent_indent=indent + "  ")
    return "\n".join(lines).translate(_AS_XML)


def _comment(text: str) -> list[str]:
    """A comment of the introspection XML, on lines that are not too long."""
    text = text.translate(_AS_XML)
    if len(text) <= _LONGEST_LINE:
        return [f"    <!-- {text} -->"]
    indent = " " * 6
    lines = textwrap.wrap(text, _LONGEST_LINE, initial_indent=indent, subsequent_indent=indent)
    return ["    <!--", *lines, "    -->"]


def _row_texts(record: type[Record]) -> list[str]:
    """The description of each entry of a record's rows."""
    leaves_out = record in _LEAVES_OUT
    texts = []
    for one in fields_of(record):
        head = f"`{one.row_name}` ({FORMS[one.field.kind].signature}):"
        text = f"{head} {_described(one, leaves_out=leaves_out)}"
        if one.records is not None and one.records is not HistoryRecord:  # which its own method describes
            text += f" In each: {' '.join(_row_texts(one.records))}"
        texts.append(text)
    return texts


def _described(one: BoundField, *, leaves_out: bool = False) -> str:
    """The description of a field, with the conventions for its value on D-Bus as sentences."""
    form = FORMS[one.field.kind]
    parts = [form.unit] if form.unit else []
    if one.is_nullable and not leaves_out and form.empty is not None:
        empty = "empty" if form.empty in ("", {}) else f"`{form.empty}`"
        parts.append(f"{empty} if there is none")
    text = "; ".join(parts)
    return " ".join([one.field.description, *([f"{text[0].upper()}{text[1:]}."] if text else [])])


_RECORDS: Final[tuple[type[Record], ...]] = (
    DeviceRecord,
    CameraRecord,
    InterfaceRecord,
    NetworkRecord,
    HistoryRecord,
    FileRecord,
    MissingRecord,
    TakeRecord,
    FindingRecord,
    AbsentRecord,
    BluetoothRecord,
    OutcomeRecord,
    ResultRecord,
    ServiceRecord,
)
_ENTRIES: Final[Mapping[type[Record], tuple[_Entry, ...]]] = {
    record: tuple(_entry(one, leaves_out=record in _LEAVES_OUT) for one in fields_of(record))
    for record in _RECORDS
}
_INNER: Final[Mapping[tuple[type[Record], str], _Inner]] = {
    (record, one.field.interface): _Inner(one.name, one.records)
    for record in _RECORDS
    for one in fields_of(record)
    if one.field.kind is Kind.RECORD and one.records is not None
}
_DEFAULTS: Final = {one.name: one.default for one in fields(DeviceRecord)}
_WHILE_NOT_CONNECTED: Final = {
    one.name: _DEFAULTS[one.name] for one in fields_of(DeviceRecord) if one.field.while_connected
}
"""The values of the fields that count only while a device is connected."""
