"""The processes that only the daemon calls: how they end, and with which exit status."""

from __future__ import annotations

import asyncio
import os
import pwd
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, OwnerChange
from wifimgrd.wire import camera_calls as calls

CAMERA: Final = "wifimgrd.camera"
HELPER: Final = "wifimgrd.helper"
ME: Final = pwd.getpwuid(os.getuid()).pw_name
LIMIT_S: Final = 30


@pytest.fixture
def bus() -> Iterator[MessageBusDaemon]:
    with MessageBusDaemon.start() as daemon:
        yield daemon


@asynccontextmanager
async def program(module: str, *arguments: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdin=DEVNULL, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ended(process: Process) -> tuple[int | None, str]:
    """The exit status, and what it has written last."""
    async with asyncio.timeout(LIMIT_S):
        _, errors = await process.communicate()
    return process.returncode, errors.decode().splitlines()[-1]


@asynccontextmanager
async def camera_process(bus: MessageBusDaemon, *arguments: str) -> AsyncIterator[Process]:
    """The camera process, once it has its name."""
    connection = await BusConnection.open(bus.address)
    has_name = asyncio.Event()

    def changed(change: OwnerChange) -> None:
        if change.after:
            has_name.set()

    try:
        await connection.watch_owner(changed, calls.BUS_NAME)
        async with program(CAMERA, "--bus", bus.address, "--user", ME, *arguments) as process:
            async with asyncio.timeout(LIMIT_S):
                await has_name.wait()
            yield process
    finally:
        await connection.close()


@pytest.mark.parametrize(("module", "name"), [(CAMERA, "wifimgrd-camera"), (HELPER, "wifimgrd-net")])
async def test_what_is_impossible_is_said_in_a_line(module: str, name: str, bus: MessageBusDaemon) -> None:
    async with program(module, "--bus", bus.address, "--user", "nobody-here") as process:
        assert await ended(process) == (os.EX_OSERR, f"{name}: there is no user nobody-here")
    async with program(module, "--bus", "unix:path=/nowhere", "--user", ME) as process:
        status, line = await ended(process)
    assert status == os.EX_UNAVAILABLE
    assert line.startswith(f"{name}: ")


async def test_a_second_one_leaves_the_first_alone(bus: MessageBusDaemon) -> None:
    async with (
        camera_process(bus) as first,
        program(CAMERA, "--bus", bus.address, "--user", ME) as second,
    ):
        status, line = await ended(second)
        assert status == os.EX_TEMPFAIL
        assert calls.BUS_NAME in line
        assert first.returncode is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_well(number: signal.Signals, bus: MessageBusDaemon) -> None:
    async with camera_process(bus) as process:
        process.send_signal(number)
        status, line = await ended(process)
    assert status == os.EX_OK
    assert "stopped" in line


async def test_it_ends_well_once_nobody_needs_it(bus: MessageBusDaemon) -> None:
    async with camera_process(bus, "--linger", "0.1") as process:
        status, _ = await ended(process)
    assert status == os.EX_OK


async def test_it_ends_with_the_message_bus(bus: MessageBusDaemon) -> None:
    async with camera_process(bus) as process:
        bus.kill()
        status, line = await ended(process)
    assert status == os.EX_UNAVAILABLE
    assert line.startswith("wifimgrd-camera: ")
