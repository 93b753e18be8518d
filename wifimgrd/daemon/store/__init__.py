"""Devices, their secrets and a few notes on disk: one SQLite file in the state directory."""

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
