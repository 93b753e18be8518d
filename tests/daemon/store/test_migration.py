"""Files of earlier versions are migrated; a kill or a power cut leaves the old or the new one."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.store.samples import SECRET
from wifimgrd.daemon.store import SchemaFromFuture, SqliteHistory, SqliteStore
from wifimgrd.daemon.store import _history as history
from wifimgrd.daemon.store._schema import (
    BACKUP_NAME,
    FILE_NAME,
    MIGRATIONS,
    SCHEMA_VERSION,
    migrate,
    version_of,
)
from wifimgrd.daemon.store.transfer import back_up, restore
from wifimgrd.domain.adapter import AdapterIdentity, AdapterPin
from wifimgrd.domain.bonds import UNKNOWN, Claim
from wifimgrd.domain.device import Device, DeviceId, Failure, Passphrase, Sighting, Ssid
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.history import HistoryFilter, HistoryKind, HistoryRow
from wifimgrd.domain.recordings import Recording

SAMPLES = Path(__file__).with_name("written_by_b22c93f")
"""Both files as that version's code wrote them, with a device that was removed and a session that lasts."""
DAYS = 3650
SECOND = 1_000_000
BEGAN_US = 1_764_000_000 * SECOND

FRONT = Device(
    DeviceId(1),
    "Front",
    "insta360-x3",
    Ssid(b"X3 ABCDEF.OSC"),
    last_attempt_us=BEGAN_US,
    last_success_us=BEGAN_US + SECOND,
    last_adapter=AdapterIdentity("02:00:00:00:00:01", "1-1.2", "SN1"),
    sightings=(Sighting("02:5c:30:a7:eb:0d", 2412), Sighting("02:5c:30:a7:eb:0e", 5180)),
    wanted=True,
    expected=True,
    address="10.77.0.1",
)
NOSE = Device(
    DeviceId(3),
    "Nose",
    "gopro-hero12",
    Ssid(b"\xff\xfe"),
    last_attempt_us=BEGAN_US + 5 * SECOND,
    last_disconnection_us=BEGAN_US - SECOND,
    failure=Failure(
        ErrorCode.NO_INTERFACE_AVAILABLE, "no Wi-Fi interface is available", BEGAN_US + 6 * SECOND
    ),
    auto_reconnect=False,
    priority=3,
    waiting_since_us=BEGAN_US + 6 * SECOND,
    expected=True,
    pin=AdapterPin(usb_port="1-1.4"),
    address="10.77.0.3",
)
LASTS = HistoryRow(
    4,
    BEGAN_US + SECOND,
    HistoryKind.SESSION,
    DeviceId(1),
    "Front",
    "wlan0",
    signal_minimum=60,
    signal_mean=70,
    seen_us=BEGAN_US + 301 * SECOND,
)


def written_by_b22c93f(directory: Path) -> None:
    for name in (FILE_NAME, history.FILE_NAME):
        with closing(sqlite3.connect(directory / name, isolation_level=None)) as opened:
            opened.executescript((SAMPLES / name.replace(".db", ".sql")).read_text())
            opened.execute("PRAGMA journal_mode = WAL")


def of_schema(directory: Path, version: int) -> None:
    """A state as the version of the daemon with that schema wrote it, with one device."""
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as opened:
        migrate(opened, MIGRATIONS[:version])
        opened.execute("PRAGMA journal_mode = WAL")
        opened.execute(
            "INSERT INTO device (id, name, codename, ssid, last_attempt_us, last_success_us, adapter_mac,"
            " adapter_port, adapter_serial, sightings)"
            " VALUES (5, 'Front', 'x', x'41', 6, 7, '02:00:00:00:00:01', '1-1', '', ?)",
            ('[["02:00:00:00:00:aa", 2412]]',),
        )
        opened.execute(
            "INSERT INTO secret (device_id, passphrase) VALUES (5, ?)", (SECRET.reveal().encode(),)
        )
        opened.execute("INSERT INTO idempotency_key (key, device_id) VALUES ('key', 5)")


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as opened:
        return version_of(opened)


async def test_a_state_that_b22c93f_wrote_is_read_to_the_last_value(tmp_path: Path) -> None:
    written_by_b22c93f(tmp_path)
    store = await SqliteStore.open(tmp_path)
    assert await store.load() == {1: FRONT, 3: NOSE}
    assert await store.passphrase(FRONT.id) == Passphrase("front-pass-1")
    assert (await store.passphrase(NOSE.id)).is_open
    assert [await store.find_key(f"key of {name}") for name in ("Front", "Gone")] == [1, 2]
    assert store.recall("simulated") == '{"links": {}}'
    assert (await store.add(FRONT, SECRET)).id == 4, "an id is never given twice"
    await store.close()


