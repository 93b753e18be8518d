"""Devices, their secrets and the history on disk: SQLite files in the state directory.

`_sqlite.py` has the devices, keys of idempotency and data of the backends, with secrets in a table of their
own; `_history.py` is a file of its own, with the signal and the battery of each camera. `transfer.py` is
backup and restore.

Used by: `cli`, `daemon`.
Imports: `domain`, `runtime`.
"""

from wifimgrd.daemon.store._history import SqliteHistory
from wifimgrd.daemon.store._no_history import NoHistory
from wifimgrd.daemon.store._sqlite import SqliteStore
from wifimgrd.daemon.store.errors import SchemaFromFuture, StoreDamaged, StoreError, StoreFull, StoreReadOnly

__all__ = [
    "NoHistory",
    "SchemaFromFuture",
    "SqliteHistory",
    "SqliteStore",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
]
