"""What only a terminal gets: colour, progress, a prompt, a table that fits."""

from __future__ import annotations

from tests.cli.running import on_terminal, wifimgrctl
from tests.commands import disconnect
from tests.processes import Hub
from wifimgrd.bus.connection import Variant


async def test_colour_on_a_terminal_alone(hub: Hub) -> None:
    await hub.create(1)
    await hub.until(1, "connected")
    async with on_terminal(hub.address) as terminal:
        assert await terminal.end() == 0
        await terminal.until("\x1b[32mConnected")
    async with on_terminal(hub.address, NO_COLOR="1") as terminal:
        assert await terminal.end() == 0
        await terminal.until("Connected")
        assert "\x1b" not in terminal.seen
    assert "\x1b" not in (await wifimgrctl(hub.address)).out


async def test_a_table_fits(hub: Hub) -> None:
    await hub.create(1, name="A name that is longer than any name should be, and longer still")
    async with on_terminal(hub.address, NO_COLOR="1") as terminal:
        assert await terminal.end() == 0
        await terminal.until("SIM-CAM-1")
        assert max(map(len, terminal.seen.splitlines())) <= 80
        assert "…" in terminal.seen
    assert "longer still" in (await wifimgrctl(hub.address)).out


async def test_a_password_is_asked_for_and_not_shown(hub: Hub) -> None:
    async with on_terminal(hub.address, "add", "--ssid", "SIM-CAM-1") as terminal:
        await terminal.until("Password for SIM-CAM-1: ")
        terminal.type("camera-pass-1\n")
        assert await terminal.end() == 0
        await terminal.until("is registered")
        assert "camera-pass-1" not in terminal.seen
    await hub.until(1, "connected")


async def test_an_empty_answer_is_no_open_network(hub: Hub) -> None:
    async with on_terminal(hub.address, "add", "--ssid", "SIM-CAM-1") as terminal:
        await terminal.until("Password for SIM-CAM-1: ")
        terminal.type("\n")
        assert await terminal.end() == 1
        await terminal.until("use --open")


async def test_progress_while_it_waits(hub: Hub) -> None:
    await hub.create(1, name="Front")
    await hub.until(1, "connected")
    await disconnect(hub.client, 1)
    await hub.client.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 1.0)})
    async with on_terminal(hub.address, "connect", "1") as terminal:
        await terminal.until("Front (device 1) is connecting through wlan0 ... ")
        assert await terminal.end() == 0
        await terminal.until("\r\x1b[KFront (device 1) is connected through wlan0")


async def test_an_attempt_outlives_the_patience_of_the_keyboard(hub: Hub) -> None:
    await hub.create(1, name="Front")
    await hub.until(1, "connected")
    await disconnect(hub.client, 1)
    await hub.client.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 3600.0)})
    async with on_terminal(hub.address, "connect", "1") as terminal:
        await terminal.until("is connecting")
        terminal.type("\x03")
        assert await terminal.end() == 130
        assert "Traceback" not in terminal.seen
    assert hub.client.devices[1].state == "connecting"


async def test_a_prompt_that_is_ended_says_that_nothing_was_entered(hub: Hub) -> None:
    async with on_terminal(hub.address, "add", "--ssid", "SIM-CAM-1") as terminal:
        await terminal.until("Password")
        terminal.type("\x04")
        await terminal.until("no password was entered")
        assert await terminal.end() == 1
