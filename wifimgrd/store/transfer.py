"""The whole state as one file: devices with their ids, and passwords. For a replacement computer.

The file is a store like the one in use, so its version is the schema's, and an older one is brought up to
date when it is restored. What belongs to the old computer alone (notes of the backends) is left out.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from wifimgrd.store.errors import StoreDamaged, StoreError, told_plainly
from wifimgrd.store.schema import COMPANIONS, FILE_NAME, migrate, sync_directory

_TABLES: Final = frozenset({"device", "secret", "idempotency_key", "memory"})


class StoreInUse(StoreError):
    """The daemon runs on this state directory."""


class StoreNotEmpty(StoreError):
    """There are devices already, and nobody said that they may go."""


def back_up(directory: Path) -> bytes:
    """The state as it is now, also while the daemon runs; raises StoreError.

    To be called as the user whom the directory belongs to: SQLite may make files there.
    """
    with told_plainly():
        path = directory / FILE_NAME
        if not path.is_file():
            raise StoreError(f"there is no state in {directory}")
        with (
            closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True)) as source,
            closing(sqlite3.connect(":memory:")) as copy,
        ):
            source.backup(copy)
            octets = _without_log(bytes(copy.serialize()))
    _made_current(octets)
    return octets


def restore(octets: bytes, directory: Path, *, replace: bool = False) -> int:
    """Make the state of a backup, all of it or nothing; returns how many devices it has.

    `replace` lets devices go that are there. Raises StoreInUse, StoreNotEmpty, SchemaFromFuture,
    StoreDamaged and other StoreErrors. To be called as the user whom the directory belongs to.
    """
    with told_plainly(), (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreInUse(f"wifimgrd runs on {directory}; stop it first") from None
        fresh, count = _made_current(octets)
        path = directory / FILE_NAME
        if not replace and _has_devices(path):
            raise StoreNotEmpty(f"{directory} has devices already")
        _put_in_place(fresh, path)
        return count


def _made_current(octets: bytes) -> tuple[bytes, int]:
    """A backup in today's schema, and how many devices it has."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(_without_log(octets))
        _check(connection)
        migrate(connection)
        connection.execute("DELETE FROM memory")
        (count,) = connection.execute("SELECT count(*) FROM device").fetchone()
        return bytes(connection.serialize()), int(count)


def _without_log(octets: bytes) -> bytes:
    """A database whose header does not say write-ahead log, which none in memory can have.

    https://www.sqlite.org/fileformat2.html#file_format_version_numbers
    """
    return octets[:18] + b"\1\1" + octets[20:]


def _check(connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    found = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if verdict != "ok" or not found >= _TABLES:
        raise StoreDamaged("this is no state of wifimgrd, or a damaged one")


def _has_devices(path: Path) -> bool:
    if not path.exists():
        return False
    with closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True)) as connection:
        return bool(connection.execute("SELECT count(*) FROM device").fetchone()[0])


def _put_in_place(octets: bytes, path: Path) -> None:
    fresh = path.with_name(path.name + ".restored")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(octets)
        file.flush()
        os.fsync(file.fileno())
    for name in COMPANIONS:  # of the state that goes
        path.with_name(name).unlink(missing_ok=True)
    fresh.replace(path)
    sync_directory(path.parent)
