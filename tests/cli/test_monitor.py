"""`wifimgrctl monitor` on the real daemon: every change, a clean end."""

from __future__ import annotations

import asyncio
import json
import re
import signal

from tests.cli.running import PATIENCE_S, line_with, on_terminal, running
from tests.processes import Hub


async def test_changes_are_lines(hub: Hub) -> None:
    async with running(hub.address, "monitor") as process:
        first = await line_with(process, "watching")
        assert re.match(r"\d\d:\d\d:\d\d\.\d{3}  wifimgrd: watching 0 cameras, 3 adapters$", first)
        await hub.create(1, name="Front\u202e")
        assert r"Front\u202e (1): registered" in await line_with(process, "registered")
        await line_with(process, "wlan0: in-use: Front")
        await line_with(process, "(1): connecting through wlan0")
        await line_with(process, "(1): connected through wlan0")
        await line_with(process, "camera at 192.168.42.1")
        await hub.client.simulate("UnplugAdapter", "s", "wlan0")
        await line_with(process, "wlan0: unplugged")
        await line_with(process, "(interface-lost)")
        await line_with(process, "(1): searching for its network")
        await hub.client.remove_device(1)
        await line_with(process, "removed")


async def test_json_lines_are_those_of_the_channel(hub: Hub) -> None:
    async with running(hub.address, "monitor", "--json") as process:
        snapshot = json.loads(await line_with(process, ""))
        assert snapshot["type"] == "snapshot"
        assert len(snapshot["interfaces"]) == 3
        assert snapshot["devices"] == []
        assert snapshot["service"]["backend"] == "simulated"
        await hub.create(1)
        created = json.loads(await line_with(process, "device.created"))
        assert created["data"]["id"] == 1
        assert created["time"].endswith("Z")
        status = json.loads(await line_with(process, '"connected"'))
        assert status["type"] == "device.connection_status.update"


async def test_it_outlives_the_daemon(hub: Hub) -> None:
    async with running(hub.address, "monitor") as process:
        await line_with(process, "watching")
        await hub.end()
        await line_with(process, "wifimgrd is not running")
        await hub.start()
        await line_with(process, "watching")


async def test_it_ends_cleanly(hub: Hub) -> None:
    async with running(hub.address, "monitor") as process:
        await line_with(process, "watching")
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE_S):
            _, err = await process.communicate()
        assert (process.returncode, err) == (0, b"")


async def test_it_ends_on_the_keyboard(hub: Hub) -> None:
    async with on_terminal(hub.address, "monitor") as terminal:
        await terminal.until("watching")
        assert await terminal.interrupt() == 0
        assert "Traceback" not in terminal.seen


async def test_a_reader_that_goes_away(hub: Hub) -> None:
    async with running(hub.address, "monitor") as process:
        await line_with(process, "watching")
        transport = process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
        transport.close()
        await hub.create(1)
        async with asyncio.timeout(PATIENCE_S):
            assert await process.wait() == 1
        assert process.stderr is not None
        assert b"Traceback" not in await process.stderr.read()
