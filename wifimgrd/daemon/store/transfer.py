"""The whole state as one file: devices with their ids, and passwords. For a replacement computer.

The file is a store like the one in use, so its version is the schema's, and an older one is migrated
when it is restored. Data that is valid only on the old computer (notes of the backends, and
which bonds the hub has made) is left out. The bonds of the state that is replaced are kept: they are
this computer's.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from wifimgrd.daemon.store import _bonds as bonds
from wifimgrd.daemon.store import _rows as rows
from wifimgrd.daemon.store._schema import BACKUP_NAME, FILE_NAME, open_database
from wifimgrd.daemon.store._untrusted import checked, drop_additions
from wifimgrd.daemon.store.errors import StoreError, plain_text
from wifimgrd.runtime.durable_files import sync, write_new

_ASIDE: Final = ".before-restore"
"""Suffix of a file of the old state, until the new one has been opened."""
_FRESH: Final = ".restored"
_LOGS: Final = (FILE_NAME + "-wal", FILE_NAME + "-shm")


class StoreInUse(StoreError):
    """The daemon runs on this state directory."""


class StoreNotEmpty(StoreError):
    """There are devices already, and `replace` was not given."""


def back_up(directory: Path) -> bytes:
    """The present state, also while the daemon runs, without what others have added to it, such as SQLite's
    statistics; raises StoreError.

    To be called as the user who owns the directory: SQLite may make files there.
    """
    with plain_text():
        path = directory / FILE_NAME
        if not path.is_file():
            raise StoreError(f"there is no state in {directory}")
        with (
            closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True)) as source,
            closing(sqlite3.connect(":memory:")) as copy,
        ):
            source.backup(copy)
            drop_additions(copy)
            data = bytes(copy.serialize())
    return checked(data)[0]


def restore(data: bytes, directory: Path, *, replace: bool = False) -> int:
    """Make the state of a backup, all of it or nothing; returns how many devices it has.

    If the process is killed, the old or the new state is complete.

    `replace` allows existing devices to be removed. Raises StoreInUse, StoreNotEmpty, SchemaFromFuture,
    StoreDamaged and other StoreErrors. To be called as the user who owns the directory.
    """
    with plain_text(), (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreInUse(f"wifimgrd runs on {directory}; stop it first") from None
        fresh, count = checked(data, bonds.of_state(directory))
        if not replace and _has_devices(directory / FILE_NAME):
            raise StoreNotEmpty(f"{directory} has devices already")
        _put_in_place(fresh, directory)
        return count


def end_interrupted_restore(directory: Path) -> None:
    """Remove the files of a restore that was killed, once the state has been opened; raises OSError."""
    if _remove_remains(directory):
        # It may belong to the other state; without a backup, the daemon makes one.
        (directory / BACKUP_NAME).unlink(missing_ok=True)
        sync(directory)


def _remove_remains(directory: Path) -> bool:
    remains = [
        directory / (name + end)
        for name in (FILE_NAME, BACKUP_NAME, *_LOGS)
        for end in (_ASIDE, _FRESH)
        if (directory / (name + end)).exists()
    ]
    for path in remains:
        path.unlink()
    return bool(remains)


def _has_devices(path: Path) -> bool:
    if not path.exists():
        return False
    with closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True)) as connection:
        return bool(connection.execute("SELECT count(*) FROM device").fetchone()[0])


def _put_in_place(data: bytes, directory: Path) -> None:
    """Replace the state; the old one stays beside the new one until that has been opened.

    The old state is one file before anything is replaced, and the new one gets its name by a rename: at each
    moment it is the name of the whole old or the whole new state. The copy beside it is replaced first:
    an old state that cannot be read counts as missing, and the daemon opens the copy then.
    """
    _remove_remains(directory)
    _fold_log(directory)
    names = (BACKUP_NAME, FILE_NAME)
    for name in names:
        write_new(directory / (name + _FRESH), data)
        if (directory / name).exists():
            os.link(directory / name, directory / (name + _ASIDE))
    sync(directory)
    for name in names:
        (directory / (name + _FRESH)).replace(directory / name)
        sync(directory)
    try:
        _open(directory)
    except BaseException:
        _put_back(directory)
        raise
    _remove_remains(directory)
    sync(directory)


def _fold_log(directory: Path) -> None:
    """Merge the log of the old state into its one file; the log of an unreadable state is set aside."""
    path = directory / FILE_NAME
    try:
        if path.exists():
            with closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True)) as connection:
                (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
                if mode != "delete":
                    raise StoreError("another process holds the state file")
    except UnicodeDecodeError:
        pass  # from SQLite's message about a damaged schema, which quotes it
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_NOTADB,
        ):
            raise
    for name in _LOGS:
        if (directory / name).exists():
            (directory / name).replace(directory / (name + _ASIDE))


def _open(directory: Path) -> None:
    """Open the state as the daemon does, and read each device; raises StoreError, sqlite3.Error, OSError."""
    with closing(open_database(directory)) as connection:
        for row in connection.execute(rows.SELECT_DEVICES):
            rows.device_of(row)


def _put_back(directory: Path) -> None:
    """Undo a replacement that could not be opened; files that did not exist before are removed."""
    for name in _LOGS:
        (directory / name).unlink(missing_ok=True)
    for name in (FILE_NAME, BACKUP_NAME, *_LOGS):
        aside = directory / (name + _ASIDE)
        if aside.exists():
            aside.replace(directory / name)
        else:
            (directory / name).unlink(missing_ok=True)
    sync(directory)
