"""A state from an untrusted file: its tables are compared with ours before any of it runs, and each row is
checked before it is used.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from ipaddress import IPv4Address
from typing import Final

from wifimgrd.daemon.store import _bonds as bonds
from wifimgrd.daemon.store import _rows as rows
from wifimgrd.daemon.store._schema import MIGRATIONS, migrate, refuse_newer, version_of
from wifimgrd.daemon.store.errors import StoreDamaged
from wifimgrd.domain.bonds import Claim
from wifimgrd.domain.device import CONNECTION_TYPE, Device
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.registration import parse_registration

_CAUTION: Final = ("trusted_schema = OFF", "cell_size_check = ON", "temp_store = MEMORY")
"""For a file from elsewhere (https://www.sqlite.org/security.html); its passwords go to no temporary file."""
_OF_THE_OTHER_COMPUTER: Final = ("memory", "bond")
"""Notes of the backends, and the bonds that were made: valid only on the old computer."""
_WRITTEN_ANEW: Final = (
    "PRAGMA application_id = 0",
    "PRAGMA default_cache_size = 0",
    "PRAGMA auto_vacuum = NONE",
    "PRAGMA page_size = 4096",
    "VACUUM",
)
"""SQLite writes each page again: nothing of the file is left but the rows."""
_DROPPED: Final = ("trigger", "view", "index", "table")
"""In this order: a table takes its indexes along."""
_LARGEST_VALUE: Final = 1 << 20
_TIME_S: Final = 60.0
_STEPS: Final = 10_000
"""SQLite instructions between two checks of the time limit."""
_LARGEST_ID: Final = 2**62
_LONGEST_NAME: Final = 256
"""A default name is an SSID with its bytes escaped and a number after it: longer than one that is set."""
_LONGEST_KEY: Final = 255
_LAST_US: Final = 253_402_300_800_000_000
"""The year 10000: later times cannot be written in RFC 3339."""
_MAC: Final = re.compile(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}")
_HIGHEST_MHZ: Final = 100_000
_OF_JSON: Final = (ArithmeticError, RecursionError)
"""The errors that the JSON in a row can raise, beside those that `rows.device_of` expects."""
_NO_STATE: Final = "this is not a wifimgrd state, or it is damaged"
_NO_BONDS: Final[Mapping[str, Claim]] = {}


def checked(data: bytes, made: Mapping[str, Claim] = _NO_BONDS) -> tuple[bytes, int]:
    """The same state in today's schema with this computer's bonds, as a database, and how many devices it
    has.

    Raises StoreDamaged if a row or table is invalid, and SchemaFromFuture.
    """
    try:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as state:
            _open(state, data)
            _check_file(state)
            migrate(state)
            count = _check_rows(state)
            for table in _OF_THE_OTHER_COMPUTER:
                state.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own schema
            for address, claim in made.items():
                bonds.keep(state, address, claim)
            for statement in _WRITTEN_ANEW:
                state.execute(statement)
            return bytes(state.serialize()), count
    except (sqlite3.Error, UnicodeDecodeError, *_OF_JSON) as error:
        raise StoreDamaged(_NO_STATE) from error


def drop_additions(state: sqlite3.Connection) -> None:
    """Drop the tables, indexes, triggers and views of a hub's own state that are not of its version."""
    version = version_of(state)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as ours:
        migrate(ours, MIGRATIONS[: max(version, 0)])
        expected = {(kind, name) for kind, name, *_ in _schema(ours)}
    for kind, name, *_ in sorted(_schema(state), key=lambda one: _DROPPED.index(one[0])):
        if (kind, name) not in expected:
            quoted = name.replace('"', '""')
            state.execute(f'DROP {kind} IF EXISTS "{quoted}"')


def _open(state: sqlite3.Connection, data: bytes) -> None:
    """Open the file within limits, without the mark of a write-ahead log, which is impossible in memory:
    https://www.sqlite.org/fileformat2.html#file_format_version_numbers"""
    state.deserialize(data[:18] + b"\1\1" + data[20:])
    state.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
    for setting in _CAUTION:
        state.execute(f"PRAGMA {setting}")
    end = time.monotonic() + _TIME_S
    state.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)


