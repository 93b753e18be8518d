"""What the watchdog's pulse of each process depends on."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.message_bus import MessageBusDaemon
from tests.mqtt.logs import lines_with
from wifimgrd.config.configuration import Config
from wifimgrd.daemon._daemon import DaemonOptions, run
from wifimgrd.daemon.store._sqlite import SqliteStore

LIMIT_US = 400_000
PATIENCE_S = 20.0
PULSE = b"WATCHDOG=1"
BRIDGES = (
    '[mqtt]\nbroker = "mqtt://127.0.0.1:9"\nhub = "boat"\n[mavlink]\nconnection = "udpout:127.0.0.1:9"\n'
)
PROGRAMS = {
    "daemon": ("wifimgrd.daemon", "--simulate"),
    "http": ("wifimgrd.http", "--listen", "127.0.0.1:0"),
    "mqtt": ("wifimgrd.mqtt",),
    "mavlink": ("wifimgrd.mavlink",),
    "net": ("wifimgrd.helper", "--user", "root", "--linger", "3600"),
}
"""Each module that is a program, and the arguments it needs."""


@pytest.fixture
def manager(
    message_bus: MessageBusDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    """The service manager's end of the notification socket, with a short limit. The message bus is started
    before, or it would send that it is ready."""
    del message_bus
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", str(LIMIT_US))
        monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
        yield listening


async def until_received(manager: socket.socket, message: bytes) -> None:
    """Wait for a message."""
    async with asyncio.timeout(PATIENCE_S):
        while await asyncio.get_running_loop().sock_recv(manager, 4096) != message:
            pass


def received(manager: socket.socket) -> list[bytes]:
    """What has arrived until now."""
    messages = []
    try:
        while True:
            messages.append(manager.recv(4096))
    except BlockingIOError:
        return messages


@asynccontextmanager
async def running(name: str, bus: str, folder: Path) -> AsyncIterator[Path]:
    """A program of ours in a network of its own; gives its log."""
    configuration, log = folder / "wifimgrd.toml", folder / "log"
    configuration.write_text(BRIDGES)
    module, *arguments = PROGRAMS[name]
    with log.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            *("unshare", "--net", sys.executable, "-m", module, "--bus", bus),
            *("--config", str(configuration), *arguments),
            stderr=said,
        )
    try:
        yield log
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("name", PROGRAMS)
async def test_there_is_no_pulse_while_the_message_bus_does_not_answer(
    manager: socket.socket, message_bus: MessageBusDaemon, tmp_path: Path, name: str
) -> None:
    async with running(name, message_bus.address, tmp_path) as log:
        for message in (b"READY=1", PULSE):
            await until_received(manager, message)
        os.kill(message_bus.process.pid, signal.SIGSTOP)
        try:
            found = await lines_with(log, "message-bus", PATIENCE_S)
            assert "no_progress" in found[-1]
            received(manager)
            await lines_with(log, "message-bus", PATIENCE_S, len(found) + 2)
            assert PULSE not in received(manager)
        finally:
            os.kill(message_bus.process.pid, signal.SIGCONT)
        await until_received(manager, PULSE)


async def test_there_is_no_pulse_while_the_thread_of_the_store_hangs(
    manager: socket.socket, message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, asked = asyncio.Event(), asyncio.Event()

    async def gets_on(_: SqliteStore) -> None:
        asked.set()
        await hangs.wait()

    monkeypatch.setattr(SqliteStore, "gets_on", gets_on)
    with capture_logs() as entries:
        life = asyncio.create_task(run(Config(), DaemonOptions(bus=message_bus.address, simulate=True)))
        try:
            pulse = asyncio.create_task(until_received(manager, PULSE))
            for _ in range(3):
                asking = asyncio.create_task(asked.wait())
                await asyncio.wait([pulse, asking], return_when=asyncio.FIRST_COMPLETED)
                asking.cancel()
                asked.clear()
                assert not pulse.done()
            hangs.set()
            await pulse
        finally:
            life.cancel()
            await asyncio.wait([life])
    parts = [entry["parts"] for entry in entries if entry["event"] == "no_progress"]
    assert parts
    assert all("wifimgrd/store" in some for some in parts)
