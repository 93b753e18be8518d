"""A real dbus-daemon of one's own, for tests."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self


@dataclass(slots=True)
class MessageBusDaemon:
    """A running dbus-daemon and where to reach it."""

    process: subprocess.Popen[str]
    address: str

    @classmethod
    def start(cls, configuration: Path | None = None) -> Self:
        """Start a daemon, as a session bus or by a file, and wait until it says where it listens."""
        kind = "--session" if configuration is None else f"--config-file={configuration}"
        process = subprocess.Popen(
            ["dbus-daemon", kind, "--nofork", "--nopidfile", "--print-address=1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "dbus-daemon did not start"
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
