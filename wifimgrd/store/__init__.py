"""Devices, their secrets and a few notes on disk: one SQLite file in the state directory."""

from wifimgrd.store.errors import SchemaFromFuture, StoreDamaged, StoreError, StoreFull, StoreReadOnly
from wifimgrd.store.history import SqliteHistory
from wifimgrd.store.sqlite import SqliteStore

__all__ = [
    "SchemaFromFuture",
    "SqliteHistory",
    "SqliteStore",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
]
