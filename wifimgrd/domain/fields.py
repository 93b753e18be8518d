"""How a field of a record is declared, for the records that clients see (`wifimgrd.domain.records`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final, get_args, get_origin, get_type_hints

NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


class Kind(StrEnum):
    """The kind of a field's value; `wifimgrd.wire.kinds` has how it is written.

    If the field may be None, D-Bus has 0, an empty value or `/` for that, which then is not a value of its
    own, unless the field is `while_connected`. SSID, lists and COUNTS are never None, and FLAG is None only
    if the D-Bus interface of the field may be missing.
    """

    ID = "id"
    TEXT = "text"
    SSID = "ssid"
    TIME = "time"
    """Microseconds since the epoch; RFC 3339 in JSON."""
    PERCENT = "percent"
    NUMBER = "number"
    """Signed, 32 bits."""
    COUNT = "count"
    """Unsigned, 32 bits."""
    NUMBERS = "numbers"
    """Unsigned, 32 bits each."""
    FREQUENCY = "frequency"
    """MHz; 0 is not a value."""
    BIT_RATE = "bit-rate"
    """kbit/s; 0 is not a value."""
    DBM = "dbm"
    """A received signal strength."""
    FLAG = "flag"
    TEXTS = "texts"
    MAPPING = "mapping"
    """Text -> text."""
    GROUPS = "groups"
    """Text -> ids of devices; the paths of their objects on D-Bus."""
    TEXTS_OF = "texts-of"
    """Text -> texts."""
    COUNTS = "counts"
    """Text -> count."""
    INTERFACE = "interface"
    """An interface's name; its object's path on D-Bus."""
    DEVICE = "device"
    """A device's id; its object's path on D-Bus."""
    RECORDS = "records"
    """Rows: records of another class. None if they are not known, in a row that leaves that out."""
    RECORD = "record"
    """A record of another class, which has a D-Bus interface of its own."""
    LEVEL = "level"
    """Percent, which may be unknown while 0 is a value."""
    BYTES = "bytes"
    """An amount of data."""
    DURATION = "duration"
    """Microseconds; seconds in JSON."""
    ELAPSED = "elapsed"
    """Microseconds; milliseconds in JSON."""
    OFFSET = "offset"
    """Microseconds, signed; milliseconds in JSON. 0 also where it is not known, which another field tells,
    unless it is left out then."""
    BOUND = "bound"
    """By how much an OFFSET may be wrong, microseconds; milliseconds in JSON, for the rounded offset."""
    RECORDING = "recording"
    """`recording` or `idle`; true or false in JSON."""


@dataclass(frozen=True, slots=True)
class Field:
    """The declaration of a field beside its name and its type: the metadata of an Annotated."""

    kind: Kind
    description: str
    """For clients, of D-Bus and of JSON alike."""
    keywords: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """Further keywords of its JSON Schema; those of a list are for each item."""
    dbus: str = ""
    """Its name on D-Bus if that is not its name, for a property in camel case."""
    json: str = ""
    """Its name in JSON if that is not its name; `outer.inner` for a member of an inner object."""
    in_status: bool = False
    """It is part of the messages and answers about the state of a device's connection, or of the backend."""
    is_constant: bool = False
    """It never changes."""
    while_connected: bool = False
    """It has its default unless the device is connected; JSON has null then."""
    interface: str = ""
    """The D-Bus interface that has it, which an object may lack; empty = the record's own. Without it, the
    field is None."""


@dataclass(frozen=True, slots=True)
class Record:
    """The base of what clients see; each of its attributes is declared as a Field."""


@dataclass(frozen=True, slots=True)
class BoundField:
    """A field of a record."""

    name: str
    field: Field
    is_nullable: bool
    records: type[Record] | None = None
    """The class of its RECORDS, or of its RECORD."""

    @property
    def dbus_name(self) -> str:
        """The name of its property on D-Bus."""
        return self.field.dbus or "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def row_name(self) -> str:
        """The name of its entry in a row on D-Bus."""
        return self.field.dbus or self.name

    @property
    def json_name(self) -> str:
        """The name of its member in JSON; `outer.inner` for a member of an inner object."""
        return self.field.json or self.name


_known: Final[dict[type[Record], tuple[BoundField, ...]]] = {}


def fields_of(record: type[Record]) -> tuple[BoundField, ...]:
    """The fields of a record class, in the order of their declaration."""
    if record not in _known:
        _known[record] = _bound(record)
    return _known[record]


def _bound(record: type[Record]) -> tuple[BoundField, ...]:
    hints = get_type_hints(record, include_extras=True)
    bound = []
    for name, hint in hints.items():
        if get_origin(hint) is Annotated:
            plain, declared = get_args(hint)
            records = _record_of(plain) if declared.kind in (Kind.RECORDS, Kind.RECORD) else None
            bound.append(BoundField(name, declared, type(None) in get_args(plain), records))
    return tuple(bound)


def _record_of(hint: object) -> type[Record]:
    """The class of a record, or of those in a tuple, that may be None."""
    first = get_args(hint)[0]
    found: type[Record] = get_args(first)[0] if get_origin(first) is tuple else first
    return found
