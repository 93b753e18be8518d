"""watch: what is on its screen, what its keys do, and that its terminal is afterwards as it was before."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.running import PATIENCE_S, PROGRAM, Terminal, on_terminal, wifimgrctl
from tests.commands import disconnect
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import SCENARIO, connected
from wifimgrd.cli._event_text import Sentence
from wifimgrd.cli._text import Style, width
from wifimgrd.cli._watch_view import Frame, Watched, frame
from wifimgrd.domain.camera import RecordingState
from wifimgrd.domain.records import CameraRecord, DeviceRecord, ServiceRecord

NOW_US = 1_800_000_000_000_000
FRONT = DeviceRecord(
    1, "Front", "gopro-hero12", state="connected", ssid=b"GP1", interface="wlan0", signal_strength=70,
    address="10.77.0.1", reachable=True,
    camera=CameraRecord(
        battery_level=84, recording_state=RecordingState.RECORDING, recording_since=NOW_US - 723_000_000,
        recording_time_left=7_800_000_000,
    ),
)  # fmt: skip
TAIL = DeviceRecord(2, "Tail", connection_error_code="device-not-reachable", ssid=b"X4", address="10.77.0.2")
SERVICE = ServiceRecord(backend="simulated", backend_state="ready")
WATCHED = Watched(
    (FRONT, TAIL), SERVICE, events=((NOW_US, Sentence("Front (1)", "recording", Style.GOOD)),), selected=2
)


# -- the screen, without a terminal


def plain(shown: Frame) -> list[str]:
    """The lines without their styles."""
    screen = pyte.Screen(300, len(shown.lines))
    stream = pyte.Stream(screen)
    stream.feed("\r\n".join(shown.lines))
    return [line.rstrip() for line in screen.display]


def test_all_that_matters_is_on_80_by_24() -> None:
    lines = plain(shown := frame(WATCHED, 24, 80, NOW_US))
    assert len(lines) == 24
    assert lines[0] == "wifimgrd  1 of 2 connected, 1 recording  simulated ready"
    assert lines[2].split() == ["NAME", "STATE", "SIGNAL", "BATTERY", "CARD", "ADAPTER", "ADDRESS"]
    assert lines[3].split("  ")[1:3] == ["Front", "Recording 12:03"]
    assert "70 %" in lines[3]
    assert "84 %" in lines[3]
    assert "2 h 10 min left" in lines[3]
    assert lines[4].startswith("> Tail   Not found")
    assert shown.selected == 4
    assert lines[6] == "EVENTS"
    assert lines[7].endswith("  Front (1): recording")
    assert lines[-1] == "q quit  c connect  d disconnect  r record, stop  R, S: all  w wake  f when free"


def test_what_is_only_the_last_known_is_marked() -> None:
    lines = plain(frame(replace(WATCHED, away="wifimgrd is not running"), 24, 80, NOW_US))
    assert lines[0].endswith("wifimgrd is not running")
    assert "Unknown, was connected" in lines[3]
    assert "70 %" not in lines[3]


def test_the_selected_device_is_always_in_sight() -> None:
    many = [replace(TAIL, id=number, name=f"Camera {number}") for number in range(1, 61)]
    for selected in (1, 30, 60):
        shown = frame(replace(WATCHED, devices=many, selected=selected), 24, 80, NOW_US)
        assert shown.selected is not None
        assert f"> Camera {selected} " in plain(shown)[shown.selected]
        assert "EVENTS" in plain(shown)


NAMES = st.text(st.characters(), max_size=40)


@given(st.lists(NAMES, max_size=9), NAMES, st.integers(1, 40), st.integers(1, 130))
def test_any_names_fit_any_terminal(names: list[str], said: str, rows: int, columns: int) -> None:
    devices = [replace(FRONT, id=number, name=name, interface=name) for number, name in enumerate(names)]
    events = [(NOW_US, Sentence(name, name)) for name in names]
    shown = frame(Watched(devices, SERVICE, said, events, 3, said), rows, columns, NOW_US)
    assert len(shown.lines) == rows
    assert all(width(line) <= columns for line in shown.lines)
    assert shown.selected is None or 0 <= shown.selected < rows


# -- on a terminal


@dataclass
class Watching:
    """`wifimgrctl watch` on a terminal, and what is on its screen."""

    terminal: Terminal
    screen: pyte.Screen
    fed: int = 0
    stream: pyte.Stream = field(init=False)

    def __post_init__(self) -> None:
        self.stream = pyte.Stream(self.screen)

    @property
    def lines(self) -> list[str]:
        """What is shown now."""
        self.stream.feed(self.terminal.seen[self.fed :])
        self.fed = len(self.terminal.seen)
        return [line.rstrip() for line in self.screen.display]

    async def until(self, *words: str) -> list[str]:
        """Wait until some line has all of some words in it."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not any(all(word in line for word in words) for line in self.lines):
                    await self.terminal.more()
        except TimeoutError:
            raise AssertionError("\n".join([f"no {words} in:", *self.lines])) from None
        return self.lines


