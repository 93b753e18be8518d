"""How values are written, on D-Bus and in JSON: one row for each kind of field in `wifimgrd.domain.records`.

Both sides of the bus convert by it: the domain does not know the paths of objects on D-Bus, and the objects
import nothing of their clients, whose the JSON is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.domain.camera import RecordingState
from wifimgrd.domain.fields import NOTHING, Kind
from wifimgrd.wire import names

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Conversion = Callable[[Any], object]
"""Converts a value of the type of its kind."""


def unchanged(value: object) -> object:
    """A value that is written as it is."""
    return value


@dataclass(frozen=True, slots=True)
class Form:
    """How the values of one kind are written; None is not one of them."""

    signature: str
    """Their type on D-Bus."""
    json_type: object
    """Their type in JSON: plain, or a list of plain ones."""
    empty: object = None
    """The value that stands for None on D-Bus, which has no such value; null does in JSON."""
    keywords: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """Keywords of their JSON Schema."""
    to_dbus: Conversion = unchanged
    of_dbus: Conversion = unchanged
    to_json: Conversion = unchanged
    unit: str = ""
    """For the descriptions of D-Bus; the keywords have that of JSON."""


def valid_text(text: str) -> str:
    """A text that is valid in D-Bus: the bus closes the connection for a NUL or a lone surrogate."""
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def time_text(microseconds: int) -> str:
    """Microseconds since the epoch as RFC 3339 in UTC."""
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def settings_json(ssid: bytes) -> dict[str, str]:
    """The SSID as text, and also in hexadecimal if it is not UTF-8."""
    try:
        return {"ssid": ssid.decode()}
    except UnicodeDecodeError:
        return {"ssid": ssid.decode("utf-8", "replace"), "ssid_hex": ssid.hex()}


def _bound_ms(microseconds: int) -> int:
    """A bound for an offset that is rounded to milliseconds, by up to half a one."""
    return -(-(microseconds + 500) // 1000)


def _frozen(value: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType(dict(value))


def _lists(value: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {name: list(texts) for name, texts in value.items()}


def _groups(value: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[int, ...]]:
    found = {name: map(names.device_id_of, paths) for name, paths in value.items()}
    return MappingProxyType(
        {name: tuple(one for one in devices if one is not None) for name, devices in found.items()}
    )


FORMS: Final[Mapping[Kind, Form]] = MappingProxyType(
    {
        Kind.ID: Form("t", int, 0, {"minimum": 1}),
        Kind.TEXT: Form("s", str, "", to_dbus=valid_text),
        Kind.SSID: Form("ay", dict[str, str], b"", of_dbus=bytes, to_json=settings_json),
        Kind.TIME: Form(
            "t",
            str,
            0,
            {"description": "RFC 3339, in UTC.", "format": "date-time"},
            to_json=time_text,
            unit="Microseconds since the epoch",
        ),
        Kind.PERCENT: Form(
            "y",
            int,
            0,
            {"description": "Percent.", "minimum": 0, "maximum": 100},
            unit="Percent",
        ),
        Kind.NUMBER: Form("i", int, 0),
        Kind.COUNT: Form("u", int, 0),
        Kind.NUMBERS: Form("au", list[int], to_dbus=list, of_dbus=tuple, to_json=list),
        Kind.FREQUENCY: Form("u", int, 0, {"description": "MHz."}, unit="In MHz"),
        Kind.BIT_RATE: Form("u", int, 0, {"description": "kbit/s."}, unit="In kbit/s"),
        Kind.DBM: Form("n", int, -1, {"description": "dBm."}, unit="In dBm"),
        Kind.FLAG: Form("b", bool),
        Kind.TEXTS: Form("as", list[str], to_dbus=list, of_dbus=tuple, to_json=list),
        Kind.MAPPING: Form("a{ss}", dict[str, str], {}, to_dbus=dict, of_dbus=_frozen, to_json=dict),
        Kind.COUNTS: Form("a{su}", dict[str, int], to_dbus=dict, of_dbus=_frozen, to_json=dict),
        Kind.GROUPS: Form(
            "a{sao}",
            dict[str, list[int]],
            to_dbus=lambda groups: {
                name: list(map(names.device_path, devices)) for name, devices in groups.items()
            },
            of_dbus=_groups,
            to_json=lambda groups: {name: list(devices) for name, devices in groups.items()},
        ),
        Kind.TEXTS_OF: Form(
            "a{sas}",
            dict[str, list[str]],
            to_dbus=_lists,
            of_dbus=lambda found: _frozen({name: tuple(texts) for name, texts in found.items()}),
            to_json=_lists,
        ),
        Kind.INTERFACE: Form(
            "o",
            str,
            names.NO_OBJECT,
            to_dbus=names.interface_path,
            of_dbus=names.interface_name_of,
        ),
        Kind.DEVICE: Form("o", int, names.NO_OBJECT, to_dbus=names.device_path, of_dbus=names.device_id_of),
        Kind.RECORDS: Form("aa{sv}", list[dict[str, object]]),
        Kind.RECORD: Form("a{sv}", dict[str, object]),
        Kind.LEVEL: Form(
            "i",
            int,
            -1,
            {"description": "Percent.", "minimum": 0, "maximum": 100},
            unit="Percent",
        ),
        Kind.BYTES: Form("x", int, -1, {"description": "Bytes.", "minimum": 0}, unit="In bytes"),
        Kind.DURATION: Form(
            "x",
            int,
            -1,
            {"description": "Seconds.", "minimum": 0},
            to_json=lambda microseconds: microseconds // 1_000_000,
            unit="Microseconds",
        ),
        Kind.ELAPSED: Form(
            "t",
            int,
            0,
            {"description": "Milliseconds.", "minimum": 0},
            to_json=lambda microseconds: round(microseconds / 1000),
            unit="Microseconds",
        ),
        Kind.OFFSET: Form(
            "x",
            int,
            keywords={"description": "Milliseconds."},
            to_json=lambda microseconds: round(microseconds / 1000),
            unit="Microseconds",
        ),
        Kind.BOUND: Form(
            "x",
            int,
            -1,
            {"description": "Milliseconds.", "minimum": 0},
            to_json=_bound_ms,
            unit="Microseconds",
        ),
        Kind.RECORDING: Form(
            "s",
            bool,
            "",
            to_json=lambda state: state == RecordingState.RECORDING,
            unit="`recording` or `idle`",
        ),
    }
)
