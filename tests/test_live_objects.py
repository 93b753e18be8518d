"""The copy of the daemon's objects that its clients have: it comes back when the daemon does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.camera.conftest import until
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.bus.values import typed
from wifimgrd.client import _live_objects
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.wire.names import BUS_NAME

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={folder}/bus</listen>
  <servicedir>{folder}</servicedir>
  <auth>EXTERNAL</auth>
  <policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
"""
SERVICE = "[D-BUS Service]\nName=org.wifimgrd1\nExec={folder}/started\n"
STARTED = """#!/bin/sh
export STATE_DIRECTORY={folder}/state
if [ -e {folder}/failed ]; then exec {python} -m wifimgrd.daemon --simulate --bus "$DBUS_STARTER_ADDRESS"; fi
touch {folder}/failed
exit 1
"""
ENDS = """#!{python}
import asyncio, os
from wifimgrd.bus.connection import BusConnection, BusError
async def end_when_asked():
    bus = await BusConnection.open(os.environ["DBUS_STARTER_ADDRESS"])
    bus.serve(lambda call: os._exit(78))
    await bus.request_name("org.wifimgrd1")
    await asyncio.Event().wait()
open("{folder}/starts", "a").write("started\\n")
asyncio.run(end_when_asked())
"""
RUNS = """#!/bin/sh
export STATE_DIRECTORY={folder}/state
echo started >>{folder}/starts
exec {python} -m wifimgrd.daemon --simulate --bus "$DBUS_STARTER_ADDRESS"
"""


@contextmanager
def bus_that_starts(program: str, folder: Path) -> Iterator[str]:
    """The address of a bus that starts this program where org.wifimgrd1 is called and has no owner."""
    for name, text in (("bus.conf", BUS), ("org.wifimgrd1.service", SERVICE), ("started", program)):
        (folder / name).write_text(text.format(folder=folder, python=sys.executable))
    (folder / "started").chmod(0o755)
    with MessageBusDaemon.start(folder / "bus.conf") as bus:
        yield bus.address


@asynccontextmanager
async def client_on(address: str) -> AsyncIterator[HubClient]:
    client = HubClient(address)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def test_a_daemon_that_could_not_be_started_once_is_started_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_live_objects, "_START_AGAIN_S", 0.01)
    with bus_that_starts(STARTED, tmp_path) as address:
        async with client_on(address) as client:
            assert (client.available, client.reason) == (False, "wifimgrd is not running")
            await client.wait_until(lambda one: one.available, 60)


async def test_a_daemon_that_ends_while_it_is_asked_is_not_started_again_by_its_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a configuration that only a person can mend: its unit is not started again either."""
    answers: list[str] = []
    call = BusConnection.call

    async def recorded(connection: BusConnection, *arguments: Any, **options: Any) -> list[object]:
        try:
            return await call(connection, *arguments, **options)
        except BusError as error:
            if arguments[3] == "GetManagedObjects":
                answers.append(error.name.rpartition(".")[-1])
            raise

    monkeypatch.setattr(BusConnection, "call", recorded)
    with bus_that_starts(ENDS, tmp_path) as address:
        async with client_on(address) as client:
            await until(lambda: not {"NameHasNoOwner", "ServiceUnknown"}.isdisjoint(answers))
            await until(lambda: client.reason == "wifimgrd is not running")
    assert (tmp_path / "starts").read_text() == "started\n"


async def kill_the_daemon(address: str) -> None:
    """Returns once the bus knows that it has gone."""
    bus = await BusConnection.open(address)
    [pid] = await bus.call_bus("GetConnectionUnixProcessID", "s", [BUS_NAME])
    gone = asyncio.Event()
    await bus.watch_owner(lambda change: None if change.after else gone.set(), BUS_NAME)
    os.kill(typed(int, pid), signal.SIGKILL)
    await gone.wait()
    await bus.close()


async def test_a_command_does_not_start_a_daemon_that_has_just_been_stopped(tmp_path: Path) -> None:
    with bus_that_starts(RUNS, tmp_path) as address:
        async with client_on(address) as client:
            await client.wait_until(lambda one: one.available, 60)
            commands = (client.search_networks, lambda: client.open_connection(1, 80))
            # This loop waits, so that the client has not heard of it when it sends the commands.
            killing = threading.Thread(target=asyncio.run, args=(kill_the_daemon(address),))
            killing.start()
            killing.join()
            answers = await asyncio.gather(*(one() for one in commands), return_exceptions=True)
    assert [type(one) for one in answers] == [BackendUnavailable, BackendUnavailable]
    assert (tmp_path / "starts").read_text() == "started\n"
