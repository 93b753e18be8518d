"""Our programs as processes that start fast: `tests/warm_server.py` has imported their modules already.

What a program does, its signals, streams and exit status are a process's own. Not its own are the import, the
interpreter's options and the name in `ps`: tests of those start it the usual way.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_AT_IMPORT: Final = ("PYTHON", "LD_", "LC_", "LANG", "WIFIMGRD_DBUS_LIBRARY")
"""What these variables say is read at the interpreter's start, or when modules are imported."""
_OF_TESTS: Final = dict(os.environ)
"""Before a test changes it."""
_CHECKOUT: Final = Path(__file__).parents[1]


@dataclass(slots=True)
class WarmProcess:
    """As asyncio's, but for the streams."""

    pid: int
    _answers: socket.socket
    _status: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def __post_init__(self) -> None:
        self._status.get_loop().add_reader(self._answers, self._read)

    @property
    def returncode(self) -> int | None:
        return self._status.result() if self._status.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._status)

    def send_signal(self, number: int) -> None:
        if self._status.done():
            raise ProcessLookupError
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read(self) -> None:
        self._status.get_loop().remove_reader(self._answers)
        with self._answers:
            said = self._answers.recv(100)
        if said:
            self._status.set_result(int(said))
        else:
            self._status.set_exception(ChildProcessError("who waited for it was killed"))


class WarmProgram:
    """One of our programs: the module with its `main`, modules that it imports late, and what its environment
    has beside that of the tests."""

    def __init__(self, *modules: str, **environment: str) -> None:
        self._modules = modules
        self._environment = _OF_TESTS | environment
        self._requests: socket.socket | None = None

    def can_start(self, environment: Mapping[str, str]) -> bool:
        """Whether the environment leaves the imports as they are."""
        return _at_import(environment) == _at_import(self._environment)

    async def start(
        self,
        *words: str,
        env: Mapping[str, str],
        stdin: int | None = None,
        stdout: int = 1,
        stderr: int = 2,
        session: bool = False,
        terminal: bool = False,
        namespace: str = "",
    ) -> WarmProcess:
        """Start it with a command line and descriptors; as the leader of a session, with stdin as its
        terminal, in a network namespace. Without a stdin there is nothing to read."""
        assert self.can_start(env)
        if self._requests is None:
            self._requests = self._serve()
        request = {
            "words": words,
            "environment": dict(env),
            "folder": str(Path.cwd()),
            "session": session,
            "terminal": terminal,
            "namespace": namespace,
        }
        nothing = os.open(os.devnull, os.O_RDONLY)
        answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            descriptors = [nothing if stdin is None else stdin, stdout, stderr, theirs.fileno()]
            socket.send_fds(self._requests, [json.dumps(request).encode()], descriptors)
        os.close(nothing)
        answers.setblocking(False)
        pid = await asyncio.get_running_loop().sock_recv(answers, 100)
        return WarmProcess(int(pid), answers)

    def _serve(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            server = subprocess.Popen(
                [sys.executable, "-m", "tests.warm_server", *self._modules],
                stdin=theirs.fileno(),
                cwd=_CHECKOUT,
                env=self._environment,
            )

        def end() -> None:
            ours.close()  # which it takes for the end
            server.wait()

        atexit.register(end)
        return ours


def _at_import(environment: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_AT_IMPORT)}
