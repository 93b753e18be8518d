"""The store's transactions: each is complete or has no effect, and a disk that fails is logged once.

Background writes are collected until they are written together.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog

from wifimgrd.domain.device import DeviceId
from wifimgrd.store import _rows as rows
from wifimgrd.store.errors import StoreError, plain_text

_log: Any = structlog.get_logger(__name__)

_T = TypeVar("_T")


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


@dataclass(slots=True)
class Batch:
    """Rows of devices and notes; of two for the same row the later one counts."""

    devices: dict[DeviceId, rows.Row] = field(default_factory=dict)
    notes: dict[str, str | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.devices or self.notes)

    def followed_by(self, later: Batch) -> Batch:
        """Both in one batch."""
        return Batch(self.devices | later.devices, self.notes | later.notes)

    def write(self, connection: sqlite3.Connection) -> None:
        """Write it all, in the transaction that is open; raises sqlite3.Error."""
        # A device that was removed meanwhile matches no row.
        connection.executemany(rows.UPDATE_DEVICE, [(*row, ident) for ident, row in self.devices.items()])
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

    def transact(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run a function and the pending background writes, in one transaction.

        Raises StoreError with nothing done, and the errors of the function.
        """
        try:
            result = self._attempt(work)
        except StoreError as error:
            if not self._refused:
                _log.error("state_not_written", reason=error.message)
            self._refused = True
            raise
        self._refused = False
        self._unwritten = Batch()
        return result

    def write(self, batch: Batch) -> None:
        """Run background writes; never raises."""
        try:
            self.transact(batch.write)
        except StoreError:
            self._unwritten = self._unwritten.followed_by(batch)
        except Exception:  # noqa: BLE001 - this is not awaited: a bug is logged here or nowhere
            _log.exception("state_write_bug")

    def finish(self) -> None:
        """Write the rest; raises StoreError."""
        if self._unwritten:
            self.transact(lambda _: None)

    def _attempt(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        with plain_text(), transaction(self._connection):
            self._unwritten.write(self._connection)
            return work(self._connection)
