"""The store's transactions: each is whole or not there, and a disk that takes none is told of."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

import structlog

from wifimgrd.store.batch import Batch
from wifimgrd.store.errors import StoreError, told_plainly

_log: Any = structlog.get_logger(__name__)

_T = TypeVar("_T")


class Writer:
    """Writes, on the one thread that the connection belongs to.

    What nobody waits for and the disk did not take goes with the next transaction that it takes.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._unwritten = Batch()
        self._refused = False
        """Whether the disk did not take the last transaction: that is told once."""

    def transact(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do some work, and what is left to write, in one transaction.

        Raises StoreError with nothing done, and what the work raises.
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
        """Write what nobody waits for; never raises."""
        try:
            self.transact(batch.write)
        except StoreError:
            self._unwritten = self._unwritten.followed_by(batch)
        except Exception:  # noqa: BLE001 - nobody awaits this: a bug is told here or nowhere
            _log.exception("state not written")

    def finish(self) -> None:
        """Write what is left; raises StoreError."""
        if self._unwritten:
            self.transact(lambda _: None)

    def _attempt(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        with told_plainly():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._unwritten.write(self._connection)
                result = work(self._connection)
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        return result