@asynccontextmanager
async def watching(hub: Hub, columns: int = 80, rows: int = 24, **more: str) -> AsyncIterator[Watching]:
    """The command, running."""
    async with on_terminal(hub.address, "watch", columns=columns, rows=rows, **more) as terminal:
        yield Watching(terminal, pyte.Screen(columns, rows))


async def ended(shown: Watching, status: int) -> None:
    """Wait for its end; the terminal must be as before, and no traceback on it."""
    assert await shown.terminal.end() == status
    await shown.terminal.until_closed()
    left = shown.terminal.seen.rindex("\x1b[?1049l")
    assert "\x1b[?1049h" not in shown.terminal.seen[left:]
    assert "Traceback" not in shown.terminal.seen
    assert shown.terminal.seen.rfind("\x1b[?25l") < shown.terminal.seen.rfind("\x1b[?25h")


async def test_events_are_on_the_screen_as_they_happen(hub: Hub) -> None:
    await hub.until(await hub.create(1, name="Front"), "connected")
    async with watching(hub) as shown:
        await shown.until("> Front", "Connected", "70 %", "wlan0")
        await hub.client.simulate("PowerOffCamera", "ayb", b"SIM-CAM-1", True)
        await shown.until("> Front", "Connecting")
        await shown.until("Front (1): connecting through wlan0 again")
        await hub.create(2, name="Tail")
        await shown.until("  Tail", "Connected")
        await shown.until("wifimgrd  1 of 2 connected")
        shown.terminal.type("q")
        await ended(shown, 0)


async def test_keys_command_the_selected_device(hub: Hub) -> None:
    for number, name in ((1, "Front"), (2, "Tail")):
        device = await hub.create(number, name=name, codename="generic-wifi-camera")
        await hub.until(device, "connected")
    async with watching(hub) as shown:
        await shown.until("> Front")
        shown.terminal.type("\x1bOB")
        await shown.until("> Tail")
        shown.terminal.type("d")
        await hub.until(2, "disconnected")
        await shown.until("Tail is disconnected")
        shown.terminal.type("c")
        await hub.until(2, "connected")
        await shown.until("Tail is connected through wlan1")
        shown.terminal.type("k")
        await shown.until("> Front")
        shown.terminal.type("w")
        await shown.until("Front: cameras of the model")
        await shown.until("(not-supported)")
        shown.terminal.type("\x03")
        await ended(shown, 0)