async def test_a_history_that_b22c93f_wrote_goes_on(tmp_path: Path) -> None:
    written_by_b22c93f(tmp_path)
    opened = await SqliteHistory.open(tmp_path, 100, DAYS)
    assert list(opened.unended) == [LASTS]
    before = await opened.read(HistoryFilter())
    assert [(row.id, row.kind, row.device_name, row.code) for row in before] == [
        (5, "failure", "Nose", "no-interface-available"),
        (4, "session", "Front", ""),
        (3, "session", "Nose", "connection-lost"),
        (2, "backend", "", "ready"),
        (1, "adapter", "", "plugged-in"),
    ]
    assert opened.next_id == 6
    added = HistoryRow(6, BEGAN_US, HistoryKind.INTERRUPTION, DeviceId(1), ended_us=BEGAN_US + SECOND)
    opened.put([added])
    await opened.close()
    assert not any("damaged" in name for name in files(tmp_path))
    opened = await SqliteHistory.open(tmp_path, 100, DAYS)
    assert await opened.read(HistoryFilter()) == [added, *before]
    await opened.close()


@pytest.mark.parametrize("before", range(1, len(history.MIGRATIONS)))
async def test_the_recordings_of_a_history_of_each_earlier_schema_are_kept(
    tmp_path: Path, before: int
) -> None:
    columns = "id, time_us, kind, device_id, device_name, interface, code, message, ended_us, seen_us"
    with closing(sqlite3.connect(tmp_path / history.FILE_NAME, isolation_level=None)) as old:
        migrate(old, history.MIGRATIONS[:before])
        values = f"1, {BEGAN_US}, 'recording', 1, 'Front', '', 'stopped', 'It was.', {BEGAN_US + SECOND}, 0"
        old.execute(f"INSERT INTO history ({columns}) VALUES ({values})")
    opened = await SqliteHistory.open(tmp_path, 100, DAYS)
    row = HistoryRow(
        1, BEGAN_US, HistoryKind.RECORDING, DeviceId(1), "Front", "", "stopped", "It was.", BEGAN_US + SECOND
    )
    assert await opened.read(HistoryFilter()) == [row]
    assert list(opened.last_recordings) == [row]
    opened.put([replace(row, id=2, recording=Recording("SN1"))])
    await opened.close()
    assert version(tmp_path / history.FILE_NAME) == len(history.MIGRATIONS)


@pytest.mark.parametrize("before", range(1, SCHEMA_VERSION + 1))
async def test_a_state_of_each_earlier_schema_keeps_its_devices(tmp_path: Path, before: int) -> None:
    of_schema(tmp_path, before)
    store = await SqliteStore.open(tmp_path)
    ((ident, device),) = (await store.load()).items()
    assert (ident, device.name, device.ssid.data, device.last_success_us) == (5, "Front", b"A", 7)
    assert (device.last_adapter, device.sightings) == (
        AdapterIdentity("02:00:00:00:00:01", "1-1", ""),
        (Sighting("02:00:00:00:00:aa", 2412),),
    )
    assert await store.passphrase(ident) == SECRET
    assert await store.find_key("key") == ident
    assert await store.last_address() == ""
    store.record(device, replace(device, address="10.77.0.9"))
    assert await store.last_address() == "10.77.0.9"
    await store.close()
    assert version(tmp_path / FILE_NAME) == SCHEMA_VERSION


@pytest.mark.parametrize("before", range(8, 13))
async def test_the_bonds_of_registered_cameras_count_as_the_hubs_after_an_upgrade_and_not_elsewhere(
    tmp_path: Path, before: int
) -> None:
    of_schema(tmp_path, before)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as opened:
        opened.execute("UPDATE device SET bluetooth_address = 'D4:32:60:00:10:01'")
        opened.commit()
    data, elsewhere = (tmp_path / FILE_NAME).read_bytes(), tmp_path / "elsewhere"
    store = await SqliteStore.open(tmp_path)
    assert await store.bonds() == {"D4:32:60:00:10:01": Claim(frozenset({UNKNOWN}))}
    await store.close()
    elsewhere.mkdir()
    for backup in (data, back_up(tmp_path)):
        restore(backup, elsewhere, replace=True)
        restored = await SqliteStore.open(elsewhere)
        assert await restored.bonds() == {}, "the other computer has made none of them"
        await restored.close()


