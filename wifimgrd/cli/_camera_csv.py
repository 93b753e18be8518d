"""Cameras as a table in a CSV file (RFC 4180), with a header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from wifimgrd.cli._entries import Entry
from wifimgrd.cli._finding import meant
from wifimgrd.domain.device import Passphrase, Ssid
from wifimgrd.domain.device_values import HIGHEST_PRIORITY, Fault, read_pin
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.records import DeviceRecord

COLUMNS: Final = (
    "name",
    "ssid",
    "ssid_hex",
    "password",
    "open",
    "codename",
    "priority",
    "auto_reconnect",
    "auto_wake",
    "pin_mac",
    "pin_usb_port",
)
_TEXTS: Final = ("name", "ssid", "ssid_hex", "codename", "pin_mac", "pin_usb_port")
"""Columns whose cells are texts, whatever a spreadsheet takes them for."""
_MONTH: Final = (
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?"
    "|dec(ember)?"
)
_NO_TEXT: Final = re.compile(
    r"\s*[=+\-@'\uff1d\uff0b\uff0d\uff20].*"  # a formula, or a mark that this is none
    r"|(?!(0|[1-9][0-9]{0,9})\Z)(?=.*\d)[\W\d_]*"  # 1-2 is a date; 007, 1.50 and 12 digits lose some
    r"|\s*[\d.,]+[ed][+-]?\d+\s*"  # 31e5
    rf"|(?=.*\d)[\W\d_]*({_MONTH})[\W\d_]*"  # Mar-1
    r"|\s*\d[\d:., ]*( [ap]|[ap]m)\s*"  # 5 PM
    r"|\s*(true|false)\s*",
    re.IGNORECASE | re.DOTALL,
)
"""Cells that a spreadsheet changes; an apostrophe before a cell says that it is a text."""
_DELIMITERS: Final = (",", ";", "\t")
_NAMED_DELIMITER: Final = re.compile(r'"?sep=([,;\t|:])"?[,;\t|:]*(\r\n|\r|\n)', re.IGNORECASE)
"""The first line that Excel writes and reads."""
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,9}")
_PINS: Final = {
    "mac": 'not a MAC address such as "02:00:00:00:01:00"',
    "usb_port": 'not a USB port such as "1-1.4"',
}
"""By the kind of pin, the words for one that cannot be used."""


def csv_entries(text: str, source: str) -> list[Entry]:
    """The cameras of a file; raises InvalidRequest if it is not such a table."""
    named = _NAMED_DELIMITER.match(text)
    table = text[named.end() :] if named else text
    head = table.replace("\r", "\n").partition("\n")[0]
    delimiter = named[1] if named else max(_DELIMITERS, key=head.count)
    rows = csv.reader(io.StringIO(table, newline=""), delimiter=delimiter, strict=True)
    skipped = 1 if named else 0
    try:
        names = _columns(next(rows, []), source)
        least = sum(name != "" for name in names)
        return [
            _entry(names, least, row, f"{source}, line {rows.line_num + skipped}")
            for row in rows
            if any(one.strip() for one in row)
        ]
    except csv.Error as error:
        raise InvalidRequest(f"{source}, line {rows.line_num + skipped}: {error}") from None


def camera_table(devices: Iterable[DeviceRecord]) -> str:
    """Devices as such a table, without passwords."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for device in devices:
        row = _row(device)
        writer.writerow({name: _guarded(row[name]) if name in _TEXTS else row[name] for name in row})
    return text.getvalue()


def _columns(head: list[str], source: str) -> list[str]:
    """The names of the columns; one that a spreadsheet has added has none. Raises InvalidRequest."""
    names = [one.strip() for one in head]
    for number, name in enumerate(names, 1):
        if name and name not in COLUMNS:
            # Quoted only if it is like one of a column: the file may be anything.
            hint = meant(name, COLUMNS)
            raise InvalidRequest(
                f'{source}: unknown column "{name}"{hint}'
                if hint
                else f"{source}: column {number} has an unknown name"
            )
    named = [one for one in names if one]
    if len(set(named)) < len(named):
        raise InvalidRequest(f"{source}: a column is there twice")
    if "ssid" not in named and "ssid_hex" not in named:
        raise InvalidRequest(f"{source}: the first line must name the columns, ssid among them")
    return names