async def test_recording_by_key(
    message_bus: MessageBusDaemon, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = tmp_path_factory.mktemp("state")
    async with running_hub(message_bus.address, state, f"--simulate={SCENARIO}") as hub:
        await connected(hub, "gopro-hero12", name="Nose")
        async with watching(hub) as shown:
            await shown.until("> ", "Connected")
            shown.terminal.type("r")
            await shown.until("> ", "Recording 0:0")
            await shown.until("is recording, after")
            await shown.until("> ", "Recording 0:02")  # the clock goes on without an event
            shown.terminal.type("S")
            await shown.until("1 of 1 cameras have stopped.")
            shown.terminal.type("q")
            await ended(shown, 0)


async def test_it_outlives_the_daemon(hub: Hub) -> None:
    await hub.until(await hub.create(1, name="Front"), "connected")
    async with watching(hub) as shown:
        await shown.until("> Front", "Connected")
        await hub.end()
        await shown.until("wifimgrd is not running")
        await shown.until("> Front", "Unknown, was connected")
        shown.terminal.type("d")
        await shown.until("(backend-unavailable)")
        await hub.start()
        await shown.until("> Front", "Connected")
        shown.terminal.type("q")
        await ended(shown, 0)


async def test_a_terminal_of_another_size(hub: Hub) -> None:
    await hub.until(await hub.create(1, name="Front"), "connected")
    async with watching(hub, columns=60, rows=10) as shown:
        await shown.until("> Front", "Connected")
        assert (await shown.until("q quit  c connect"))[9].startswith("q quit")
        shown.screen.resize(30, 100)
        termios.tcsetwinsize(shown.terminal.descriptor, (30, 100))
        shown.terminal.process.send_signal(signal.SIGWINCH)
        async with asyncio.timeout(PATIENCE_S):
            while not shown.lines[29].startswith("q quit"):
                await shown.terminal.more()
        await shown.until("> Front", "10.77.0.1")
        shown.terminal.type("q")
        await ended(shown, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_leaves_the_terminal_as_it_was(hub: Hub, number: signal.Signals) -> None:
    async with watching(hub) as shown:
        await shown.until("No cameras are registered.")
        assert not termios.tcgetattr(shown.terminal.descriptor)[3] & termios.ECHO
        shown.terminal.process.send_signal(number)
        await ended(shown, 128 + number)


@asynccontextmanager
async def watching_in_a_shell(hub: Hub) -> AsyncIterator[Watching]:
    """`watch` as a job of a shell, which shows a camera that is connected."""
    await hub.until(await hub.create(1, name="Front"), "connected")
    shell = ("--norc", "--noprofile", "--noediting", "-i")
    async with on_terminal(
        hub.address, *shell, program="/bin/bash", PS1="<prompt>", TERM="xterm"
    ) as terminal:
        shown = Watching(terminal, pyte.Screen(80, 24))
        await terminal.until("<prompt>")
        terminal.type(f"{PROGRAM} watch\n")
        await shown.until("> Front", "Connected")
        yield shown


async def test_a_stop_gives_the_terminal_back_and_takes_it_again(hub: Hub) -> None:
    async with watching_in_a_shell(hub) as shown:
        terminal = shown.terminal
        terminal.type("\x1a")
        await terminal.until("Stopped")
        assert "\x1b[?1049l" in terminal.seen
        assert termios.tcgetattr(terminal.descriptor)[3] & termios.ECHO
        await disconnect(hub.client, 1)
        shown.screen.reset()
        terminal.type("fg\n")
        await shown.until("> Front", "Off")
        assert not termios.tcgetattr(terminal.descriptor)[3] & termios.ECHO
        terminal.type("q")
        async with asyncio.timeout(PATIENCE_S):
            while terminal.seen.count("<prompt>") < 3:
                await terminal.more()
        terminal.type("exit $?\n")
        assert await terminal.end() == 0


async def test_a_stop_while_it_draws_is_not_lost(hub: Hub) -> None:
    async with watching_in_a_shell(hub) as shown:
        terminal = shown.terminal
        terminal.type("\x13")  # Ctrl-S: what is drawn now has to wait
        await disconnect(hub.client, 1)
        async with asyncio.timeout(PATIENCE_S):
            while (  # noqa: ASYNC110 - no event tells of it
                wait_channel(os.tcgetpgrp(terminal.descriptor)) not in WAITS_FOR_A_TERMINAL
            ):
                await asyncio.sleep(0.01)
        terminal.type("\x1a")
        await terminal.until("Stopped")


WAITS_FOR_A_TERMINAL = {"n_tty_write", "wait_woken"}  # by the kernel's version


def wait_channel(process: int) -> str:
    """Where in the kernel a process waits."""
    return Path(f"/proc/{process}/wchan").read_text()


BROKEN = """
import sys
from wifimgrd.cli import _watch
from wifimgrd.cli.__main__ import main
def broken(*_):
    raise RuntimeError("on purpose")
_watch.frame = broken
sys.exit(main(["watch"]))
"""


async def test_an_error_leaves_the_terminal_as_it_was(hub: Hub) -> None:
    async with on_terminal(hub.address, "-c", BROKEN, program=sys.executable) as terminal:
        assert await terminal.end() == 1
        await terminal.until_closed()
        after = terminal.seen[terminal.seen.rindex("\x1b[?1049l") :]
        said = re.sub("\x1b\\[[0-9;]*m", "", after)  # Python has colours for it from 3.13 on
        assert "RuntimeError: on purpose\r\n" in said  # the terminal's own translation is on again


@pytest.mark.parametrize(("term", "said"), [("dumb", "needs a terminal"), ("nonsense", "is not known here")])
async def test_a_terminal_that_cannot_show_it(hub: Hub, term: str, said: str) -> None:
    async with on_terminal(hub.address, "watch", TERM=term) as terminal:
        assert await terminal.end() == 2
        await terminal.until_closed()
        assert said in " ".join(terminal.seen.split())


async def test_without_a_terminal_it_names_monitor(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "watch")
    assert (ran.status, "wifimgrctl monitor prints events anywhere" in ran.err) == (2, True)
    assert (await wifimgrctl(hub.address, "watch", "--json")).status == 2
