"""The files on disk: their places and permissions, the state's tables, and how older files are migrated."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from pathlib import Path
from typing import Final

from wifimgrd.daemon.store._writing import transaction
from wifimgrd.daemon.store.errors import SchemaFromFuture, StoreDamaged, StoreError
from wifimgrd.runtime.durable_files import sync

FILE_NAME: Final = "wifimgrd.db"
BACKUP_NAME: Final = FILE_NAME + ".backup"
"""A second copy, in case the first is damaged; see wifimgrd.daemon.store._backup."""
COMPANIONS: Final = (FILE_NAME + "-wal", FILE_NAME + "-shm", BACKUP_NAME)
"""Files that belong to the state and lie beside it: its log, and the copy."""

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    # 1
    (
        """
        CREATE TABLE device (
            id              INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
            name            TEXT NOT NULL,
            codename        TEXT NOT NULL,
            ssid            BLOB NOT NULL,
            last_attempt_us INTEGER NOT NULL,                   -- since the epoch; 0 = never
            last_success_us INTEGER NOT NULL,
            failure_code    TEXT,
            failure_message TEXT,
            adapter_mac     TEXT,                               -- NULL = no adapter used yet
            adapter_port    TEXT,
            adapter_serial  TEXT,
            sightings       TEXT NOT NULL,                      -- [[bssid, MHz], ...], newest first
            CHECK ((failure_code IS NULL) = (failure_message IS NULL)),
            CHECK ((adapter_mac IS NULL) = (adapter_port IS NULL)),
            CHECK ((adapter_mac IS NULL) = (adapter_serial IS NULL))
        ) STRICT
        """,
        """
        CREATE TABLE secret (
            device_id  INTEGER PRIMARY KEY REFERENCES device (id) ON DELETE CASCADE,
            passphrase BLOB NOT NULL
        ) STRICT
        """,
        # Outlives its device: a repeated key still refers to the device that it created.
        """
        CREATE TABLE idempotency_key (
            key       TEXT PRIMARY KEY,
            device_id INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX idempotency_key_age ON idempotency_key (device_id)",
        """
        CREATE TABLE memory (
            key   TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
    ),
    # 2: which devices are reconnected automatically
    (
        "ALTER TABLE device ADD COLUMN wanted INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE device ADD COLUMN auto_reconnect INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE device ADD COLUMN priority INTEGER NOT NULL DEFAULT 0",
    ),
    # 3: the address at which a device is reached; empty = none assigned
    ("ALTER TABLE device ADD COLUMN address TEXT NOT NULL DEFAULT ''",),
    # 4: when a device failed and when its last connection ended; 0 = not known
    (
        "ALTER TABLE device ADD COLUMN failure_at_us INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE device ADD COLUMN last_disconnection_us INTEGER NOT NULL DEFAULT 0",
    ),
    # 5: since when a device waits for an interface; 0 = it does not
    ("ALTER TABLE device ADD COLUMN waiting_since_us INTEGER NOT NULL DEFAULT 0",),
    # 6: the adapter that a device is pinned to; both empty = none
    (
        "ALTER TABLE device ADD COLUMN pin_mac TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE device ADD COLUMN pin_usb_port TEXT NOT NULL DEFAULT ''",
    ),
    # 7: the request with an idempotency key that created the device; empty = none, or its password was
    # changed since. It has the password, and so is beside it.
    ("ALTER TABLE secret ADD COLUMN request BLOB NOT NULL DEFAULT x''",),
    # 8: whether a camera may be woken without a command, and the one that is paired; empty = none
    (
        "ALTER TABLE device ADD COLUMN auto_wake INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE device ADD COLUMN bluetooth_address TEXT NOT NULL DEFAULT ''",
    ),
    # 9: the request with a key that was answered with a device that was there before; it has no password.
    # Empty = it created the device, and is beside the secret.
    ("ALTER TABLE idempotency_key ADD COLUMN request BLOB NOT NULL DEFAULT x''",),
    # 10: whether the last command to a camera was to record
    ("ALTER TABLE device ADD COLUMN recording_requested INTEGER NOT NULL DEFAULT 0",),
    # 11: whether a device is expected, as those that were connected, lost or waiting; the recording that was
    # not seen to end: when it began (0 = none), and the seconds that the camera has counted; whether the last
    # command may have been done
    (
        "ALTER TABLE device ADD COLUMN expected INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE device ADD COLUMN recording_began_us INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE device ADD COLUMN recorded_s INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE device ADD COLUMN recording_unconfirmed INTEGER NOT NULL DEFAULT 0",
        "UPDATE device SET expected = 1 WHERE wanted OR waiting_since_us",
    ),
    # 12: the address that was assigned last, also if its device was removed since; empty = not known
    (
        "CREATE TABLE addressing (last_address TEXT NOT NULL) STRICT",
        "INSERT INTO addressing VALUES ('')",
    ),
    # 13: the bonds that the hub has made, by the Bluetooth addresses of the camera and of the adapter (empty
    # = one that was not looked at since: of those that were and had none, is_own is 0); this host's other
    # bonds are not the hub's
    (
        """
        CREATE TABLE bond (
            address TEXT NOT NULL,
            adapter TEXT NOT NULL,
            is_own  INTEGER NOT NULL,
            PRIMARY KEY (address, adapter)
        ) STRICT, WITHOUT ROWID
        """,
        "INSERT INTO bond SELECT DISTINCT bluetooth_address, '', 1 FROM device WHERE bluetooth_address <> ''",
    ),
)
"""Number n (from 1) migrates a file from version n - 1 to n. A released number never changes."""

SCHEMA_VERSION: Final = len(MIGRATIONS)
_UNREAD_PAGE: Final = re.compile(r"unable to get the page\. error code=(\d+)")
"""In the verdict of a check that could not read the file: its code says why."""


def open_database(directory: Path) -> sqlite3.Connection:
    """Open the file in `directory`, made and migrated if needed.

    Raises SchemaFromFuture, StoreDamaged, sqlite3.Error and OSError; the connection belongs to
    the calling thread.
    """
    path = _prepare(directory)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        _configure(connection)
        _refuse_foreign(connection)
        refuse_newer(connection, MIGRATIONS)
        check_integrity(connection)
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS) -> None:
    """Run the migrations that the file lacks, all of them or none; raises SchemaFromFuture."""
    refuse_newer(connection, migrations)
    if version_of(connection) == len(migrations):
        return
    with transaction(connection):
        for statements in migrations[version_of(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations):d}")


def refuse_newer(connection: sqlite3.Connection, migrations: tuple[tuple[str, ...], ...]) -> None:
    """Raise SchemaFromFuture if a version of the daemon that has more migrations wrote the file."""
    version = version_of(connection)
    if version > len(migrations):
        raise SchemaFromFuture(
            f"a newer version of wifimgrd wrote the file (schema {version},"
            f" this one supports {len(migrations)})"
        )


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version in the file; 0 = empty."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _configure(connection: sqlite3.Connection) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(f"the state directory's file system has no write-ahead log (mode {mode})")
    # With WAL, FULL syncs the log at each commit: https://www.sqlite.org/pragma.html#pragma_synchronous
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # A secret that was deleted is overwritten.
    connection.execute("PRAGMA secure_delete = ON")


def _refuse_foreign(connection: sqlite3.Connection) -> None:
    version = version_of(connection)
    [has_tables] = connection.execute("SELECT EXISTS (SELECT 1 FROM sqlite_master)").fetchone()
    if version < 0 or (version == 0 and has_tables):
        raise StoreDamaged("the state file is the database of another program")


def check_integrity(connection: sqlite3.Connection) -> None:
    """Raise StoreDamaged if SQLite finds the file damaged, or another StoreError or sqlite3.Error."""
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    unread = _UNREAD_PAGE.search(verdict)
    if unread is not None and int(unread[1]) & 0xFF != sqlite3.SQLITE_CORRUPT:
        raise StoreError(f"the disk that holds the file reports an error (quick_check, {unread[1]})")
    if verdict != "ok":
        raise StoreDamaged("the file is damaged (quick_check)")


def _prepare(directory: Path) -> Path:
    """Make the directory and the file, readable only by this user before anything is written to them.

    SQLite gives its `-wal` and `-shm` files the mode of the database file.
    """
    if not directory.is_dir():
        directory.mkdir(mode=0o700, parents=True)
        sync(directory.parent)
    _restrict_access(directory, 0o700)
    path = directory / FILE_NAME
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        sync(directory)
    except FileExistsError:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise StoreDamaged("the state file is not a regular file") from None
    for name in (FILE_NAME, *COMPANIONS):
        file = directory / name
        if file.exists():
            _restrict_access(file, 0o600)
    return path


def _restrict_access(path: Path, mode: int) -> None:
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(mode)


def set_aside(path: Path, suffix: str) -> Path:
    """Rename a file, and its log with it, so that another can take its place; returns the new path.

    The log goes first: beside the new file it would be taken for that one's.
    """
    aside = path.with_name(f"{path.name}.{suffix}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
    for end in ("-wal", "-shm", ""):
        file = path.with_name(path.name + end)
        if file.exists():
            file.replace(aside.with_name(aside.name + end))
    return aside
