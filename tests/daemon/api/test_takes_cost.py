"""Listing takes costs the daemon at most twice what the history of the same rows costs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.daemon.store.clocks import HostClock
from wifimgrd.bus.packing import PackedRows, pack_rows
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.store import SqliteHistory
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.history import HistoryFilter, HistoryKind, HistoryRow
from wifimgrd.domain.recordings import ExpectedCamera, RecordedFile, Recording
from wifimgrd.domain.records import history_record, take_record
from wifimgrd.domain.takes import TakeFilter
from wifimgrd.wire.properties import row_of

TAKES = 1000
MINUTE_US = 60_000_000
BEGAN_US = time.time_ns() // 1000 - TAKES * MINUTE_US


def recorded(number: int) -> HistoryRow:
    missing = ExpectedCamera(DeviceId(2), "Tail", "not-connected")
    files = (RecordedFile("100GOPRO/GX010123.MP4", 4_000_000_000), RecordedFile("100GOPRO/GX020123.MP4", 5))
    recording = Recording(
        "C3441325678901", 80, 71, 10**11, 9 * 10**10, 1500, 12_000, files, (missing,), number
    )
    began_us = BEGAN_US + number * MINUTE_US
    return HistoryRow(
        number,
        began_us,
        HistoryKind.RECORDING,
        DeviceId(1),
        "Nose",
        "",
        "stopped",
        "The recording was stopped.",
        began_us + MINUTE_US // 2,
        recording=recording,
    )


async def cost_s(work: Callable[[], Awaitable[PackedRows]]) -> float:
    """The processor's time, of all threads: best of five."""
    spent = []
    for _ in range(5):
        began = time.process_time()
        assert await work()
        spent.append(time.process_time() - began)
    return min(spent)


async def test_a_thousand_takes_cost_at_most_twice_their_rows(tmp_path: Path) -> None:
    store = await SqliteHistory.open(tmp_path, 10_000, 90, HostClock().steady)
    store.put([recorded(number) for number in range(1, TAKES + 1)])
    history = History(store, lambda: time.time_ns() // 1000)

    async def get_history() -> PackedRows:
        rows = await history.read(HistoryFilter(limit=TAKES))
        assert len(rows) == TAKES
        return pack_rows(row_of(history_record(one)) for one in rows)

    async def get_takes() -> PackedRows:
        takes = await history.takes.newest(TakeFilter(limit=TAKES))
        assert len(takes) == TAKES
        return pack_rows(row_of(take_record(one)) for one in takes)

    assert await cost_s(get_takes) <= 2 * await cost_s(get_history)
    await history.stop()
