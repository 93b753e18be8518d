"""The HTTP shim as a process of its own."""

from __future__ import annotations

import asyncio
import re
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.processes import has_no_traceback
from tests.programs import program

START_TIMEOUT_S = 20.0
_FILES_AS_SYSTEMD_ALLOWS = 1024
"""The soft limit of a service; the hard one is far above."""


@dataclass(frozen=True, slots=True)
class Shim:
    """A running shim."""

    url: str
    pid: int

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.url.rpartition("/")[2].partition(":")
        return host, int(port)


def _as_a_service() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES_AS_SYSTEMD_ALLOWS, hard))


def _read(log: Path) -> str:
    return log.read_text()


@asynccontextmanager
async def running_shim(bus: str, log: Path, *arguments: str) -> AsyncIterator[Shim]:
    """The shim from start to stop; its log must hold no traceback."""
    with log.open("ab") as said:
        process = await asyncio.create_subprocess_exec(
            program("wifimgrd-http"), "--bus", bus, "--listen", "127.0.0.1:0", *arguments,
            stdin=asyncio.subprocess.DEVNULL, stderr=said, preexec_fn=_as_a_service,
        )  # fmt: skip
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while not (found := re.search(r"\blistening\b.*\burl=(\S+)/", _read(log))):
                assert process.returncode is None, _read(log)
                await asyncio.sleep(0.05)  # it writes to a file, which notifies nobody
        yield Shim(found[1], process.pid)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
    has_no_traceback(log)