def _check_file(state: sqlite3.Connection) -> None:
    """Raise StoreDamaged unless it has the tables of its version, nothing beside them, and is undamaged."""
    refuse_newer(state, MIGRATIONS)
    version = version_of(state)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as ours:
        migrate(ours, MIGRATIONS[: max(version, 0)])
        if version < 1 or _schema(state) != _schema(ours):
            raise StoreDamaged(_NO_STATE)
    (encoding,) = state.execute("PRAGMA encoding").fetchone()
    (verdict,) = state.execute("PRAGMA integrity_check(1)").fetchone()  # also of types, and CHECK
    dangling = state.execute("PRAGMA foreign_key_check").fetchone()
    if (encoding, verdict, dangling) != ("UTF-8", "ok", None):
        raise StoreDamaged(_NO_STATE)


def _schema(state: sqlite3.Connection) -> list[tuple[str, ...]]:
    """Its tables, indexes, triggers and views, without the space that SQLite may keep after them."""
    found = state.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return sorted((*map(str, names), str(sql).rstrip()) for *names, sql in found)


def _check_rows(state: sqlite3.Connection) -> int:
    """Check every row, and return the number of devices; raises StoreDamaged."""
    secrets = {
        device_id: passphrase
        for device_id, passphrase, _ in state.execute("SELECT device_id, passphrase, request FROM secret")
    }
    addresses = set[str]()
    largest = count = 0
    for row in state.execute(rows.SELECT_DEVICES):
        device = rows.device_of(row)
        if not _makes_sense(device, secrets.get(device.id)) or device.address in addresses:
            raise StoreDamaged(f"the state of device {device.id} is inconsistent")
        addresses |= {device.address} - {""}
        largest = max(largest, device.id)
        count += 1
    last_addresses = [address for (address,) in state.execute("SELECT last_address FROM addressing")]
    if len(last_addresses) != 1 or not _is_address(last_addresses[0]):
        raise StoreDamaged(_NO_STATE)
    for key, device_id, _ in state.execute("SELECT key, device_id, request FROM idempotency_key"):
        if not 0 < len(key) <= _LONGEST_KEY or not 0 < device_id <= _LARGEST_ID:
            raise StoreDamaged("the state has an invalid idempotency key")
    match state.execute("SELECT name, seq FROM sqlite_sequence").fetchall() or [("device", 0)]:
        case [("device", int(last))] if largest <= last <= _LARGEST_ID:
            return count
    raise StoreDamaged("the state has no valid last id")


def _is_address(text: str) -> bool:
    try:
        return not text or str(IPv4Address(text)) == text
    except ValueError:
        return False


def _makes_sense(device: Device, secret: bytes | None) -> bool:
    """Whether the hub itself could have written it."""
    if secret is None:
        return False
    try:
        parse_registration(
            {
                "codename": device.codename,
                "connection_type": CONNECTION_TYPE,
                "ssid": device.ssid.data,
                "password": secret.decode(),
                "priority": device.priority,
            },
            is_stored=True,
        )
    except (InvalidRequest, UnicodeDecodeError):
        return False
    return all(_conditions(device))


def _conditions(device: Device) -> Iterator[bool]:
    yield device.id > 0
    yield 0 < len(device.name) <= _LONGEST_NAME
    yield not any(character < " " or "\x7f" <= character <= "\x9f" for character in device.name)
    failed_us = device.failure.at_us if device.failure else 0
    times = device.last_attempt_us, device.last_success_us, device.last_disconnection_us
    for time_us in (*times, device.waiting_since_us, device.recording_began_us, failed_us):
        yield 0 <= time_us < _LAST_US
    yield 0 <= device.recorded_s < _LAST_US // 1_000_000
    yield not device.address or not IPv4Address(device.address).is_multicast
    yield not device.bluetooth_address or _MAC.fullmatch(device.bluetooth_address) is not None
    for sighting in device.sightings:
        yield _MAC.fullmatch(sighting.bssid) is not None
        yield 0 < sighting.frequency_mhz < _HIGHEST_MHZ
