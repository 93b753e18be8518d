"""The adapter's turns, and that bluetoothd's objects are read in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

from tests.camera.conftest import until
from tests.fake_bluez import FakeBluez
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection
from wifimgrd.camera import _objects as objects_module
from wifimgrd.camera._objects import Objects
from wifimgrd.camera._radio import Radio
from wifimgrd.runtime.tasks import Backoff, Tasks
from wifimgrd.wire import camera_names as names


@pytest.fixture
async def radio(bus: MessageBusDaemon) -> AsyncIterator[Radio]:
    connection, tasks = await BusConnection.open(bus.address), Tasks("radio")
    yield Radio(connection, Objects(connection, tasks), tasks)
    await tasks.stop()
    await connection.close()


async def test_objects_that_cannot_be_read_at_once_are_read_later(
    bluez: FakeBluez, radio: Radio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects_module, "_LOAD_PAUSES", Backoff(first_s=0.01, last_s=0.01))
    bluez.unreadable_times = 5
    await radio.objects.start()
    await until(lambda: radio.status.state == names.READY)


async def hold(turn: AbstractAsyncContextManager[object], has_it: asyncio.Event) -> None:
    async with turn:
        has_it.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize("kind", ["discovery", "advertising"])
async def test_a_turn_whose_end_is_cancelled_again_ends(bluez: FakeBluez, radio: Radio, kind: str) -> None:
    await radio.objects.start()
    await radio.settled()
    turn = radio.discovery([], 5.0) if kind == "discovery" else radio.advertising()
    has_it = asyncio.Event()
    task = asyncio.create_task(hold(turn, has_it))
    async with asyncio.timeout(10):
        await has_it.wait()
        async with radio._turns:  # somebody else is about to take one
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        async with radio.advertising():
            pass
        async with radio.discovery([], 5.0):
            pass
    await until(lambda: not bluez.discovering)
