"""Devices, their secrets and a few notes on disk: one SQLite file in the state directory."""

from wifimgrd.store.errors import SchemaFromFuture, StoreDamaged, StoreError, StoreFull, StoreReadOnly
from wifimgrd.store.sqlite import SqliteStore

__all__ = [
    "SchemaFromFuture",
    "SqliteStore",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
]
