"""Takes as a table in CSV (RFC 4180), for spreadsheets and scripts: a header, and a line for each recording
and each missing camera."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from typing import Final

from wifimgrd.client.json_members import HistoryRowJson, MissingJson
from wifimgrd.domain.records import FileRecord, TakeRecord
from wifimgrd.wire.kinds import time_text

TAKE: Final = "take"
"""The begin of its take, by which lines belong together."""
FILES: Final = "files"
SIZES: Final = "file_sizes"
"""Bytes; both have an entry for each file, separated by semicolons."""
COLUMNS: Final = (
    TAKE,
    "time",
    "ended",
    "device_id",
    "device_name",
    "serial_number",
    "code",
    "message",
    "battery_level",
    "battery_level_after",
    "storage_free",
    "storage_free_after",
    "clock_offset_ms",
    "clock_bound_ms",
    FILES,
    SIZES,
)
"""Those of a row of the history, as in JSON, with three others. A camera that is missing has no `time`."""
_SIGNS: Final = r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]"
_FORMULA: Final = re.compile(rf"[\t\r\n]|{_SIGNS}")
"""How a text begins that a spreadsheet would take for a formula. Cameras and people choose names."""
_FURTHER: Final = re.compile(rf";(?={_SIGNS})")
"""The same of a further cell, where semicolons separate them, as in Germany and France."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Characters that no table has; a terminal on which it is printed would obey them."""


def takes_csv(takes: Iterable[TakeRecord]) -> str:
    """The table of some takes, in their order; lines end in CR LF."""
    out = io.StringIO()
    table = csv.DictWriter(out, COLUMNS, extrasaction="ignore")
    table.writeheader()
    for take in takes:
        begun = {TAKE: time_text(take.time)}
        for row in take.recordings:
            table.writerow(_cells(begun | HistoryRowJson.of(row) | _files(row.files or ())))
        for missing in take.missing:
            table.writerow(_cells(begun | MissingJson.of(missing)))
    return out.getvalue()


def _files(files: Iterable[FileRecord]) -> dict[str, str]:
    files = tuple(files)
    return {
        FILES: ";".join(_text(one.name.replace(";", "_")) for one in files),
        SIZES: ";".join("" if one.size is None else str(one.size) for one in files),
    }


def _cells(values: Mapping[str, object]) -> dict[str, object]:
    return {name: _text(value) if isinstance(value, str) else value for name, value in values.items()}


def _text(value: str) -> str:
    """A text that a spreadsheet keeps as it is: an apostrophe before it says that it is not a formula."""
    value = _FURTHER.sub(";'", _CONTROL.sub("", value))
    return f"'{value}" if _FORMULA.match(value) else value
