"""What is on disk when a client was told that a change is made, whatever else is written beside it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.manager.conftest import Bench, make_bench
from tests.daemon.store.disk import in_its_turn, queue_done
from wifimgrd.daemon.manager._amending import amend
from wifimgrd.daemon.store import SqliteStore
from wifimgrd.daemon.store._writing import Batch, Writer
from wifimgrd.domain.device import DeviceId, Sighting
from wifimgrd.domain.errors import InternalError


@asynccontextmanager
async def on_real_store(folder: Path) -> AsyncIterator[tuple[Bench, SqliteStore, DeviceId]]:
    """A hub on a real store, and a camera that is connected."""
    store = await SqliteStore.open(folder)
    bench = make_bench(store=store)  # type: ignore[arg-type]
    await bench.hub.start()
    device = await bench.create(1)
    await bench.hub.connections.connect(device, wait=True)
    await store.flush()
    try:
        yield bench, store, device
    finally:
        await bench.hub.stop()


def after_a_power_cut(folder: Path, columns: str) -> tuple[Any, ...]:
    with closing(sqlite3.connect(f"file:{folder / 'wifimgrd.db'}?mode=ro", uri=True)) as disk:
        [row] = disk.execute(f"SELECT {columns} FROM device").fetchall()
        return tuple(row)


async def rename(bench: Bench, device: DeviceId) -> None:
    await bench.hub.update(device, {"name": "Nose"})


async def other_network(bench: Bench, device: DeviceId) -> None:
    await bench.hub.update(device, {"ssid": "Nose", "password": "another-secret"})


async def pair(bench: Bench, device: DeviceId) -> None:
    entry = bench.entry(device)
    async with entry.editing:
        await amend(bench.hub_state, entry, {"bluetooth_address": "Nose"})


@pytest.mark.parametrize(
    ("change", "column"),
    [(rename, "name"), (other_network, "CAST(ssid AS TEXT)"), (pair, "bluetooth_address")],
)
async def test_a_change_that_was_acknowledged_beside_a_command_survives_a_power_cut(
    tmp_path: Path, change: Callable[[Bench, DeviceId], Awaitable[None]], column: str
) -> None:
    async with on_real_store(tmp_path) as (bench, store, device):
        slow_disk = threading.Event()
        slow = in_its_turn(store, slow_disk.wait)
        changing = asyncio.ensure_future(change(bench, device))
        await asyncio.sleep(0)
        assert not changing.done()
        await bench.hub.connections.disconnect(device)
        slow_disk.set()
        await changing
        await queue_done(store)
        assert after_a_power_cut(tmp_path, column) == ("Nose",)
        await slow
        assert bench.state(device).value == "disconnected"
    assert after_a_power_cut(tmp_path, f"{column}, wanted, expected") == ("Nose", 0, 0)


async def test_what_was_learned_of_a_network_while_it_was_changed_is_not_the_new_one_s(
    tmp_path: Path,
) -> None:
    async with on_real_store(tmp_path) as (bench, store, device):
        slow_disk = threading.Event()
        slow = in_its_turn(store, slow_disk.wait)
        changing = asyncio.create_task(
            bench.hub.update(device, {"ssid": "Nose", "password": "another-secret"})
        )
        await asyncio.sleep(0)
        state = bench.hub_state
        entry = state.entries[device]
        seen = Sighting("02:00:00:00:00:99", 2412)
        state.record(entry, replace(entry.device, sightings=(seen,)), at_once=True)
        slow_disk.set()
        await changing
        await slow
        assert entry.device.sightings == ()
    assert after_a_power_cut(tmp_path, "sightings") == ("[]",)


async def test_what_was_learned_while_a_removal_failed_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_real_store(tmp_path) as (bench, store, device):

        async def refuse(_: DeviceId) -> None:
            raise InternalError("the disk is full")

        monkeypatch.setattr(store, "remove", refuse)
        with pytest.raises(InternalError):
            await bench.hub.remove(device)
        ended_us = bench.story.devices[device].device.last_disconnection_us
        assert ended_us
        await store.flush()
        assert after_a_power_cut(tmp_path, "last_disconnection_us") == (ended_us,)


async def test_a_disconnect_of_a_camera_that_is_searched_for_is_on_disk_as_a_whole(tmp_path: Path) -> None:
    """A crash in the middle of it would have the next start connect a camera that somebody has told to stay
    off."""
    async with on_real_store(tmp_path) as (bench, store, device):
        await bench.hub.connections.disconnect(device)
        entry = bench.hub._state.entries[device]
        searched = replace(
            entry.device, wanted=True, expected=True, waiting_since_us=bench.hub._state.clock()
        )
        bench.hub._state.record(entry, searched)
        await store.flush()
        await bench.hub.connections.disconnect(device)
        await store._worker.run(lambda: None)  # after the first write
        assert after_a_power_cut(tmp_path, "wanted, expected, waiting_since_us") == (0, 0, 0)


async def test_a_camera_that_was_connected_is_reconnected_after_a_power_cut(tmp_path: Path) -> None:
    async with on_real_store(tmp_path) as (bench, store, device):
        await bench.hub.connections.disconnect(device)
        await bench.hub.connections.connect(device, wait=True)
        await queue_done(store)
        assert after_a_power_cut(tmp_path, "wanted") == (1,)


async def test_a_change_that_is_cancelled_while_it_is_written_is_in_memory_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_real_store(tmp_path) as (bench, _, device):
        state, began, go_on = bench.hub_state, asyncio.Event(), threading.Event()
        transact, entry, loop = Writer.transact, state.entries[device], asyncio.get_running_loop()

        def slow(writer: Writer, batch: Batch, work: Callable[[sqlite3.Connection], Any]) -> Any:
            loop.call_soon_threadsafe(began.set)
            go_on.wait()
            return transact(writer, batch, work)

        monkeypatch.setattr(Writer, "transact", slow)
        change = asyncio.ensure_future(pair(bench, device))
        await began.wait()
        held = []
        for _ in range(2):
            change.cancel()
            await asyncio.sleep(0)
            held.append(entry.editing.locked())
        go_on.set()
        await asyncio.wait([change])
        assert change.cancelled()
        assert all(held), "another change would be made of the old values"
        assert entry.device.bluetooth_address == "Nose"
        assert after_a_power_cut(tmp_path, "bluetooth_address") == ("Nose",)
