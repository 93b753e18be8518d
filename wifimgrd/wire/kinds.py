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

_LONGEST_TEXT: Final = 2048
_LONGEST_SSID: Final = 32
"""Octets (IEEE 802.11, 9.4.2.2)."""
_LONGEST_LIST: Final = 64
_LARGEST: Final = 2**63 - 1
_LARGEST_AMOUNT: Final = 2**53 - 1
"""What JavaScript can count."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""Times from the epoch until then can be shown in every zone."""


Conversion = Callable[[Any], object]
"""Converts a value of the type of its kind."""


def unchanged(value: object) -> object:
    """A value that is written as it is."""
    return value


class RecordError(Exception):
    """JSON that is not what a record has; the sentence says why."""


def _not_read(_: object) -> object:
    raise RecordError("no record that is read has such a value")


@dataclass(frozen=True, slots=True)
class Form:
    """How the values of one kind are written; None is not one of them."""

    signature: str
    """Their type on D-Bus."""
    json_type: object
    """Their type in JSON: plain, or a list of plain ones."""
    empty: object = None
    """What stands for None on D-Bus, which has no such value; null does in JSON."""
    keywords: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """Keywords of their JSON Schema."""
    to_dbus: Conversion = unchanged
    of_dbus: Conversion = unchanged
    to_json: Conversion = unchanged
    of_json: Callable[[object], object] = _not_read
    """Checks and reads JSON; raises RecordError."""
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


def _frozen(value: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType(dict(value))


def _lists(value: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {name: list(texts) for name, texts in value.items()}


def _groups(value: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[int, ...]]:
    found = {name: map(names.device_id_of, paths) for name, paths in value.items()}
    return MappingProxyType(
        {name: tuple(one for one in devices if one is not None) for name, devices in found.items()}
    )


# -- reading JSON that somebody else has written


def read_text(value: object) -> str:
    """A text that is not too long."""
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise RecordError(f"not a text of at most {_LONGEST_TEXT} characters")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise RecordError("not UTF-8") from None
    return value


def read_number(value: object) -> int:
    """An integer of at most 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool) or not -_LARGEST <= value <= _LARGEST:
        raise RecordError("not an integer")
    return value


def _id(value: object) -> int:
    number = read_number(value)
    if number < 1:
        raise RecordError("not an id")
    return number


def _percent(value: object) -> int:
    number = read_number(value)
    if not 0 <= number <= 100:
        raise RecordError("not a percentage")
    return number


def _amount(value: object) -> int:
    number = read_number(value)
    if not 0 <= number <= _LARGEST_AMOUNT:
        raise RecordError("not an amount")
    return number


def read_flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise RecordError("neither true nor false")
    return value


def _time(value: object) -> int:
    text = read_text(value)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise RecordError("not a time") from None
    if moment.tzinfo is None:
        raise RecordError("a time without a zone")
    if not _EPOCH <= moment < _LAST:
        raise RecordError("a time out of bounds")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _LONGEST_LIST:
        raise RecordError(f"not a list of at most {_LONGEST_LIST} texts")
    return tuple(map(read_text, value))


def _mapping(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict) or len(value) > _LONGEST_LIST:
        raise RecordError(f"not an object of at most {_LONGEST_LIST} texts")
    return {read_text(name): read_text(one) for name, one in value.items()}


def _ssid(value: object) -> bytes:
    if not isinstance(value, dict):
        raise RecordError("not an object")
    name, octets = read_text(value.get("ssid")), value.get("ssid_hex")
    try:
        ssid = name.encode() if octets is None else bytes.fromhex(read_text(octets))
    except ValueError:
        raise RecordError("ssid_hex is not hexadecimal") from None
    if len(ssid) > _LONGEST_SSID:
        raise RecordError(f"a network's name of more than {_LONGEST_SSID} octets")
    return ssid


FORMS: Final[Mapping[Kind, Form]] = MappingProxyType(
    {
        Kind.ID: Form("t", int, 0, {"minimum": 1}, of_json=_id),
        Kind.TEXT: Form("s", str, "", to_dbus=valid_text, of_json=read_text),
        Kind.OCTETS: Form("ay", dict[str, str], b"", of_dbus=bytes, to_json=settings_json, of_json=_ssid),
        Kind.TIME: Form(
            "t",
            str,
            0,
            {"description": "RFC 3339, in UTC.", "format": "date-time"},
            to_json=time_text,
            of_json=_time,
            unit="Microseconds since the epoch",
        ),
        Kind.PERCENT: Form(
            "y",
            int,
            0,
            {"description": "Percent.", "minimum": 0, "maximum": 100},
            of_json=_percent,
            unit="Percent",
        ),
        Kind.NUMBER: Form("i", int, 0, of_json=read_number),
        Kind.COUNT: Form("u", int, 0, of_json=read_number),
        Kind.NUMBERS: Form("au", list[int], to_dbus=list, of_dbus=tuple, to_json=list),
        Kind.FREQUENCY: Form("u", int, 0, {"description": "MHz."}, of_json=_amount, unit="In MHz"),
        Kind.BIT_RATE: Form("u", int, 0, {"description": "kbit/s."}, of_json=_amount, unit="In kbit/s"),
        Kind.DBM: Form("n", int, -1, {"description": "dBm."}, unit="In dBm"),
        Kind.FLAG: Form("b", bool, of_json=read_flag),
        Kind.TEXTS: Form("as", list[str], to_dbus=list, of_dbus=tuple, to_json=list, of_json=_texts),
        Kind.MAPPING: Form(
            "a{ss}", dict[str, str], {}, to_dbus=dict, of_dbus=_frozen, to_json=dict, of_json=_mapping
        ),
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
            of_json=read_text,
        ),
        Kind.DEVICE: Form(
            "o", int, names.NO_OBJECT, to_dbus=names.device_path, of_dbus=names.device_id_of, of_json=_id
        ),
        Kind.RECORDS: Form("aa{sv}", list[dict[str, object]]),
        Kind.RECORD: Form("a{sv}", dict[str, object]),
        Kind.LEVEL: Form(
            "i",
            int,
            -1,
            {"description": "Percent.", "minimum": 0, "maximum": 100},
            of_json=_percent,
            unit="Percent",
        ),
        Kind.BYTES: Form(
            "x", int, -1, {"description": "Bytes.", "minimum": 0}, of_json=_amount, unit="In bytes"
        ),
        Kind.DURATION: Form(
            "x",
            int,
            -1,
            {"description": "Seconds.", "minimum": 0},
            to_json=lambda microseconds: microseconds // 1_000_000,
            of_json=lambda seconds: _amount(seconds) * 1_000_000,
            unit="Microseconds",
        ),
        Kind.ELAPSED: Form(
            "t",
            int,
            0,
            {"description": "Milliseconds.", "minimum": 0},
            to_json=lambda microseconds: round(microseconds / 1000),
            of_json=lambda milliseconds: _amount(milliseconds) * 1000,
            unit="Microseconds",
        ),
        Kind.OFFSET: Form(
            "x",
            int,
            keywords={"description": "Milliseconds."},
            to_json=lambda microseconds: round(microseconds / 1000),
            of_json=lambda milliseconds: read_number(milliseconds) * 1000,
            unit="Microseconds",
        ),
        Kind.RECORDING: Form(
            "s",
            bool,
            "",
            to_json=lambda state: state == RecordingState.RECORDING,
            of_json=lambda value: (
                (RecordingState.RECORDING if read_flag(value) else RecordingState.IDLE).value
            ),
            unit="`recording` or `idle`",
        ),
    }
)
