"""Answers and signals of any takes are small enough for a message bus, and for clients."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.daemon.api.test_takes_cost import BEGAN_US, MINUTE_US, recorded
from tests.daemon.manager.test_history import HistoryInMemory
from wifimgrd.bus import library
from wifimgrd.bus._framing import LARGEST
from wifimgrd.bus.connection import BusConnection
from wifimgrd.bus.packing import pack_rows
from wifimgrd.daemon.api.hub_service import HubService
from wifimgrd.daemon.manager.history import History
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.history import LARGEST_ANSWER, HistoryFilter, HistoryRow
from wifimgrd.domain.recordings import ExpectedCamera, RecordedFile
from wifimgrd.domain.records import history_record, take_record
from wifimgrd.domain.takes import Take, TakeFilter
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire.properties import row_of

LONGEST = tuple(RecordedFile(f"{number:02}" + "\u00fc" * 31, 4_000_000_000) for number in range(64))
"""As long as all names of a recording may be."""
CHAPTERS = tuple(RecordedFile(f"100GOPRO/GX{number:02}0123.MP4", 4_000_000_000) for number in range(8))


def with_files(row: HistoryRow, files: tuple[RecordedFile, ...], take: int = 0) -> HistoryRow:
    assert row.recording is not None
    return replace(row, recording=replace(row.recording, files=files, take=take or row.recording.take))


async def history_of(rows: list[HistoryRow]) -> History:
    store = HistoryInMemory()
    store.put(rows)
    return History(store, lambda: time.time_ns() // 1000)


@pytest.mark.parametrize("rows_a_take", [1, 10, 2500])
async def test_an_answer_ends_after_some_4_mib(rows_a_take: int) -> None:
    rows = [
        with_files(recorded(number), LONGEST, number - (number - 1) % rows_a_take)
        for number in range(1, 2501)
    ]
    history = await history_of(rows)
    takes = await history.takes.newest(TakeFilter(limit=1000))
    assert LARGEST_ANSWER / 2 < len(pack_rows(row_of(take_record(one)) for one in takes)) <= LARGEST_ANSWER
    assert takes[0].recordings[-1] == rows[-1]
    if rows_a_take < 2500:
        assert [len(take.recordings) for take in takes] == [rows_a_take] * len(takes)
    found = await history.read(HistoryFilter(limit=1000))
    size = len(pack_rows(row_of(history_record(one)) for one in found))
    assert LARGEST_ANSWER / 2 < size <= LARGEST_ANSWER
    assert found == rows[::-1][: len(found)]


async def test_all_takes_can_be_read_in_parts_though_answers_are_bounded() -> None:
    rows = [with_files(recorded(number), LONGEST) for number in range(1, 1501)]
    history = await history_of(rows)
    found, before = list[HistoryRow](), None
    while takes := await history.takes.newest(TakeFilter(limit=1000, before=before)):
        found += [row for take in takes for row in take.recordings]
        before = found[-1].id
    assert found == rows[::-1]


async def signalled(rows: list[HistoryRow]) -> tuple[int, dict[str, Any]]:
    """The size of the signal of the take of some rows, and what it says."""
    sent = asyncio.get_running_loop().create_future()
    connection = SimpleNamespace(emit=lambda *signal: sent.set_result(signal), serve=lambda *_, **__: None)
    history, tasks = await history_of(rows), Tasks("test")
    service = HubService(cast("BusConnection", connection), tasks)
    service._history = history
    assert rows[0].recording is not None
    service._take_over(rows[0].recording.take)
    path, interface, member, signature, body = await asyncio.wait_for(sent, 10)
    await tasks.stop()
    data = library.to_bytes(library.signal(path, interface, member, signature, body), sockets=False)
    return len(data), body[0]


@pytest.mark.parametrize("files", [CHAPTERS, LONGEST])
async def test_the_signal_of_any_take_reaches_clients(files: tuple[RecordedFile, ...]) -> None:
    missing = tuple(ExpectedCamera(DeviceId(number), "\u00fc" * 64) for number in range(2, 1000))
    first, *later = [with_files(recorded(number), files, 1) for number in range(1, 257)]
    assert first.recording is not None
    first = replace(first, recording=replace(first.recording, expected=missing))
    size, take = await signalled([first, *later])
    assert LARGEST / 16 < size < LARGEST / 2
    recordings = take["recordings"].value
    assert recordings[-1]["id"].value == 256
    assert len(recordings) >= 3
    assert take["time"].value == first.time_us


async def test_a_usual_take_is_told_whole() -> None:
    rows = [with_files(recorded(number), CHAPTERS, 1) for number in range(1, 33)]
    _, take = await signalled(rows)
    assert [row["id"].value for row in take["recordings"].value] == list(range(1, 33))


def test_the_last_recording_of_a_take_is_told_without_its_files_if_these_are_too_many() -> None:
    row = with_files(recorded(1), LONGEST)
    take = Take((row,), (), BEGAN_US, BEGAN_US + MINUTE_US).within(2000)
    assert take.recordings[0].recording is not None
    assert take.recordings[0].recording.files is None
