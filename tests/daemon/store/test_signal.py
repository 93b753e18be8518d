"""The signal of devices on disk: blobs of an hour, what they cost, and what is left of damaged ones."""

from __future__ import annotations

import sqlite3
import struct
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.daemon.store.clocks import HostClock
from wifimgrd.daemon.store import StoreError
from wifimgrd.daemon.store import _history as history
from wifimgrd.daemon.store._history import FILE_NAME, SqliteHistory
from wifimgrd.daemon.store._schema import migrate, version_of
from wifimgrd.daemon.store._signal_samples import BlobDamaged, packed, unpacked
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import Samples, SignalSample

NOW = time.time_ns() // 60_000_000_000
HOUR = NOW // 60 * 60 - 60
"""The first minute of the last whole hour."""
FRONT, TAIL = DeviceId(1), DeviceId(2)
ALL = range(NOW - 7 * 1440, NOW + 1)

percents = st.integers(min_value=0, max_value=100)
hours = st.dictionaries(
    st.integers(min_value=0, max_value=59),
    st.builds(SignalSample, percents, percents, st.none() | percents),
    max_size=60,
)


def samples(minutes: range, percent: int = 60, battery: int | None = None) -> dict[int, SignalSample]:
    return {minute: SignalSample(percent, percent - 5, battery) for minute in minutes}


def packed_before(hour: Samples) -> bytes:
    """A blob of version 1, which had no battery."""
    pairs = bytes(value for minute in sorted(hour) for value in (hour[minute].mean, hour[minute].minimum))
    content = struct.pack("<BQ", 1, sum(1 << minute for minute in hour)) + pairs
    return content + struct.pack("<I", zlib.crc32(content))


def put_back(directory: Path) -> None:
    """Put a history that an older version has set aside back into its place."""
    [aside] = directory.glob(f"{FILE_NAME}.newer-*")
    aside.replace(directory / FILE_NAME)


def without_battery(hour: Samples) -> Samples:
    return {minute: SignalSample(one.mean, one.minimum) for minute, one in hour.items()}


async def opened(directory: Path) -> SqliteHistory:
    return await SqliteHistory.open(directory, 100, 90)


async def all_of(store: SqliteHistory, device_id: DeviceId, minutes: range = ALL) -> Samples:
    return await store.read_signal(device_id, minutes)


