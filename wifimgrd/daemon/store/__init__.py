"""Devices, their secrets and the history on disk: SQLite files in the state directory.

`_sqlite.py` has the devices, idempotency keys and the backends' notes, with secrets in a table of their
own; `_bonds.py` has the Bluetooth bonds that are the hub's; `_history.py` has the history in a file of its
own, with the signal and the battery of each camera. `transfer.py` is backup and restore.

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
