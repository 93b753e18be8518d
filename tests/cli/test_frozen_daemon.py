"""wifimgrctl and a daemon that is on the bus and does not answer."""

from __future__ import annotations

import asyncio

import pytest

from tests.cli.running import line_with, running, wifimgrctl
from tests.cli.test_watch import watching
from tests.commands import disconnect
from tests.processes import Hub
from wifimgrd.bus.connection import Variant

SAID = "wifimgrd does not answer"
pytestmark = pytest.mark.slow


async def test_commands_end_with_the_reason(hub: Hub) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    with hub.frozen():
        for ran in await asyncio.gather(
            wifimgrctl(hub.address, "status"), wifimgrctl(hub.address, "disconnect", str(device))
        ):
            assert ran.status == 1
            assert ran.out == ""
            hint, error = ran.err.splitlines()[:-1], ran.err.splitlines()[-1]
            assert error == f"wifimgrctl: {SAID} (backend-unavailable)"
            assert "Its watchdog ends it" in " ".join(hint)


async def test_a_command_that_waits_for_an_outcome_ends_too(hub: Hub) -> None:
    device = await hub.create(1)
    await disconnect(hub.client, device)
    await hub.client.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 3600.0)})
    async with running(hub.address, "connect", str(device), "--timeout", "600") as process:
        await hub.until(device, "connecting")
        with hub.frozen():
            assert process.stderr is not None
            assert SAID in (await process.stderr.read()).decode()
            assert await process.wait() == 1


async def test_the_screen_says_that_its_states_are_the_last_known(hub: Hub) -> None:
    await hub.until(await hub.create(1, name="Front"), "connected")
    async with watching(hub) as shown:
        await shown.until("> Front", "Connected")
        with hub.frozen():
            await shown.until("wifimgrd", SAID)
            await shown.until("> Front", "Unknown, was connected")
        await shown.until("> Front", "Connected", "wlan0")
        shown.terminal.type("q")


async def test_monitor_says_so_and_goes_on(hub: Hub) -> None:
    async with running(hub.address, "monitor") as process:
        await line_with(process, "ready")
        with hub.frozen():
            await line_with(process, SAID)
        await line_with(process, "ready")
