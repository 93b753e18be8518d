"""A backup from anywhere: it has our tables and valid rows, or nothing of it is used; a kill does no harm."""

from __future__ import annotations

import asyncio
import re
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
from wifimgrd.daemon.store._schema import BACKUP_NAME, FILE_NAME, migrate
from wifimgrd.daemon.store.transfer import back_up, restore
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import SignalSample

KILLED_AT_STEP = """
import os, pathlib, signal, sys
from wifimgrd.daemon.store.transfer import restore

data = pathlib.Path(sys.argv[2]).read_bytes()
left = int(sys.argv[3])
WATCHED = {"open", "os.remove", "os.rename", "os.link", "sqlite3.connect"}

def count(event, arguments):
    global left
    if event in WATCHED:
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
restore(data, pathlib.Path(sys.argv[1]), replace=True)
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


def changed(data: bytes, *statements: str) -> bytes:
    """The same database after some SQL."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        opened.deserialize(data)
        for statement in statements:
            opened.execute(statement)
        return bytes(opened.serialize())


@pytest.fixture
async def data(tmp_path: Path) -> bytes:
    return back_up(await state(tmp_path / "source", "New", "Newer"))


async def test_a_restore_leaves_the_history_as_it_is(tmp_path: Path, data: bytes) -> None:
    directory = await state(tmp_path / "other", "Old")
    minute, device = time.time_ns() // 60_000_000_000, DeviceId(1)
    kept = {minute: SignalSample(60, 50, 80)}
    history = await SqliteHistory.open(directory, 100, 90)
    history.put_signals({device: kept})
    await history.close()
    restore(data, directory, replace=True)
    assert await names_in(directory) == ["New", "Newer"]
    history = await SqliteHistory.open(directory, 100, 90)
    assert await history.read_signal(device, range(minute, minute + 1)) == kept
    await history.close()


async def test_a_network_that_an_earlier_version_accepted_comes_back(tmp_path: Path, data: bytes) -> None:
    older = changed(data, "UPDATE device SET ssid = CAST('WIFI:S:CAM;P:12345678;' AS BLOB) WHERE id = 1")
    directory = await state(tmp_path / "new")
    assert restore(older, directory) == 2


ENDLESS = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)"
TRIGGER = "CREATE TRIGGER evil AFTER DELETE ON memory BEGIN UPDATE device SET name = 'evil'; END"
ROW = "INSERT INTO sqlite_master VALUES"
FOREIGN = {
    "trigger": [TRIGGER],
    "trigger at each device": [TRIGGER.replace("DELETE ON memory", "INSERT ON device")],
    "view": ["CREATE VIEW more AS SELECT * FROM secret"],
    "table": ["CREATE TABLE stowaway (bytes)"],
    "column": ["ALTER TABLE device ADD COLUMN stowaway TEXT"],
    "index of an expression": ["CREATE INDEX slow ON device (hex(zeroblob(9999)))"],
    "statistics for the query planner": ["ANALYZE"],
    "virtual table": [f"{ROW} ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING fts5(x)')"],
    "second schema": [
        f"{ROW} ('view', 'sqlite_schema', 'sqlite_schema', 0, 'CREATE VIEW sqlite_schema AS x')"
    ],
    "view in a table's place": [
        "ALTER TABLE memory RENAME TO other",
        f"CREATE VIEW memory AS SELECT {ENDLESS} AS key, '' AS value",
    ],
    "computed column": [
        "DROP TABLE memory",
        "CREATE TABLE memory (key TEXT PRIMARY KEY, value TEXT AS (hex(zeroblob(999999))))",
    ],
    "huge statement": [f"CREATE VIEW huge AS SELECT '{'x' * 1_500_000}'"],
    "two tables in one place": [
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'device')"
        " WHERE name = 'secret'"
    ],
    "check in a comment": [
        "UPDATE sqlite_master SET sql = replace(sql, 'newest first' || char(10), 'newest first')"
    ],
    "name that is no text": ["UPDATE sqlite_master SET name = CAST(x'ff41' AS TEXT) WHERE name = 'secret'"],
}


