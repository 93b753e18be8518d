"""Cameras as a table in a CSV file (RFC 4180), with a header."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from wifimgrd.cli._entries import Entry
from wifimgrd.cli._finding import meant
from wifimgrd.domain.device import Passphrase, Ssid
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
_FORMULA: Final = ("=", "+", "-", "@", "'")
"""What a spreadsheet does not take for text; an apostrophe before it says that it is."""
_DELIMITERS: Final = (",", ";", "\t")


def csv_entries(text: str, source: str) -> list[Entry]:
    """The cameras of a file; raises InvalidRequest if it is not such a table."""
    head, _, _ = text.partition("\n")
    delimiter = max(_DELIMITERS, key=head.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        _check_columns([one.strip() for one in reader.fieldnames or ()], source)
        reader.fieldnames = [one.strip() for one in reader.fieldnames or ()]
        return [_entry(row, f"{source}, line {reader.line_num}") for row in reader if any(row.values())]
    except csv.Error as error:
        raise InvalidRequest(f"{source}, line {reader.line_num}: {error}") from None


def camera_table(devices: Iterable[DeviceRecord]) -> str:
    """Devices as such a table, without passwords."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for device in devices:
        writer.writerow({name: _guarded(value) for name, value in _row(device).items()})
    return text.getvalue()


def _check_columns(names: list[str], source: str) -> None:
    """Raises InvalidRequest."""
    for name in names:
        if name not in COLUMNS:
            raise InvalidRequest(f'{source}: unknown column "{name}"{meant(name, COLUMNS)}')
    if len(set(names)) < len(names):
        raise InvalidRequest(f"{source}: a column is there twice")
    if "ssid" not in names and "ssid_hex" not in names:
        raise InvalidRequest(f"{source}: the first line must name the columns, ssid among them")


def _entry(row: Mapping[str, str | None], where: str) -> Entry:
    """A row; one that has more or fewer cells than the header has None in it."""
    if None in row or None in row.values():
        return Entry(where, problem="the line has more or fewer cells than the header")
    cells = {name: value or "" for name, value in row.items()}
    password = cells.pop("password", "")
    cells = {name: _plain(value.strip()) for name, value in cells.items()}
    try:
        ssid = bytes.fromhex(cells.get("ssid_hex", "")) or cells.get("ssid", "").encode()
        is_open = _switch(cells.get("open", "") or "no")
        settings = {name: read(cells[name]) for name, read in _READERS.items() if cells.get(name)}
        pins = {kind: cells[f"pin_{kind}"] for kind in ("mac", "usb_port") if cells.get(f"pin_{kind}")}
    except ValueError as error:
        return Entry(where, cells.get("ssid", "").encode(), problem=str(error))
    if pins:
        settings["pin"] = pins
    if not ssid:
        return Entry(where, settings=settings, problem="the line has no ssid")
    secret = Passphrase(password) if password or is_open else None
    is_told_by_name = "name" in settings
    entry = Entry(where, ssid, secret, settings, is_told_by_name=is_told_by_name)
    return entry.with_problem("an open network has no password") if is_open and password else entry


def _switch(text: str) -> bool:
    if text.casefold() not in ("yes", "no"):
        raise ValueError(f'"{text}" is neither yes nor no')
    return text.casefold() == "yes"


def _number(text: str) -> int:
    try:
        return int(text[:20])
    except ValueError:
        raise ValueError(f'"{text}" is not a whole number') from None


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "name": str,
    "codename": str,
    "priority": _number,
    "auto_reconnect": _switch,
    "auto_wake": _switch,
}


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
    """A cell that no spreadsheet takes for a formula, but for numbers."""
    is_number = text.lstrip("-").isdecimal()
    return f"'{text}" if text.startswith(_FORMULA) and not is_number else text


def _plain(cell: str) -> str:
    """What `_guarded` was given."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_FORMULA) else cell