def _entry(names: list[str], least: int, row: list[str], where: str) -> Entry:
    """A row, which has at least so many cells. Blanks belong to its cells (RFC 4180, 2.4)."""
    cells = {name: cell for name, cell in zip(names, row, strict=False) if name}
    if len(cells) < least or any(one.strip() for one in row[len(names) :]):
        return Entry(where, problem="the line has more or fewer cells than the header")
    for number, (name, cell) in enumerate(zip(names, row, strict=False), 1):
        if not name and cell.strip():
            return Entry(
                where, problem=f"the cell in column {number} is not empty, and the column has no name"
            )
    password = cells.pop("password", "")
    cells = {name: _plain(cell) if name in _TEXTS else cell.strip() for name, cell in cells.items()}
    try:
        ssid = _ssid(cells.get("ssid", "").encode(), _decoded(cells.get("ssid_hex", "")))
        is_open = _switch("open", cells.get("open", "") or "no")
        settings = {
            name: read(name, cells[name]) for name, read in _READERS.items() if cells.get(name, "").strip()
        }
        pin = _pin({kind: one for kind in _PINS if (one := cells.get(f"pin_{kind}", "").strip())})
    except ValueError as error:
        return Entry(where, cells.get("ssid", "").encode(), problem=str(error))
    if pin:
        settings["pin"] = pin
    if not ssid:
        return Entry(where, settings=settings, problem="the line has no ssid")
    secret = Passphrase(password) if password or is_open else None
    is_told_by_name = "name" in settings
    entry = Entry(where, ssid, secret, settings, is_told_by_name=is_told_by_name)
    return entry.with_problem("an open network has no password") if is_open and password else entry


def _decoded(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError("ssid_hex: these are not pairs of hexadecimal digits") from None


def _ssid(text: bytes, data: bytes) -> bytes:
    if text and data and text != data:
        raise ValueError("ssid and ssid_hex are different networks")
    return data or text


def _pin(pin: dict[str, str]) -> dict[str, str]:
    if len(pin) > 1:
        raise ValueError("pin_mac and pin_usb_port: only one of them can be set")
    try:
        read_pin(pin)
    except Fault:
        [kind] = pin
        raise ValueError(f"pin_{kind}: {_PINS[kind]}") from None
    return pin


def _text(_column: str, text: str) -> str:
    return text


def _switch(column: str, text: str) -> bool:
    if text.casefold() not in ("yes", "no"):
        raise ValueError(f"{column}: neither yes nor no")
    return text.casefold() == "yes"


def _number(column: str, text: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(text) or abs(int(text)) > HIGHEST_PRIORITY:
        raise ValueError(f"{column}: not a whole number from -{HIGHEST_PRIORITY} to {HIGHEST_PRIORITY}")
    return int(text)


_READERS: Final[Mapping[str, Callable[[str, str], object]]] = {
    "name": _text,
    "codename": _text,
    "priority": _number,
    "auto_reconnect": _switch,
    "auto_wake": _switch,
}
"""A cell is not quoted in an error: a password may have got into it."""


def _row(device: DeviceRecord) -> dict[str, str]:
    ssid = Ssid(device.ssid)
    pin = device.pin or {}
    row = {
        "name": device.name,
        "codename": device.codename,
        "priority": str(device.priority) if device.priority else "",
        "auto_reconnect": "" if device.auto_reconnect else "no",
        "auto_wake": "yes" if device.auto_wake else "",
        "pin_mac": pin.get("mac", ""),
        "pin_usb_port": pin.get("usb_port", ""),
    }
    is_text = ssid.text is not None and ssid.text.isprintable()
    return row | ({"ssid": ssid.text or ""} if is_text else {"ssid_hex": device.ssid.hex()})


def _guarded(text: str) -> str:
    """A cell that a spreadsheet keeps as it is."""
    return f"'{text}" if _NO_TEXT.fullmatch(text) else text


def _plain(cell: str) -> str:
    """The text that `_guarded` was given, or that a person wrote without an apostrophe."""
    return cell[1:] if cell[:1] == "'" and _NO_TEXT.fullmatch(cell[1:]) else cell