@pytest.mark.parametrize("statements", FOREIGN.values(), ids=FOREIGN)
async def test_a_file_with_other_than_our_tables_is_refused_unread(
    tmp_path: Path, data: bytes, statements: list[str]
) -> None:
    hostile = changed(data, "PRAGMA writable_schema = ON", *statements)
    with pytest.raises(StoreDamaged):
        restore(hostile, await state(tmp_path / "new"))


@pytest.mark.parametrize(
    ("loosened", "statement"),
    [
        ("STRICT(, )?", "UPDATE device SET priority = 'high'"),
        ("STRICT(, )?", "UPDATE device SET pin_mac = x'00ff'"),
        ("STRICT(, )?", "UPDATE secret SET passphrase = 'text, not bytes'"),
        ("STRICT(, )?", "INSERT INTO idempotency_key VALUES (x'00ff', 1, x'')"),
        ("STRICT(, )?", "UPDATE addressing SET last_address = 5"),
        (" NOT NULL", "UPDATE device SET name = NULL"),
        (
            r"CHECK .*failure_message IS NULL\)\),",
            "UPDATE device SET failure_code = 'x'",
        ),
    ],
)
async def test_a_value_that_our_tables_do_not_take_is_refused(
    tmp_path: Path, data: bytes, loosened: str, statement: str
) -> None:
    change = "UPDATE sqlite_master SET sql = ? WHERE name = ?"
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        opened.deserialize(data)
        ours = opened.execute("SELECT sql, name FROM sqlite_master").fetchall()
        opened.execute("PRAGMA writable_schema = ON")
        opened.executemany(change, [(re.sub(loosened, "", sql), name) for sql, name in ours])
        opened.execute("PRAGMA writable_schema = RESET")
        opened.execute(statement)
        opened.execute("PRAGMA writable_schema = ON")
        opened.executemany(change, ours)
        hostile = bytes(opened.serialize())
    with pytest.raises(StoreDamaged):
        restore(hostile, await state(tmp_path / "new"))


async def test_a_backup_leaves_out_what_others_have_added_to_the_state(tmp_path: Path, data: bytes) -> None:
    directory = await state(tmp_path / "new")
    restore(data, directory)
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.executescript(
            "ANALYZE; CREATE TABLE others (value TEXT); CREATE INDEX by_value ON others (value);"
            "CREATE VIEW seen AS SELECT * FROM others; CREATE INDEX by_ssid ON device (ssid);"
            "CREATE TRIGGER noted AFTER DELETE ON device BEGIN DELETE FROM others; END"
        )
    assert restore(back_up(directory), await state(tmp_path / "newer")) == 2


async def test_nothing_of_a_file_is_left_but_its_rows(tmp_path: Path, data: bytes) -> None:
    directory = await state(tmp_path / "new")
    strange = changed(
        data,
        "PRAGMA application_id = 99",
        "PRAGMA default_cache_size = 1000000",
        "PRAGMA auto_vacuum = FULL",
        "PRAGMA page_size = 65536",
        "VACUUM",
        "INSERT INTO memory VALUES ('stowaway', hex(zeroblob(2000000)))",
        "INSERT INTO bond VALUES ('stowaway', '', 1)",
    )
    assert restore(strange, directory) == 2
    assert await names_in(directory) == ["New", "Newer"]
    again = back_up(directory)
    for part in (slice(24), slice(44, 92), slice(100, None)):  # the rest counts the changes
        assert again[part] == data[part]


