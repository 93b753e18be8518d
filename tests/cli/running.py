"""wifimgrctl as a process, on a pipe or on a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import sys
import termios
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAM = str(Path(sys.executable).parent / "wifimgrctl")
PATIENCE_S = 20.0


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """Its stdout as JSON."""
        return json.loads(self.out)


def environment(bus: str, **more: str) -> dict[str, str]:
    """The environment of a command that finds its bus there."""
    return {**os.environ, "WIFIMGRD_BUS": bus, "PYTHONUTF8": "1", "TERM": "xterm", **more}


async def wifimgrctl(bus: str, *line: str, stdin: str = "", **more: str) -> Ran:
    """Run a command to its end, on pipes and without a controlling terminal."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *line,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment(bus, **more),
        start_new_session=True,
    )
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate(stdin.encode())
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


@asynccontextmanager
async def running(bus: str, *line: str) -> AsyncIterator[Process]:
    """A command on pipes, ended at the end."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM, *line, stdout=PIPE, stderr=PIPE, env=environment(bus), start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def line_with(process: Process, words: str) -> str:
    """The next line of stdout that has some words in it."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        while line := (await process.stdout.readline()).decode():
            if words in line:
                return line
    raise AssertionError(f"it ended without {words!r}")


@dataclass
class Terminal:
    """A command on a terminal of its own."""

    process: Process
    descriptor: int
    seen: str = ""
    is_closed: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def read(self) -> None:
        try:
            self.seen += os.read(self.descriptor, 65536).decode()
        except OSError:  # Linux says EIO once the other end is closed
            asyncio.get_running_loop().remove_reader(self.descriptor)
            self.is_closed = True
        self._news.set()

    async def until(self, words: str) -> None:
        """Wait until some words were shown."""
        async with asyncio.timeout(PATIENCE_S):
            while words not in self.seen:
                await self.more()

    async def more(self) -> None:
        """Wait until more was shown, or it was closed."""
        self._news.clear()
        await self._news.wait()

    async def until_closed(self) -> None:
        """Wait until all has been read that was shown."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.is_closed:
                await self.more()

    def type(self, keys: str) -> None:
        """Type on the keyboard."""
        os.write(self.descriptor, keys.encode())

    async def end(self) -> int:
        """Wait for the command's end; its exit status."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.process.wait()


_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes stdin the controlling terminal, so that Ctrl-C and a password prompt work, and goes on."""


@asynccontextmanager
async def on_terminal(
    bus: str, *line: str, columns: int = 80, rows: int = 24, program: str = PROGRAM, **more: str
) -> AsyncIterator[Terminal]:
    """A command whose stdin, stdout and stderr are a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (rows, columns))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _TAKE_TERMINAL,
        program,
        *line,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(bus, COLUMNS="", LINES="", **more),
        start_new_session=True,
    )
    os.close(theirs)
    terminal = Terminal(process, ours)
    loop = asyncio.get_running_loop()
    loop.add_reader(ours, terminal.read)
    try:
        yield terminal
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await process.wait()
        loop.remove_reader(ours)
        os.close(ours)
