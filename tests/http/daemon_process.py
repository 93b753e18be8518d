"""The real daemon with its simulated world, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self


@dataclass(slots=True)
class DaemonProcess:
    """`wifimgrd --simulate` on a message bus; it can be stopped, killed and started again."""

    bus: str
    state: Path
    scenario: Path | None = None
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; clients see when it is there."""
        arguments = ["--simulate", str(self.scenario)] if self.scenario else ["--simulate"]
        self.state.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "wifimgrd", "--bus", self.bus, *arguments],
            env={**os.environ, "STATE_DIRECTORY": str(self.state)},
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        """End it at once, as in a crash."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
