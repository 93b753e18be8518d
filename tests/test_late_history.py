"""A history whose file cannot be opened at the start: it is kept as soon as it can."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.daemon.manager.conftest import make_bench
from wifimgrd.config.configuration import Config
from wifimgrd.daemon import _daemon as daemon
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.store import NoHistory, SqliteHistory
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.history import HistoryFilter, HistoryKind, HistoryRow
from wifimgrd.runtime.tasks import Tasks

WANTED = HistoryFilter()


async def test_a_history_whose_file_another_program_holds_is_kept_once_that_lets_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "_HISTORY_AGAIN_S", 0.01)
    await (await SqliteHistory.open(tmp_path, 100, 10)).close()
    bench, history, tasks = make_bench(), History(NoHistory(), lambda: 1), Tasks("history")
    refused, is_kept = asyncio.Event(), asyncio.Event()

    async def keep() -> None:
        try:
            await daemon._keep_history(history, bench.hub, Config(), tmp_path)
        except WifimgrdError:
            refused.set()
            raise
        is_kept.set()

    await bench.hub.start()
    device = await bench.connected(1)
    with closing(sqlite3.connect(tmp_path / "history.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        await daemon._begin_history(keep, tasks)
        assert refused.is_set()
        assert await history.read(WANTED) == []
    await is_kept.wait()
    [row] = await history.read(WANTED)
    assert (row.kind, row.device_id) == (HistoryKind.SESSION, device)
    await tasks.stop()
    await history.stop()
    await bench.hub.stop()
    on_disk = await SqliteHistory.open(tmp_path, 100, 10)
    assert [one.device_id for one in await on_disk.read(WANTED)] == [device]
    await on_disk.close()


async def test_what_was_forgotten_before_the_file_could_be_opened_is_deleted(tmp_path: Path) -> None:
    store = await SqliteHistory.open(tmp_path, 100, 10)
    store.put([HistoryRow(1, 1, HistoryKind.WAKE, DeviceId(1), "Nose", "", "", "")])
    history = History(NoHistory(), lambda: 1)
    history.forget(DeviceId(1))
    history.keep_in(store)
    assert await history.read(WANTED) == []
    await history.stop()
