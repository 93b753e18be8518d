"""Files that are old, from the future, foreign or damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SchemaFromFuture, SqliteStore, StoreDamaged, StoreError
from wifimgrd.daemon.store._schema import (
    BACKUP_NAME,
    FILE_NAME,
    MIGRATIONS,
    SCHEMA_VERSION,
    migrate,
    open_database,
    version_of,
)
from wifimgrd.domain.device import DeviceId, Failure
from wifimgrd.domain.errors import ErrorCode, InternalError


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        yield opened


def tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def of_schema_3(directory: Path, *names: str) -> None:
    """A file as the daemon wrote it before errors had a time, with devices of these names."""
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as opened:
        migrate(opened, MIGRATIONS[:3])
        for name in names or ("Camera",):
            opened.execute(
                "INSERT INTO device (name, codename, ssid, last_attempt_us, last_success_us, failure_code,"
                " failure_message, sightings) VALUES (?, 'x', x'41', 6, 7, 'busy', 'it was busy', '[]')",
                (name,),
            )
            opened.execute(
                "INSERT INTO secret (device_id, passphrase) VALUES (last_insert_rowid(), x'70617373776f7264')"
            )


def test_the_file_is_written_so_that_a_commit_survives_a_power_cut(tmp_path: Path) -> None:
    with closing(open_database(tmp_path)) as opened:
        values = {
            pragma: opened.execute(f"PRAGMA {pragma}").fetchone()[0]
            for pragma in ("journal_mode", "synchronous", "foreign_keys", "user_version")
        }
    assert values == {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL
        "foreign_keys": 1,
        "user_version": SCHEMA_VERSION,
    }


def test_secrets_stand_in_a_table_of_their_own(tmp_path: Path) -> None:
    with closing(open_database(tmp_path)) as opened:
        columns = {
            table: [row[1] for row in opened.execute(f"PRAGMA table_info({table})")]
            for table in tables(opened)
        }
    assert [table for table, names in columns.items() if "passphrase" in names] == ["secret"]


def test_migrations_run_from_where_the_file_stands(connection: sqlite3.Connection) -> None:
    first = (("CREATE TABLE one (a)",),)
    migrate(connection, first)
    assert (version_of(connection), tables(connection)) == (1, {"one"})
    migrate(connection, (*first, ("CREATE TABLE two (a)",), ("CREATE TABLE three (a)", "DROP TABLE one")))
    assert (version_of(connection), tables(connection)) == (3, {"two", "three"})


def test_migrations_are_done_all_or_none(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, (("CREATE TABLE one (a)",), ("CREATE TABLE two (a)", "no such statement")))
    assert (version_of(connection), tables(connection)) == (0, set())


def test_every_released_migration_is_still_what_it_was(connection: sqlite3.Connection) -> None:
    migrate(connection, MIGRATIONS[:1])
    assert tables(connection) == {"device", "secret", "idempotency_key", "memory", "sqlite_sequence"}


async def test_an_error_of_a_schema_without_times_is_kept_without_one(tmp_path: Path) -> None:
    of_schema_3(tmp_path)
    store = await SqliteStore.open(tmp_path)
    device = (await store.load())[DeviceId(1)]
    assert device.failure == Failure(ErrorCode.BUSY, "it was busy", 0)
    assert (device.last_success_us, device.last_disconnection_us) == (7, 0)
    await store.close()


async def test_a_file_from_the_future_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    device = await store.add(draft(), SECRET)
    await store.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as opened:
        opened.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = (tmp_path / FILE_NAME).read_bytes()

    with pytest.raises(SchemaFromFuture, match=f"schema {SCHEMA_VERSION + 1}"):
        await SqliteStore.open(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == before

    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as opened:
        opened.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    store = await SqliteStore.open(tmp_path)
    assert await store.load() == {device.id: device}
    await store.close()


async def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"these are not the devices you are looking for" * 100)
    with pytest.raises(StoreDamaged) as raised:
        await SqliteStore.open(tmp_path)
    assert isinstance(raised.value, InternalError)


async def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    for number in range(50):
        await store.add(draft("x" * 500), SECRET, f"key {number}")
    await store.close()
    whole = (tmp_path / FILE_NAME).read_bytes()
    (tmp_path / FILE_NAME).write_bytes(whole[: len(whole) // 2])
    (tmp_path / BACKUP_NAME).unlink()
    with pytest.raises(StoreDamaged):
        await SqliteStore.open(tmp_path)


async def test_a_row_that_makes_no_sense_is_reported(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.add(draft(), SECRET)
    await store.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as opened:
        opened.execute("UPDATE device SET sightings = '[[1'")
    (tmp_path / BACKUP_NAME).unlink()
    with pytest.raises(StoreDamaged, match="device 1"):
        await SqliteStore.open(tmp_path)


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE theirs (a)", "PRAGMA user_version = -1", f"PRAGMA user_version = {SCHEMA_VERSION}"],
)
async def test_the_database_of_another_program_is_refused_and_left_as_it_is(
    tmp_path: Path, statement: str
) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as opened:
        opened.execute("PRAGMA journal_mode = WAL")
        opened.execute(statement)
        before = opened.execute("SELECT * FROM sqlite_master").fetchall()
    with pytest.raises(StoreDamaged):
        await SqliteStore.open(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as opened:
        assert opened.execute("SELECT * FROM sqlite_master").fetchall() == before


async def test_an_error_code_of_another_version_is_no_obstacle(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    device = await store.add(draft(), SECRET)
    await store.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as opened:
        opened.execute("UPDATE device SET failure_code = 'moon-phase', failure_message = 'full'")
    store = await SqliteStore.open(tmp_path)
    failure = (await store.load())[device.id].failure
    assert failure is not None
    assert (failure.code, failure.message) == ("internal", "full")
    await store.close()


async def test_a_state_directory_that_cannot_be_made_is_reported_plainly(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Not a directory"):
        await SqliteStore.open(tmp_path / "file" / "state")


@pytest.mark.parametrize("make", ["folder", "link"])
async def test_what_stands_in_the_place_of_the_file_is_not_followed(tmp_path: Path, make: str) -> None:
    path = tmp_path / FILE_NAME
    if make == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreDamaged, match="not a regular file"):
        await SqliteStore.open(tmp_path)


async def test_devices_of_before_have_no_pin_and_do_not_wait(tmp_path: Path) -> None:
    of_schema_3(tmp_path, "Front", "Front")
    store = await SqliteStore.open(tmp_path)
    found = (await store.load()).values()
    assert [(one.name, bool(one.pin), one.waiting_since_us) for one in found] == [("Front", False, 0)] * 2
    await store.close()
