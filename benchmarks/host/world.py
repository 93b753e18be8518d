"""A simulated world of some size: message bus, daemon and shim, as real processes."""

from __future__ import annotations

import asyncio
import re
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks import interpreter
from benchmarks.accounting import Account
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, Variant
from wifimgrd.client.hub import HubClient
from wifimgrd.wire import names

DEVICES: Final = "/plugin-views/platform_plugin_device_manager/devices"
_START_S: Final = 30.0
_CREATE_AT_ONCE: Final = 16
_REST_S: Final = 0.005
_CONFIGURATION: Final = "[connect]\non_create = false\n"
_SCENARIO: Final = """\
adapter_count = {adapters}
[times]
join_s = 0.0
leave_s = 0.0
"""
_CAMERA: Final = """\
[[camera]]
ssid = "SIM-CAM-{number}"
password = "camera-pass-{number}"
signal_swing = {swing}
"""


@dataclass(slots=True)
class World:
    """A running world. Its cameras join and leave in no time: what is left is our own work."""

    address: str
    bus: BusConnection
    daemon: Account
    shim: Account
    url: str
    """Of the shim, without a slash at its end."""

    async def register(
        self, count: int, codenames: Sequence[str] = ("insta360-x3",), *, first: int = 1
    ) -> list[int]:
        """Register as many cameras, from the one of that number on, which take turns in these models, and
        return their ids."""
        gate = asyncio.Semaphore(_CREATE_AT_ONCE)

        async def one(number: int) -> int:
            properties = {
                "codename": Variant("s", codenames[(number - 1) % len(codenames)]),
                "connection_type": Variant("s", "wifi"),
                "ssid": Variant("s", f"SIM-CAM-{number}"),
                "password": Variant("s", f"camera-pass-{number}"),
            }
            async with gate:
                [path] = await self._call(names.ROOT_PATH, names.MANAGER, "CreateDevice", properties)
            return names.device_id_of(path) or 0

        return await asyncio.gather(*(one(number) for number in range(first, first + count)))

    async def connect(self, devices: Iterable[int]) -> None:
        """Connect devices at once, to the end of the attempts."""
        await asyncio.gather(*(self._device(device, "Connect", wait=True) for device in devices))

    async def disconnect(self, devices: Iterable[int]) -> None:
        """Disconnect devices at once."""
        await asyncio.gather(*(self._device(device, "Disconnect") for device in devices))

    async def quiet(self) -> None:
        """Return when daemon and shim have done what follows from what was asked, and have rested since."""
        await self.bus.call(names.BUS_NAME, names.ROOT_PATH, bus_names.PEER, "Ping")
        used_s = 0.0
        while (now_s := self.daemon.cpu_s() + self.shim.cpu_s()) > used_s:
            used_s = now_s
            await asyncio.sleep(_REST_S)

    async def _device(self, device: int, member: str, **options: bool) -> None:
        variants = {name: Variant("b", value) for name, value in options.items()}
        await self._call(names.device_path(device), names.DEVICE, member, variants)

    async def _call(self, path: str, face: str, member: str, options: dict[str, Any]) -> list[Any]:
        return await self.bus.call(names.BUS_NAME, path, face, member, "a{sv}", [options])


@asynccontextmanager
async def running_world(
    adapters: int,
    cameras: int,
    *,
    daemon: Sequence[str] = tuple(interpreter.command("wifimgrd")),
    signal_swing: int = 0,
) -> AsyncIterator[World]:
    """A world of that size from start to stop, with no device registered; `daemon` is the command of its
    daemon, `signal_swing` the percent by which the signal of each camera changes within an hour."""
    with (
        tempfile.TemporaryDirectory(prefix="wifimgrd-bench-") as folder,
        MessageBusDaemon.start() as bus_daemon,
    ):
        scratch, address = Path(folder), bus_daemon.address
        scenario, configuration = scratch / "scenario.toml", scratch / "wifimgrd.toml"
        networks = [_CAMERA.format(number=number, swing=signal_swing) for number in range(1, cameras + 1)]
        scenario.write_text(_SCENARIO.format(adapters=adapters) + "".join(networks))
        configuration.write_text(_CONFIGURATION)
        common = ("--bus", address, "--config", str(configuration))
        with (scratch / "log").open("wb") as log:
            process = await _started(*daemon, *common, "--simulate", str(scenario), stderr=log, state=scratch)
            shim: Process | None = None
            try:
                await _serves(address)
                shim = await _started(
                    *interpreter.command("wifimgrd-http"), *common, "--listen", "127.0.0.1:0", stderr=PIPE
                )
                url = await _listening(shim)
                connection = await BusConnection.open(address)
                try:
                    yield World(address, connection, Account(process.pid), Account(shim.pid), url)
                finally:
                    await connection.close()
            finally:
                for one in (shim, process):
                    if one is not None and one.returncode is None:
                        one.terminate()
                        await one.wait()


async def _started(*command: str, stderr: Any, state: Path | None = None) -> Process:
    environment = interpreter.environment()
    if state is not None:
        environment["STATE_DIRECTORY"] = str(state / "state")
    return await asyncio.create_subprocess_exec(*command, env=environment, stdin=DEVNULL, stderr=stderr)


async def _serves(address: str) -> None:
    client = HubClient(address)
    await client.start()
    try:
        await client.wait_until(lambda hub: hub.available, _START_S)
    finally:
        await client.stop()


async def _listening(shim: Process) -> str:
    if shim.stderr is None:
        raise RuntimeError("the shim's log is not read")
    async with asyncio.timeout(_START_S):
        async for line in shim.stderr:
            if found := re.search(rb"\blistening\b.*\burl=(\S+)", line):
                return found[1].decode().rstrip("/")
    raise RuntimeError("the shim ended before it served")
