"""Errors between the hub and its disk: a few kinds of InternalError.

No message ever contains a value that was to be written.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from wifimgrd.domain.errors import InternalError


class StoreError(InternalError):
    """The state could not be read or written; the request had no effect."""


class StoreFull(StoreError):
    """The disk with the state is full."""


class StoreReadOnly(StoreError):
    """The disk or the file with the state is read-only."""


class StoreDamaged(StoreError):
    """The file is not a store of wifimgrd, or is damaged."""


class SchemaFromFuture(StoreError):
    """The file was written by a newer version of the daemon; it is not changed."""


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

_OF_THE_FILE = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_FORMAT,
    }
)
"""Those with which the file itself is at fault."""

_BY_ERRNO: dict[int, type[StoreError]] = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EROFS: StoreReadOnly,
}


@contextmanager
def plain_text() -> Iterator[None]:
    """Turn errors of SQLite and of the system into a StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise _of_sqlite(error) from error
    except UnicodeDecodeError as error:  # from SQLite's message about a damaged schema, which quotes it
        raise StoreDamaged("the state file is damaged (its schema is not text)") from error
    except OSError as error:
        kind = _BY_ERRNO.get(error.errno or 0, StoreError)
        reason = os.strerror(error.errno) if error.errno else "unknown error"
        raise kind(f"the state directory cannot be used: {reason}") from error


def is_passing(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Whether the disk, the memory or another process is at fault, and the file may be undamaged."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _OF_THE_FILE


def _of_sqlite(error: sqlite3.Error) -> StoreError:
    # Errors of Python's own layer (a closed database, a text that is none) have no code.
    code: int | None = getattr(error, "sqlite_errorcode", None)
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    if code is None and str(error).startswith("Could not decode"):
        return StoreDamaged("the state file is damaged (a text is not UTF-8)")
    kind, sentence = _BY_SQLITE_CODE.get((code or 0) & 0xFF, (StoreError, "the state could not be used"))
    return kind(f"{sentence} ({name})")
