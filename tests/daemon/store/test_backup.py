"""A damaged state is set aside, and its backup used."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SqliteStore
from wifimgrd.daemon.store._schema import BACKUP_NAME, FILE_NAME
from wifimgrd.domain.device import Device, DeviceId, Passphrase


def nothing_left(path: Path) -> None:
    path.write_bytes(b"")


def half_of_it(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped_bits(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(4096, len(data), 97):
        data[at] ^= 0x55
    path.write_bytes(data)


def gone(path: Path) -> None:
    path.unlink()


def nonsense(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as opened:
        opened.execute("UPDATE device SET sightings = '[[1'")


def no_text_in_a_row(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as opened:
        opened.execute("UPDATE device SET name = CAST(x'ff41' AS TEXT) WHERE id = 3")


def no_text_in_the_schema(path: Path) -> None:
    """SQLite's message quotes it, and cannot be decoded."""
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(path.read_bytes().replace(b"idempotency_key_age", b"\xffdempotency_key_age", 1))


DAMAGES = [
    nothing_left,
    half_of_it,
    flipped_bits,
    gone,
    nonsense,
    no_text_in_a_row,
    no_text_in_the_schema,
]


async def filled(directory: Path) -> list[Device]:
    store = await SqliteStore.open(directory)
    devices = [await store.add(draft(f"Camera {number}"), SECRET) for number in range(20)]
    await store.close()
    return devices


@pytest.mark.parametrize("damage", DAMAGES)
async def test_what_was_acknowledged_is_there_after_damage(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    devices = await filled(tmp_path)
    damage(tmp_path / FILE_NAME)
    store = await SqliteStore.open(tmp_path)
    assert list((await store.load()).values()) == devices
    assert await store.passphrase(devices[-1].id) == SECRET
    await store.close()


async def test_the_damaged_file_is_set_aside_and_that_is_said_loudly(tmp_path: Path) -> None:
    await filled(tmp_path)
    (tmp_path / FILE_NAME).write_bytes(b"nothing of sense")
    with capture_logs() as logs:
        store = await SqliteStore.open(tmp_path)
    await store.close()
    [reported] = [entry for entry in logs if entry["event"] == "state_restored_from_backup"]
    assert reported["log_level"] == "critical"
    assert (tmp_path / reported["damaged"]).read_bytes() == b"nothing of sense"


async def test_an_id_that_the_backup_may_not_know_is_not_given_again(tmp_path: Path) -> None:
    devices = await filled(tmp_path)
    (tmp_path / FILE_NAME).unlink()
    store = await SqliteStore.open(tmp_path)
    assert (await store.add(draft("new"), SECRET)).id > devices[-1].id + 1
    await store.close()


async def test_a_removed_secret_is_not_in_the_backup(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    device = await store.add(draft(), Passphrase("a-secret-that-goes"))
    await store.remove(device.id)
    await store.close()
    assert b"a-secret-that-goes" not in (tmp_path / BACKUP_NAME).read_bytes()


async def test_the_backup_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    await filled(tmp_path)
    assert (tmp_path / BACKUP_NAME).stat().st_mode & 0o777 == 0o600


async def test_a_damaged_backup_restores_nothing(tmp_path: Path) -> None:
    await filled(tmp_path)
    for name in (FILE_NAME, BACKUP_NAME):
        (tmp_path / name).write_bytes(b"x" * 9000)
    with pytest.raises(Exception, match="not a database"):
        await SqliteStore.open(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == b"x" * 9000


async def test_a_first_start_restores_nothing(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    assert (await store.add(draft(), SECRET)).id == DeviceId(1)
    await store.close()


async def test_what_an_interrupted_repair_has_left_is_not_written_to(tmp_path: Path) -> None:
    """Others may have opened it, or it may be a link."""
    devices = await filled(tmp_path)
    left = tmp_path / "left"
    left.write_bytes(b"half")
    (tmp_path / (FILE_NAME + ".restored")).symlink_to(left)
    gone(tmp_path / FILE_NAME)
    store = await SqliteStore.open(tmp_path)
    assert list((await store.load()).values()) == devices
    await store.close()
    assert left.read_bytes() == b"half"
    assert (tmp_path / FILE_NAME).lstat().st_mode == 0o100600
