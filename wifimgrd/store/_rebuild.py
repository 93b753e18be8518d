"""A new state made of the rows of an untrusted file: nothing of the file's schema is used.

A trigger, view, index or constraint of the file has no effect: the rows are read by name from ordinary
tables, within limits, written into the tables of `wifimgrd.store._schema`, and checked one by one there.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from ipaddress import IPv4Address
from typing import Final

from wifimgrd.domain.bonds import Claim
from wifimgrd.domain.device import CONNECTION_TYPE, Device
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.registration import parse_registration
from wifimgrd.store import _bonds as bonds
from wifimgrd.store import _rows as rows
from wifimgrd.store._schema import MIGRATIONS, migrate, refuse_newer, version_of
from wifimgrd.store.errors import StoreDamaged

_LEFT_OUT: Final = frozenset({"memory", "bond"})
"""Notes of the backends, and the bonds that were made: valid on the old computer alone."""
_LARGEST_VALUE: Final = 1 << 20
_TIME_S: Final = 60.0
_STEPS: Final = 10_000
"""SQLite instructions between two checks of the time limit."""
_LARGEST_ID: Final = 2**62
_LONGEST_NAME: Final = 256
"""A default name is an SSID with its octets escaped and a number after it: longer than one that is set."""
_LONGEST_KEY: Final = 255
_LAST_US: Final = 253_402_300_800_000_000
"""The year 10000: later times cannot be written in RFC 3339."""
_MAC: Final = re.compile(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}")
_HIGHEST_MHZ: Final = 100_000
_NO_STATE: Final = "this is not a wifimgrd state, or it is damaged"
_NO_BONDS: Final[Mapping[str, Claim]] = {}


def rebuilt(octets: bytes, made: Mapping[str, Claim] = _NO_BONDS) -> tuple[bytes, int]:
    """The same state in today's schema with this computer's bonds, as a database, and how many devices it
    has.

    Raises StoreDamaged if a row or table is invalid, and SchemaFromFuture.
    """
    try:
        with closing(_opened(octets)) as source, closing(_connected()) as target:
            _copy(source, target)
            migrate(target)
            target.execute("DELETE FROM bond")  # which the migration has made of the devices of an old backup
            for address, claim in made.items():
                bonds.keep(target, address, claim)
            return bytes(target.serialize()), _check(target)
    except (sqlite3.Error, ArithmeticError, RecursionError) as error:  # the last two: from the JSON in a row
        raise StoreDamaged(_NO_STATE) from error


def _opened(octets: bytes) -> sqlite3.Connection:
    """The file, opened as untrusted input: https://www.sqlite.org/security.html"""
    source = _connected()
    try:
        source.deserialize(_without_log(octets))
        source.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        source.execute("PRAGMA trusted_schema = OFF")
        source.execute("PRAGMA cell_size_check = ON")
        end = time.monotonic() + _TIME_S
        source.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
    except BaseException:
        source.close()
        raise
    return source


def _connected() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def _without_log(octets: bytes) -> bytes:
    """A database whose header does not have the mark of a write-ahead log, which is impossible in memory.

    https://www.sqlite.org/fileformat2.html#file_format_version_numbers
    """
    return octets[:18] + b"\1\1" + octets[20:]


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Fill an empty database with the source's rows, in the schema of the source's version."""
    (verdict,) = source.execute("PRAGMA integrity_check(1)").fetchone()
    version = version_of(source)
    refuse_newer(source, MIGRATIONS)
    if version < 1 or verdict != "ok":
        raise StoreDamaged(_NO_STATE)
    migrate(target, MIGRATIONS[:version])
    target.execute("BEGIN")
    for table in _tables(target):
        columns = _columns(target, table)
        if not _is_ordinary(source, table, columns):
            raise StoreDamaged(_NO_STATE)
        if table not in _LEFT_OUT:
            # In brackets, a name that is not a column is an error; in quotes it would be a text.
            listed = ", ".join(f"[{column}]" for column in columns)
            places = ", ".join("?" * len(columns))
            target.execute(f"DELETE FROM [{table}]")  # noqa: S608 - names of our own schema
            target.executemany(
                f"INSERT INTO [{table}] ({listed}) VALUES ({places})",  # noqa: S608
                source.execute(f"SELECT {listed} FROM [{table}]"),  # noqa: S608
            )
    _copy_last_ids(source, target)
    if target.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise StoreDamaged(_NO_STATE)
    target.execute("COMMIT")


def _tables(target: sqlite3.Connection) -> list[str]:
    found = target.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@'"
    )
    return [name for (name,) in found]


def _columns(target: sqlite3.Connection, table: str) -> list[str]:
    return [name for (name,) in target.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _is_ordinary(source: sqlite3.Connection, table: str, columns: list[str]) -> bool:
    """Whether it is a table with these columns, none of which is computed."""
    kinds = source.execute("SELECT type FROM pragma_table_list(?) WHERE schema = 'main'", (table,)).fetchall()
    held = {
        name
        for name, hidden in source.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,))
        if not hidden
    }
    return kinds == [("table",)] and held.issuperset(columns)


def _copy_last_ids(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Prevent ids from being assigned again, also those of removed rows."""
    given = dict(source.execute("SELECT name, seq FROM sqlite_sequence"))
    counted = target.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
    ).fetchall()
    for (table,) in counted:
        (largest,) = target.execute(f"SELECT max(rowid) FROM [{table}]").fetchone()  # noqa: S608
        last = given.get(table, 0)
        if not isinstance(last, int) or not 0 <= max(last, largest or 0) <= _LARGEST_ID:
            raise StoreDamaged(_NO_STATE)
        target.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        target.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, max(last, largest or 0)))


def _check(target: sqlite3.Connection) -> int:
    """Check every row, and return the number of devices; raises StoreDamaged."""
    secrets = dict(target.execute("SELECT device_id, passphrase FROM secret"))
    addresses = set[str]()
    count = 0
    for row in target.execute(rows.SELECT_DEVICES):
        device = rows.device_of(row)
        if not _makes_sense(device, secrets.get(device.id)) or device.address in addresses:
            raise StoreDamaged(f"the state of device {device.id} is inconsistent")
        addresses |= {device.address} - {""}
        count += 1
    last_addresses = [address for (address,) in target.execute("SELECT last_address FROM addressing")]
    if len(last_addresses) != 1 or not _is_address(last_addresses[0]):
        raise StoreDamaged(_NO_STATE)
    for key, device_id in target.execute("SELECT key, device_id FROM idempotency_key"):
        if not 0 < len(key) <= _LONGEST_KEY or not 0 < device_id <= _LARGEST_ID:
            raise StoreDamaged("the state has an invalid idempotency key")
    return count


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
                "ssid": device.ssid.octets,
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
    for time_us in (*times, device.waiting_since_us, failed_us):
        yield 0 <= time_us < _LAST_US
    yield not device.address or not IPv4Address(device.address).is_multicast
    yield not device.bluetooth_address or _MAC.fullmatch(device.bluetooth_address) is not None
    for sighting in device.sightings:
        yield _MAC.fullmatch(sighting.bssid) is not None
        yield 0 < sighting.frequency_mhz < _HIGHEST_MHZ
