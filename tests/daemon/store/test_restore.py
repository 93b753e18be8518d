"""A backup from anywhere: its rows are checked, nothing else of it is used, and a kill does no harm."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SqliteStore, StoreDamaged, StoreError
from wifimgrd.daemon.store import transfer as transfer_module
from wifimgrd.daemon.store._history import SqliteHistory
from wifimgrd.daemon.store._schema import BACKUP_NAME, FILE_NAME
from wifimgrd.daemon.store.transfer import back_up, restore
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import SignalSample

KILLED_AT_STEP = """
import os, pathlib, signal, sys
from wifimgrd.daemon.store.transfer import restore

octets = pathlib.Path(sys.argv[2]).read_bytes()
left = int(sys.argv[3])
WATCHED = {"open", "os.remove", "os.rename", "os.link", "sqlite3.connect"}

def count(event, arguments):
    global left
    if event in WATCHED:
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
restore(octets, pathlib.Path(sys.argv[1]), replace=True)
"""


async def state(directory: Path, *names: str) -> Path:
    """A state directory with devices of these names."""
    store = await SqliteStore.open(directory)
    for name in names:
        await store.add(draft(name), SECRET)
    await store.close()
    return directory


async def names_in(directory: Path) -> list[str]:
    store = await SqliteStore.open(directory)
    devices = await store.load()
    for device_id in devices:
        assert await store.passphrase(device_id) == SECRET
    await store.close()
    return [device.name for device in devices.values()]


def changed(octets: bytes, *statements: str) -> bytes:
    """The same database after some SQL."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        opened.deserialize(octets)
        for statement in statements:
            opened.execute(statement)
        return bytes(opened.serialize())


@pytest.fixture
async def octets(tmp_path: Path) -> bytes:
    return back_up(await state(tmp_path / "source", "New", "Newer"))


async def test_a_restore_leaves_the_history_as_it_is(tmp_path: Path, octets: bytes) -> None:
    directory = await state(tmp_path / "other", "Old")
    minute, device = time.time_ns() // 60_000_000_000, DeviceId(1)
    kept = {minute: SignalSample(60, 50, 80)}
    history = await SqliteHistory.open(directory, 100, 90)
    history.put_signals({device: kept})
    await history.close()
    restore(octets, directory, replace=True)
    assert await names_in(directory) == ["New", "Newer"]
    history = await SqliteHistory.open(directory, 100, 90)
    assert await history.read_signal(device, range(minute, minute + 1)) == kept
    await history.close()


TRIGGER = """
    CREATE TRIGGER evil AFTER DELETE ON memory BEGIN
        UPDATE device SET name = 'changed by the trigger';
    END
"""


async def test_what_a_file_has_beside_rows_has_no_effect(tmp_path: Path, octets: bytes) -> None:
    hostile = changed(
        octets,
        "INSERT INTO memory VALUES ('some', 'note')",
        TRIGGER,
        TRIGGER.replace("evil", "evil_too").replace("DELETE ON memory", "INSERT ON device"),
        "CREATE VIEW more AS SELECT * FROM secret",
        "CREATE TABLE stowaway (octets)",
    )
    directory = await state(tmp_path / "new")
    assert restore(hostile, directory) == 2
    assert await names_in(directory) == ["New", "Newer"]
    with closing(sqlite3.connect(directory / FILE_NAME)) as opened:
        found = {name for (name,) in opened.execute("SELECT name FROM sqlite_schema")}
    assert not found & {"evil", "evil_too", "more", "stowaway"}


async def test_a_network_that_an_earlier_version_accepted_comes_back(tmp_path: Path, octets: bytes) -> None:
    older = changed(octets, "UPDATE device SET ssid = CAST('WIFI:S:CAM;P:12345678;' AS BLOB) WHERE id = 1")
    directory = await state(tmp_path / "new")
    assert restore(older, directory) == 2


ENDLESS = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)"
VIEW = (
    "ALTER TABLE memory RENAME TO other",
    f"CREATE VIEW memory AS SELECT {ENDLESS} AS key, '' AS value",
)
COMPUTED = (
    "DROP TABLE memory",
    "CREATE TABLE memory (key TEXT PRIMARY KEY, value TEXT AS (hex(zeroblob(999999))))",
)


