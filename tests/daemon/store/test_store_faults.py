"""A disk that is full, read-only or failing: an error, nothing half done, nothing forgotten."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.daemon.store.disk import in_its_turn, listen, on_connection, pragma, queue_done
from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SqliteStore, StoreDamaged, StoreError, StoreFull, StoreReadOnly, _worker
from wifimgrd.daemon.store._schema import check_integrity
from wifimgrd.daemon.store._writing import AWAITED_BUSY_MS, BACKGROUND_BUSY_MS, Batch
from wifimgrd.daemon.store.errors import is_passing
from wifimgrd.domain.device import DeviceId, Failure, Passphrase
from wifimgrd.domain.errors import DeviceNotFound, ErrorCode
from wifimgrd.runtime.tasks import Tasks


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path)
    yield opened
    await opened.close()


async def fill(store: SqliteStore) -> None:
    await pragma(store, "max_page_count = 1")  # SQLite rounds it up to the pages there are


async def make_room(store: SqliteStore) -> None:
    await pragma(store, "max_page_count = 100000")


async def test_a_full_disk_refuses_the_create_and_leaves_no_trace(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    await fill(store)
    with pytest.raises(StoreFull, match="full") as raised:
        await store.add(draft("x" * 100_000), Passphrase("hidden-secret"), "key")
    assert "hidden-secret" not in str(raised.getrepr(chain=True)).replace('Passphrase("hidden-secret")', "")
    assert await store.load() == {device.id: device}
    assert await store.find_key("key") is None
    with pytest.raises(StoreFull):
        await store.update(device, replace(device, name="x" * 100_000), Passphrase("hidden-secret"))
    assert await store.passphrase(device.id) == SECRET

    await make_room(store)
    assert (await store.add(draft("x" * 100_000), SECRET, "key")).id > device.id


async def test_a_read_only_disk_still_reads(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    await pragma(store, "query_only = ON")
    with pytest.raises(StoreReadOnly):
        await store.remove(device.id)
    assert await store.passphrase(device.id) == SECRET
    await pragma(store, "query_only = OFF")


async def test_what_could_not_be_recorded_is_reported_once_and_goes_with_the_next_write(
    store: SqliteStore,
) -> None:
    device = await store.add(draft(), SECRET)
    other = await store.add(draft(), SECRET)
    await pragma(store, "query_only = ON")
    with structlog.testing.capture_logs() as logs:
        store.record(device, replace(device, name="1"))
        store.note("key", "lost?")
        await store.load()
        store.record(device, replace(device, name="2"))
        assert (await store.load())[device.id].name == device.name
        with pytest.raises(StoreReadOnly):
            await store.remove(other.id)
        await pragma(store, "query_only = OFF")
        await store.remove(other.id)
    assert [(entry["log_level"], entry["event"]) for entry in logs] == [("error", "state_not_written")]
    assert (await store.load())[device.id].name == "2"


async def test_close_tries_once_more_and_says_what_was_lost(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    device = await store.add(draft(), SECRET)
    await pragma(store, "query_only = ON")
    store.record(device, replace(device, name="1"))
    with pytest.raises(StoreReadOnly):
        await store.close()
    again = await SqliteStore.open(tmp_path)
    assert await again.load() == {device.id: device}
    await again.close()


async def cancel_while_queued(store: SqliteStore, call: Coroutine[object, object, object]) -> None:
    """Cancel a call while the disk is slow with something else."""
    go_on = threading.Event()
    slow = in_its_turn(store, go_on.wait)
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    go_on.set()
    await slow


async def test_a_caller_that_is_cancelled_takes_nothing_along_that_was_recorded(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    store.record(device, replace(device, wanted=True))
    await cancel_while_queued(store, store.find_key("key"))
    assert (await store.load())[device.id].wanted


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written is tried again soon."""
    monkeypatch.setattr(_worker, "_RETRY_S", 0.01)


async def written(store: SqliteStore) -> None:
    """Return once something is written that could not be written until now."""
    is_written = asyncio.Event()
    await listen(store, lambda statement: is_written.set() if statement == "COMMIT" else None)
    await pragma(store, "query_only = OFF")
    async with asyncio.timeout(30):
        await is_written.wait()
    await queue_done(store)


