"""What the store promises, case by case."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.daemon.store.disk import listen
from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SqliteStore, StoreError, _worker
from wifimgrd.daemon.store._schema import FILE_NAME
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.bonds import UNKNOWN, Claim
from wifimgrd.domain.device import DeviceId, Failure, Passphrase, Sighting
from wifimgrd.domain.errors import DeviceNotFound, ErrorCode


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "state")
    yield opened
    await opened.close()


@contextmanager
def a_slow_disk(tmp_path: Path) -> Iterator[None]:
    """Keeps every write waiting."""
    connection = sqlite3.connect(tmp_path / "state" / FILE_NAME, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(directory: Path) -> dict[str, int]:
    return {path.name: mode(path) for path in directory.iterdir()}


def open_to_others(directory: Path) -> None:
    directory.chmod(0o755)
    for path in directory.iterdir():
        path.chmod(0o644)


def content(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.iterdir())


async def test_what_was_added_is_there_after_opening_again(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    device = await store.add(
        replace(
            draft("Küche\n", b"\xff\x00 cam"),
            last_attempt_us=1,
            last_success_us=2,
            failure=Failure(ErrorCode.CONNECTION_LOST, "the link dropped"),
            last_adapter=AdapterIdentity("00:e0:4c:01:02:03", "1-1.4", "123"),
            sightings=(Sighting("02:00:00:00:00:01", 2412), Sighting("02:00:00:00:00:02", 5180)),
        ),
        SECRET,
    )
    await store.close()

    again = await SqliteStore.open(tmp_path)
    assert await again.load() == {device.id: device}
    assert await again.passphrase(device.id) == SECRET
    await again.close()


async def test_ids_are_positive_ascending_and_never_given_again(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    ids = [(await store.add(draft(), SECRET)).id for _ in range(3)]
    assert ids == [1, 2, 3]
    for ident in ids:
        await store.remove(ident)
    await store.close()

    again = await SqliteStore.open(tmp_path)
    assert (await again.add(draft(), SECRET)).id == 4
    await again.close()


async def test_an_adapter_of_which_nothing_is_known_is_not_the_same_as_none(store: SqliteStore) -> None:
    device = await store.add(replace(draft(), last_adapter=AdapterIdentity()), SECRET)
    assert (await store.load())[device.id].last_adapter == AdapterIdentity()


async def test_an_unknown_device_is_not_found(store: SqliteStore) -> None:
    for unknown in (0, -1, 7, 2**63, 2**200):
        ident = DeviceId(unknown)
        with pytest.raises(DeviceNotFound):
            await store.passphrase(ident)
        with pytest.raises(DeviceNotFound):
            await store.remove(ident)
        with pytest.raises(DeviceNotFound):
            await store.update(draft(), replace(draft(), id=ident), SECRET)
    assert await store.load() == {}


async def test_a_removed_device_is_gone_with_its_secret(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    await store.remove(device.id)
    assert await store.load() == {}
    with pytest.raises(DeviceNotFound):
        await store.passphrase(device.id)


async def test_update_leaves_the_secret_unless_it_has_one(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    await store.update(device, replace(device, name="Other"))
    assert await store.passphrase(device.id) == SECRET
    assert (await store.load())[device.id].name == "Other"
    await store.update(device, device, Passphrase(""))
    assert (await store.passphrase(device.id)).is_open


# Idempotency keys


async def test_the_request_of_a_device_goes_with_its_old_passphrase(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET, "key", b"asked with a-secret")
    assert await store.request_of("key") == b"asked with a-secret"
    await store.update(device, replace(device, name="Nose"))
    assert await store.request_of("key") == b"asked with a-secret"
    await store.update(device, device, Passphrase("another-secret"))
    assert await store.request_of("key") == b""


async def test_a_request_that_was_answered_with_a_device_of_before_has_a_key_of_its_own(
    store: SqliteStore,
) -> None:
    device = await store.add(draft(), SECRET, "key", b"asked with a-secret")
    await store.update(device, device, key="later", request=b"asked to pair")
    assert await store.find_key("later") == device.id
    assert await store.request_of("later") == b"asked to pair"
    assert await store.request_of("key") == b"asked with a-secret"
    await store.update(device, device, Passphrase("another-secret"))
    assert await store.request_of("later") == b"asked to pair"
    await store.remove(device.id)
    assert await store.find_key("later") == device.id


async def test_two_requests_with_one_key_that_race_get_one_device(store: SqliteStore) -> None:
    first, second = await asyncio.gather(
        store.add(draft("a"), SECRET, "key"), store.add(draft("b"), Passphrase("another"), "key")
    )
    assert first == second
    assert await store.load() == {first.id: first}
    assert await store.passphrase(first.id) == SECRET
    assert await store.find_key("key") == first.id
    assert await store.find_key("other") is None


async def test_a_key_outlives_its_device_and_creates_no_second_one(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET, "key")
    await store.remove(device.id)
    assert await store.find_key("key") == device.id
    with pytest.raises(DeviceNotFound):
        await store.add(draft(), SECRET, "key")
    assert await store.load() == {}


async def test_keys_do_not_pile_up_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wifimgrd.daemon.store._sqlite._KEYS_KEPT", 3)
    store = await SqliteStore.open(tmp_path)
    for number in range(6):
        await store.add(draft(), SECRET, f"key {number}")
    assert [await store.find_key(f"key {number}") for number in range(6)] == [None, None, None, 4, 5, 6]
    await store.close()


# Writes that nobody waits for


async def test_records_and_updates_are_written_in_the_order_in_which_they_came(
    store: SqliteStore, tmp_path: Path
) -> None:
    device = await store.add(draft(), SECRET)
    with a_slow_disk(tmp_path):
        store.record(device, replace(device, name="1"))
        second = asyncio.ensure_future(store.update(device, replace(device, name="2")))
        await asyncio.sleep(0)
        store.record(device, replace(device, name="3"))
    await second
    assert (await store.load())[device.id].name == "3"


async def test_an_update_is_not_overtaken_by_a_record_before_it(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    store.record(device, replace(device, name="1"))
    await store.update(device, replace(device, name="2"))
    assert (await store.load())[device.id].name == "2"


async def test_the_address_that_was_assigned_last_is_known_after_its_device_was_removed(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path)
    assert await store.last_address() == ""
    first = await store.add(replace(draft(), address="10.77.0.1"), SECRET)
    second = await store.add(replace(draft(), address="10.77.0.2"), SECRET)
    await store.add(draft(), SECRET)
    await store.remove(second.id)
    assert await store.last_address() == "10.77.0.2"
    store.record(first, replace(first, address="10.77.0.7"))
    store.record(first, replace(first, last_attempt_us=1))
    await store.close()
    again = await SqliteStore.open(tmp_path)
    assert await again.last_address() == "10.77.0.7"
    await again.close()


async def test_the_bonds_that_the_hub_has_made_are_known_to_the_next_run(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    assert await store.bonds() == {}
    made = Claim(frozenset({UNKNOWN, "00:1A:7D:DA:71:10"}), frozenset({"00:1A:7D:DA:71:11"}))
    for address in ("D4:32:60:00:10:01", "D4:32:60:00:10:02", "D4:32:60:00:10:01"):
        await store.keep_bonds(address, made)
    await store.keep_bonds("D4:32:60:00:10:02", Claim())
    await store.keep_bonds("D4:32:60:00:10:03", Claim())
    await store.close()
    again = await SqliteStore.open(tmp_path)
    assert await again.bonds() == {"D4:32:60:00:10:01": made}
    await again.close()


async def test_close_writes_what_is_due(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    device = await store.add(draft(), SECRET)
    for attempt in range(1000):
        store.record(device, replace(device, last_attempt_us=attempt))
        store.note(f"key {attempt % 3}", str(attempt))
    store.note("key 0", None)
    await store.close()

    again = await SqliteStore.open(tmp_path)
    assert (await again.load())[device.id].last_attempt_us == 999
    assert [again.recall(f"key {number}") for number in range(3)] == [None, "997", "998"]
    await again.close()


async def test_a_record_of_a_removed_device_does_not_bring_it_back(store: SqliteStore) -> None:
    device = await store.add(draft(), SECRET)
    await store.remove(device.id)
    store.record(device, replace(device, name="ghost"))
    assert await store.load() == {}


async def test_notes_answer_at_once(store: SqliteStore) -> None:
    assert store.recall("key") is None
    store.note("key", "value")
    assert store.recall("key") == "value"
    store.note("key", None)
    assert store.recall("key") is None


async def test_the_event_loop_never_waits_for_the_disk(store: SqliteStore, tmp_path: Path) -> None:
    device = await store.add(draft(), SECRET)
    with a_slow_disk(tmp_path):
        write = asyncio.ensure_future(store.update(device, replace(device, name="slow")))
        for turn in range(1000):
            await asyncio.sleep(0)
            store.record(device, replace(device, last_attempt_us=turn))
            store.note("turn", str(turn))
            assert store.recall("turn") == str(turn)
        assert not write.done()
    await write
    assert (await store.load())[device.id].last_attempt_us == 999


# Closed


async def test_after_close_nothing_is_done(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    device = await store.add(draft(), SECRET)
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.load()
    store.record(device, device)
    store.note("key", "value")


# Who may read it


async def test_all_files_are_readable_by_us_alone(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "state"
    before = os.umask(0)
    try:
        store = await SqliteStore.open(directory)
        await store.add(draft(), SECRET)
        files = modes(directory)
    finally:
        os.umask(before)
    assert mode(directory) == 0o700
    assert files == {"wifimgrd.db": 0o600, "wifimgrd.db-wal": 0o600, "wifimgrd.db-shm": 0o600}
    await store.close()


async def test_files_left_open_to_others_are_closed_before_they_are_used(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.close()
    open_to_others(tmp_path)
    store = await SqliteStore.open(tmp_path)
    await store.add(draft(), SECRET)
    assert mode(tmp_path) == 0o700
    assert set(modes(tmp_path).values()) == {0o600}
    await store.close()


async def test_a_secret_that_was_removed_or_replaced_is_not_left_in_the_files(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    first = await store.add(draft(), Passphrase("first-secret"))
    second = await store.add(draft(), Passphrase("second-secret"))
    await store.remove(first.id)
    await store.update(second, second, Passphrase("third-secret"))
    await store.load()  # the log is emptied before anything asked for later
    left = content(tmp_path)
    assert b"third-secret" in left
    assert b"first-secret" not in left
    assert b"second-secret" not in left
    await store.close()


async def test_no_error_shows_a_secret(store: SqliteStore, capfd: pytest.CaptureFixture[str]) -> None:
    device = await store.add(draft(), SECRET)
    with pytest.raises(DeviceNotFound) as not_found:
        await store.update(device, replace(device, id=DeviceId(99)), Passphrase("hidden-secret"))
    with pytest.raises(OverflowError) as too_large:
        await store.update(device, replace(device, last_attempt_us=2**80), Passphrase("hidden-secret"))
    reported = "".join(
        str(info.getrepr(showlocals=True, style="long", chain=True)) for info in (not_found, too_large)
    )
    reported += repr(store) + "".join(capfd.readouterr())
    assert "hidden-secret" not in reported.replace('Passphrase("hidden-secret")', "")


async def test_some_changes_are_written_at_once_and_many_after_them_together(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_worker, "_APART_S", 3600.0)
    monkeypatch.setattr(_worker, "_BURST", 2)
    device = await store.add(draft(), SECRET)
    commits, written = 0, asyncio.Event()

    def told(statement: str) -> None:
        nonlocal commits
        if statement == "COMMIT":
            commits += 1
            written.set()

    await listen(store, told)
    for number in range(3):
        store.record(device, replace(device, last_attempt_us=number), at_once=True)
        await written.wait()
        written.clear()
    assert commits == 3
    for number in range(3, 100):
        store.record(device, replace(device, last_attempt_us=number), at_once=True)
        store.note("number", str(number))
        await asyncio.sleep(0)
    await store.flush()
    assert commits == 4
    assert (await store.load())[device.id].last_attempt_us == 99
