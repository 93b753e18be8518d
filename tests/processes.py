"""Our own programs as real processes, for tests: the daemon on a private bus."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.programs import program
from tests.warm_start import WarmProcess, WarmProgram
from wifimgrd import simulator as simulated
from wifimgrd.client.hub import HubClient

DAEMON = (program("wifimgrd"),)
COLD_DAEMON = (sys.executable, "-m", "wifimgrd.daemon")
"""For tests of what a process of its own kind takes: its memory, its files."""
_WARM_DAEMON = WarmProgram("wifimgrd.daemon.__main__", "wifimgrd.simulator", "wifimgrd.camera.sessions")
START_TIMEOUT_S = 20.0


@dataclass(slots=True)
class Hub:
    """The daemon with the simulated backend, and a client of it."""

    address: str
    state: Path
    arguments: tuple[str, ...] = ("--simulate",)
    program: tuple[str, ...] = DAEMON
    process: Process | WarmProcess | None = None
    client: HubClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = HubClient(self.address)

    @property
    def log(self) -> Path:
        """What the daemon said on stderr, of all its lives."""
        return self.state.parent / "daemon.log"

    async def start(self) -> None:
        """Start the daemon and wait until it serves."""
        line = (*self.program, "--bus", self.address, *self.arguments)
        environment = {**os.environ, "STATE_DIRECTORY": str(self.state)}
        with self.log.open("ab") as log:
            if self.program == DAEMON and _WARM_DAEMON.can_start(environment):
                self.process = await _WARM_DAEMON.start(*line, env=environment, stderr=log.fileno())
            else:
                self.process = await asyncio.create_subprocess_exec(
                    *line, env=environment, stdin=DEVNULL, stderr=log
                )
        serving = asyncio.create_task(
            self.client.wait_until(lambda client: client.available, START_TIMEOUT_S)
        )
        ended = asyncio.create_task(self.process.wait())
        await asyncio.wait((serving, ended), return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not serving.done():
            serving.cancel()
            pytest.fail(f"the daemon has ended at its start:\n{self.log.read_text()}")
        await serving

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the daemon and wait until its name is gone from the bus; return its status."""
        assert self.process is not None
        self.process.send_signal(how)
        status = await self.process.wait()
        await self.client.wait_until(lambda client: not client.available, START_TIMEOUT_S)
        return status

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the daemon where it is, and let it go on after that."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    async def create(self, number: int, **fields: object) -> int:
        """Register the simulated camera of that number."""
        return await self.client.create_device({**camera(number), **fields})

    async def until(self, device: int, state: str, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until a device is in a state."""
        await self.client.wait_until(
            lambda client: device in client.devices and client.devices[device].state == state, timeout_s
        )


def camera(number: int) -> Mapping[str, object]:
    """The properties that register a camera of the default scenario."""
    return {
        "codename": "insta360-x3",
        "connection_type": "wifi",
        "ssid": f"SIM-CAM-{number}",
        "password": f"camera-pass-{number}",
    }


def quick_bluetooth(folder: Path) -> str:
    """The option for the default scenario, in which a search and a wake take a tenth of their time."""
    world = (Path(simulated.__file__).parent / "default.toml").read_text()
    quick = world.replace("[times]\n", "[times]\nsearch_s = 0.05\nwake_s = 0.1\nabsent_s = 0.2\n", 1)
    assert quick != world
    (folder / "world.toml").write_text(quick)
    return f"--simulate={folder / 'world.toml'}"


def has_no_traceback(log: Path) -> None:
    """A process that has ended logged no bug."""
    said = log.read_text(errors="replace")
    assert "Traceback" not in said, said


@asynccontextmanager
async def running_hub(
    address: str, state: Path, *arguments: str, program: tuple[str, ...] = DAEMON
) -> AsyncIterator[Hub]:
    """The daemon from start to stop; its log must hold no traceback."""
    hub = Hub(address, state, arguments or ("--simulate",), program)
    await hub.client.start()
    try:
        await hub.start()
        yield hub
    finally:
        if hub.process is not None and hub.process.returncode is None:
            hub.process.terminate()
            await hub.process.wait()
        await hub.client.stop()
    has_no_traceback(hub.log)