@pytest.mark.usefixtures("soon")
async def test_what_a_cancelled_caller_could_not_write_is_tried_again(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    await pragma(store, "query_only = ON")
    with structlog.testing.capture_logs():
        store.record(device, replace(device, wanted=True))
        await cancel_while_queued(store, store.remove(device.id))
        await queue_done(store)
    await written(store)
    assert await on_connection(store, wanted) == (1,)


def wanted(disk: sqlite3.Connection) -> tuple[int]:
    found: tuple[int] = disk.execute("SELECT wanted FROM device").fetchone()
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"recorded_s": 2**64}),
        # Only the code differs; on disk there is no message.
        ({"failure": Failure(ErrorCode.BUSY, "", 1)}, {"failure": Failure(ErrorCode.INTERNAL, "", 1)}),
    ],
)
async def test_a_row_that_can_never_be_written_holds_up_no_other(
    store: SqliteStore, before: dict[str, Any], after: dict[str, Any]
) -> None:
    device, other = await store.add(draft(), SECRET), await store.add(draft(), SECRET)
    with structlog.testing.capture_logs() as logs:
        store.record(replace(device, **before), replace(device, **after))
        store.record(other, replace(other, wanted=True))
        await store.update(other, replace(other, name="Nose"))
    assert [(entry["event"], entry["device"]) for entry in logs] == [("row_dropped", device.id)]
    assert await store.load() == {device.id: device, other.id: replace(other, name="Nose", wanted=True)}


def bug(*_: object) -> None:
    raise RuntimeError("a bug")


