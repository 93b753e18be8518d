"""The store's transactions: each is complete or has no effect, and a disk that fails is logged once.

Background writes are collected until they are written together.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import structlog

from wifimgrd.daemon.store import _rows as rows
from wifimgrd.daemon.store.errors import StoreError, plain_text
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import WifimgrdError

_log: Any = structlog.get_logger(__name__)

_T = TypeVar("_T")

AWAITED_BUSY_MS: Final = 5000
"""How long a write for which somebody waits is tried while another program holds the file."""
BACKGROUND_BUSY_MS: Final = 1000
"""The same for one that is repeated later: what waits for the thread meanwhile waits no longer."""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all that is done within it, or nothing if that raises; raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def bad_row_dropped(**row: Any) -> Iterator[None]:
    """Write a row, or log that SQLite takes its values never: one such row must not hold up the others, which
    are written in the same transaction."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.DataError, OverflowError) as error:
        _log.error("row_dropped", reason=str(error), **row)


@dataclass(slots=True)
class Batch:
    """Changed columns of devices, and notes; of two for the same column the later one counts."""

    devices: dict[DeviceId, dict[str, Any]] = field(default_factory=dict)
    notes: dict[str, str | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.devices or self.notes)

    def change(self, device: DeviceId, columns: Mapping[str, Any]) -> None:
        """Add changed columns of a device."""
        self.devices.setdefault(device, {}).update(columns)

    def followed_by(self, later: Batch) -> Batch:
        """Both in one batch."""
        both = Batch({device: {**columns} for device, columns in self.devices.items()})
        for device, columns in later.devices.items():
            both.change(device, columns)
        both.notes = self.notes | later.notes
        return both

    def write(self, connection: sqlite3.Connection) -> None:
        """Write it all, in the transaction that is open; raises sqlite3.Error."""
        for device, columns in self.devices.items():
            with bad_row_dropped(device=device, columns=sorted(columns)):
                rows.update(connection, device, columns)  # one that was removed meanwhile matches no row
        for key, value in self.notes.items():
            if value is None:
                connection.execute("DELETE FROM memory WHERE key = ?", (key,))
            else:
                connection.execute("INSERT OR REPLACE INTO memory (key, value) VALUES (?, ?)", (key, value))


class Writer:
    """Writes, on the one thread that the connection belongs to.

    Background writes that failed are repeated with the next transaction that succeeds.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._unwritten = Batch()
        self._refused = False
        """Whether the last transaction failed: that is logged once."""

    def transact(self, batch: Batch, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run background writes and a function, in one transaction.

        Raises StoreError with nothing done, and the errors of the function, with only the background writes
        done. A batch that is not written is kept.
        """
        return self._transact(batch, work, AWAITED_BUSY_MS)

    def write(self, batch: Batch) -> bool:
        """Run background writes, and whether that was possible; never raises."""
        try:
            self._write(batch, BACKGROUND_BUSY_MS)
        except StoreError:
            return False
        except Exception:  # noqa: BLE001 - this is not awaited: a bug is logged here or nowhere
            _log.exception("state_write_bug")
            self._unwritten = Batch()
        return True

    def finish(self, batch: Batch) -> None:
        """Write a batch, and what is left of earlier ones; raises StoreError."""
        self._write(batch, AWAITED_BUSY_MS)

    def _write(self, batch: Batch, busy_ms: int) -> None:
        if batch or self._unwritten:
            self._transact(batch, lambda _: None, busy_ms)

    def _transact(self, batch: Batch, work: Callable[[sqlite3.Connection], _T], busy_ms: int) -> _T:
        self._unwritten = self._unwritten.followed_by(batch)
        try:
            result, error = self._attempt(work, busy_ms)
        except StoreError as failure:
            if not self._refused:
                _log.error("state_not_written", reason=failure.message)
            self._refused = True
            raise
        self._refused = False
        self._unwritten = Batch()
        if error is not None:
            raise error
        return result[0]

    def _attempt(
        self, work: Callable[[sqlite3.Connection], _T], busy_ms: int
    ) -> tuple[list[_T], WifimgrdError | None]:
        connection = self._connection
        with plain_text():
            connection.execute(f"PRAGMA busy_timeout = {busy_ms:d}")
            with transaction(connection):
                self._unwritten.write(connection)
                connection.execute("SAVEPOINT work")
                try:
                    return [work(connection)], None
                except WifimgrdError as error:
                    connection.execute("ROLLBACK TO work")
                    return [], error
