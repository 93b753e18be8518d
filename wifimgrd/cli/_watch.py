"""`wifimgrctl watch`: all cameras on one screen, with keys that command them."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final

from wifimgrd.cli._arguments import WAIT_S
from wifimgrd.cli._event_text import EventText, Sentence
from wifimgrd.cli._monitor import snapshot
from wifimgrd.cli._outcome import outcome_text, timeout_s, title
from wifimgrd.cli._password import UsageError
from wifimgrd.cli._recording import result_line, summary_of, with_names
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import Style
from wifimgrd.cli._watch_view import Watched, frame
from wifimgrd.client.changes import Change, DaemonAppeared, DaemonVanished
from wifimgrd.client.channel_messages import ChannelMessages
from wifimgrd.client.commands import carry_out
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera_state import is_recording
from wifimgrd.domain.commands import CONNECT, DISCONNECT, WAKE, WHEN_FREE, DeviceCommand
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.domain.rig import Everyone

try:
    import curses
except ImportError:  # a Python that was built without it
    curses = None  # type: ignore[assignment]

_FRAME_S: Final = 0.05
"""The least time between two frames, for slow links: an event is shown within it."""
_MOST_EVENTS: Final = 200
_ESCAPE_MS: Final = 25
"""How long after Escape the rest of a key's sequence may arrive."""
_HANG_UP: Final = 10
"""So often without a key in a row stdin says that there is one only once it has ended."""
_PIECE: Final = re.compile(r"\x1b\[([0-9;]*)m|([^\x1b]+)")
_IN_SUMMARY: Final = (ErrorCode.NOT_CONNECTED, ErrorCode.UNCONFIRMED)
"""The codes of the cameras that a summary names."""
_NO_TERMINAL: Final = "needs a terminal; wifimgrctl monitor prints events anywhere"