async def test_a_bug_in_a_background_write_is_logged_and_holds_up_no_later_write(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = await store.add(draft(), SECRET)
    with structlog.testing.capture_logs() as logs, monkeypatch.context() as broken:
        broken.setattr(Batch, "write", bug)
        store.record(device, replace(device, wanted=True), at_once=True)
        await asyncio.sleep(0)
        await queue_done(store)
    assert [entry["event"] for entry in logs] == ["state_write_bug"]
    store.record(device, replace(device, last_attempt_us=1))
    await store.flush()
    assert (await store.load())[device.id].last_attempt_us == 1


async def test_a_bug_in_a_copy_is_logged_and_costs_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteStore.open(tmp_path)
    device = await store.add(draft(), SECRET)
    with structlog.testing.capture_logs() as logs, monkeypatch.context() as broken:
        broken.setattr("wifimgrd.daemon.store._sqlite.backup.keep", bug)
        await store.close()
    assert [entry["event"] for entry in logs] == ["backup_not_written"]
    again = await SqliteStore.open(tmp_path)
    assert await again.load() == {device.id: device}
    await again.close()


async def test_a_refused_write_does_not_undo_what_was_recorded(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    store.record(device, replace(device, name="1"))
    with pytest.raises(DeviceNotFound):
        await store.remove(DeviceId(5))
    assert (await store.load())[device.id].name == "1"


NO_ROOM_TO_COMMIT = """
import asyncio, dataclasses, pathlib, resource, signal, sys
from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SqliteStore, StoreError

async def main():
    directory = pathlib.Path(sys.argv[1])
    store = await SqliteStore.open(directory)
    kept = await store.add(draft(), SECRET)
    largest = max(path.stat().st_size for path in directory.iterdir())
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 5000, resource.RLIM_INFINITY))
    written = [kept]
    refused = 0
    for number in range(20):
        try:
            written.append(await store.add(draft("x" * 3000), SECRET, f"key {number}"))
        except StoreError:
            refused += 1
    assert refused, "the limit was not reached"
    assert list(await store.load()) == [device.id for device in written]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    written.append(await store.add(draft("again"), SECRET))
    await store.close()
    again = await SqliteStore.open(directory)
    assert await again.load() == {device.id: device for device in written}
    for device in written:
        assert await again.passphrase(device.id) == SECRET
    await again.close()

asyncio.run(main())
"""


def test_a_commit_that_finds_no_room_is_no_commit(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM_TO_COMMIT, tmp_path],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


async def test_a_store_whose_reads_fail_is_alive_and_one_whose_thread_hangs_is_not(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = Tasks("test")
    tasks.check("store", store.gets_on)
    with closing(sqlite3.connect(tmp_path / "wifimgrd.db", isolation_level=None)) as other:
        other.execute("ALTER TABLE idempotency_key RENAME TO somewhere_else")
        with pytest.raises(StoreError):
            await store.find_key("key")
        assert await tasks.find_dead(10) == []
        other.execute("ALTER TABLE somewhere_else RENAME TO idempotency_key")
    go_on, began, loop = threading.Event(), asyncio.Event(), asyncio.get_running_loop()

    def hang() -> None:
        loop.call_soon_threadsafe(began.set)
        go_on.wait()

    hanging = in_its_turn(store, hang)
    await began.wait()
    assert await tasks.find_dead(10) == [], "a job may take its time"
    monkeypatch.setattr(_worker, "_JOB_S", 0.0)
    assert await tasks.find_dead(0.05) == ["test/store"]
    go_on.set()
    await hanging
    assert await tasks.find_dead(10) == []


async def test_a_state_file_that_another_program_holds_makes_nobody_wait_for_a_queue_of_writes(
    store: SqliteStore, tmp_path: Path
) -> None:
    """Background writes that are due meanwhile are one batch, tried once."""
    device = await store.add(draft(), SECRET)
    statements: list[str] = []
    await listen(store, statements.append)
    with closing(sqlite3.connect(tmp_path / "wifimgrd.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(20):
            store.record(device, replace(device, last_attempt_us=number), at_once=True)
        await store.gets_on()
        other.execute("ROLLBACK")
    await store.flush()
    assert (await store.load())[device.id].last_attempt_us == 19
    attempts = statements.count(f"PRAGMA busy_timeout = {BACKGROUND_BUSY_MS}")
    assert 1 <= attempts <= 2


async def test_a_write_in_the_background_gives_a_held_file_up_soon(
    store: SqliteStore, tmp_path: Path
) -> None:
    device = await store.add(draft(), SECRET)
    waits: list[int] = []
    store.record(device, replace(device, name="1"), at_once=True)
    await pragma(store, "user_version")

    async def waited() -> None:
        [wait] = await on_connection(store, lambda disk: disk.execute("PRAGMA busy_timeout").fetchone())
        waits.append(wait)

    await waited()
    await store.update(device, replace(device, name="2"))
    await waited()
    assert waits == [BACKGROUND_BUSY_MS, AWAITED_BUSY_MS]


@pytest.mark.usefixtures("soon")
async def test_what_could_not_be_written_in_the_background_is_tried_again(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    await pragma(store, "query_only = ON")
    with structlog.testing.capture_logs():
        store.record(device, replace(device, wanted=True), at_once=True)
        with pytest.raises(StoreReadOnly):
            await store.flush()
    await written(store)
    assert await on_connection(store, wanted) == (1,)


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("Tree 2 page 5: unable to get the page. error code=266", StoreError),  # SQLITE_IOERR_READ
        ("Tree 2 page 5: unable to get the page. error code=11", StoreDamaged),
        ("Tree 2 page 5: btreeInitPage() returns error code 11", StoreDamaged),
    ],
)
def test_a_page_that_the_disk_does_not_give_is_no_damage(verdict: str, kind: type[StoreError]) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = lambda *_: (verdict,)
        with pytest.raises(StoreError) as raised:
            check_integrity(connection)
    assert type(raised.value) is kind


def test_only_what_the_file_is_at_fault_for_is_damage() -> None:
    def error(code: int) -> sqlite3.Error:
        made = sqlite3.DatabaseError("refused")
        made.sqlite_errorcode = code
        return made

    for passing in (sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_IOERR_READ):
        assert is_passing(error(passing))
    for lasting in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
        assert not is_passing(error(lasting))


async def test_nothing_is_tried_again_after_the_end(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    device = await store.add(draft(), SECRET)
    await pragma(store, "query_only = ON")
    with structlog.testing.capture_logs():
        store.record(device, replace(device, last_attempt_us=1))
        with pytest.raises(StoreReadOnly):
            await store.flush()
        retry = store._gathering._retry
        assert retry is not None
        with pytest.raises(StoreReadOnly):
            await store.close()
    assert retry.cancelled()


@pytest.mark.usefixtures("soon")
async def test_a_retry_that_comes_during_a_write_is_not_the_last() -> None:
    loop, tries = asyncio.get_running_loop(), list[asyncio.Future[bool]]()
    again = asyncio.Event()

    class SlowDisk:
        def __init__(self) -> None:
            self.loop = loop

        def run(self, _: object) -> asyncio.Future[bool]:
            tries.append(loop.create_future())
            if len(tries) > 1:
                again.set()
            return tries[-1]

    gathering = _worker.Gathering(SlowDisk(), Batch, lambda _: False)  # type: ignore[arg-type]
    gathering.batch.notes["key"] = "1"
    gathering.write_within(0)
    gathering.try_again()
    has_come = asyncio.Event()
    loop.call_later(0.02, has_come.set)
    await has_come.wait()
    assert gathering._is_due
    gathering.take()
    tries[0].set_result(False)
    async with asyncio.timeout(30):
        await again.wait()
    gathering.finish()