@given(hours)
def test_an_hour_is_unpacked_as_it_was_packed(hour: Samples) -> None:
    blob = packed(hour)
    assert unpacked(blob) == hour
    assert len(blob) == 13 + -(-21 * len(hour) // 8)


@given(hours)
def test_an_hour_from_before_the_battery_is_read_without_one(hour: Samples) -> None:
    assert unpacked(packed_before(hour)) == without_battery(hour)


@given(hours.filter(bool), st.sampled_from([packed, packed_before]), st.sampled_from([-1, 1, 2, 200]))
def test_a_blob_with_more_or_less_than_its_minutes_is_damaged(
    hour: Samples, pack: Callable[[Samples], bytes], more: int
) -> None:
    content = pack(hour)[:-4]
    content = content[:more] if more < 0 else content + bytes(more)
    with pytest.raises(BlobDamaged):
        unpacked(content + struct.pack("<I", zlib.crc32(content)))


@pytest.mark.parametrize("version", [0, 3, 255])
def test_a_blob_of_another_version_is_damaged(version: int) -> None:
    content = bytes([version]) + packed(samples(range(3)))[1:-4]
    with pytest.raises(BlobDamaged):
        unpacked(content + struct.pack("<I", zlib.crc32(content)))


@given(hours, st.data())
def test_a_blob_that_is_another_by_an_octet_is_damaged(hour: Samples, data: st.DataObject) -> None:
    blob = bytearray(packed(hour))
    place = data.draw(st.integers(min_value=0, max_value=len(blob) - 1))
    blob[place] ^= data.draw(st.integers(min_value=1, max_value=255))
    with pytest.raises(BlobDamaged):
        unpacked(bytes(blob))


@given(st.binary(max_size=200))
def test_what_was_not_packed_is_damaged(blob: bytes) -> None:
    with pytest.raises(BlobDamaged):
        unpacked(blob)


async def test_samples_are_read_by_device_and_minute_and_outlive_a_restart(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    front, tail = samples(range(HOUR - 3, HOUR + 3)), samples(range(HOUR, HOUR + 2), 40)
    store.put_signals({FRONT: front, TAIL: tail})
    assert await all_of(store, FRONT) == front
    await store.close()
    store = await opened(tmp_path)
    assert await all_of(store, TAIL) == tail
    assert list(await all_of(store, FRONT, range(HOUR - 1, HOUR + 1))) == [HOUR - 1, HOUR]
    assert await all_of(store, FRONT, range(HOUR, HOUR)) == {}
    assert await all_of(store, DeviceId(3)) == {}
    await store.close()
    with pytest.raises(StoreError):
        await all_of(store, FRONT)


async def test_an_hour_is_completed_write_by_write(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    for begin in range(HOUR, HOUR + 60, 10):
        store.put_signals({FRONT: samples(range(begin, begin + 10))})
    store.put_signals({FRONT: samples(range(HOUR + 7, HOUR + 8), 99)})
    assert await all_of(store, FRONT) == {
        **samples(range(HOUR, HOUR + 60)),
        **samples(range(HOUR + 7, HOUR + 8), 99),
    }
    await store.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        assert file.execute("SELECT count(*) FROM signal").fetchone() == (1,)


async def test_an_hour_that_was_begun_before_the_battery_is_completed_with_it(tmp_path: Path) -> None:
    """The upgrade of a hub: an older version wrote this hour and the one before, this one goes on."""
    before = {hour: samples(range(hour, hour + 20)) for hour in (HOUR - 60, HOUR)}
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as file:
        migrate(file, history.MIGRATIONS[:3])
        file.execute("PRAGMA journal_mode = WAL")
        for hour, written in before.items():
            blob = packed_before({minute % 60: one for minute, one in written.items()})
            file.execute("INSERT INTO signal VALUES (?, ?, ?)", (hour // 60, FRONT, blob))
    store = await opened(tmp_path)
    both = before[HOUR - 60] | before[HOUR]
    assert await all_of(store, FRONT) == both
    after = samples(range(HOUR + 20, HOUR + 25), battery=80) | samples(range(HOUR + 25, HOUR + 30))
    store.put_signals({FRONT: after})
    assert await all_of(store, FRONT) == both | after
    await store.close()
    store = await opened(tmp_path)
    assert await all_of(store, FRONT) == both | after
    await store.close()


async def test_a_version_without_the_battery_leaves_the_samples_to_the_next_upgrade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(tmp_path)
    kept = samples(range(HOUR, HOUR + 5), battery=80)
    store.put_signals({FRONT: kept})
    await store.close()
    with monkeypatch.context() as older:
        older.setattr(history, "MIGRATIONS", (*history.MIGRATIONS[:3], *history.MIGRATIONS[4:]))
        store = await opened(tmp_path)
        assert await all_of(store, FRONT) == {}
        await store.close()
    put_back(tmp_path)
    store = await opened(tmp_path)
    assert await all_of(store, FRONT) == kept
    await store.close()


async def test_a_damaged_blob_costs_only_itself(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    kept = samples(range(HOUR - 60, HOUR))
    store.put_signals({FRONT: {**kept, **samples(range(HOUR, HOUR + 30))}})
    await store.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as file:
        file.execute("UPDATE signal SET samples = x'01ff' WHERE hour = ?", (HOUR // 60,))
    store = await opened(tmp_path)
    assert await all_of(store, FRONT) == kept
    later = samples(range(HOUR + 30, HOUR + 40))
    store.put_signals({FRONT: later})
    assert await all_of(store, FRONT) == {**kept, **later}
    await store.close()


async def test_seven_days_are_kept_unless_the_clock_was_just_set(tmp_path: Path) -> None:
    clock = HostClock()
    store = await SqliteHistory.open(tmp_path, 100, 90, clock.steady)
    old, new = samples(range(NOW - 8 * 1440, NOW - 8 * 1440 + 1)), samples(range(HOUR, HOUR + 1))
    every = range(NOW - 9 * 1440, NOW)
    store.put_signals({FRONT: {**old, **new}})
    assert await all_of(store, FRONT, every) == {**old, **new}
    clock.set_ahead(40 * 86_400)
    clock.go_on(3000)
    store.put_signals({TAIL: new})
    assert await all_of(store, FRONT, every) == {**old, **new}
    clock.set_ahead(-40 * 86_400)
    for _ in range(2):
        store.put_signals({TAIL: new})
        assert await all_of(store, TAIL, every) == new
        clock.go_on(3600)
    store.put_signals({TAIL: new})
    assert await all_of(store, FRONT, every) == new
    await store.close()


async def test_hours_that_a_wrong_clock_has_left_are_bounded(tmp_path: Path) -> None:
    clock = HostClock()
    store = await SqliteHistory.open(tmp_path, 100, 90, clock.steady)
    kept, ahead = samples(range(HOUR, HOUR + 1)), NOW + 10 * 365 * 1440
    store.put_signals({FRONT: kept})
    store.put_signals({FRONT: samples(range(ahead, ahead + 500 * 60, 60))})
    await all_of(store, FRONT)
    clock.go_on(3600)
    store.put_signals({TAIL: kept})
    assert await all_of(store, FRONT) == kept
    await store.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        assert file.execute("SELECT count(DISTINCT hour) FROM signal").fetchone() == (338,)


async def test_a_forgotten_device_has_no_samples(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    store.put_signals({FRONT: samples(range(HOUR, HOUR + 5)), TAIL: samples(range(HOUR, HOUR + 5))})
    store.forget(FRONT)
    assert await all_of(store, FRONT) == {}
    assert len(await all_of(store, TAIL)) == 5
    await store.close()


@pytest.mark.parametrize("before", range(1, len(history.MIGRATIONS)))
async def test_a_history_of_each_earlier_schema_gets_samples(tmp_path: Path, before: int) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as file:
        migrate(file, history.MIGRATIONS[:before])
        file.execute("PRAGMA journal_mode = WAL")
    store = await opened(tmp_path)
    store.put_signals({FRONT: samples(range(HOUR, HOUR + 5))})
    assert len(await all_of(store, FRONT)) == 5
    await store.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        assert version_of(file) == len(history.MIGRATIONS)


async def test_a_week_of_64_cameras_is_small(tmp_path: Path) -> None:
    """Written hour by hour: what one write of ten minutes costs is in docs/benchmarks.md."""
    store = await opened(tmp_path)
    first = NOW // 60 * 60 - 7 * 1440 + 60
    for hour in range(first, first + 7 * 1440, 60):
        whole = samples(range(hour, hour + 60))
        store.put_signals({DeviceId(device): whole for device in range(1, 65)})
    assert len(await store.read_signal(FRONT, range(first, first + 7 * 1440))) == 7 * 1440
    await store.close()
    assert (tmp_path / FILE_NAME).stat().st_size < 3_000_000
