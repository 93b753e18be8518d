"""SIGHUP reloads what can be reloaded, and ends no service: systemd would not start it again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.message_bus import MessageBusDaemon

PATIENCE_S = 30
BRIDGES = (
    '[mqtt]\nbroker = "mqtt://127.0.0.1:9"\nhub = "boat"\n[mavlink]\nconnection = "udpout:127.0.0.1:9"\n'
)
TOKEN = "0123456789abcdef"


@asynccontextmanager
async def running(*command: str, environment: Mapping[str, str] | None = None) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stderr=PIPE, env={**os.environ, **(environment or {})}
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def until_said(process: Process, word: bytes) -> None:
    assert process.stderr is not None
    async for line in process.stderr:
        if word in line:
            return
    raise AssertionError(f"it ended with {process.returncode}")


@pytest.mark.parametrize(
    "module", ["wifimgrd.helper", "wifimgrd.camera", "wifimgrd.mqtt", "wifimgrd.mavlink", "wifimgrd.http"]
)
async def test_a_hangup_ends_no_service(message_bus: MessageBusDaemon, tmp_path: Path, module: str) -> None:
    config = tmp_path / "wifimgrd.toml"
    config.write_text(BRIDGES)
    options = {
        "wifimgrd.mqtt": ("--config", str(config)),
        "wifimgrd.mavlink": ("--config", str(config)),
        "wifimgrd.http": ("--listen", "127.0.0.1:0"),
    }.get(module, ("--user", "root", "--linger", "3600"))
    before = ("unshare", "--net") if module == "wifimgrd.helper" else ()
    command = (*before, sys.executable, "-m", module, "--bus", message_bus.address, *options)
    async with running(*command) as process:
        await until_said(process, b"listening" if module == "wifimgrd.http" else b"started")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        await process.communicate()
        assert process.returncode == 0


async def test_a_hangup_while_the_daemon_starts_reloads_it_once_it_has(
    message_bus: MessageBusDaemon, tmp_path: Path
) -> None:
    """It waits up to 5 s for a backend, which is not there."""
    command = [
        sys.executable,
        "-m",
        "wifimgrd.daemon",
        "--backend",
        "networkmanager",
        "--bus",
        message_bus.address,
    ]
    async with running(*command, environment={"STATE_DIRECTORY": str(tmp_path)}) as process:
        while not (tmp_path / "wifimgrd.db").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        await until_said(process, b"configuration_reloaded")


async def test_a_hangup_while_the_shim_starts_does_not_end_it(
    message_bus: MessageBusDaemon, tmp_path: Path
) -> None:
    """It waits for its token."""
    token, config = tmp_path / "token", tmp_path / "wifimgrd.toml"
    os.mkfifo(token)
    config.write_text(f'[http]\ntoken_file = "{token}"\n')
    command = [sys.executable, "-m", "wifimgrd.http", "--bus", message_bus.address, "--listen", "127.0.0.1:0"]
    async with running(*command, "--config", str(config)) as process:
        with await asyncio.to_thread(token.open, "w") as writing:  # opened once it is being read
            process.send_signal(signal.SIGHUP)
            writing.write(TOKEN)
        await until_said(process, b"listening")
