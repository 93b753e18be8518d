"""A second copy of the state beside the first, in case the first cannot be read.

It is made anew after each change that was acknowledged to a client, and replaces the old one by a rename, so
that there is always a complete one. A damaged file is set aside, never deleted: at the start the state is
read to its last row, and replaced by its backup if it is damaged.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import structlog

from wifimgrd.daemon.store import _rows as rows
from wifimgrd.daemon.store._schema import (
    BACKUP_NAME,
    FILE_NAME,
    check_integrity,
    migrate,
    open_database,
    set_aside,
    version_of,
)
from wifimgrd.daemon.store.errors import StoreDamaged, plain_text
from wifimgrd.daemon.store.transfer import end_interrupted_restore
from wifimgrd.runtime.durable_files import sync, write_new

_log: Any = structlog.get_logger(__name__)

_IDS_SKIPPED: Final = 1000
"""More devices than this cannot have been created since the backup was made without being in it."""


def open_or_restore(directory: Path) -> tuple[sqlite3.Connection, dict[str, str]]:
    """The state and the notes in it; those of its backup if it is damaged. Raises StoreError."""
    try:
        opened = _open_and_recall(directory)
    except StoreDamaged as damage:
        with plain_text():
            if not is_good(directory):
                raise
            aside = restore(directory)
        name = aside.name if aside else None
        _log.critical("state_restored_from_backup", reason=damage.message, damaged=name)
        opened = _open_and_recall(directory)
    with suppress(OSError):  # the next start does it
        end_interrupted_restore(directory)
    return opened


def _open_and_recall(directory: Path) -> tuple[sqlite3.Connection, dict[str, str]]:
    """Open the file and read it to the last row; raises StoreError."""
    with plain_text():
        path = directory / FILE_NAME
        if (directory / BACKUP_NAME).exists() and not (path.exists() and path.stat().st_size):
            raise StoreDamaged("the state file is empty or missing, but its backup exists")
        connection = open_database(directory)
        try:
            for row in connection.execute(rows.SELECT_DEVICES):
                rows.device_of(row)
            return connection, dict(connection.execute("SELECT key, value FROM memory"))
        except sqlite3.OperationalError as error:
            connection.close()
            if "no such" in str(error):
                raise StoreDamaged("the state file lacks tables that it should have") from None
            raise
        except BaseException:
            connection.close()
            raise


def keep(connection: sqlite3.Connection, directory: Path) -> None:
    """Copy the open state to its backup; raises sqlite3.Error, OSError, and then the old one stays."""
    path = directory / (BACKUP_NAME + ".new")
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(path)) as copy:
        connection.backup(copy)
        # The copy is one file, complete without a log beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
    sync(path)
    path.replace(directory / BACKUP_NAME)
    sync(directory)


def is_good(directory: Path) -> bool:
    """Whether there is a backup that can be read to the last row, of this schema or an older one."""
    path = directory / BACKUP_NAME
    try:
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file,
            closing(sqlite3.connect(":memory:", isolation_level=None)) as copy,
        ):
            check_integrity(file)
            if not version_of(file):
                return False
            file.backup(copy)
            migrate(copy)
            for row in copy.execute(rows.SELECT_DEVICES):
                rows.device_of(row)
            return True
    except (sqlite3.Error, UnicodeDecodeError, OSError, StoreDamaged):
        return False


def restore(directory: Path) -> Path | None:
    """Set the state aside and replace it by the backup, which must be readable.

    Ids assigned since the backup was made are not assigned again. Returns the path of the damaged state; None
    if there was none. Raises sqlite3.Error, OSError.
    """
    fresh = directory / (FILE_NAME + ".restored")
    fresh.unlink(missing_ok=True)
    write_new(fresh, (directory / BACKUP_NAME).read_bytes())
    with closing(sqlite3.connect(fresh)) as connection, connection:
        connection.execute("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'device'", (_IDS_SKIPPED,))
    sync(fresh)
    was_there = (directory / FILE_NAME).exists()
    aside = set_aside(directory / FILE_NAME, "damaged")
    fresh.replace(directory / FILE_NAME)
    sync(directory)
    return aside if was_there else None
