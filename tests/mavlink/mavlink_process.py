"""`wifimgrd-mavlink` as a process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mavlink.station import Station
from tests.warm_start import WarmProcess, WarmProgram

PATIENCE_S = 30.0
_WARM = WarmProgram("wifimgrd.mavlink.__main__")


@dataclass(slots=True)
class MavlinkProcess:
    """The process, with its configuration."""

    folder: Path
    bus: str
    keys: str
    """Lines of the table `[mavlink]`."""
    process: Process | WarmProcess | None = None
    is_cold: bool = False
    """It is started as a user does; for tests of what it costs."""

    @property
    def log(self) -> Path:
        return self.folder / "mavlink.log"

    async def start(self) -> None:
        state = self.folder / "state"
        state.mkdir(parents=True, exist_ok=True)
        file = self.folder / "wifimgrd.toml"
        file.write_text(f"[mavlink]\n{self.keys}\n")
        line = ("wifimgrd-mavlink", "--bus", self.bus, "--config", str(file))
        environment = {**os.environ, "STATE_DIRECTORY": str(state)}
        with self.log.open("ab") as log:
            if not self.is_cold and _WARM.can_start(environment):
                self.process = await _WARM.start(*line, env=environment, stderr=log.fileno())
            else:
                self.process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "wifimgrd.mavlink", *line[1:]),
                    stdin=DEVNULL,
                    stderr=log,
                    env=environment,
                )

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(how)
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)


@dataclass
class Listener:
    """What a station has received, kept."""

    station: Station
    messages: list[Any] = field(default_factory=list)

    async def until(self, holds: Callable[[list[Any]], object], timeout_s: float = PATIENCE_S) -> list[Any]:
        """Wait until what has come since `forget` is so; returns it."""
        arrived = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self.station.socket, arrived.set)
        try:
            async with asyncio.timeout(timeout_s):
                while not holds(self.messages):
                    await arrived.wait()
                    arrived.clear()
                    self.messages += self.station.received()
        finally:
            loop.remove_reader(self.station.socket)
        return self.messages

    def forget(self) -> None:
        self.station.received()
        self.messages = []
