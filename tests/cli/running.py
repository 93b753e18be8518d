"""wifimgrctl as a process, on a pipe or on a terminal; one that has imported its modules already."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import sys
import termios
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.programs import program
from tests.warm_start import WarmProcess, WarmProgram

PROGRAM = program("wifimgrctl")
PATIENCE_S = 60.0
_WARM = WarmProgram(
    "wifimgrd.cli.__main__",
    *("wifimgrd.cli._watch", "wifimgrd.cli._import", "wifimgrd.cli._models"),
    PYTHONUTF8="1",
)


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
    own = environment(bus, **more)
    if _WARM.can_start(own):
        return await _run_warm(line, stdin, own)
    process = await asyncio.create_subprocess_exec(
        PROGRAM, *line, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=own, start_new_session=True
    )
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate(stdin.encode())
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


async def _run_warm(line: Sequence[str], stdin: str, own: Mapping[str, str]) -> Ran:
    (read_in, write_in), (read_out, write_out), (read_err, write_err) = (os.pipe() for _ in range(3))
    process = await _WARM.start(
        PROGRAM, *line, stdin=read_in, stdout=write_out, stderr=write_err, env=own, session=True
    )
    for theirs in (read_in, write_out, write_err):
        os.close(theirs)
    try:
        async with asyncio.timeout(PATIENCE_S):
            _, out, err = await asyncio.gather(
                asyncio.to_thread(_write, write_in, stdin),
                asyncio.to_thread(_read, read_out),
                asyncio.to_thread(_read, read_err),
            )
            return Ran(await process.wait(), out, err)
    finally:
        with suppress(ProcessLookupError):
            process.kill()  # which ends what still reads


def _write(pipe: int, text: str) -> None:
    with suppress(BrokenPipeError), os.fdopen(pipe, "wb") as file:
        file.write(text.encode())


def _read(pipe: int) -> str:
    with os.fdopen(pipe, "rb") as file:
        return file.read().decode()


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

    process: Process | WarmProcess
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

    async def interrupt(self) -> int:
        """Press Ctrl-C, and again where that has come just before a read began, which it does not end then;
        the exit status."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                self.type("\x03")
                with suppress(TimeoutError):
                    return await asyncio.wait_for(self.process.wait(), PATIENCE_S / 4)

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
    own = environment(bus, COLUMNS="", LINES="", **more)
    process: Process | WarmProcess
    if program == PROGRAM and _WARM.can_start(own):
        process = await _WARM.start(
            *(program, *line),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=own,
            session=True,
            terminal=True,
        )
    else:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _TAKE_TERMINAL, program, *line),
            stdin=theirs, stdout=theirs, stderr=theirs, env=own, start_new_session=True,
        )  # fmt: skip
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
