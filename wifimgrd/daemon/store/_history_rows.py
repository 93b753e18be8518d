"""The rows of the history as rows of its table, and back. The facts of a recording are JSON in one column."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any, Final

from wifimgrd.daemon.store._rows import text_of
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.history import LARGEST_ID, HistoryKind, HistoryRow, without_expected
from wifimgrd.domain.recordings import ExpectedCamera, RecordedFile, Recording
from wifimgrd.domain.takes import follows, in_place_of

_COLUMNS: Final = (
    "id",
    "time_us",
    "kind",
    "device_id",
    "device_name",
    "interface",
    "code",
    "message",
    "ended_us",
    "signal_minimum",
    "signal_mean",
    "seen_us",
    "interrupted_us",
    "recording",
)
SELECT: Final = f"SELECT {', '.join(_COLUMNS)} FROM history"  # noqa: S608
PUT: Final = (
    f"INSERT OR REPLACE INTO history ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
)
"""Its parameters are the result of `values_of`."""
_NOTHING: Final = Recording()
_AMOUNT: Final = (int, 0, LARGEST_ID)
_SIGNED: Final = (int, -LARGEST_ID, LARGEST_ID)
_PLAIN: Final[Mapping[str, tuple[type, int, int]]] = {
    "serial_number": (str, 0, 0),
    "battery_level": (int, 0, 100),
    "battery_level_after": (int, 0, 100),
    "storage_free": _AMOUNT,
    "storage_free_after": _AMOUNT,
    "clock_offset_us": _SIGNED,
    "clock_bound_us": _AMOUNT,
    "take": _AMOUNT,
    "joins": _AMOUNT,
    "set_us": _SIGNED,
}
"""The type of each value of a recording that is not a list, and its range if it is a number."""


def values_of(row: HistoryRow) -> tuple[Any, ...]:
    """A row for the table."""
    return (
        row.id,
        row.time_us,
        row.kind.value,
        row.device_id,
        text_of(row.device_name),
        text_of(row.interface),
        text_of(row.code),
        text_of(row.message),
        row.ended_us,
        row.signal_minimum,
        row.signal_mean,
        row.seen_us,
        row.interrupted_us,
        _text_of_recording(row.recording),
    )


def row_of(values: tuple[Any, ...]) -> HistoryRow:
    """A row of the table."""
    rest = *values[3:-1], _recording_of(values[-1])
    return HistoryRow(values[0], values[1], HistoryKind(values[2]), *rest)


def pass_on(connection: sqlite3.Connection, device_id: object, last_id: int = LARGEST_ID) -> None:
    """Let other rows have what those of a device up to an id say of all of their take: they will be deleted.
    In the transaction that is open; raises sqlite3.Error."""
    found = connection.execute(
        SELECT + " WHERE kind = 'recording' AND device_id = ? AND id <= ?"
        " AND instr(recording, '\"expected\"') + instr(recording, '\"joins\"') ORDER BY id",
        (device_id, last_id),
    ).fetchall()
    for gone in map(row_of, found):
        next_one = connection.execute(
            SELECT
            + " WHERE kind = 'recording' AND id > ? AND (device_id != ? OR id > ?) ORDER BY id LIMIT 1",
            (gone.id, device_id, last_id),
        ).fetchall()
        for row in map(row_of, next_one):
            if follows(row, gone):
                connection.execute(PUT, values_of(in_place_of(row, gone)))


def forget_expected(connection: sqlite3.Connection, device_id: DeviceId) -> None:
    """Delete that recordings of others expected a device. In the transaction that is open; raises
    sqlite3.Error."""
    found = connection.execute(
        SELECT + " WHERE kind = 'recording' AND instr(recording, ?) + instr(recording, ?)",
        (f"[[{device_id},", f"],[{device_id},"),
    ).fetchall()
    for row in map(row_of, found):
        connection.execute(PUT, values_of(without_expected(row, device_id)))


def _text_of_recording(recording: Recording | None) -> str:
    if recording is None:
        return ""
    found: dict[str, object] = {
        name: value for name in _PLAIN if (value := getattr(recording, name)) != getattr(_NOTHING, name)
    }
    if recording.files is not None:
        found["files"] = [[one.name, one.size] for one in recording.files]
    if recording.expected:
        found["expected"] = [[one.device_id, one.device_name, one.code] for one in recording.expected]
    return json.dumps(found, separators=(",", ":"))


def _recording_of(text: str) -> Recording | None:
    """The value of a column; None if it is empty, or was not written by this: a damaged file must not end the
    daemon."""
    if not text:
        return None
    try:
        found = json.loads(text)
        files, expected = found.get("files"), found.get("expected", ())
        return Recording(
            **{name: _checked(value, *_PLAIN[name]) for name, value in found.items() if name in _PLAIN},
            files=None if files is None else tuple(map(_file, files)),
            expected=tuple(map(_expected, expected)) if expected else (),
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _checked(value: object, kind: type, lowest: int = 0, highest: int = 0) -> Any:
    """A value of a type, a number within its range; raises ValueError."""
    if type(value) is not kind or (isinstance(value, int) and not lowest <= value <= highest):
        raise ValueError
    return text_of(value) if isinstance(value, str) else value


def _file(value: list[object]) -> RecordedFile:
    name, size = value
    return RecordedFile(_checked(name, str), None if size is None else _checked(size, *_AMOUNT))


def _expected(value: list[object]) -> ExpectedCamera:
    device_id, name, code = value
    known = DeviceId(_checked(device_id, int, 1, LARGEST_ID))
    return ExpectedCamera(known, _checked(name, str), _checked(code, str))
