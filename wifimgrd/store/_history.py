"""The history on disk: an SQLite file of its own, so that no command ever waits for it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import structlog

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.history import LARGEST_ID, HistoryFilter, HistoryKind, HistoryRow
from wifimgrd.domain.signal_history import Samples
from wifimgrd.store import _signal_table as signal_table
from wifimgrd.store._rows import text_of
from wifimgrd.store._schema import check_integrity, migrate, refuse_newer, set_aside, sync_directory
from wifimgrd.store._writing import transaction
from wifimgrd.store.errors import SchemaFromFuture, StoreDamaged, StoreError, is_passing, plain_text

_log: Any = structlog.get_logger(__name__)

FILE_NAME: Final = "history.db"
_DAY_US: Final = 86_400_000_000
_COLUMNS: Final = (
    "id",
    "time_us",
    "kind",
    "device_id",
    "device_name",
    "interface",
    "code",
    "message",
    "ended_us",
    "signal_minimum",
    "signal_mean",
    "seen_us",
    "interrupted_us",
)
_SELECT: Final = f"SELECT {', '.join(_COLUMNS)} FROM history"  # noqa: S608
_IS_KNOWN: Final = f"kind IN ({', '.join(repr(kind.value) for kind in HistoryKind)})"
_PUT: Final = (
    f"INSERT OR REPLACE INTO history ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
)
_MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    # 1
    (
        """
        CREATE TABLE history (
            id             INTEGER PRIMARY KEY,
            time_us        INTEGER NOT NULL,       -- since the epoch
            kind           TEXT NOT NULL,
            device_id      INTEGER,
            device_name    TEXT NOT NULL,
            interface      TEXT NOT NULL,
            code           TEXT NOT NULL,
            message        TEXT NOT NULL,
            ended_us       INTEGER NOT NULL,       -- 0 = has not ended, or cannot
            signal_minimum INTEGER,
            signal_mean    INTEGER,
            seen_us        INTEGER NOT NULL
        ) STRICT
        """,
        "CREATE INDEX history_device ON history (device_id, id)",
        "CREATE INDEX history_unended ON history (id) WHERE kind = 'session' AND ended_us = 0",
        "CREATE TABLE counter (next_id INTEGER NOT NULL) STRICT",
        "INSERT INTO counter VALUES (1)",
    ),
    # 2: since when the link of a session is interrupted, 0 = it is not; and rows of kind `interruption`
    (
        "ALTER TABLE history ADD COLUMN interrupted_us INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX history_interruption ON history (id) WHERE kind = 'interruption'",
    ),
    # 3: the signal of each device
    (signal_table.CREATE,),
    # 4: the battery in blobs of the signal. The tables are the same: only the number tells older versions,
    # which would take such blobs for damaged ones and write over them.
    (),
)
"""As those of the state (wifimgrd.store._schema). Another kind of row needs none: older versions omit it."""


class SqliteHistory:
    """Implements HistoryStore (wifimgrd.ports), with one thread that uses the file.

    A damaged file, or one of a newer version, is kept under another name and a new one made: no device
    depends on it.
    """

    def __init__(
        self, connection: sqlite3.Connection, worker: ThreadPoolExecutor, rows: int, days: int
    ) -> None:
        """Use `open`."""
        self._connection = connection
        self._worker = worker
        self._rows = rows
        self._days = days
        self._closed = False
        self._refused = False
        """Whether the last write failed: that is logged once."""
        self.next_id: int = connection.execute(
            "SELECT max(coalesce((SELECT max(id) + 1 FROM history), 1), (SELECT next_id FROM counter))"
        ).fetchone()[0]
        found = connection.execute(_SELECT + " WHERE kind = 'session' AND ended_us = 0 ORDER BY id")
        self.unended: Sequence[HistoryRow] = [_row_of(one) for one in found]

    @classmethod
    async def open(cls, directory: Path, rows: int, days: int) -> SqliteHistory:
        """Open the file in the state directory; at most `rows` rows of at most `days` days are kept.

        Raises StoreError if no file can be made.
        """
        worker = ThreadPoolExecutor(1, thread_name_prefix="wifimgrd-history")

        def work() -> SqliteHistory:
            with plain_text():
                path = directory / FILE_NAME
                try:
                    return cls(_open(path), worker, rows, days)
                except SchemaFromFuture as error:
                    aside = set_aside(path, "newer")
                    _log.warning("history_of_newer_version", reason=str(error), kept_as=aside.name)
                except (sqlite3.DatabaseError, StoreDamaged) as error:
                    if not isinstance(error, StoreDamaged) and is_passing(error):
                        raise
                    aside = set_aside(path, "damaged")
                    _log.warning("history_set_aside", reason=str(error), kept_as=aside.name)
                sync_directory(directory)
                return cls(_open(path), worker, rows, days)

        try:
            return await asyncio.get_running_loop().run_in_executor(worker, work)
        except BaseException:
            worker.shutdown(wait=False)
            raise

    def put(self, rows: Sequence[HistoryRow]) -> None:
        """Write new rows, or new values of rows; never waits, never raises."""
        if not self._closed:
            self._worker.submit(self._put, rows)

    async def read(self, wanted: HistoryFilter) -> Sequence[HistoryRow]:
        """The newest rows on disk that match, the newest first; raises StoreError."""
        if self._closed:
            raise StoreError("the history is closed")
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._read, wanted)

    def put_signals(self, samples: Mapping[DeviceId, Samples], prune_at: int | None) -> None:
        """Write samples, and delete those that are too old at the minute `prune_at`; never waits, never
        raises."""
        if not self._closed:
            self._worker.submit(self._write, lambda on: signal_table.put(on, samples, prune_at))

    async def read_signal(self, device_id: DeviceId, minutes: range) -> Samples:
        """The samples of a device on disk; raises StoreError."""
        if self._closed:
            raise StoreError("the history is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._read_signal, device_id, minutes)

    def forget(self, device_id: DeviceId) -> None:
        """Delete the rows and the samples of a device; an id over SQLite's largest integer has none."""
        if self._closed or device_id > LARGEST_ID:
            return

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM history WHERE device_id = ?", (device_id,))
            signal_table.forget(connection, device_id)

        self._worker.submit(self._write, work)

    async def close(self) -> None:
        """Write the pending rows and close; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            await asyncio.get_running_loop().run_in_executor(self._worker, self._close)
        finally:
            self._worker.shutdown(wait=False)

    # The methods below run on the worker's thread.

    def _put(self, rows: Sequence[HistoryRow]) -> None:
        oldest_us = time.time_ns() // 1000 - self._days * _DAY_US
        statements: list[tuple[str, Sequence[tuple[Any, ...]]]] = [
            (_PUT, [_values(row) for row in rows]),
            ("UPDATE counter SET next_id = max(next_id, ?)", [(max(row.id for row in rows) + 1,)]),
            # A link that is interrupted all the time leaves room for everything else.
            (
                "DELETE FROM history WHERE kind = 'interruption' AND id <= (SELECT id FROM history"
                " WHERE kind = 'interruption' ORDER BY id DESC LIMIT 1 OFFSET ?)",
                [(self._rows // 2,)],
            ),
            (
                "DELETE FROM history WHERE id <= (SELECT id FROM history ORDER BY id DESC LIMIT 1 OFFSET ?)",
                [(self._rows,)],
            ),
            ("DELETE FROM history WHERE time_us < ? AND seen_us < ?", [(oldest_us, oldest_us)]),
        ]

        def work(connection: sqlite3.Connection) -> None:
            for statement, values in statements:
                connection.executemany(statement, values)

        self._write(work)

    def _write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        try:
            with plain_text(), transaction(self._connection):
                work(self._connection)
            self._refused = False
        except StoreError as error:
            if not self._refused:
                _log.warning("history_not_written", reason=error.message)
            self._refused = True
        except Exception:  # noqa: BLE001 - this is not awaited: a bug is logged here or nowhere
            _log.exception("history_not_written")

    def _read(self, wanted: HistoryFilter) -> Sequence[HistoryRow]:
        conditions, values = [_IS_KNOWN], list[int]()
        if wanted.device_id is not None:
            conditions.append("device_id = ?")
            values.append(wanted.device_id)
        if wanted.before is not None:
            conditions.append("id < ?")
            values.append(wanted.before)
        query = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"
        with plain_text():
            return [_row_of(one) for one in self._connection.execute(query, (*values, wanted.limit))]

    def _read_signal(self, device_id: DeviceId, minutes: range) -> Samples:
        with plain_text():
            return signal_table.read(self._connection, device_id, minutes)

    def _close(self) -> None:
        with plain_text():
            self._connection.close()


def _open(path: Path) -> sqlite3.Connection:
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -256")
        connection.execute("PRAGMA wal_autocheckpoint = 128")
        refuse_newer(connection, _MIGRATIONS)
        check_integrity(connection)
        migrate(connection, _MIGRATIONS)
    except BaseException:
        connection.close()
        raise
    return connection


def _values(row: HistoryRow) -> tuple[Any, ...]:
    return (
        row.id,
        row.time_us,
        row.kind.value,
        row.device_id,
        text_of(row.device_name),
        text_of(row.interface),
        text_of(row.code),
        text_of(row.message),
        row.ended_us,
        row.signal_minimum,
        row.signal_mean,
        row.seen_us,
        row.interrupted_us,
    )


def _row_of(values: tuple[Any, ...]) -> HistoryRow:
    return HistoryRow(values[0], values[1], HistoryKind(values[2]), *values[3:])
