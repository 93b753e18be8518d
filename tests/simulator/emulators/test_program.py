"""An emulated camera as a program of its own."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.simulator.emulators.served import http

PROGRAM = (sys.executable, "-m", "wifimgrd.simulator.emulators")


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(*PROGRAM, *arguments, stdout=asyncio.subprocess.PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def port_of(process: asyncio.subprocess.Process) -> int:
    assert process.stdout is not None
    async with asyncio.timeout(20):
        line = (await process.stdout.readline()).decode()
    assert line.startswith("listening on 127.0.0.1:")
    return int(line.rpartition(":")[2])


async def test_it_has_what_it_was_given_and_ends_with_sigterm() -> None:
    arguments = ("--battery", "37", "--card-gb", "10", "--card-free-gb", "5", "--charging", "--recording")
    async with running("gopro", "--listen", "127.0.0.1:0", *arguments) as process:
        streams = await asyncio.open_connection("127.0.0.1", await port_of(process))
        _, told = await http(streams, "GET", "/gopro/camera/state")
        streams[1].close()
        status = told["status"]
        assert (status["70"], status["10"], status["2"]) == (37, 1, 4)
        assert 4_800_000 < status["54"] <= 5_000_000_000 // 1024
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_an_insta360_answers_at_two_ports() -> None:
    listen = ("--listen", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
    async with running("insta360", *listen, "--model", "Insta360 X3", "--serial", "S1") as process:
        await port_of(process)
        streams = await asyncio.open_connection("127.0.0.1", await port_of(process))
        _, told = await http(streams, "GET", "/osc/info")
        streams[1].close()
        assert (told["model"], told["serialNumber"]) == ("Insta360 X3", "S1")


async def test_a_camera_that_is_put_to_sleep_ends() -> None:
    async with running("gopro", "--listen", "127.0.0.1:0") as process:
        streams = await asyncio.open_connection("127.0.0.1", await port_of(process))
        assert (await http(streams, "GET", "/gp/gpControl/command/system/sleep"))[0] == 200
        streams[1].close()
        assert await process.wait() == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("gopro",),
        ("dji", "--listen", "127.0.0.1:0"),
        ("gopro", "--listen", "127.0.0.1"),
        ("gopro", "--listen", "127.0.0.1:70000"),
        ("gopro", "--listen", "127.0.0.1:0", "--battery", "101"),
    ],
)
async def test_wrong_arguments(arguments: tuple[str, ...]) -> None:
    process = await asyncio.create_subprocess_exec(*PROGRAM, *arguments, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    assert b"usage:" in await process.stderr.read()
    assert await process.wait() == 2
