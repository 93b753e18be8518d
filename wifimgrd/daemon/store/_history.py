"""The history on disk: an SQLite file of its own, so that no command ever waits for it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog

from wifimgrd.daemon.store import _signal_table as signal_table
from wifimgrd.daemon.store._history_rows import PUT, SELECT, forget_expected, pass_on, row_of, values_of
from wifimgrd.daemon.store._schema import check_integrity, migrate, refuse_newer, set_aside
from wifimgrd.daemon.store._steady_clock import SteadyClock
from wifimgrd.daemon.store._worker import Gathering, Worker
from wifimgrd.daemon.store._writing import BACKGROUND_BUSY_MS, bad_row_dropped, transaction
from wifimgrd.daemon.store.errors import SchemaFromFuture, StoreDamaged, StoreError, is_passing, plain_text
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.history import LARGEST_ID, HistoryFilter, HistoryKind, HistoryRow, without_expected
from wifimgrd.domain.signal_history import MINUTE_US, Samples, SignalSample
from wifimgrd.runtime.durable_files import sync

_log: Any = structlog.get_logger(__name__)

_T = TypeVar("_T")

FILE_NAME: Final = "history.db"
_DAY_US: Final = 86_400_000_000
_GATHER_S: Final = 5.0
"""Rows and samples that are put within this time go to disk in one transaction, to spare the flash."""
_SHARE: Final = 4
"""One of so many rows may be of one kind of one device or interface."""
_WAITING_ROWS: Final = 2000
_WAITING_SAMPLES: Final = 20_000
_LAST_RECORDINGS: Final = (
    SELECT + " WHERE kind = 'recording' AND (ended_us = 0 OR id IN (SELECT max(id) FROM history"  # noqa: S608
    " WHERE kind = 'recording' GROUP BY device_id)) ORDER BY id"
)
_FIRST_OF_TAKE: Final = SELECT + " WHERE kind = 'recording' AND id >= ? ORDER BY id LIMIT 1"
"""All rows of a take come one after the other, since only one runs at a time."""
_UNENDED: Final = SELECT + " WHERE kind IN ('session', 'problem', 'recovery') AND ended_us = 0 ORDER BY id"
_IS_KNOWN: Final = f"kind IN ({', '.join(repr(kind.value) for kind in HistoryKind)})"
_SUBJECTS: Final = "SELECT DISTINCT kind, coalesce(device_id, interface) FROM history"
_OF_SUBJECT: Final = "FROM history WHERE kind = ?1 AND coalesce(device_id, interface) = ?2"
_LAST_SURPLUS: Final = f"SELECT id {_OF_SUBJECT} ORDER BY id DESC LIMIT 1 OFFSET ?3"
_DELETE_SURPLUS: Final = f"DELETE {_OF_SUBJECT} AND id <= ({_LAST_SURPLUS})"
MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
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
    # 5: the rows of one kind of one device or interface are counted
    ("CREATE INDEX history_subject ON history (kind, coalesce(device_id, interface), id)",),
    # 6: what is kept of a recording, as JSON; and rows of recordings that have not ended
    (
        "ALTER TABLE history ADD COLUMN recording TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX history_recording ON history (id) WHERE kind = 'recording'",
    ),
)
"""As those of the state (`_schema.py`). Another kind of row needs none: older versions omit it."""


@dataclass(slots=True)
class _Batch:
    """The changes that are written together."""

    forgotten: set[DeviceId] = field(default_factory=set)
    """The devices whose rows and samples are deleted first."""
    rows: dict[int, HistoryRow] = field(default_factory=dict)
    samples: dict[DeviceId, dict[int, SignalSample]] = field(default_factory=dict)
    next_id: int = 0
    """Larger than the id of each row, also of one that was forgotten before it was written."""

    def __bool__(self) -> bool:
        return bool(self.forgotten or self.rows or self.samples)

    def add_rows(self, rows: Sequence[HistoryRow]) -> None:
        """Add rows, in place of those with the same ids."""
        self.rows.update({row.id: row for row in rows})
        self.next_id = max(self.next_id, *(row.id + 1 for row in rows))

    def add_samples(self, samples: Mapping[DeviceId, Samples]) -> None:
        """Add samples, in place of those of the same minutes."""
        for device_id, of_device in samples.items():
            self.samples.setdefault(device_id, {}).update(of_device)

    def forget(self, device_id: DeviceId) -> None:
        """Delete what there is of a device until now."""
        self.forgotten.add(device_id)
        self.rows = {
            row.id: without_expected(row, device_id)
            for row in self.rows.values()
            if row.device_id != device_id
        }
        self.samples.pop(device_id, None)

    def followed_by(self, later: _Batch) -> _Batch:
        """Both in one; of this one only the newest, if it has more than can wait for the disk."""
        for device_id in later.forgotten:
            self.forget(device_id)
        rows = dict(list(self.rows.items())[-_WAITING_ROWS:])
        are_few = sum(map(len, self.samples.values())) < _WAITING_SAMPLES
        both = _Batch(self.forgotten, rows | later.rows, self.samples if are_few else {})
        both.next_id = max(self.next_id, later.next_id)
        both.add_samples(later.samples)
        return both


class SqliteHistory:
    """Implements HistoryStore (wifimgrd.daemon.ports), with one thread that uses the file.

    A damaged file, or one of a newer version, is kept under another name and a new one made: no device
    depends on it.
    """

    def __init__(
        self, connection: sqlite3.Connection, worker: Worker, rows: int, days: int, clock: SteadyClock
    ) -> None:
        """Use `open`."""
        self._connection = connection
        self._worker = worker
        self._clock = clock
        self._gathering = Gathering(worker, _Batch, self._write)
        self._unwritten = _Batch()
        """The changes that could not be written; used only by the worker."""
        self._rows = rows
        self._days = days
        self._is_pruned = False
        """No kind of row of one device or interface has more than its share, also of those from before."""
        self._closed = False
        self._refused = False
        """Whether the last write failed: that is logged once."""
        self.next_id: int = connection.execute(
            "SELECT max(coalesce((SELECT max(id) + 1 FROM history), 1), (SELECT next_id FROM counter))"
        ).fetchone()[0]
        self.unended: Sequence[HistoryRow] = [row_of(one) for one in connection.execute(_UNENDED)]
        self.last_recordings: Sequence[HistoryRow] = _last_recordings(connection)

    @classmethod
    async def open(
        cls, directory: Path, rows: int, days: int, clock: SteadyClock | None = None
    ) -> SqliteHistory:
        """Open the file in the state directory; at most `rows` rows of at most `days` days are kept, by a
        clock that is not the host's in tests.

        Raises StoreError if no file can be made.
        """
        worker, clock = Worker("wifimgrd-history"), clock or SteadyClock()

        def work() -> SqliteHistory:
            with plain_text():
                path = directory / FILE_NAME
                try:
                    return cls(_open(path), worker, rows, days, clock)
                except SchemaFromFuture as error:
                    aside = set_aside(path, "newer")
                    _log.warning("history_of_newer_version", reason=str(error), kept_as=aside.name)
                except (sqlite3.DatabaseError, UnicodeDecodeError, StoreDamaged) as error:
                    if not isinstance(error, StoreDamaged) and is_passing(error):
                        raise
                    aside = set_aside(path, "damaged")
                    _log.warning("history_set_aside", reason=str(error), kept_as=aside.name)
                sync(directory)
                return cls(_open(path), worker, rows, days, clock)

        try:
            return await worker.run(work)
        except BaseException:
            worker.shut_down()
            raise

    def put(self, rows: Sequence[HistoryRow]) -> None:
        """Write new rows, or new values of rows, within seconds; never waits, never raises."""
        if not self._closed:
            self._gathering.batch.add_rows(rows)
            self._gathering.write_within(_GATHER_S)

    async def read(self, wanted: HistoryFilter) -> Sequence[HistoryRow]:
        """The newest rows that match, the newest first, with those that are not on disk yet; raises
        StoreError."""
        return await self._read(lambda: self._rows_of(wanted))

    def put_signals(self, samples: Mapping[DeviceId, Samples]) -> None:
        """Write samples within seconds; never waits, never raises."""
        if not self._closed:
            self._gathering.batch.add_samples(samples)
            self._gathering.write_within(_GATHER_S)

    async def read_signal(self, device_id: DeviceId, minutes: range) -> Samples:
        """The samples of a device, with those that are not on disk yet; raises StoreError."""
        return await self._read(lambda: self._samples_of(device_id, minutes))

    def forget(self, device_id: DeviceId) -> None:
        """Delete the rows and the samples of a device; an id over SQLite's largest integer has none."""
        if not self._closed and device_id <= LARGEST_ID:
            self._gathering.batch.forget(device_id)
            self._gathering.write_within(0)

    async def close(self) -> None:
        """Write the pending rows and close; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._worker.run(partial(self._close, self._gathering.finish()))
        finally:
            self._worker.shut_down()

    async def _read(self, work: Callable[[], _T]) -> _T:
        """Read, after what was put before is written, or is among what could not be written."""
        if self._closed:
            raise StoreError("the history is closed")
        batch = self._gathering.take()

        def job() -> _T:
            self._gathering.write_taken(batch)
            with plain_text():
                return work()

        return await self._worker.run(job)

    # The methods below run on the worker's thread.

    def _write(self, batch: _Batch) -> bool:
        """Write a batch, and what earlier ones could not; False if it has to be tried again."""
        self._unwritten = self._unwritten.followed_by(batch)
        if not self._unwritten:
            return True
        try:
            with plain_text(), transaction(self._connection):
                self._put(self._connection, self._unwritten)
        except StoreError as error:
            if not self._refused:
                _log.warning("history_not_written", reason=error.message)
            self._refused = True
            self._is_pruned = False
            return False
        except Exception:  # noqa: BLE001 - this is not awaited: a bug is logged here or nowhere
            _log.exception("history_not_written")
        self._refused = False
        self._unwritten = _Batch()
        return True

    def _put(self, connection: sqlite3.Connection, batch: _Batch) -> None:
        for device_id in batch.forgotten:
            pass_on(connection, device_id)
            connection.execute("DELETE FROM history WHERE device_id = ?", (device_id,))
            forget_expected(connection, device_id)
            signal_table.forget(connection, device_id)
        signal_table.put(connection, batch.samples)
        connection.execute("UPDATE counter SET next_id = ?1 WHERE next_id < ?1", (batch.next_id,))
        if batch.rows:
            for row in batch.rows.values():
                with bad_row_dropped(row=row.id):
                    connection.execute(PUT, values_of(row))
            self._prune_subjects(connection, batch)
            # Links that are interrupted all the time leave room for everything else.
            connection.execute(
                "DELETE FROM history WHERE kind = 'interruption' AND id <= (SELECT id FROM history"
                " WHERE kind = 'interruption' ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (self._rows // 2,),
            )
            connection.execute(
                "DELETE FROM history WHERE id <= (SELECT id FROM history ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (self._rows,),
            )
        if (now_us := self._clock.due_us()) is not None:
            oldest_us = now_us - self._days * _DAY_US
            connection.execute(
                "DELETE FROM history WHERE time_us < ? AND seen_us < ?", (oldest_us, oldest_us)
            )
            signal_table.prune(connection, now_us // MINUTE_US)

    def _prune_subjects(self, connection: sqlite3.Connection, batch: _Batch) -> None:
        """Delete the oldest rows of each kind of one device or interface that has more than its share: nobody
        who causes rows pushes out those of others. A file may come from a version that did not, or from a
        larger setting: with the first batch all are looked at."""
        subjects: Iterable[tuple[object, object]] = {
            (row.kind.value, row.subject) for row in batch.rows.values()
        }
        if not self._is_pruned:
            subjects, self._is_pruned = connection.execute(_SUBJECTS).fetchall(), True
        values = [(*one, self._rows // _SHARE) for one in subjects]
        for one in values:
            if one[0] == HistoryKind.RECORDING:
                for (last_id,) in connection.execute(_LAST_SURPLUS, one).fetchall():
                    pass_on(connection, one[1], last_id)
        connection.executemany(_DELETE_SURPLUS, values)

    def _rows_of(self, wanted: HistoryFilter) -> Sequence[HistoryRow]:
        conditions, values = [_IS_KNOWN], list[object]()
        if wanted.kind is not None:
            conditions = [f"kind = '{wanted.kind.value}'"]  # as in the condition of an index
        if wanted.device_id is not None:
            conditions.append("device_id = ?")
            values.append(wanted.device_id)
        if wanted.before is not None:
            conditions.append("id < ?")
            values.append(wanted.before)
        query = f"{SELECT} WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"
        found = [row_of(one) for one in self._connection.execute(query, (*values, wanted.limit))]
        fresh = {row.id: row for row in self._unwritten.rows.values() if wanted.fits(row)}
        if fresh or self._unwritten.forgotten:
            kept = {row.id: row for row in found if row.device_id not in self._unwritten.forgotten}
            newest = sorted((kept | fresh).values(), key=lambda row: -row.id)
            return newest[: wanted.limit]
        return found

    def _samples_of(self, device_id: DeviceId, minutes: range) -> Samples:
        fresh = self._unwritten.samples.get(device_id, {})
        known = (
            {}
            if device_id in self._unwritten.forgotten
            else signal_table.read(self._connection, device_id, minutes)
        )
        return known | {minute: sample for minute, sample in fresh.items() if minute in minutes}

    def _close(self, batch: _Batch) -> None:
        self._write(batch)
        with plain_text():
            self._connection.close()


def _last_recordings(connection: sqlite3.Connection) -> list[HistoryRow]:
    """See HistoryStore.last_recordings."""
    rows = {row.id: row for row in map(row_of, connection.execute(_LAST_RECORDINGS))}
    for take in {row.recording.take for row in rows.values() if row.recording is not None} - {0}:
        rows |= {row.id: row for row in map(row_of, connection.execute(_FIRST_OF_TAKE, (take,)))}
    return [rows[row_id] for row_id in sorted(rows)]


def _open(path: Path) -> sqlite3.Connection:
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # Nobody is promised a row: a power cut may take the last ones, and a sync for each wears the card.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -256")
        connection.execute("PRAGMA wal_autocheckpoint = 128")
        refuse_newer(connection, MIGRATIONS)
        check_integrity(connection)
        migrate(connection, MIGRATIONS)
        connection.execute(f"PRAGMA busy_timeout = {BACKGROUND_BUSY_MS:d}")
    except BaseException:
        connection.close()
        raise
    return connection
