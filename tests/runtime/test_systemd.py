"""Notifications of the service manager: readiness, status, watchdog; and when the daemon ends by itself."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.manager.conftest import make_bench
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection
from wifimgrd.config.configuration import Config
from wifimgrd.daemon._daemon import BusLost, DaemonOptions, run
from wifimgrd.runtime.systemd import notify, start_watchdog, watchdog_s
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import names


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The service manager's end of the notification socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listening


async def reported(manager: socket.socket) -> str:
    async with asyncio.timeout(10):
        return (await asyncio.get_running_loop().sock_recv(manager, 4096)).decode()


def test_a_service_manager_that_reads_nothing_holds_up_nothing(manager: socket.socket) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as filling:
        filling.connect(manager.getsockname())
        with suppress(BlockingIOError):
            while True:
                filling.send(b"STATUS=")
        notify("WATCHDOG=1")  # returns


@pytest.mark.parametrize(
    ("variables", "limit"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
    ],
)
def test_the_watchdogs_limit(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], limit: float | None
) -> None:
    for name in ("WATCHDOG_USEC", "WATCHDOG_PID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert watchdog_s() == limit


async def test_pulses_come_while_everything_is_alive_and_only_then(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    tasks, progress, asked = Tasks("test"), asyncio.Event(), asyncio.Event()

    async def check() -> None:
        asked.set()
        await progress.wait()

    tasks.check("disk", check)
    start_watchdog(tasks)
    await asked.wait()
    asked.clear()
    await asked.wait()  # checked again, half an interval later
    with pytest.raises(BlockingIOError):
        manager.recv(4096)
    progress.set()
    assert await reported(manager) == "WATCHDOG=1"
    assert await reported(manager) == "WATCHDOG=1"
    await tasks.stop()


@pytest.fixture
async def stranger(message_bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    connection = await BusConnection.open(message_bus.address)
    yield connection
    await connection.close()


async def test_the_daemon_reports_its_life_and_ends_when_it_loses_its_name(
    message_bus: MessageBusDaemon,
    stranger: BusConnection,
    manager: socket.socket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    opened: list[BusConnection] = []
    really_open = BusConnection.open

    async def remembering(bus: str, **how: Any) -> BusConnection:
        opened.append(await really_open(bus, **how))
        return opened[-1]

    monkeypatch.setattr(BusConnection, "open", remembering)
    life = asyncio.create_task(run(Config(), DaemonOptions(bus=message_bus.address, simulate=True)))
    assert await reported(manager) == "READY=1"
    assert await reported(manager) == "STATUS=0 devices, 0 connected, 3 of 3 interfaces free"
    assert await stranger.name_owner(names.BUS_NAME) == opened[0].unique_name
    await opened[0].call(
        bus_names.BUS_DAEMON,
        bus_names.BUS_DAEMON_PATH,
        bus_names.BUS_DAEMON,
        "ReleaseName",
        "s",
        [names.BUS_NAME],
    )
    assert await reported(manager) == "STOPPING=1\nSTATUS=stopping"
    with pytest.raises(BusLost, match=r"the name org\.wifimgrd1 was lost"):
        await life


async def test_what_stands_is_counted() -> None:
    bench = make_bench()
    await bench.hub.start()
    await bench.connected(1)
    bench.world.unplug_adapter("wlan2")
    assert bench.hub.summary() == "1 device, 1 connected, 1 of 2 interfaces free"
    bench.world.set_fault("backend-gone", {})
    assert bench.hub.summary().startswith(
        "1 device, 0 connected, 2 of 2 interfaces free; simulated is unavail"
    )
    await bench.hub.stop()
