"""A backup has everything, and only a whole one is restored."""

from __future__ import annotations

import fcntl
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SchemaFromFuture, SqliteStore, StoreDamaged
from wifimgrd.daemon.store._schema import BACKUP_NAME, FILE_NAME
from wifimgrd.daemon.store.errors import StoreError
from wifimgrd.daemon.store.transfer import StoreInUse, StoreNotEmpty, back_up, restore
from wifimgrd.domain.bonds import Claim


async def with_devices(directory: Path, *names: str) -> SqliteStore:
    """A store with devices, of which the first is gone again."""
    store = await SqliteStore.open(directory)
    made = [await store.add(draft(name), SECRET) for name in names]
    await store.remove(made[0].id)
    store.note("of this computer", "alone")
    return store


def empty(directory: Path) -> Path:
    directory.mkdir(mode=0o700)
    return directory


async def test_ids_passwords_and_names_come_back_and_ids_are_not_given_twice(tmp_path: Path) -> None:
    store = await with_devices(tmp_path / "old", "A", "B", "C")
    data = back_up(tmp_path / "old")  # while it is in use
    before = await store.load()
    await store.close()
    assert restore(data, empty(tmp_path / "new")) == 2
    restored = await SqliteStore.open(tmp_path / "new")
    assert await restored.load() == before
    assert [device.name for device in before.values()] == ["B", "C"]
    assert await restored.passphrase(max(before)) == SECRET
    assert (await restored.add(draft(), SECRET)).id == 4
    assert restored.recall("of this computer") is None
    await restored.close()
    assert (tmp_path / "new" / FILE_NAME).stat().st_mode & 0o777 == 0o600


async def test_devices_that_are_there_go_only_where_that_was_said(tmp_path: Path) -> None:
    await (await with_devices(tmp_path / "old", "A", "B")).close()
    data = back_up(tmp_path / "old")
    await (await with_devices(tmp_path / "new", "X", "Y", "Z")).close()
    with pytest.raises(StoreNotEmpty):
        restore(data, tmp_path / "new")
    restore(data, tmp_path / "new", replace=True)
    store = await SqliteStore.open(tmp_path / "new")
    assert [device.name for device in (await store.load()).values()] == ["B"]
    await store.close()


async def test_nothing_is_restored_under_a_running_daemon(tmp_path: Path) -> None:
    await (await with_devices(tmp_path / "old", "A", "B")).close()
    data = back_up(tmp_path / "old")
    with (empty(tmp_path / "new") / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreInUse):
            restore(data, tmp_path / "new")
    assert not (tmp_path / "new" / FILE_NAME).exists()


async def test_what_is_no_whole_backup_touches_nothing(tmp_path: Path) -> None:
    await (await with_devices(tmp_path / "old", "A", "B")).close()
    data = back_up(tmp_path / "old")
    with closing(sqlite3.connect(":memory:")) as other:
        other.execute("CREATE TABLE device (id)")
        foreign = bytes(other.serialize())
    with closing(sqlite3.connect(tmp_path / "future")) as newer:
        newer.deserialize(data)
        newer.execute("PRAGMA user_version = 99")
        future = bytes(newer.serialize())
    new = empty(tmp_path / "new")
    for broken in (b"", b"no database", data[: len(data) // 2], foreign, data[:4096] + bytes(4096)):
        with pytest.raises(StoreDamaged):
            restore(broken, new)
    with pytest.raises(SchemaFromFuture):
        restore(future, new)
    assert [file.name for file in new.iterdir()] == ["lock"]


async def test_the_address_that_was_assigned_last_comes_back_and_no_other_text_does(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "old")
    device = await store.add(replace(draft(), address="10.77.0.4"), SECRET)
    await store.remove(device.id)
    await store.close()
    data = back_up(tmp_path / "old")
    restore(data, empty(tmp_path / "new"))
    restored = await SqliteStore.open(tmp_path / "new")
    assert await restored.last_address() == "10.77.0.4"
    await restored.close()
    for change in ("UPDATE addressing SET last_address = 'x'", "DELETE FROM addressing"):
        with closing(sqlite3.connect(tmp_path / "changed")) as file:
            file.deserialize(data)
            file.execute(change)
            file.commit()
            changed = bytes(file.serialize())
        with pytest.raises(StoreDamaged):
            restore(changed, empty(tmp_path / change[:6]))


MADE = Claim(frozenset({"00:1A:7D:DA:71:10"}))


@pytest.mark.parametrize("damage", [b"rubbish" * 1000, b""], ids=["rubbish", "empty"])
@pytest.mark.parametrize("damaged", [(), (FILE_NAME,), (FILE_NAME, BACKUP_NAME)])
async def test_the_bonds_that_this_computer_has_made_outlive_a_restore(
    tmp_path: Path, damaged: tuple[str, ...], damage: bytes
) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.add(draft(), SECRET)
    await store.keep_bonds("D4:32:60:00:10:01", MADE)
    await store.close()
    backup = back_up(tmp_path)
    if damaged:
        (tmp_path / BACKUP_NAME).write_bytes((tmp_path / FILE_NAME).read_bytes())
    for name in damaged:
        (tmp_path / name).write_bytes(damage)
    restore(backup, tmp_path, replace=True)
    again = await SqliteStore.open(tmp_path)
    made = {} if BACKUP_NAME in damaged else {"D4:32:60:00:10:01": MADE}
    assert await again.bonds() == made
    await again.close()


async def test_what_is_no_bond_in_the_state_that_is_replaced_does_not_refuse_a_good_backup(
    tmp_path: Path,
) -> None:
    await (await with_devices(tmp_path, "A", "B")).close()
    backup = back_up(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file, file:
        file.execute("DROP TABLE bond")
        file.execute("CREATE TABLE bond (address, adapter, is_own)")
        [adapter] = MADE.own
        rows = [
            ("D4:32:60:00:10:01", adapter, 1),
            (b"\xff", None, 1),
            ("D4:32:60:00:10:02", "hci0", 1),
            ("D4:32:60:00:10:03", adapter, "x"),
            ("*", "", 1),
        ]
        file.executemany("INSERT INTO bond VALUES (?, ?, ?)", rows)
        file.execute("INSERT INTO bond VALUES (CAST(x'ff' AS TEXT), '', 1)")
    assert restore(backup, tmp_path, replace=True) == 1
    again = await SqliteStore.open(tmp_path)
    assert await again.bonds() == {"D4:32:60:00:10:01": MADE}
    await again.close()


def test_where_there_is_no_state_there_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no state"):
        back_up(tmp_path)