async def test_a_file_with_another_encoding_of_text_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as other:
        other.execute("PRAGMA encoding = 'UTF-16'")
        migrate(other)
        hostile = bytes(other.serialize())
    with pytest.raises(StoreDamaged):
        restore(hostile, await state(tmp_path / "new"))


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
        "UPDATE device SET recording_began_us = -1",
        "UPDATE device SET recorded_s = 1 << 62",
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
        "UPDATE secret SET request = zeroblob(2000000)",
        "INSERT INTO idempotency_key VALUES ('key', 1, zeroblob(2000000))",
        "UPDATE secret SET passphrase = CAST('short' AS BLOB)",
        "INSERT INTO idempotency_key (key, device_id) VALUES ('', 1)",
        "INSERT INTO idempotency_key (key, device_id) VALUES ('key', -1)",
        "UPDATE sqlite_sequence SET seq = 9223372036854775807",
        "UPDATE sqlite_sequence SET seq = 'many'",
        "UPDATE sqlite_sequence SET seq = 1",
        "INSERT INTO sqlite_sequence VALUES ('device', 7)",
        "DELETE FROM sqlite_sequence",
        "PRAGMA user_version = -1",
        "PRAGMA user_version = 1",
        "ALTER TABLE device DROP COLUMN priority",
    ],
)
async def test_a_row_that_makes_no_sense_restores_nothing(
    tmp_path: Path, data: bytes, statement: str
) -> None:
    directory = await state(tmp_path / "new", "Old")
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    if "user_version = 1" in statement:  # a version whose tables are others
        data = changed(data, "ALTER TABLE device DROP COLUMN name")
    with pytest.raises(StoreDamaged):
        restore(changed(data, statement), directory, replace=True)
    after = {path.name: path.read_bytes() for path in directory.iterdir()}
    after.pop("lock")
    assert after == before


async def test_an_id_of_a_removed_device_is_not_given_again(tmp_path: Path, data: bytes) -> None:
    directory = await state(tmp_path / "new")
    restore(changed(data, "DELETE FROM secret", "DELETE FROM device"), directory)
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


@pytest.mark.slow
@pytest.mark.parametrize("damage", [lambda path: None, torn], ids=["whole", "damaged"])
async def test_a_restore_that_is_killed_leaves_the_old_or_the_new_state(
    tmp_path: Path, data: bytes, damage: Callable[[Path], None]
) -> None:
    (tmp_path / "file").write_bytes(data)
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
        restore(data, directory, replace=True)
        assert await names_in(directory) == ["New", "Newer"]
    assert len(outcomes) > 8
    turn = outcomes.index(["New", "Newer"])
    assert outcomes == [["Old"]] * turn + [["New", "Newer"]] * (len(outcomes) - turn)


async def test_what_was_committed_last_is_in_the_old_state_too(tmp_path: Path, data: bytes) -> None:
    directory = await state(tmp_path / "new", "Old")
    writer = sqlite3.connect(directory / FILE_NAME, isolation_level=None)
    writer.execute("UPDATE device SET name = 'Old, in the log'")
    cut_off = {name: (directory / name).read_bytes() for name in (FILE_NAME, FILE_NAME + "-wal")}
    writer.close()
    for name, content in cut_off.items():
        (directory / name).write_bytes(content)
    assert b"in the log" not in cut_off[FILE_NAME]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transfer_module, "open_database", _fails)
        with pytest.raises(StoreError):
            restore(data, directory, replace=True)
    assert await names_in(directory) == ["Old, in the log"]


def _fails(directory: Path) -> None:
    assert (directory / FILE_NAME).exists()
    raise StoreError("the disk that holds the state reports an error")


async def test_where_the_new_state_cannot_be_opened_the_old_one_is_put_back(
    tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_module, "open_database", _fails)
    directory = await state(tmp_path / "new", "Old")
    before = {path.name: path.read_bytes() for path in directory.iterdir() if not path.name.endswith("-shm")}
    with pytest.raises(StoreError):
        restore(data, directory, replace=True)
    after = {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "lock"}
    assert set(after) == set(before)
    assert await names_in(directory) == ["Old"]


@pytest.mark.parametrize("damaged_name", [False, True])
async def test_a_state_that_cannot_be_read_is_replaced(
    tmp_path: Path, data: bytes, damaged_name: bool
) -> None:
    directory = await state(tmp_path / "new", "Old")
    damaged = data.replace(b"idempotency_key_age", b"\xffdempotency_key_age", 1) if damaged_name else None
    for name in (FILE_NAME, BACKUP_NAME, FILE_NAME + "-wal"):
        (directory / name).write_bytes(damaged or b"x" * 9000)
    assert restore(data, directory, replace=True) == 2
    assert await names_in(directory) == ["New", "Newer"]
