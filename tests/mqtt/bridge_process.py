"""`wifimgrd-mqtt` as a process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accounting import Account
from tests.mqtt.logs import lines_with
from tests.mqtt.private_host import PrivateHost, inside
from tests.warm_start import WarmProcess, WarmProgram

PATIENCE_S = 30.0
_WARM = WarmProgram("wifimgrd.mqtt.__main__", "wifimgrd.mqtt._bridge")


@dataclass(slots=True)
class BridgeProcess:
    """The bridge, with its configuration."""

    folder: Path
    bus: str
    keys: str
    """Lines of the table `[mqtt]`."""
    host: PrivateHost | None = None
    """Where it runs; None = this host."""
    process: Process | WarmProcess | None = None
    is_cold: bool = False
    """It is started as a user does; for tests and measurements of what it costs."""

    @property
    def log(self) -> Path:
        return self.folder / "bridge.log"

    async def start(self, **environment: str) -> None:
        self.folder.mkdir(exist_ok=True)
        file = self.folder / "wifimgrd.toml"
        file.write_text(f"[mqtt]\n{self.keys}\n")
        line = ("wifimgrd-mqtt", "--bus", self.bus, "--config", str(file))
        own = os.environ | environment
        with self.log.open("ab") as log:
            if self.host is None and not self.is_cold and _WARM.can_start(own):
                self.process = await _WARM.start(*line, env=own, stderr=log.fileno())
            else:
                self.process = await asyncio.create_subprocess_exec(
                    *inside(self.host), sys.executable, "-m", "wifimgrd.mqtt", *line[1:],
                    stdin=DEVNULL, stderr=log, env=own,
                )  # fmt: skip

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(how)
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)

    async def until_logged(self, text: str, timeout_s: float = PATIENCE_S) -> str:
        """Wait until a line of the log contains a text; returns that line."""
        return (await lines_with(self.log, text, timeout_s))[0]

    @property
    def rss_mb(self) -> float:
        assert isinstance(self.process, Process), "a fork has memory of its parent's"
        return Account(self.process.pid).memory().rss_mb