async def watch(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Show the cameras until `q` or Ctrl-C. Raises UsageError without a terminal that can show them."""
    del arguments
    if screen.json or screen.columns is None or not sys.stdin.isatty():
        raise UsageError(_NO_TERMINAL)
    if curses is None:
        raise UsageError("needs Python's module curses, which this Python does not have")
    watching = _Watching(hub, replace(screen, colour=False))
    end = hub.subscribe(watching.take)
    try:
        watching.take(DaemonAppeared() if hub.available else DaemonVanished(hub.reason))
        with _full_screen(colour=screen.colour) as (window, attributes):
            await _Keyboard(window, attributes, watching).run()
    finally:
        end()
        await watching.stop()
    return True


class _Watching:
    """The contents of the screen, and the commands that keys have begun."""

    def __init__(self, hub: HubClient, plain: Screen) -> None:
        """`plain` is a screen without colour."""
        self._hub, self._plain = hub, plain
        self._devices: Mapping[int, DeviceRecord] = {}
        self._away = ""
        self._translator, self._event_text = ChannelMessages(), EventText()
        self._events: deque[tuple[int, Sentence]] = deque(maxlen=_MOST_EVENTS)
        self._selected: int | None = None
        self._said, self._style = "", Style.PLAIN
        self._running: set[asyncio.Task[None]] = set()
        self.news = asyncio.Event()
        self.is_over = False

    async def stop(self) -> None:
        """End what keys have begun; the hub goes on with it."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def take(self, change: Change) -> None:
        """Something has changed."""
        messages = []
        if isinstance(change, DaemonAppeared):
            messages.append(snapshot(self._hub))
            messages += self._translator.resynchronise(self._hub.service, self._hub.devices.values())
        messages += self._translator.messages(change)
        now_us = _now_us()
        for message in messages:
            self._events.extend((now_us, sentence) for sentence in self._event_text.text(message))
        if isinstance(change, DaemonVanished):
            self._away = change.reason or "wifimgrd is away"
        else:
            self._away, self._devices = "", dict(self._hub.devices)
            if self._selected not in self._devices:
                self._selected = min(self._devices, default=None)
        self.news.set()

    @property
    def watched(self) -> Watched:
        """The current contents of the screen."""
        devices = [self._devices[one] for one in sorted(self._devices)]
        return Watched(
            devices,
            self._hub.service,
            self._away,
            tuple(self._events),
            self._selected,
            self._said,
            self._style,
        )

    @property
    def ticks(self) -> bool:
        """Whether what is shown changes every second by itself."""
        return any(map(is_recording, self._devices.values()))

    def select(self, step: int) -> None:
        """Go to another device, by so many."""
        ids = sorted(self._devices)
        if self._selected in ids:
            self._selected = ids[max(0, min(len(ids) - 1, ids.index(self._selected) + step))]

    def command(self, command: DeviceCommand, switches: Mapping[str, bool | str] | None = None) -> None:
        """Command the selected device."""
        device = self._devices.get(self._selected or 0)
        if device is None:
            return
        self._say(f"{title(device)}: {command.name} ...")

        async def carried_out() -> None:
            wait_s = WAIT_S.get(command.name) or timeout_s(device, argparse.Namespace(timeout=None))
            outcome = await carry_out(
                self._hub, command, device.id, switches or {}, wait_s=wait_s, until_waiting=True
            )
            now = outcome.device or device
            self._say(outcome_text(command, now, is_done=outcome.is_done), Style.GOOD)

        self._start(device, carried_out)

    def record(self) -> None:
        """Start or stop recording on the selected device."""
        device = self._devices.get(self._selected or 0)
        if device is not None:
            self._record([device.id], on=not is_recording(device))

    def record_all(self, *, on: bool) -> None:
        """Start or stop recording on all cameras of the rig."""
        self._record([], on=on, everyone=Everyone.RIG)

    def _record(self, device_ids: list[int], *, on: bool, everyone: Everyone = Everyone.NOBODY) -> None:
        self._say("Waiting for the cameras ...")

        async def recorded() -> None:
            devices = self._hub.devices
            results = await self._hub.record(device_ids, on=on, everyone=everyone)
            failed = [one for one in results if not one.done]
            if everyone is Everyone.NOBODY:
                said = "; ".join(result_line(one, devices, self._plain, on=on) for one in results)
            else:
                refused = [one for one in failed if one.code not in _IN_SUMMARY]
                whose = [result_line(one, devices, self._plain, on=on) for one in refused]
                said = " ".join([*summary_of(with_names(results, devices), on=on), "; ".join(whose)])
            self._say(said.rstrip(), Style.BAD if failed or not results else Style.GOOD)

        self._start(None, recorded)

    def _start(self, device: DeviceRecord | None, command: Callable[[], Awaitable[None]]) -> None:
        async def told() -> None:
            where = "" if device is None else f"{title(device)}: "
            try:
                await command()
            except WifimgrdError as error:
                self._say(f"{where}{error.message} ({error.code})", Style.BAD)

        task = asyncio.get_running_loop().create_task(told())
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _say(self, text: str, style: Style = Style.PLAIN) -> None:
        self._said, self._style = text, style
        self.news.set()


class _Keyboard:
    """The window, and the keys and signals of its terminal."""

    def __init__(self, window: curses.window, attributes: Mapping[str, int], watching: _Watching) -> None:
        """`attributes` show the styles, by their parameters of SGR."""
        self._window, self._attributes, self._watching = window, attributes, watching
        self._is_resized = False
        self._ended_by: signal.Signals | None = None
        self._keys: deque[int] = deque()
        self._empty = 0
        commands: Mapping[str, Callable[[], None]] = {
            "q": self._quit,
            "c": lambda: watching.command(CONNECT),
            "f": lambda: watching.command(CONNECT, {WHEN_FREE: True}),
            "d": lambda: watching.command(DISCONNECT),
            "w": lambda: watching.command(WAKE),
            "r": watching.record,
            "R": lambda: watching.record_all(on=True),
            "S": lambda: watching.record_all(on=False),
            "j": lambda: watching.select(1),
            "k": lambda: watching.select(-1),
        }
        self._commands: Mapping[int, Callable[[], None]] = {
            **{ord(key): command for key, command in commands.items()},
            curses.KEY_DOWN: commands["j"],
            curses.KEY_UP: commands["k"],
            curses.KEY_NPAGE: lambda: watching.select(10),
            curses.KEY_PPAGE: lambda: watching.select(-10),
        }

    async def run(self) -> None:
        """Draw until the end; raises SystemExit if a signal has asked for that."""
        loop = asyncio.get_running_loop()
        signals = {
            signal.SIGWINCH: self._resize,
            signal.SIGTSTP: self._suspend,
            signal.SIGCONT: self._resize,
            signal.SIGTERM: lambda: self._end_by(signal.SIGTERM),
            signal.SIGHUP: lambda: self._end_by(signal.SIGHUP),
        }
        for number, handler in signals.items():
            loop.add_signal_handler(number, handler)
        loop.add_reader(sys.stdin.fileno(), self._read)
        try:
            while not self._watching.is_over:
                self._draw()
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.0 if self._watching.ticks else None):
                        await self._watching.news.wait()
                await asyncio.sleep(_FRAME_S)
                self._watching.news.clear()
                while self._keys:
                    self._commands.get(self._keys.popleft(), lambda: None)()
        finally:
            loop.remove_reader(sys.stdin.fileno())
            for number in signals:
                loop.remove_signal_handler(number)
        if self._ended_by is not None:
            raise SystemExit(128 + self._ended_by)

    def _read(self) -> None:
        """Take the keys; what they do happens in `run`, so that an error there ends it."""
        count = len(self._keys)
        while (key := self._window.getch()) != -1:
            self._keys.append(key)
        self._empty = self._empty + 1 if len(self._keys) == count else 0
        if self._empty >= _HANG_UP:
            self._end_by(signal.SIGHUP)
        self._watching.news.set()

    def _quit(self) -> None:
        self._watching.is_over = True
        self._watching.news.set()

    def _end_by(self, number: signal.Signals) -> None:
        self._ended_by = number
        self._quit()

    def _resize(self) -> None:
        self._is_resized = True
        self._watching.news.set()

    def _suspend(self) -> None:
        """Give the terminal back, stop as any program does, and take it again after that."""
        curses.endwin()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, self._suspend)
        self._resize()

    def _draw(self) -> None:
        if self._is_resized:
            self._is_resized = False
            size = os.get_terminal_size(sys.stdout.fileno())
            curses.resizeterm(max(1, size.lines), max(1, size.columns))
            self._window.clear()
        rows, columns = self._window.getmaxyx()
        shown = frame(self._watching.watched, rows, columns, _now_us())
        self._window.erase()
        for row, line in enumerate(shown.lines):
            self._draw_line(row, line, curses.A_REVERSE if row == shown.selected else curses.A_NORMAL)
        self._window.refresh()

    def _draw_line(self, row: int, line: str, base: int) -> None:
        attributes = base
        self._window.move(row, 0)
        for style, text in _PIECE.findall(line):
            if text:
                with suppress(curses.error):  # what does not fit, in a terminal of no size
                    self._window.addstr(text, attributes)
            else:
                attributes = base | self._attributes.get(style, 0)