@pytest.mark.parametrize("before", range(1, SCHEMA_VERSION + 1))
async def test_a_copy_of_an_earlier_schema_takes_the_place_of_a_damaged_state(
    tmp_path: Path, before: int
) -> None:
    """As after an upgrade: the daemon has not changed anything yet that made it write the copy anew."""
    of_schema(tmp_path, before)
    (tmp_path / FILE_NAME).rename(tmp_path / BACKUP_NAME)
    (tmp_path / FILE_NAME).write_bytes(b"rubbish" * 1000)
    store = await SqliteStore.open(tmp_path)
    assert [device.name for device in (await store.load()).values()] == ["Front"]
    await store.close()


@pytest.mark.parametrize("before", range(1, SCHEMA_VERSION + 1))
async def test_a_backup_of_an_earlier_schema_is_restored(tmp_path: Path, before: int) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for directory in (old, new):
        directory.mkdir()
    of_schema(old, before)
    assert restore((old / FILE_NAME).read_bytes(), new) == 1
    store = await SqliteStore.open(new)
    assert await store.passphrase(DeviceId(5)) == SECRET
    await store.close()


@contextmanager
def copied_at_each_statement(directory: Path) -> Iterator[list[Path]]:
    """Copies of the directory before each statement of the databases that are opened meanwhile: what a kill
    there would leave, and in further ones, with the log cut short, a power cut."""
    copies: list[Path] = []
    connect = sqlite3.connect

    def copy(cut: int | None = None) -> int:
        to = directory.with_name(f"{directory.name} {len(copies)}")
        to.mkdir()
        copies.append(to)
        length = 0
        for file in directory.glob("*.db*"):
            if file.name.endswith("-wal"):
                length = len(data := file.read_bytes())
                (to / file.name).write_bytes(data[:cut])
            elif not file.name.endswith("-shm"):  # which is made of the log
                shutil.copy(file, to)
        return length

    def copy_torn(_: str) -> None:
        length = copy()
        for cut in range(0, length, max(1, length // 4)):
            copy(cut)

    def connected(*more: Any, **options: Any) -> sqlite3.Connection:
        opened: sqlite3.Connection = connect(*more, **options)
        opened.set_trace_callback(copy_torn)
        return opened

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connected)
        yield copies


@pytest.mark.parametrize("before", range(1, SCHEMA_VERSION))
async def test_a_migration_of_the_state_that_is_killed_leaves_the_old_or_the_new_one(
    tmp_path: Path, before: int
) -> None:
    live = tmp_path / "live"
    live.mkdir()
    of_schema(live, before)
    with copied_at_each_statement(live) as copies:
        store = await SqliteStore.open(live)
    await store.close()
    versions = set()
    for directory in copies:
        versions.add(version(directory / FILE_NAME))
        store = await SqliteStore.open(directory)
        assert [device.name for device in (await store.load()).values()] == ["Front"]
        assert await store.passphrase(DeviceId(5)) == SECRET
        await store.close()
    assert versions == {before, SCHEMA_VERSION}


async def test_a_migration_of_the_history_that_is_killed_leaves_the_old_or_the_new_one(
    tmp_path: Path,
) -> None:
    live = tmp_path / "live"
    live.mkdir()
    written_by_b22c93f(live)
    with copied_at_each_statement(live) as copies:
        opened = await SqliteHistory.open(live, 100, DAYS)
    await opened.close()
    versions = set()
    for directory in copies:
        versions.add(version(directory / history.FILE_NAME))
        opened = await SqliteHistory.open(directory, 100, DAYS)
        assert len(await opened.read(HistoryFilter())) == 5
        assert list(opened.unended) == [LASTS]
        await opened.close()
        assert not any("damaged" in name for name in files(directory))
    assert versions == {1, len(history.MIGRATIONS)}


async def test_a_state_of_a_newer_version_is_kept_where_its_file_is_damaged_too(tmp_path: Path) -> None:
    """A downgrade never puts an older copy in the place of what the newer version wrote."""
    store = await SqliteStore.open(tmp_path)
    await store.add(FRONT, SECRET)
    await store.close()
    for name in (FILE_NAME, BACKUP_NAME):
        with closing(sqlite3.connect(tmp_path / name)) as opened:
            opened.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    (tmp_path / FILE_NAME).write_bytes(b"rubbish" * 1000)
    before = files(tmp_path)
    with pytest.raises(SchemaFromFuture, match="a newer version of wifimgrd"):
        await SqliteStore.open(tmp_path)
    assert files(tmp_path) == before
