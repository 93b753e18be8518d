"""Programs of the measurements that are controlled over pipes: a line each way, answers in JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

_LONGEST: Final = 64 * 1024 * 1024
_PATIENCE_S: Final = 180.0


@dataclass(frozen=True, slots=True)
class Program:
    """A running one."""

    process: Process

    def send(self, line: str) -> None:
        """Have something done that is not answered."""
        if self.process.stdin is None:
            raise RuntimeError("it is not controlled")
        self.process.stdin.write(f"{line}\n".encode())

    async def request(self, line: str) -> Any:
        """Have something done, and return the answer."""
        self.send(line)
        if self.process.stdout is None:
            raise RuntimeError("it is not read")
        return json.loads(await asyncio.wait_for(self.process.stdout.readline(), _PATIENCE_S))


@asynccontextmanager
async def program(module: str, *arguments: object) -> AsyncIterator[Program]:
    """A module of this package as a process, from start to end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"benchmarks.fleet.{module}", *map(str, arguments),
        stdin=PIPE, stdout=PIPE, limit=_LONGEST,
    )  # fmt: skip
    try:
        yield Program(process)
    finally:
        with suppress(ProcessLookupError):  # it has ended by itself
            process.kill()
        await process.wait()


async def lines_of_stdin() -> AsyncIterator[str]:
    """The lines of this process's stdin as they come."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode()


def reply(value: Any) -> None:
    """Answer a line of stdin."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
