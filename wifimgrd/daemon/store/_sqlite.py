"""The store: one SQLite file, one thread that uses it, and an event loop that never waits for a disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog

from wifimgrd.daemon.store import _backup as backup
from wifimgrd.daemon.store import _bonds as bonds
from wifimgrd.daemon.store import _rows as rows
from wifimgrd.daemon.store._schema import BACKUP_NAME
from wifimgrd.daemon.store._worker import Gathering, Worker
from wifimgrd.daemon.store._writing import Batch, Writer
from wifimgrd.daemon.store.errors import StoreError, plain_text
from wifimgrd.domain.bonds import Claim
from wifimgrd.domain.device import Device, DeviceId, Passphrase
from wifimgrd.domain.errors import DeviceNotFound

_log: Any = structlog.get_logger(__name__)

_T = TypeVar("_T")
_KEYS_KEPT: Final = 10_000
"""Number of the latest creations whose idempotency keys are stored."""
_LARGEST_ID: Final = 2**63 - 1
_GATHER_S: Final = 5.0
"""Background writes within this time go to disk in one transaction, to spare the flash: what a power cut
takes of them is learned again."""
_COPY_S: Final = 2.0
"""The backup is made this long after an acknowledged change."""


class SqliteStore:
    """Implements `DeviceStore` and `BackendMemory` (wifimgrd.daemon.ports).

    Operations run in the order of the calls, in one thread. An awaited operation
    is on disk when it returns, or raises StoreError with nothing done.
    Cancelling a caller does not stop its write.
    """

    def __init__(
        self,
        directory: Path,
        connection: sqlite3.Connection,
        worker: Worker,
        memory: dict[str, str],
    ) -> None:
        """Use `open`."""
        self._directory = directory
        self._connection = connection
        self._worker = worker
        self._memory = memory
        self._closed = False
        self._copying: asyncio.TimerHandle | None = None
        """Runs while the backup lacks acknowledged changes."""
        self._secrets: dict[DeviceId, Passphrase] = {}
        """Notes that were read before, so that a join waits for no disk; changed only by the worker."""
        self._writer = Writer(connection)
        """Used only by the worker."""
        self._gathering = Gathering(worker, Batch, self._writer.write)

    @classmethod
    async def open(cls, directory: Path) -> SqliteStore:
        """Open the store in `directory`, which is made (0700) if it is missing.

        A damaged one is set aside and its backup used, which is logged as critical.
        Raises SchemaFromFuture, StoreDamaged, StoreReadOnly, StoreFull or another StoreError.
        """
        worker = Worker("wifimgrd-store")
        try:
            connection, memory = await worker.run(lambda: backup.open_or_restore(directory))
        except BaseException:
            worker.shut_down()
            raise
        store = cls(directory, connection, worker, memory)
        if not (directory / BACKUP_NAME).exists():
            store._copy_soon()
        return store

    async def gets_on(self) -> None:
        """Return at once, unless the store's thread hangs; a disk that is slow, fails, or is held by another
        program does not make it hang."""
        if not self._closed:
            await self._worker.gets_on()

    async def load(self) -> Mapping[DeviceId, Device]:
        """Every device that was acknowledged and not removed, in order of id; raises StoreDamaged."""

        def work(connection: sqlite3.Connection) -> dict[DeviceId, Device]:
            found = map(rows.device_of, connection.execute(rows.SELECT_DEVICES + " ORDER BY id"))
            return {device.id: device for device in found}

        return await self._read(work)

    async def add(
        self, draft: Device, passphrase: Passphrase, key: str | None = None, request: bytes = b""
    ) -> Device:
        """Write a new device and return it with its id; `request` is what `request_of` returns then.

        A `key` that was used before writes nothing and returns the device it created then, as
        it is on disk; raises DeviceNotFound if that was removed. So of two simultaneous requests with
        one key, both get the same device.
        """
        key = None if key is None else rows.text_of(key)

        def work(connection: sqlite3.Connection) -> Device:
            if key is not None and (first := _created_under(connection, key)) is not None:
                return _device(connection, first)
            ident = rows.insert(connection, draft)
            connection.execute("INSERT INTO secret VALUES (?, ?, ?)", (ident, _encoded(passphrase), request))
            if key is not None:
                connection.execute("INSERT INTO idempotency_key VALUES (?, ?, x'')", (key, ident))
                connection.execute(
                    "DELETE FROM idempotency_key WHERE device_id <= ? - ?", (ident, _KEYS_KEPT)
                )
            return replace(draft, id=ident)

        return await self._write(work)

    async def last_address(self) -> str:
        """The address that was assigned last, also if its device was removed since; empty if none was."""
        return await self._read(_last_address)

    async def bonds(self) -> Mapping[str, Claim]:
        """Which bonds are the hub's, by the address of the camera."""
        return await self._read(bonds.read)

    async def keep_bonds(self, address: str, claim: Claim) -> None:
        """Write which bonds with a camera are the hub's, safe on disk on return."""
        await self._write(partial(bonds.keep, address=address, claim=claim))

    async def find_key(self, key: str) -> DeviceId | None:
        """The id of the device that was created under an idempotency key, even if it was removed."""
        return await self._read(partial(_created_under, key=rows.text_of(key)))

    async def request_of(self, key: str) -> bytes:
        """The request that had an idempotency key; empty if it is not known, as once the passphrase in it was
        changed."""

        def work(connection: sqlite3.Connection) -> bytes:
            found = connection.execute(
                "SELECT idempotency_key.request, secret.request FROM idempotency_key"
                " LEFT JOIN secret USING (device_id) WHERE key = ?",
                (rows.text_of(key),),
            ).fetchone()
            own, of_creation = found or (b"", b"")
            return own or of_creation or b""

        return await self._read(work)

    async def passphrase(self, device_id: DeviceId) -> Passphrase:
        """A device's secret; raises DeviceNotFound."""
        _check(device_id)
        if (known := self._secrets.get(device_id)) is not None:
            return known

        def work(connection: sqlite3.Connection) -> Passphrase:
            found = connection.execute("SELECT passphrase FROM secret WHERE device_id = ?", (device_id,))
            # No local variable holds the secret itself, so that no traceback shows it.
            secrets = [Passphrase(data.decode("utf-8", "surrogatepass")) for (data,) in found]
            if not secrets:
                raise DeviceNotFound.of(device_id)
            self._secrets[device_id] = secrets[0]
            return secrets[0]

        return await self._read(work, settled=False)

    async def update(
        self,
        before: Device,
        after: Device,
        passphrase: Passphrase | None = None,
        key: str | None = None,
        request: bytes = b"",
    ) -> None:
        """Write what differs between two values of a device; None leaves the secret as it is. `request` is
        what `request_of` returns for `key` then. Raises DeviceNotFound."""
        device_id, columns = after.id, rows.changed_columns(before, after)
        _check(device_id)

        def work(connection: sqlite3.Connection) -> None:
            self._secrets.pop(device_id, None)
            if not rows.update(connection, device_id, columns):
                raise DeviceNotFound.of(device_id)
            if passphrase is not None:
                # The old passphrase is in the request, too.
                connection.execute(
                    "UPDATE secret SET passphrase = ?, request = x'' WHERE device_id = ?",
                    (_encoded(passphrase), device_id),
                )
            if key is not None:
                connection.execute(
                    "INSERT OR IGNORE INTO idempotency_key VALUES (?, ?, ?)",
                    (rows.text_of(key), device_id, request),
                )

        await self._write(work)
        if passphrase is not None:
            self._forget_log()

    def record(self, before: Device, after: Device, *, at_once: bool = False) -> None:
        """Write what differs between two values of a device, soon and in order; never raises, never waits.

        With `at_once` it is not collected with later writes. If it cannot be written it is kept, and
        goes to disk with the next write that succeeds.
        """
        if self._may_queue():
            self._gathering.batch.change(after.id, rows.changed_columns(before, after))
            self._gathering.write_within(0 if at_once else _GATHER_S)

    async def flush(self) -> None:
        """Return once everything is on disk that was recorded; raises StoreError."""
        await self._submit(self._tried_again(self._writer.finish))

    async def remove(self, device_id: DeviceId) -> None:
        """Remove a device and its secret; its id is not assigned again. Raises DeviceNotFound."""
        _check(device_id)

        def work(connection: sqlite3.Connection) -> None:
            self._secrets.pop(device_id, None)
            if not connection.execute("DELETE FROM device WHERE id = ?", (device_id,)).rowcount:
                raise DeviceNotFound.of(device_id)

        await self._write(work)
        self._forget_log()

    def recall(self, key: str) -> str | None:
        """The note under `key`, or None; never waits for the disk."""
        return self._memory.get(rows.text_of(key))

    def note(self, key: str, value: str | None) -> None:
        """Store `value` under `key`; None removes it. Written as by `record`, but at once."""
        key = rows.text_of(key)
        if value is None:
            self._memory.pop(key, None)
        else:
            value = self._memory[key] = rows.text_of(value)
        if self._may_queue():
            self._gathering.batch.notes[key] = value
            self._gathering.write_within(0)

    async def close(self) -> None:
        """Write the pending data and close; a second call does nothing.

        Raises StoreError if something could not be written; the file is closed all the same.
        """
        if self._closed:
            return
        copy = self._copying is not None
        if self._copying is not None:
            self._copying.cancel()
        self._closed = True
        try:
            await self._worker.run(partial(self._finish, self._gathering.finish(), copy=copy))
        finally:
            self._worker.shut_down()

    async def _read(self, work: Callable[[sqlite3.Connection], _T], *, settled: bool = True) -> _T:
        """Read, after pending writes are done; at once if they cannot matter."""

        def job(batch: Batch) -> _T:
            self._gathering.write_taken(batch)
            with plain_text():
                return work(self._connection)

        return await self._submit(job, settled=settled)

    async def _write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        def job(batch: Batch) -> _T:
            result = self._writer.transact(batch, work)
            self._worker.loop.call_soon_threadsafe(self._copy_soon)
            return result

        return await self._submit(self._tried_again(job))

    async def _submit(self, job: Callable[[Batch], _T], *, settled: bool = True) -> _T:
        """Run a job, with the background writes that are gathered until now."""
        if self._closed:
            raise StoreError("the store is closed")
        batch = self._gathering.take() if settled else Batch()
        return await self._worker.run(partial(job, batch))

    def _tried_again(self, job: Callable[[Batch], _T]) -> Callable[[Batch], _T]:
        """A job after which the background writes that failed in it are repeated later, even if nobody waits
        for it any longer."""

        def work(batch: Batch) -> _T:
            try:
                return job(batch)
            except StoreError:
                self._worker.loop.call_soon_threadsafe(self._gathering.try_again)
                raise

        return work

    def _may_queue(self) -> bool:
        if self._closed:
            _log.warning("write_after_close")
        return not self._closed

    def _copy_soon(self) -> None:
        if self._copying is None and not self._closed:
            self._copying = self._worker.loop.call_later(_COPY_S, self._copy)

    def _copy(self) -> None:
        self._copying = None
        self._worker.run(self._keep_backup)

    def _forget_log(self) -> None:
        """Empty the write-ahead log, which still contains the secret that was just replaced."""
        if not self._closed:
            self._worker.run(self._checkpoint)

    # The methods below run on the worker's thread.

    def _checkpoint(self) -> None:
        try:
            with plain_text():
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except StoreError as error:
            _log.warning("write_ahead_log_kept", reason=error.message)

    def _keep_backup(self) -> None:
        try:
            with plain_text():
                backup.keep(self._connection, self._directory)
        except StoreError as error:
            _log.warning("backup_not_written", reason=error.message)
        except Exception:  # noqa: BLE001 - this is not awaited: a bug is logged here or nowhere
            _log.exception("backup_not_written")

    def _finish(self, batch: Batch, *, copy: bool) -> None:
        try:
            self._writer.finish(batch)
            if copy:
                self._keep_backup()
        finally:
            with plain_text():
                self._connection.close()


def _created_under(connection: sqlite3.Connection, key: str) -> DeviceId | None:
    found = connection.execute("SELECT device_id FROM idempotency_key WHERE key = ?", (key,)).fetchone()
    return None if found is None else DeviceId(found[0])


def _last_address(connection: sqlite3.Connection) -> str:
    [(address,)] = connection.execute("SELECT last_address FROM addressing")
    return str(address)


def _device(connection: sqlite3.Connection, ident: DeviceId) -> Device:
    row = connection.execute(rows.SELECT_DEVICES + " WHERE id = ?", (ident,)).fetchone()
    if row is None:
        raise DeviceNotFound.of(ident)
    return rows.device_of(row)


def _encoded(passphrase: Passphrase) -> bytes:
    return passphrase.reveal().encode("utf-8", "surrogatepass")


def _check(device_id: DeviceId) -> None:
    if not 0 < device_id <= _LARGEST_ID:
        raise DeviceNotFound.of(device_id)
