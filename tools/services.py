"""The processes of `make run`: each is started, shown, watched and started again as systemd would."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

BIN: Final = Path(sys.executable).parent
_STOP_TIMEOUT_S: Final = 15.0
_RESTART_PAUSE_S: Final = 2.0
_ABORT_S: Final = 5.0
"""How long a process that hangs may take to say where, as in the units."""
_LATE_S: Final = 1.0
"""A time limit that ends so late shows that this process was stopped, and perhaps the service with it."""
_PULSE: Final = re.compile(rb"^(READY|WATCHDOG)=1$", re.MULTILINE)
_STARTED: Final = re.compile(rb"info: (?:started|listening)\b(?:.*\burl=(\S+))?")
"""In the log of each program once it serves; the shim says where."""
_PR_SET_PDEATHSIG: Final = 1
_libc: Final = ctypes.CDLL(None)


def die_with_parent() -> None:
    """In a child: end when the parent does."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Watchdog:
    """Hears the keep-alive notifications of one service, as systemd does: sd_notify(3)."""

    def __init__(self, address: Path, limit_s: float) -> None:
        self.limit_s = limit_s
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(address))
        self.environment = {
            "NOTIFY_SOCKET": str(address),
            "WATCHDOG_USEC": str(round(limit_s * 1e6)),
        }
        """What the service gets."""

    async def until_silent(self) -> None:
        """Return once a process that was started now has said that it works, and then nothing in time."""
        loop = asyncio.get_running_loop()
        self._has_arrived()  # of an earlier process
        due_s = None
        while True:
            try:
                async with asyncio.timeout_at(due_s):
                    while not _PULSE.search(await loop.sock_recv(self._socket, 4096)):
                        pass
            except TimeoutError:
                was_stopped = due_s is None or loop.time() > due_s + _LATE_S
                if not (self._has_arrived() or was_stopped):
                    return
            due_s = loop.time() + self.limit_s

    def _has_arrived(self) -> bool:
        """Whether a notification was waiting; all are read."""
        found = False
        with suppress(BlockingIOError):
            while True:
                found |= bool(_PULSE.search(self._socket.recv(4096)))
        return found


class Service:
    """A child process that is started again after a crash, as systemd would, but not after it ended well, or
    before it served: another start mends neither what it cannot read nor a module that is missing."""

    def __init__(
        self,
        name: str,
        *arguments: str,
        watchdog: Watchdog | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Once it serves for the first time; where, of one that listens."""
        self._command = [str(BIN / name), *arguments]
        self._watchdog = watchdog
        self._environment = {
            **os.environ,
            **environment,
            **({} if watchdog is None else watchdog.environment),
        }
        self._is_up = False
        self._process: Process | None = None

    async def run(self) -> None:
        """Start it, show its log, start it again when it crashed."""
        while True:
            self._is_up = False
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                env=self._environment,
                stdin=DEVNULL,
                stderr=PIPE,
                preexec_fn=die_with_parent,
                start_new_session=True,
            )
            guarding = asyncio.create_task(self._guard(self._process))
            try:
                await self._show(self._process)
                status = await self._process.wait()
            finally:
                guarding.cancel()
            print(f"{self.name} ended with status {status}", file=sys.stderr, flush=True)
            if status == 0 or not self._is_up:
                return
            await asyncio.sleep(_RESTART_PAUSE_S)

    async def _guard(self, process: Process) -> None:
        """End it where it hangs, as systemd would."""
        if self._watchdog is None:
            return
        await self._watchdog.until_silent()
        limit_s = self._watchdog.limit_s
        print(f"{self.name} hangs: no sign of life for {limit_s:g} s; ending it", file=sys.stderr, flush=True)
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGABRT)  # it says where
            process.send_signal(signal.SIGCONT)
            await asyncio.sleep(_ABORT_S)
            process.kill()

    async def _show(self, process: Process) -> None:
        if process.stderr is None:
            return
        own_name = f"{self.name}: "
        async for line in process.stderr:
            sys.stderr.write(own_name + line.decode(errors="replace").removeprefix(own_name))
            sys.stderr.flush()
            if not self._is_up and (found := _STARTED.search(line)):
                self._is_up = True
                where = (found[1] or b"").decode()
                if not self.started.done():
                    self.started.set_result(where)
                if where:
                    self._keep_port(where)

    def _keep_port(self, url: str) -> None:
        """After a crash it is to come back where it said that it is."""
        self._command = [
            url.split("/")[2] if before == "--listen" else word
            for before, word in zip(["", *self._command], self._command, strict=False)
        ]

    async def stop(self) -> None:
        """End it in order, and by force where it does not listen."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
