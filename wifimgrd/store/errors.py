"""What can go wrong between the hub and its disk: a few kinds of InternalError.

No message ever holds a value that was to be written.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from wifimgrd.domain.errors import InternalError


class StoreError(InternalError):
    """The state could not be read or written; nothing of the request was done."""


class StoreFull(StoreError):
    """The disk that holds the state has no room."""


class StoreReadOnly(StoreError):
    """The disk or the file that holds the state does not take writes."""


class StoreDamaged(StoreError):
    """The file is no store of ours, or no longer one."""


class SchemaFromFuture(StoreError):
    """The file was written by a newer version of the daemon; it is left as it is."""


_BY_SQLITE_CODE: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_FULL: (StoreFull, "the disk that holds the state is full"),
    sqlite3.SQLITE_READONLY: (StoreReadOnly, "the state directory is read-only"),
    sqlite3.SQLITE_CORRUPT: (StoreDamaged, "the state file is damaged"),
    sqlite3.SQLITE_NOTADB: (StoreDamaged, "the state file is not a database"),
    sqlite3.SQLITE_BUSY: (StoreError, "another process holds the state file"),
    sqlite3.SQLITE_CANTOPEN: (StoreError, "the state file cannot be opened"),
    sqlite3.SQLITE_IOERR: (StoreError, "the disk that holds the state reports an error"),
}
"""Primary result codes, the lowest eight bits: https://www.sqlite.org/rescode.html"""

_BY_ERRNO: dict[int, type[StoreError]] = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EROFS: StoreReadOnly,
}


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn what SQLite and the system say into a StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise _of_sqlite(error) from error
    except OSError as error:
        kind = _BY_ERRNO.get(error.errno or 0, StoreError)
        reason = os.strerror(error.errno) if error.errno else "unknown error"
        raise kind(f"the state directory cannot be used: {reason}") from error


def _of_sqlite(error: sqlite3.Error) -> StoreError:
    # Errors that Python's own layer raises (a closed database, ...) carry no code.
    code: int | None = getattr(error, "sqlite_errorcode", None)
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    kind, sentence = _BY_SQLITE_CODE.get((code or 0) & 0xFF, (StoreError, "the state could not be used"))
    return kind(f"{sentence} ({name})")
