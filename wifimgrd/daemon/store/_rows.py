"""A device as a row of its table, and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Any, Final

from wifimgrd.daemon.store.errors import StoreDamaged
from wifimgrd.domain.adapter import AdapterIdentity, AdapterPin
from wifimgrd.domain.device import Device, DeviceId, Failure, Sighting, Ssid
from wifimgrd.domain.errors import ErrorCode

Row = tuple[Any, ...]

_COLUMNS: Final = (
    "name",
    "codename",
    "ssid",
    "last_attempt_us",
    "last_success_us",
    "failure_code",
    "failure_message",
    "failure_at_us",
    "adapter_mac",
    "adapter_port",
    "adapter_serial",
    "sightings",
    "wanted",
    "auto_reconnect",
    "priority",
    "address",
    "last_disconnection_us",
    "waiting_since_us",
    "pin_mac",
    "pin_usb_port",
    "auto_wake",
    "bluetooth_address",
    "recording_requested",
    "expected",
    "recording_began_us",
    "recorded_s",
    "recording_unconfirmed",
)

SELECT_DEVICES: Final = f"SELECT id, {', '.join(_COLUMNS)} FROM device"  # noqa: S608
_INSERT_DEVICE: Final = (
    f"INSERT INTO device ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
)
"""Its parameters are the result of `row_of`."""


def changed_columns(before: Device, after: Device) -> dict[str, Any]:
    """The columns in which two values of a device differ, with those of the later one."""
    pairs = zip(row_of(before), row_of(after), strict=True)
    return {name: value for name, (known, value) in zip(_COLUMNS, pairs, strict=True) if value != known}


def update(connection: sqlite3.Connection, device: DeviceId, columns: Mapping[str, Any]) -> bool:
    """Write columns of a device, and no others: its row is written from several views of it at a time. False
    if there is no such device. In the transaction that is open; raises sqlite3.Error."""
    if not columns:
        return connection.execute("SELECT 1 FROM device WHERE id = ?", (device,)).fetchone() is not None
    named = ", ".join(f"{name} = ?" for name in columns)
    done = connection.execute(f"UPDATE device SET {named} WHERE id = ?", (*columns.values(), device))  # noqa: S608
    _remember_address(connection, columns.get("address", ""))
    return done.rowcount > 0


def insert(connection: sqlite3.Connection, device: Device) -> DeviceId:
    """Write a new device, whose id is assigned and returned. In the transaction that is open; raises
    sqlite3.Error."""
    ident = connection.execute(_INSERT_DEVICE, row_of(device)).lastrowid
    _remember_address(connection, device.address)
    return DeviceId(ident or 0)


def _remember_address(connection: sqlite3.Connection, address: str) -> None:
    if address:
        connection.execute("UPDATE addressing SET last_address = ?", (address,))


def row_of(device: Device) -> Row:
    """Everything but the id, in the order of the columns."""
    failure, adapter = device.failure, device.last_adapter
    return (
        text_of(device.name),
        text_of(device.codename),
        device.ssid.data,
        device.last_attempt_us,
        device.last_success_us,
        failure and failure.code.value,
        failure and text_of(failure.message),
        failure.at_us if failure else 0,
        adapter and text_of(adapter.mac),
        adapter and text_of(adapter.usb_port),
        adapter and text_of(adapter.usb_serial),
        json.dumps([[sighting.bssid, sighting.frequency_mhz] for sighting in device.sightings]),
        int(device.wanted),
        int(device.auto_reconnect),
        device.priority,
        text_of(device.address),
        device.last_disconnection_us,
        device.waiting_since_us,
        text_of(device.pin.mac),
        text_of(device.pin.usb_port),
        int(device.auto_wake),
        text_of(device.bluetooth_address),
        int(device.recording_requested),
        int(device.expected),
        device.recording_began_us,
        device.recorded_s,
        int(device.recording_unconfirmed),
    )


def device_of(row: Row) -> Device:
    """The device in a row of `SELECT_DEVICES`; raises StoreDamaged if the row is invalid."""
    ident, name, codename, ssid, attempt, success, code, message, failed_us, mac, port, serial, *more = row
    sightings, wanted, auto_reconnect, priority, address, last_disconnection_us, *later = more
    waiting_since_us, pin_mac, pin_usb_port, auto_wake, bluetooth_address, requested, *latest = later
    expected, recording_began_us, recorded_s, unconfirmed = latest
    try:
        return Device(
            id=DeviceId(ident),
            name=name,
            codename=codename,
            ssid=Ssid(ssid),
            last_attempt_us=attempt,
            last_success_us=success,
            failure=None if code is None else Failure(_code(code), message, failed_us),
            last_adapter=None if mac is None else AdapterIdentity(mac, port, serial),
            sightings=tuple(Sighting(str(bssid), int(mhz)) for bssid, mhz in json.loads(sightings)),
            wanted=bool(wanted),
            auto_reconnect=bool(auto_reconnect),
            priority=priority,
            address=str(IPv4Address(address)) if address else "",
            last_disconnection_us=last_disconnection_us,
            waiting_since_us=waiting_since_us,
            pin=AdapterPin(pin_mac, pin_usb_port),
            auto_wake=bool(auto_wake),
            bluetooth_address=bluetooth_address,
            recording_requested=bool(requested),
            expected=bool(expected),
            recording_began_us=recording_began_us,
            recorded_s=recorded_s,
            recording_unconfirmed=bool(unconfirmed),
        )
    except (ValueError, TypeError) as error:
        raise StoreDamaged(f"the state of device {ident} is inconsistent") from error


def text_of(text: str) -> str:
    """The text with lone surrogates, which databases refuse, replaced by their escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _code(code: str) -> ErrorCode:
    """An error code of another version is kept as far as possible."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.INTERNAL
