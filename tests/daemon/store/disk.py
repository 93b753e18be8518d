"""The thread that uses a store's file: tests make it slow, and set its connection up or listen to it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import TypeVar

from wifimgrd.daemon.store import SqliteStore
from wifimgrd.daemon.store._history import SqliteHistory

_T = TypeVar("_T")


def in_its_turn(store: SqliteStore | SqliteHistory, job: Callable[[], _T]) -> asyncio.Future[_T]:
    """Run a job in the store's thread, once those that are queued are done; what is called later waits."""
    return store._worker.run(job)


async def queue_done(store: SqliteStore | SqliteHistory) -> None:
    """Return once all that was called is done; what is gathered stays so."""
    await in_its_turn(store, lambda: None)


async def on_connection(store: SqliteStore, work: Callable[[sqlite3.Connection], _T]) -> _T:
    """What a function makes of the store's own connection, in its turn."""
    return await in_its_turn(store, lambda: work(store._connection))


async def pragma(store: SqliteStore, statement: str) -> None:
    """Set the connection up."""
    await on_connection(store, lambda connection: connection.execute(f"PRAGMA {statement}").fetchall())


async def listen(store: SqliteStore, told: Callable[[str], None]) -> None:
    """Be told each statement, on the loop, as it is begun."""
    loop = asyncio.get_running_loop()

    def traced(statement: str) -> None:
        loop.call_soon_threadsafe(told, statement)

    await on_connection(store, lambda connection: connection.set_trace_callback(traced))
