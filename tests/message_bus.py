"""A real message bus of one's own, for tests: dbus-daemon, or WIFIMGRD_MESSAGE_BUS=dbus-broker."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_DBUS_DAEMON: Final = "dbus-daemon"
_MESSAGE_BUS: Final = os.environ.get("WIFIMGRD_MESSAGE_BUS", _DBUS_DAEMON)


@dataclass(slots=True)
class MessageBusDaemon:
    """A running message bus and where to reach it."""

    process: subprocess.Popen[str]
    address: str

    @classmethod
    def start(cls, configuration: Path | None = None) -> Self:
        """Start a daemon, as a session bus or by a file, and wait until it says where it listens."""
        process = subprocess.Popen(
            _command(configuration),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, f"{_MESSAGE_BUS} did not start"
        return cls(process, address)

    def kill(self) -> None:
        """End it at once, as in a crash."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()


def _command(configuration: Path | None) -> list[str]:
    if _MESSAGE_BUS == _DBUS_DAEMON:
        kind = "--session" if configuration is None else f"--config-file={configuration}"
        return ["dbus-daemon", kind, "--nofork", "--nopidfile", "--print-address=1"]
    assert _MESSAGE_BUS == "dbus-broker", _MESSAGE_BUS
    given = [] if configuration is None else [str(configuration)]
    return ["unshare", "--mount", sys.executable, "-m", "tests.dbus_broker", *given]