@contextmanager
def _full_screen(*, colour: bool) -> Iterator[tuple[curses.window, Mapping[str, int]]]:
    """The terminal as curses has it, and what shows each style; at the end it is as before.

    Raises UsageError if the terminal has no cursor that can be moved.
    """
    try:
        curses.setupterm()
    except curses.error:
        raise UsageError(
            f"the terminal {os.environ.get('TERM', '')!r} is not known here; {_NO_TERMINAL}"
        ) from None
    if not curses.tigetstr("cup"):
        raise UsageError(_NO_TERMINAL)
    # ncurses ignores SIGTSTP while it draws, so that a Ctrl-Z is lost; it keeps off if it finds it set.
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    window = curses.initscr()
    try:
        curses.noecho()
        curses.cbreak()
        curses.set_escdelay(_ESCAPE_MS)
        window.keypad(True)
        window.nodelay(True)
        with suppress(curses.error):
            curses.curs_set(0)
        attributes = {Style.STRONG.value: curses.A_BOLD, Style.FAINT.value: curses.A_DIM}
        if colour:
            curses.start_color()
        if colour and curses.has_colors():
            curses.use_default_colors()
            colours = {
                Style.BAD: curses.COLOR_RED,
                Style.GOOD: curses.COLOR_GREEN,
                Style.BUSY: curses.COLOR_YELLOW,
            }
            for number, (style, foreground) in enumerate(colours.items(), 1):
                curses.init_pair(number, foreground, -1)
                attributes[style.value] = curses.color_pair(number)
        yield window, attributes
    finally:
        with suppress(curses.error):  # the terminal is gone
            curses.endwin()


def _now_us() -> int:
    return time.time_ns() // 1000
