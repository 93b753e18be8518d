"""A second copy of the state beside the first, for the day on which the first cannot be read.

It is made anew after each change that a client was told is done, and takes its place by a rename, so that
there is always a whole one. What was damaged is set aside, never deleted.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from wifimgrd.store import rows
from wifimgrd.store.errors import StoreDamaged
from wifimgrd.store.schema import BACKUP_NAME, FILE_NAME, check_integrity, sync_directory, version_of

_IDS_SKIPPED: Final = 1000
"""More devices than this cannot have been created, unknown to the backup, since it was made."""


def keep(connection: sqlite3.Connection, directory: Path) -> None:
    """Copy the open state to its backup; raises sqlite3.Error, OSError, and then the old one stays."""
    path = directory / (BACKUP_NAME + ".new")
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(path)) as copy:
        connection.backup(copy)
        # The copy is one file, whole without a log beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
    with path.open("rb") as written:
        os.fsync(written.fileno())
    path.replace(directory / BACKUP_NAME)
    sync_directory(directory)


def is_good(directory: Path) -> bool:
    """Whether there is a backup that can be read to the last row."""
    path = directory / BACKUP_NAME
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            check_integrity(connection)
            for row in connection.execute(rows.SELECT_DEVICES):
                rows.device_of(row)
            return version_of(connection) > 0
    except (sqlite3.Error, OSError, StoreDamaged):
        return False


def restore(directory: Path) -> Path | None:
    """Set the state aside and put the backup, which must be good, in its place.

    Ids given since the backup was made are not given again. Returns where the damaged state lies now; None
    where there was none. Raises sqlite3.Error, OSError.
    """
    fresh = directory / (FILE_NAME + ".restored")
    shutil.copyfile(directory / BACKUP_NAME, fresh)
    fresh.chmod(0o600)
    with closing(sqlite3.connect(fresh)) as connection, connection:
        connection.execute("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'device'", (_IDS_SKIPPED,))
    with fresh.open("rb") as written:
        os.fsync(written.fileno())
    aside = directory / f"{FILE_NAME}.damaged-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    was_there = (directory / FILE_NAME).exists()
    for suffix in ("-wal", "-shm", ""):
        file = directory / (FILE_NAME + suffix)
        if file.exists():
            file.replace(aside.with_name(aside.name + suffix))
    fresh.replace(directory / FILE_NAME)
    sync_directory(directory)
    return aside if was_there else None
