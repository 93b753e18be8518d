"""Values from cameras: each is what it should be, or None."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Final, NoReturn

from wifimgrd.camera.drivers.protocol import MICROSECONDS, Nonsense

_LONGEST_TEXT: Final = 64
_LARGEST_SPACE: Final = 1 << 53
"""Bytes: what a JSON number holds exactly, 9 petabytes."""
_LONGEST_S: Final = 366 * 86400
"""Of a recording, and of what fits on a card."""
_FURTHEST_ZONE_MIN: Final = 14 * 60
_WRITTEN_TIME: Final = re.compile(
    r"(\d{4})[:_-](\d{1,2})[:_-](\d{1,2})[ _T](\d{1,2})[:_](\d{1,2})[:_](\d{1,2})(?:([+-])(\d{2}):(\d{2}))?",
    re.ASCII,
)


def json_object(body: bytes) -> Mapping[str, Any]:
    """The JSON object that a body is; raises Nonsense."""
    try:
        parsed = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # a ValueError is also text that is not UTF-8, and an endless number
        raise Nonsense("what the camera sent is not JSON") from None
    if not isinstance(parsed, dict):
        raise Nonsense("what the camera sent is not a JSON object")
    return parsed


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def member(parent: object, name: str) -> Mapping[str, Any]:
    """The object under a name; empty if there is none."""
    found = parent.get(name) if isinstance(parent, dict) else None
    return found if isinstance(found, dict) else {}


def whole(value: object, low: int, high: int) -> int | None:
    """A number without its fraction, within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if low <= value <= high else None


def percent(value: object) -> int | None:
    """A percentage."""
    return whole(value, 0, 100)


def share(value: object) -> int | None:
    """A percentage, from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return round(value * 100)


def space(value: object, unit: int = 1) -> int | None:
    """Bytes, from a number of units."""
    found = whole(value, 0, _LARGEST_SPACE // unit)
    return None if found is None else found * unit


def seconds(value: object) -> int | None:
    """A duration."""
    return whole(value, 0, _LONGEST_S)


def flag(value: object) -> bool | None:
    """Yes or no, also as 1 or 0."""
    if isinstance(value, bool):
        return value
    number = whole(value, 0, 1)
    return None if number is None else number == 1


def text(value: object) -> str:
    """At most 64 printable characters; empty if it is not a text."""
    if not isinstance(value, str):
        return ""
    printable = "".join(letter for letter in value[: 4 * _LONGEST_TEXT] if letter.isprintable())
    return printable[:_LONGEST_TEXT].strip()


def written_time(value: object, offset_s: int) -> int | None:
    """A time such as `2026:05:18 01:04:29+08:00`, microseconds since the epoch; without a zone it is local,
    `offset_s` after UTC."""
    found = _WRITTEN_TIME.fullmatch(value) if isinstance(value, str) and len(value) <= _LONGEST_TEXT else None
    if found is None:
        return None
    *parts, sign, hours, minutes = found.groups()
    if sign:
        offset_s = (int(hours) * 3600 + int(minutes) * 60) * (-1 if sign == "-" else 1)
    try:
        zone = timezone(timedelta(seconds=offset_s))
        moment = datetime(*(int(part) for part in parts), tzinfo=zone)  # type: ignore[misc,arg-type]
        return round(moment.timestamp()) * MICROSECONDS
    except (ValueError, OverflowError):
        return None


def zone_s(minutes: object, otherwise_s: int) -> int:
    """A time zone that a camera tells in minutes, as seconds; `otherwise_s` if it is none."""
    found = whole(minutes, -_FURTHEST_ZONE_MIN, _FURTHEST_ZONE_MIN)
    return otherwise_s if found is None else found * 60


def local(now_us: int, offset_s: int) -> datetime:
    """A moment as a clock on the wall shows it."""
    return datetime.fromtimestamp(now_us // MICROSECONDS, timezone(timedelta(seconds=offset_s)))
