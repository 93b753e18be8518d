"""The history on disk."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from structlog.testing import capture_logs

from tests.daemon.store.clocks import HostClock
from tests.daemon.store.disk import in_its_turn
from wifimgrd.daemon.store._history import _DELETE_SURPLUS, FILE_NAME, MIGRATIONS, SqliteHistory
from wifimgrd.daemon.store._steady_clock import SteadyClock
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.history import HistoryFilter, HistoryKind, HistoryRow
from wifimgrd.domain.recordings import ExpectedCamera, RecordedFile, Recording

NOW_US = time.time_ns() // 1000
DAY_S = 86_400


def row(number: int, device: int = 1, **more: Any) -> HistoryRow:
    return HistoryRow(
        number, NOW_US + number, HistoryKind.FAILURE, DeviceId(device), "Front", "wlan0", "busy", "no", **more
    )


async def test_rows_are_read_newest_first_by_device_and_before_a_row(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    rows = [row(number, device=number % 2 + 1) for number in range(1, 8)]
    history.put(rows)
    assert list(await history.read(HistoryFilter())) == rows[::-1]
    assert [one.id for one in await history.read(HistoryFilter(DeviceId(2)))] == [7, 5, 3, 1]
    assert [one.id for one in await history.read(HistoryFilter(DeviceId(2), before=5))] == [3, 1]
    assert [one.id for one in await history.read(HistoryFilter(limit=2))] == [7, 6]
    await history.close()


async def test_rows_outlive_a_restart_and_ids_go_on(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert history.next_id == 1
    history.put([row(1), row(2, device=2)])
    history.forget(DeviceId(2))
    await history.close()
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert history.next_id == 3
    assert [one.id for one in await history.read(HistoryFilter())] == [1]
    await history.close()
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


async def test_an_id_that_no_device_can_have_has_no_rows_to_forget(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    with capture_logs() as logs:
        history.forget(DeviceId(2**64 - 1))
        await history.close()
    assert logs == []


async def test_sessions_that_have_not_ended_are_known_at_the_next_start(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    lasts = replace(row(1), kind=HistoryKind.SESSION)
    history.put([lasts, replace(row(2, ended_us=NOW_US), kind=HistoryKind.SESSION), row(3)])
    await history.close()
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert list(history.unended) == [lasts]
    await history.close()


@pytest.mark.parametrize("kind", [HistoryKind.PROBLEM, HistoryKind.RECOVERY])
async def test_what_else_has_not_ended_is_known_at_the_next_start(tmp_path: Path, kind: HistoryKind) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    lasts = replace(row(2), kind=kind)
    session = replace(row(3), kind=HistoryKind.SESSION)
    over = replace(row(4, ended_us=NOW_US), kind=kind)
    history.put([row(1), lasts, session, over, replace(row(5), kind=HistoryKind.REFUSAL)])
    await history.close()
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert list(history.unended) == [lasts, session]
    await history.close()


RECORDING = Recording(
    "SN1",
    battery_level=0,
    battery_level_after=100,
    storage_free=0,
    storage_free_after=2**40,
    clock_offset_us=-1500,
    clock_bound_us=12_000,
    files=(RecordedFile("100GOPRO/GX010123.MP4", 5), RecordedFile('"; DROP TABLE history', None)),
    expected=(ExpectedCamera(DeviceId(2), "Tail\ud800", "not-connected"), ExpectedCamera(DeviceId(12), "12")),
    take=1,
    set_us=-3600,
)


def recorded(number: int, recording: Recording | None = RECORDING, device: int = 1) -> HistoryRow:
    return replace(row(number, device, recording=recording), kind=HistoryKind.RECORDING)


@pytest.mark.parametrize("recording", [RECORDING, Recording(), Recording(files=()), None])
async def test_what_is_kept_of_a_recording_outlives_a_restart(
    tmp_path: Path, recording: Recording | None
) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([recorded(1, recording)])
    await history.close()
    history = await SqliteHistory.open(tmp_path, 100, 90)
    [read] = await history.read(HistoryFilter())
    if recording is RECORDING:  # SQLite has no lone surrogates
        recording = replace(
            recording, expected=(ExpectedCamera(DeviceId(2), "Tail\\ud800", "not-connected"), ANY)
        )
    assert read.recording == recording
    await history.close()


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "[]",
        "7",
        "null",
        "[" * 100_000,
        '{"battery_level":101}',
        '{"battery_level":true}',
        '{"battery_level":"80"}',
        '{"storage_free":-1}',
        '{"clock_offset_us":1e9}',
        '{"clock_bound_us":9223372036854775808}',
        '{"serial_number":7}',
        '{"files":7}',
        '{"files":[["a"]]}',
        '{"files":[["a",-1]]}',
        '{"files":{"a":1}}',
        '{"expected":[[0,"a",""]]}',
        '{"expected":[["1","a",""]]}',
        '{"expected":"abc"}',
        '{"take":-1}',
    ],
)
async def test_of_a_damaged_recording_nothing_but_its_begin_and_end_is_known(
    tmp_path: Path, text: str
) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([recorded(1)])
    await history.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as file:
        file.execute("UPDATE history SET recording = ?", (text,))
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert list(await history.read(HistoryFilter())) == [recorded(1, None)]
    assert list(history.last_recordings) == [recorded(1, None)]
    history.forget(DeviceId(2))
    assert list(await history.read(HistoryFilter())) == [recorded(1, None)]
    await history.close()


async def test_members_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([recorded(1)])
    await history.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as file:
        file.execute("""UPDATE history SET recording = '{"serial_number":"SN1","lens":"wide"}'""")
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert list(await history.read(HistoryFilter())) == [recorded(1, Recording("SN1"))]
    await history.close()


async def test_the_last_recording_of_each_device_and_those_without_an_end_are_known_at_the_next_start(
    tmp_path: Path,
) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    alone = replace(RECORDING, take=0)
    ended = {number: replace(recorded(number, alone), ended_us=NOW_US + 9) for number in (1, 2, 4)}
    other = replace(recorded(3, alone, device=2), ended_us=NOW_US + 9)
    history.put([ended[1], recorded(5, alone), ended[2], ended[4], other, row(6)])
    history.put([replace(ended[4], id=7)])
    await history.close()
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert [one.id for one in history.last_recordings] == [3, 5, 7]
    await history.close()


async def test_the_first_recordings_of_their_takes_are_known_at_the_next_start(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    of = [replace(RECORDING, take=take) for take in (1, 1, 1, 4, 4, 4)]
    rows = [recorded(number, of[number - 1], device=1 + number % 2) for number in range(1, 7)]
    history.put([replace(one, ended_us=NOW_US + 9) for one in rows])
    await history.close()
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert [one.id for one in history.last_recordings] == [4, 5, 6]
    await history.close()


async def test_the_next_row_of_a_take_has_what_a_deleted_one_said_of_all_of_it(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    tail, left = ExpectedCamera(DeviceId(2), "Tail"), ExpectedCamera(DeviceId(3), "Left", "busy")
    history.put(
        [
            recorded(1, Recording(take=1, expected=(tail, left))),
            recorded(2, Recording(take=1)),
            recorded(3, Recording(take=1), device=2),
            recorded(4, Recording(take=4, joins=1, expected=(tail, left))),
            recorded(5, Recording(take=4), device=4),
            recorded(6, Recording(take=6, expected=(tail, left))),
            recorded(7, Recording(take=7), device=4),
        ]
    )
    await history.read(HistoryFilter())
    history.forget(DeviceId(1))
    rows = {one.id: one.recording for one in await history.read(HistoryFilter())}
    assert rows == {
        3: Recording(take=1, expected=(left,)),
        5: Recording(take=4, joins=1, expected=(tail, left)),
        7: Recording(take=7),
    }
    await history.close()


async def test_who_was_expected_is_known_though_the_first_camera_of_a_take_has_used_up_its_share(
    tmp_path: Path,
) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    tail, left = ExpectedCamera(DeviceId(2), "Tail"), ExpectedCamera(DeviceId(3), "Left")
    history.put([recorded(1, Recording(take=1, expected=(tail, left)))])
    history.put([recorded(number, Recording(take=1)) for number in range(2, 5)])
    history.put([recorded(5, Recording(take=1), device=2)])
    later = [recorded(number, Recording(take=1)) for number in range(6, 40)]
    history.put(later[:23])
    rows = {one.id: one.recording for one in await history.read(HistoryFilter())}
    assert rows[3] == Recording(take=1, expected=(tail, left)), "the next one is of the same camera"
    history.put(later[23:])
    rows = {one.id: one.recording for one in await history.read(HistoryFilter())}
    assert min(rows) == 5
    assert rows[5] == Recording(take=1, expected=(left,))
    await history.close()


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_forgotten_device_was_not_expected_by_the_recordings_of_others(
    tmp_path: Path, is_written: bool
) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    plain = replace(
        RECORDING, expected=(ExpectedCamera(DeviceId(12), "12"), ExpectedCamera(DeviceId(2), "Tail"))
    )
    history.put([recorded(1, plain), recorded(2, device=2)])
    if is_written:
        await history.read(HistoryFilter())
    history.forget(DeviceId(2))
    [left] = await history.read(HistoryFilter())
    assert left == recorded(1, replace(plain, expected=(ExpectedCamera(DeviceId(12), "12"),)))
    await history.close()


async def test_the_rows_of_one_kind_are_read_alone(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([row(1), recorded(2), row(3), recorded(4, device=2), recorded(5)])
    wanted = HistoryFilter(before=5, kind=HistoryKind.RECORDING)
    assert [one.id for one in await history.read(wanted)] == [4, 2]
    await history.close()


async def test_so_many_rows_are_kept(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([row(number, device=number % 5 + 1) for number in range(1, 151)])
    assert [one.id for one in await history.read(HistoryFilter(limit=1000))] == list(range(150, 50, -1))
    await history.close()


async def test_so_many_days_are_kept(tmp_path: Path) -> None:
    clock = HostClock()
    history = await SqliteHistory.open(tmp_path, 100, 2, clock.steady)
    old_us = NOW_US - 3 * DAY_S * 1_000_000
    history.put([replace(row(1), time_us=old_us), replace(row(2), time_us=old_us, seen_us=NOW_US), row(3)])
    assert [one.id for one in await history.read(HistoryFilter())] == [3, 2, 1]
    clock.go_on(3600)
    history.put([row(4)])
    assert [one.id for one in await history.read(HistoryFilter())] == [4, 3, 2]
    await history.close()


@pytest.mark.parametrize("seconds", [0, 600])
async def test_a_clock_that_is_ahead_for_a_while_deletes_nothing(tmp_path: Path, seconds: int) -> None:
    clock = HostClock()
    history = await SqliteHistory.open(tmp_path, 100, 90, clock.steady)
    history.put([row(1)])
    await history.read(HistoryFilter())
    clock.go_on(3590)
    clock.set_ahead(400 * DAY_S)
    for number in (2, 3):
        clock.go_on(seconds)
        history.put([row(number)])
        await history.read(HistoryFilter())
    clock.set_ahead(-400 * DAY_S)
    for number in (4, 5):
        clock.go_on(3600)
        history.put([row(number)])
        await history.read(HistoryFilter())
    assert [one.id for one in await history.read(HistoryFilter())] == [5, 4, 3, 2, 1]
    await history.close()


async def test_rows_are_written_together_and_read_at_once(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as disk:
        version = disk.execute("PRAGMA data_version").fetchone()
        for number in range(1, 21):
            history.put([row(number)])
            await asyncio.sleep(0)
        assert disk.execute("PRAGMA data_version").fetchone() == version
        assert [one.id for one in await history.read(HistoryFilter(limit=2))] == [20, 19]
        assert disk.execute("SELECT count(*) FROM history").fetchone() == (20,)
    await history.close()


async def test_what_is_due_is_written_at_the_end(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([row(1)])
    await history.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as disk:
        assert disk.execute("SELECT count(*) FROM history").fetchone() == (1,)


async def test_what_could_not_be_written_is_read_and_written_later(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([row(1), row(2, device=2)])
    await history.read(HistoryFilter())
    with (
        closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other,
        capture_logs() as logs,
    ):
        other.execute("BEGIN IMMEDIATE")
        history.put([row(3)])
        history.forget(DeviceId(2))
        assert [one.id for one in await history.read(HistoryFilter())] == [3, 1]
        assert [entry["event"] for entry in logs] == ["history_not_written"]
        other.execute("ROLLBACK")
        await history.close()
        assert other.execute("SELECT id FROM history ORDER BY id").fetchall() == [(1,), (3,)]


async def test_a_reader_that_is_cancelled_takes_no_rows_along(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    go_on = threading.Event()
    slow = in_its_turn(history, go_on.wait)
    history.put([row(1)])
    reader = asyncio.ensure_future(history.read(HistoryFilter()))
    await asyncio.sleep(0)
    reader.cancel()
    await asyncio.wait([reader])
    go_on.set()
    await slow
    assert [one.id for one in await history.read(HistoryFilter())] == [1]
    await history.close()


async def test_a_row_that_can_never_be_written_holds_up_no_other(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    with capture_logs() as logs:
        history.put([row(1), row(2, ended_us=2**64), replace(row(3), kind=HistoryKind.WAKE)])
        assert [one.id for one in await history.read(HistoryFilter())] == [3, 1]
    assert [(entry["event"], entry["row"]) for entry in logs] == [("row_dropped", 2)]
    await history.close()


async def test_a_bug_in_a_write_is_logged_and_holds_up_no_later_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object) -> None:
        raise RuntimeError("a bug")

    history = await SqliteHistory.open(tmp_path, 100, 90)
    with capture_logs() as logs, monkeypatch.context() as broken:
        broken.setattr("wifimgrd.daemon.store._history.transaction", bug)
        history.put([row(1)])
        await history.close()
    assert [entry["event"] for entry in logs] == ["history_not_written"]
    again = await SqliteHistory.open(tmp_path, 100, 90)
    again.put([row(2)])
    assert [one.id for one in await again.read(HistoryFilter())] == [2]
    await again.close()


@pytest.mark.parametrize("name", [b"no database at all", b"\xffistory_unended"])
async def test_a_damaged_history_is_set_aside(tmp_path: Path, name: bytes) -> None:
    await (await SqliteHistory.open(tmp_path, 100, 90)).close()
    path = tmp_path / FILE_NAME
    data = path.read_bytes().replace(b"history_unended", name, 1)
    path.write_bytes(data if name[0] == 0xFF else name * 200)
    with capture_logs() as logs:
        history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([row(1)])
    assert len(await history.read(HistoryFilter())) == 1
    await history.close()
    [entry] = logs
    assert (entry["event"], (tmp_path / entry["kept_as"]).exists()) == ("history_set_aside", True)


async def test_a_history_of_a_newer_version_is_kept_and_the_log_says_so(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([row(1)])
    await history.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as opened:
        opened.execute("PRAGMA user_version = 99")
    with capture_logs() as logs:
        history = await SqliteHistory.open(tmp_path, 100, 90)
    assert list(await history.read(HistoryFilter())) == []
    await history.close()
    [entry] = logs
    assert entry["event"] == "history_of_newer_version"
    assert "a newer version of wifimgrd wrote the file (schema 99" in entry["reason"]
    kept = tmp_path / entry["kept_as"]
    assert kept.name.startswith(FILE_NAME + ".newer-")
    with closing(sqlite3.connect(kept)) as opened:
        opened.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    kept.replace(tmp_path / FILE_NAME)
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert [one.id for one in await history.read(HistoryFilter())] == [1]
    await history.close()


async def test_rows_of_kinds_that_a_later_version_may_have_are_left_out(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([row(1), row(2)])
    await history.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as opened:
        opened.execute("UPDATE history SET kind = 'eclipse' WHERE id = 2")
    history = await SqliteHistory.open(tmp_path, 100, 90)
    assert [one.id for one in await history.read(HistoryFilter())] == [1]
    assert history.next_id == 3
    await history.close()


async def test_interruptions_leave_half_of_the_rows_to_everything_else(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([row(number, device=number % 2 + 1) for number in range(1, 41)])
    interruption = replace(row(0, ended_us=NOW_US), kind=HistoryKind.INTERRUPTION)
    history.put(
        [replace(interruption, id=number, device_id=DeviceId(number % 4 + 1)) for number in range(41, 201)]
    )
    kept = [one.id for one in await history.read(HistoryFilter(limit=1000))]
    assert kept == [*range(200, 150, -1), *range(40, 0, -1)]
    await history.close()


@pytest.mark.parametrize(
    "flood",
    [
        replace(row(0), kind=HistoryKind.RECORDING),
        replace(row(0), kind=HistoryKind.ADAPTER, device_id=None),
        replace(row(0), kind=HistoryKind.BACKEND, device_id=None, interface=""),
    ],
)
async def test_one_kind_of_one_device_or_interface_takes_a_quarter_of_the_rows(
    tmp_path: Path, flood: HistoryRow
) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    others = [
        replace(flood, id=1, device_id=DeviceId(2)),
        replace(flood, id=2, device_id=None, interface="wlan1"),
        replace(flood, id=3, kind=HistoryKind.WAKE),
    ]
    history.put(others)
    for first in range(101, 1101, 100):  # many batches
        history.put([replace(flood, id=number) for number in range(first, first + 100)])
        await history.read(HistoryFilter())
    kept = [one.id for one in await history.read(HistoryFilter(limit=1000))]
    assert kept == [*range(1100, 1075, -1), 3, 2, 1]
    await history.close()


async def test_a_file_in_which_one_kind_has_more_is_put_right_by_the_next_row(tmp_path: Path) -> None:
    """Of a version that had no such limit, or after `rows` was made smaller."""
    history = await SqliteHistory.open(tmp_path, 1000, 90)
    history.put([row(number) for number in range(1, 201)])
    await history.close()
    history = await SqliteHistory.open(tmp_path, 100, 90)
    history.put([row(201, device=2)])
    kept = [one.id for one in await history.read(HistoryFilter(limit=1000))]
    assert kept == [201, *range(200, 175, -1)]
    await history.close()


class FailsOnce(SteadyClock):
    """Its first use ends the transaction."""

    has_failed = False

    def due_us(self) -> int | None:
        if not self.has_failed:
            self.has_failed = True
            raise sqlite3.OperationalError("disk I/O error")
        return None


async def test_a_file_is_put_right_though_the_first_write_has_failed(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 1000, 90)
    history.put([row(number) for number in range(1, 201)])
    await history.close()
    history = await SqliteHistory.open(tmp_path, 100, 90, FailsOnce())
    for number in (201, 202):
        history.put([row(number, device=2)])
        await history.read(HistoryFilter())
    assert len(await history.read(HistoryFilter(DeviceId(1), limit=1000))) == 25
    await history.close()


async def test_the_rows_of_one_kind_are_counted_by_an_index(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 100, 90)
    await history.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as disk:
        plan = disk.execute(f"EXPLAIN QUERY PLAN {_DELETE_SURPLUS}", ("wake", 1, 25)).fetchall()
    steps = [step[3] for step in plan if "history" in step[3]]
    assert steps
    assert all("USING" in step and "history_subject" in step for step in steps)


async def test_ten_thousand_rows_are_looked_into_within_20_ms(tmp_path: Path) -> None:
    history = await SqliteHistory.open(tmp_path, 10_000, 90)
    history.put([row(number, device=number % 30 + 1) for number in range(1, 10_001)])
    await history.read(HistoryFilter())
    spent = []
    for wanted in (HistoryFilter(), HistoryFilter(DeviceId(7)), HistoryFilter(DeviceId(7), before=5000)) * 5:
        started = time.thread_time_ns()
        assert len(history._rows_of(wanted)) == 100
        spent.append(time.thread_time_ns() - started)
    await history.close()
    assert min(spent) < 20_000_000
