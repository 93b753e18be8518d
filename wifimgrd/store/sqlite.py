"""The store: one SQLite file, one thread that touches it, and an event loop that never waits for a disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog

from wifimgrd.domain.device import Device, DeviceId, Passphrase
from wifimgrd.domain.errors import DeviceNotFound
from wifimgrd.store import backup, rows
from wifimgrd.store.batch import Batch
from wifimgrd.store.errors import StoreError, told_plainly
from wifimgrd.store.opening import open_or_restore
from wifimgrd.store.schema import BACKUP_NAME
from wifimgrd.store.writing import Writer

_log: Any = structlog.get_logger(__name__)

_T = TypeVar("_T")
_KEYS_KEPT: Final = 10_000
"""Idempotency keys of this many latest creations are remembered."""
_LARGEST_ID: Final = 2**63 - 1
_GATHER_S: Final = 0.5
"""What is recorded within this time goes to disk in one transaction, and not while a join is under way:
the disk's thread would hold up the event loop in the middle of it."""
_COPY_S: Final = 2.0
"""The backup follows what clients were told after this long."""


class SqliteStore:
    """Implements `DeviceStore` and `BackendMemory` (wifimgrd.ports).

    Everything is done in the order in which it was asked for, by one thread. Whatever is awaited
    is on disk once it returns, and raises StoreError with nothing done where that cannot be.
    Cancelling a caller does not stop a write that has begun.
    """

    def __init__(
        self,
        directory: Path,
        connection: sqlite3.Connection,
        worker: ThreadPoolExecutor,
        memory: dict[str, str],
    ) -> None:
        """Use `open`."""
        self._directory = directory
        self._connection = connection
        self._worker = worker
        self._memory = memory
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._gathered = Batch()
        self._gathering: asyncio.TimerHandle | None = None
        """Runs while there is something in what was gathered."""
        self._copying: asyncio.TimerHandle | None = None
        """Runs while the backup is behind what clients were told."""
        self._secrets: dict[DeviceId, Passphrase] = {}
        """What was read before, so that a join waits for no disk; changed by the worker alone."""
        self._writer = Writer(connection)
        """The worker's own."""

    @classmethod
    async def open(cls, directory: Path) -> SqliteStore:
        """Open the store in `directory`, which is made (0700) where it is missing.

        A damaged one is set aside and its backup used, which is said loudly in the log.
        Raises SchemaFromFuture, StoreDamaged, StoreReadOnly, StoreFull or another StoreError.
        """
        worker = ThreadPoolExecutor(1, thread_name_prefix="wifimgrd-store")
        try:
            connection, memory = await asyncio.get_running_loop().run_in_executor(
                worker, open_or_restore, directory
            )
        except BaseException:
            worker.shutdown(wait=False)
            raise
        store = cls(directory, connection, worker, memory)
        if not (directory / BACKUP_NAME).exists():
            store._copy_soon()
        return store

    async def round_trip(self) -> None:
        """Return once the store's thread has taken a turn; it is alive also where the disk is not."""
        if not self._closed:
            await self._loop.run_in_executor(self._worker, lambda: None)

    async def load(self) -> Mapping[DeviceId, Device]:
        """Every device that was acknowledged and not removed, in order of id; raises StoreDamaged."""

        def work(connection: sqlite3.Connection) -> dict[DeviceId, Device]:
            found = map(rows.device_of, connection.execute(rows.SELECT_DEVICES + " ORDER BY id"))
            return {device.id: device for device in found}

        return await self._read(work)

    async def add(self, draft: Device, passphrase: Passphrase, key: str | None = None) -> Device:
        """Write a new device and return it with its id.

        A `key` that was used before writes nothing and returns the device it created then, as
        it is on disk; raises DeviceNotFound where that is gone since. So of two requests with
        one key that race, both get the same device.
        """
        key = None if key is None else rows.text_of(key)

        def work(connection: sqlite3.Connection) -> Device:
            if key is not None and (first := _created_under(connection, key)) is not None:
                return _device(connection, first)
            ident = connection.execute(rows.INSERT_DEVICE, rows.row_of(draft)).lastrowid
            connection.execute("INSERT INTO secret VALUES (?, ?)", (ident, _octets(passphrase)))
            if key is not None:
                connection.execute("INSERT INTO idempotency_key VALUES (?, ?)", (key, ident))
                connection.execute(
                    "DELETE FROM idempotency_key WHERE device_id <= ? - ?", (ident, _KEYS_KEPT)
                )
            return replace(draft, id=DeviceId(ident or 0))

        return await self._write(work)

    async def find_key(self, key: str) -> DeviceId | None:
        """The device that was created under an idempotency key, also where it is gone since."""
        return await self._read(partial(_created_under, key=rows.text_of(key)))

    async def passphrase(self, device: DeviceId) -> Passphrase:
        """A device's secret; raises DeviceNotFound."""
        _check(device)
        if (known := self._secrets.get(device)) is not None:
            return known

        def work(connection: sqlite3.Connection) -> Passphrase:
            found = connection.execute("SELECT passphrase FROM secret WHERE device_id = ?", (device,))
            # No local variable holds the secret itself, lest a traceback shows it.
            secrets = [Passphrase(octets.decode("utf-8", "surrogatepass")) for (octets,) in found]
            if not secrets:
                raise _unknown(device)
            self._secrets[device] = secrets[0]
            return secrets[0]

        return await self._read(work, settled=False)

    async def update(self, device: Device, passphrase: Passphrase | None = None) -> None:
        """Write a changed device; None leaves the secret as it is. Raises DeviceNotFound."""
        _check(device.id)

        def work(connection: sqlite3.Connection) -> None:
            self._secrets.pop(device.id, None)
            if not connection.execute(rows.UPDATE_DEVICE, (*rows.row_of(device), device.id)).rowcount:
                raise _unknown(device.id)
            if passphrase is not None:
                connection.execute(
                    "UPDATE secret SET passphrase = ? WHERE device_id = ?", (_octets(passphrase), device.id)
                )

        await self._write(work)
        if passphrase is not None:
            self._forget_log()

    def record(self, device: Device, *, at_once: bool = False) -> None:
        """Write what an attempt or a link taught, soon and in order; never raises, never waits.

        `at_once` does not gather it with what comes next. Where it cannot be written it is kept, and
        goes to disk with the next write that can.
        """
        if self._may_queue():
            self._gathered.devices[device.id] = rows.row_of(device)
            if at_once:
                self._write_gathered()
            elif self._gathering is None:
                self._gathering = self._loop.call_later(_GATHER_S, self._write_gathered)

    async def remove(self, device: DeviceId) -> None:
        """Forget a device and its secret; its id is not given again. Raises DeviceNotFound."""
        _check(device)

        def work(connection: sqlite3.Connection) -> None:
            self._secrets.pop(device, None)
            if not connection.execute("DELETE FROM device WHERE id = ?", (device,)).rowcount:
                raise _unknown(device)

        await self._write(work)
        self._forget_log()

    def recall(self, key: str) -> str | None:
        """What was noted under `key`, or None; answers at once."""
        return self._memory.get(rows.text_of(key))

    def note(self, key: str, value: str | None) -> None:
        """Keep `value` under `key`, None forgets it; written as by `record`, but at once."""
        key = rows.text_of(key)
        if value is None:
            self._memory.pop(key, None)
        else:
            value = self._memory[key] = rows.text_of(value)
        if self._may_queue():
            self._gathered.notes[key] = value
            self._write_gathered()

    async def close(self) -> None:
        """Write what is still due and close; a second call does nothing.

        Raises StoreError where something could not be written; it is closed all the same.
        """
        if self._closed:
            return
        self._write_gathered()
        copy = self._copying is not None
        if self._copying is not None:
            self._copying.cancel()
        self._closed = True
        try:
            await asyncio.get_running_loop().run_in_executor(self._worker, partial(self._finish, copy=copy))
        finally:
            self._worker.shutdown(wait=False)

    async def _read(self, work: Callable[[sqlite3.Connection], _T], *, settled: bool = True) -> _T:
        """Read, after what was recorded before is written; at once where that cannot matter."""

        def job() -> _T:
            with told_plainly():
                return work(self._connection)

        return await self._submit(job, settled=settled)

    async def _write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        result = await self._submit(partial(self._writer.transact, work), settled=True)
        self._copy_soon()
        return result

    async def _submit(self, job: Callable[[], _T], *, settled: bool) -> _T:
        if self._closed:
            raise StoreError("the store is closed")
        if settled:
            self._write_gathered()
        return await self._loop.run_in_executor(self._worker, job)

    def _may_queue(self) -> bool:
        if self._closed:
            _log.warning("a write after the store was closed is lost")
        return not self._closed

    def _write_gathered(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        if self._gathered:
            batch, self._gathered = self._gathered, Batch()
            self._worker.submit(self._writer.write, batch)

    def _copy_soon(self) -> None:
        if self._copying is None and not self._closed:
            self._copying = self._loop.call_later(_COPY_S, self._copy)

    def _copy(self) -> None:
        self._copying = None
        self._worker.submit(self._keep_backup)

    def _forget_log(self) -> None:
        """Empty the write-ahead log, which still holds the secret that was just replaced."""
        if not self._closed:
            self._worker.submit(self._checkpoint)

    # What follows runs on the worker's thread.

    def _checkpoint(self) -> None:
        try:
            with told_plainly():
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except StoreError as error:
            _log.warning("the write-ahead log was not emptied", reason=error.message)

    def _keep_backup(self) -> None:
        try:
            with told_plainly():
                backup.keep(self._connection, self._directory)
        except StoreError as error:
            _log.warning("backup_not_written", reason=error.message)
        except Exception:  # noqa: BLE001 - nobody awaits this: a bug is told here or nowhere
            _log.exception("backup_not_written")

    def _finish(self, *, copy: bool) -> None:
        try:
            self._writer.finish()
            if copy:
                self._keep_backup()
        finally:
            with told_plainly():
                self._connection.close()


def _created_under(connection: sqlite3.Connection, key: str) -> DeviceId | None:
    found = connection.execute("SELECT device_id FROM idempotency_key WHERE key = ?", (key,)).fetchone()
    return None if found is None else DeviceId(found[0])


def _device(connection: sqlite3.Connection, ident: DeviceId) -> Device:
    row = connection.execute(rows.SELECT_DEVICES + " WHERE id = ?", (ident,)).fetchone()
    if row is None:
        raise _unknown(ident)
    return rows.device_of(row)


def _octets(passphrase: Passphrase) -> bytes:
    return passphrase.reveal().encode("utf-8", "surrogatepass")


def _check(device: DeviceId) -> None:
    if not 0 < device <= _LARGEST_ID:
        raise _unknown(device)


def _unknown(device: DeviceId) -> DeviceNotFound:
    return DeviceNotFound(f"there is no device {device}")
