"""What only a terminal gets: colour, progress, a prompt, a table that fits."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.running import on_terminal, wifimgrctl
from tests.commands import disconnect
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
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
    await hub.until(1, "connected")
    shown = await shown_at(80, hub)
    assert max(map(len, shown)) <= 80
    assert " ".join(line[4:50].strip() for line in shown[1:]).startswith("A name that is longer")
    assert "…" not in "".join(shown)
    assert "longer still" in (await wifimgrctl(hub.address)).out


async def shown_at(columns: int, hub: Hub, *line: str) -> list[str]:
    """What a command shows on a terminal of that width, line by line."""
    async with on_terminal(hub.address, *line, columns=columns, NO_COLOR="1") as terminal:
        await terminal.end()
        await terminal.until_closed()
        return [line.rpartition("\x1b[K")[2] for line in terminal.seen.split("\r\n")[:-1]]


SCENARIO = """
camera_count = 3
[[adapter]]
name = "wlx00c0caaf1234"
[[adapter]]
name = "wlx00c0caaf5678"
usb_product = "802.11ac NIC"
[[adapter]]
name = "wlan7"
obstacle = 'carries the connection "A home network" and, with it, the default route of this host'
"""


@pytest.fixture
async def full_hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """A hub whose adapters have long names; two cameras are connected, one has no adapter."""
    (tmp_path / "state").mkdir()
    (tmp_path / "world.toml").write_text(SCENARIO)
    simulated = f"--simulate={tmp_path / 'world.toml'}"
    async with running_hub(message_bus.address, tmp_path / "state", simulated) as hub:
        for number, name in ((1, "SIM-CAM-1"), (2, "Windward")):
            await hub.until(await hub.create(number, name=name), "connected")
        await hub.create(3, name="Tail")
        await hub.until(3, "disconnected")
        yield hub


@pytest.mark.parametrize("columns", [60, 80, 120])
async def test_no_line_is_too_long_and_no_name_or_address_is_cut(full_hub: Hub, columns: int) -> None:
    cameras = ("SIM-CAM-1", "Windward", "Tail")
    interfaces = ("wlx00c0caaf1234", "wlx00c0caaf5678")
    reason = 'carries the connection "A home network" and, with it, the default route of this host'
    refusal = "no Wi-Fi interface is available: wlan7 (carries the connection"
    needed = {
        (): (*cameras, *interfaces, "10.77.0.1", "10.77.0.3", "no-interface-available"),
        ("interfaces",): (*interfaces, "wlan7", "02:00:00:00:00:01", "Windward", reason),
        ("status",): ("simulated, ready", "3: 2 connected"),
        ("status", "Tail"): ("10.77.0.3", refusal),
        ("history",): (*cameras, refusal),
        ("connect", "Tail"): (refusal, '"Windward"'),
        ("add", "--ssid", "SIM-CAM-2", "--open", "--pasword-stdin"): ("unknown option",),
    }
    for line, words in needed.items():
        shown = await shown_at(columns, full_hub, *line)
        assert max(map(len, shown)) <= columns, line
        assert "…" not in "".join(shown), line
        said = " ".join(" ".join(shown).split())
        assert [word for word in words if word not in said] == [], line
        single = [word for word in words if " " not in word]
        assert [word for word in single if not any(word in one for one in shown)] == [], line


@pytest.mark.parametrize(
    ("columns", "heads"),
    [
        (61, "ID NAME STATE ADAPTER ADDRESS SIGNAL"),
        (80, "ID NAME STATE ADAPTER ADDRESS LAST ERROR"),
        (120, "ID NAME STATE ADAPTER ADDRESS SIGNAL NETWORK LAST ERROR"),
    ],
)
async def test_columns_of_devices_go_by_importance(full_hub: Hub, columns: int, heads: str) -> None:
    shown = await shown_at(columns, full_hub)
    assert shown[0].split() == heads.split()
    assert (shown[-1] == "    Last error: no-interface-available") is (columns == 61)


async def test_networks_at_60_columns(hub: Hub) -> None:
    heads, *rows = await shown_at(60, hub, "networks")
    assert heads.split() == ["NETWORK", "SECURITY", "SIGNAL", "BANDS", "BSSID"]
    assert all(re.search(r"  02(:[0-9a-f]{2}){5}$", row) for row in rows)
    assert len(rows) >= 3


async def test_lines_behind_the_first_one_are_indented(full_hub: Hub) -> None:
    first, *more = await shown_at(60, full_hub, "connect", "Tail")
    assert first.startswith("wifimgrctl: no Wi-Fi interface is available: ")
    assert more
    assert all(line[:4] == "    " and line[4] != " " for line in more)
    shown = await shown_at(60, full_hub, "status", "Tail")
    at = next(number for number, line in enumerate(shown) if line.startswith("  Last error"))
    column = shown[at].index("no Wi-Fi")
    assert shown[at + 1][:column].strip() == ""
    assert shown[at + 1][column] != " "


async def test_one_reason_for_several_cameras_is_said_once(full_hub: Hub) -> None:
    await full_hub.create(3, name="Nose")
    ran = await wifimgrctl(full_hub.address, "connect", "--all")
    assert ran.status == 1
    (line,) = ran.out.splitlines()
    assert line.startswith("2 cameras are not connected: no Wi-Fi interface is available: ")
    assert line.endswith(": Tail, Nose")


async def test_remove_asks_whoever_is_at_the_terminal(hub: Hub) -> None:
    await hub.create(1, name="Front")
    async with on_terminal(hub.address, "remove", "Front") as terminal:
        await terminal.until("Remove Front? ")
        terminal.type("\n")
        assert await terminal.end() == 1
        await terminal.until("Front stays registered.")
    assert 1 in hub.client.devices
    async with on_terminal(hub.address, "remove", "Front") as terminal:
        await terminal.until("[y/N] ")
        assert await terminal.interrupt() == 130
    assert 1 in hub.client.devices
    async with on_terminal(hub.address, "remove", "Front", "--history") as terminal:
        await terminal.until("its history.")
        await terminal.until("[y/N] ")
        terminal.type("y\n")
        assert await terminal.end() == 0
        await terminal.until("Front was removed")
    await hub.create(1, name="Front")
    async with on_terminal(hub.address, "remove", "--yes", "Front") as terminal:
        assert await terminal.end() == 0
        assert "?" not in terminal.seen


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
        await terminal.until("Front is connecting through wlan0 ... ")
        assert await terminal.end() == 0
        await terminal.until("\r\x1b[KFront is connected through wlan0")


async def test_an_attempt_outlives_the_patience_of_the_keyboard(hub: Hub) -> None:
    await hub.create(1, name="Front")
    await hub.until(1, "connected")
    await disconnect(hub.client, 1)
    await hub.client.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 3600.0)})
    async with on_terminal(hub.address, "connect", "1") as terminal:
        await terminal.until("is connecting")
        assert await terminal.interrupt() == 130
        assert "Traceback" not in terminal.seen
    assert hub.client.devices[1].state == "connecting"


async def test_a_prompt_that_is_ended_says_that_nothing_was_entered(hub: Hub) -> None:
    async with on_terminal(hub.address, "add", "--ssid", "SIM-CAM-1") as terminal:
        await terminal.until("Password")
        terminal.type("\x04")
        await terminal.until("no password was entered")
        assert await terminal.end() == 1
