"""The state opened at start: read to the last row, and replaced by its backup where that cannot be."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import structlog

from wifimgrd.store import backup, rows
from wifimgrd.store.errors import StoreDamaged, told_plainly
from wifimgrd.store.schema import BACKUP_NAME, FILE_NAME, open_database

_log: Any = structlog.get_logger(__name__)


def open_or_restore(directory: Path) -> tuple[sqlite3.Connection, dict[str, str]]:
    """The state and the words kept in it; where it is damaged, its backup's. Raises StoreError."""
    try:
        return _open_and_recall(directory)
    except StoreDamaged as damage:
        with told_plainly():
            if not backup.is_good(directory):
                raise
            aside = backup.restore(directory)
        name = aside.name if aside else None
        _log.critical("state_restored_from_backup", reason=damage.message, damaged=name)
        return _open_and_recall(directory)


def _open_and_recall(directory: Path) -> tuple[sqlite3.Connection, dict[str, str]]:
    """Open the file and read it to the last row; raises StoreError."""
    with told_plainly():
        path = directory / FILE_NAME
        if (directory / BACKUP_NAME).exists() and not (path.exists() and path.stat().st_size):
            raise StoreDamaged("the state file is empty or gone, and its backup is there")
        connection = open_database(directory)
        try:
            for row in connection.execute(rows.SELECT_DEVICES):
                rows.device_of(row)
            return connection, dict(connection.execute("SELECT key, value FROM memory"))
        except sqlite3.OperationalError as error:
            connection.close()
            if "no such" in str(error):
                raise StoreDamaged("the state file has not the tables that it should have") from None
            raise
        except BaseException:
            connection.close()
            raise