@pytest.mark.parametrize("statements", [VIEW, COMPUTED], ids=["view", "computed column"])
async def test_a_table_that_is_none_is_refused_unread(
    tmp_path: Path, octets: bytes, statements: tuple[str, ...]
) -> None:
    with pytest.raises(StoreDamaged):
        restore(changed(octets, *statements), await state(tmp_path / "new"))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE device SET name = ''",
        "UPDATE device SET name = 'a' || char(0) || 'b'",
        "UPDATE device SET name = CAST(x'ff41' AS TEXT)",
        "UPDATE device SET codename = ''",
        "UPDATE device SET ssid = x''",
        "UPDATE device SET ssid = zeroblob(33)",
        "UPDATE device SET last_attempt_us = -1",
        "UPDATE device SET last_success_us = 9223372036854775807",
        "UPDATE device SET last_disconnection_us = 9223372036854775807",
        "UPDATE device SET waiting_since_us = -1",
        "UPDATE device SET failure_code = 'internal', failure_message = '', failure_at_us = 1 << 61",
        "UPDATE device SET sightings = '[[1'",
        "UPDATE device SET sightings = '[[\"02:00:00:00:00:01\", 1e999]]'",
        "UPDATE device SET sightings = '[[\"no address\", 2412]]'",
        f"UPDATE device SET sightings = '{'[' * 100_000}'",
        "UPDATE device SET address = 'nowhere'",
        "UPDATE device SET address = '10.77.0.1'",
        "UPDATE device SET priority = 1000000",
        "UPDATE device SET id = -1 WHERE id = 1",
        "DELETE FROM secret WHERE device_id = 1",
        "INSERT INTO secret (device_id, passphrase) VALUES (77, x'41')",
        "UPDATE secret SET passphrase = x'ff'",
        "UPDATE secret SET passphrase = CAST('short' AS BLOB)",
        "INSERT INTO idempotency_key (key, device_id) VALUES ('', 1)",
        "INSERT INTO idempotency_key (key, device_id) VALUES ('key', -1)",
        "UPDATE sqlite_sequence SET seq = 9223372036854775807",
        "UPDATE sqlite_sequence SET seq = 'many'",
        "PRAGMA user_version = -1",
        "PRAGMA user_version = 1",
        "ALTER TABLE device DROP COLUMN priority",
    ],
)
async def test_a_row_that_makes_no_sense_restores_nothing(
    tmp_path: Path, octets: bytes, statement: str
) -> None:
    directory = await state(tmp_path / "new", "Old")
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    if "user_version = 1" in statement:  # a version whose tables are others
        octets = changed(octets, "ALTER TABLE device DROP COLUMN name")
    with pytest.raises(StoreDamaged):
        restore(changed(octets, statement), directory, replace=True)
    after = {path.name: path.read_bytes() for path in directory.iterdir()}
    after.pop("lock")
    assert after == before


async def test_an_id_of_a_removed_device_is_not_given_again(tmp_path: Path, octets: bytes) -> None:
    directory = await state(tmp_path / "new")
    restore(changed(octets, "DELETE FROM secret", "DELETE FROM device"), directory)
    store = await SqliteStore.open(directory)
    assert (await store.add(draft(), SECRET)).id == 3
    await store.close()


async def test_a_backup_holds_nothing_that_was_deleted(tmp_path: Path) -> None:
    directory = await state(tmp_path / "source", "Gone for good", "Stays")
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as opened:
        opened.execute("PRAGMA secure_delete = OFF")
        opened.execute("DELETE FROM secret WHERE device_id = 1")
        opened.execute("DELETE FROM device WHERE id = 1")
    assert b"Gone for good" not in back_up(directory)


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize("damage", [lambda path: None, torn], ids=["whole", "damaged"])
async def test_a_restore_that_is_killed_leaves_the_old_or_the_new_state(
    tmp_path: Path, octets: bytes, damage: Callable[[Path], None]
) -> None:
    (tmp_path / "file").write_bytes(octets)
    outcomes = []
    for step in range(1, 1000):
        directory = tmp_path / f"killed at {step}"
        store = await SqliteStore.open(directory)
        await store.add(draft("Old"), SECRET)
        await store.close()
        damage(directory / FILE_NAME)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED_AT_STEP, directory, tmp_path / "file", str(step)
        )
        status = await process.wait()
        outcomes.append(await names_in(directory))
        left = {path.name for path in directory.iterdir()} - {"lock", FILE_NAME, BACKUP_NAME}
        assert {name for name in left if "damaged" not in name} == set(), "passwords lie about"
        if status == 0:
            break
        assert status == -9
        restore(octets, directory, replace=True)
        assert await names_in(directory) == ["New", "Newer"]
    assert len(outcomes) > 8
    turn = outcomes.index(["New", "Newer"])
    assert outcomes == [["Old"]] * turn + [["New", "Newer"]] * (len(outcomes) - turn)


async def test_what_was_committed_last_is_in_the_old_state_too(tmp_path: Path, octets: bytes) -> None:
    directory = await state(tmp_path / "new", "Old")
    writer = sqlite3.connect(directory / FILE_NAME, isolation_level=None)
    writer.execute("UPDATE device SET name = 'Old, in the log'")
    cut_off = {name: (directory / name).read_bytes() for name in (FILE_NAME, FILE_NAME + "-wal")}
    writer.close()
    for name, content in cut_off.items():
        (directory / name).write_bytes(content)
    assert b"in the log" not in cut_off[FILE_NAME]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transfer_module, "_open", _fails)
        with pytest.raises(StoreError):
            restore(octets, directory, replace=True)
    assert await names_in(directory) == ["Old, in the log"]


def _fails(directory: Path) -> None:
    assert (directory / FILE_NAME).exists()
    raise StoreError("the disk that holds the state reports an error")


async def test_where_the_new_state_cannot_be_opened_the_old_one_is_put_back(
    tmp_path: Path, octets: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_module, "_open", _fails)
    directory = await state(tmp_path / "new", "Old")
    before = {path.name: path.read_bytes() for path in directory.iterdir() if not path.name.endswith("-shm")}
    with pytest.raises(StoreError):
        restore(octets, directory, replace=True)
    after = {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "lock"}
    assert set(after) == set(before)
    assert await names_in(directory) == ["Old"]


async def test_a_state_that_cannot_be_read_is_replaced(tmp_path: Path, octets: bytes) -> None:
    directory = await state(tmp_path / "new", "Old")
    for name in (FILE_NAME, BACKUP_NAME, FILE_NAME + "-wal"):
        (directory / name).write_bytes(b"x" * 9000)
    assert restore(octets, directory, replace=True) == 2
    assert await names_in(directory) == ["New", "Newer"]
