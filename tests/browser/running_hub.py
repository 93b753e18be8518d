"""`make run` as a process: the whole hub with its simulated world, as a newcomer starts it."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.commands import connect, disconnect
from tests.processes import has_no_traceback
from tests.test_make_run import NOT_BELOW_MAKE
from wifimgrd.bus.connection import BusConnection, Variant
from wifimgrd.bus.values import typed
from wifimgrd.client.hub import HubClient

START_S = 60.0
STOP_S = 20.0
SIGNATURES = {bool: "b", int: "u", float: "d", str: "s"}
ADAPTERS = ("wlan0", "wlan1", "wlan2")
NO_DEVICE = 1_000_000
"""From here on no id is one of a camera: those of the session's hub go on from test to test."""
SLEEPING = (b"GP25140001", b"X4 SIM360.OSC", b"THETAYR12345678.OSC")


@dataclass(frozen=True, slots=True)
class RunningHub:
    """Where it is, and a client of its daemon."""

    url: str
    bus: str
    client: HubClient

    async def create(self, number: int, name: str | None = None, password: str | None = None) -> int:
        """Register a simulated camera."""
        wanted = {
            "codename": "insta360-x3",
            "connection_type": "wifi",
            "ssid": f"SIM-CAM-{number}",
            "password": password or f"camera-pass-{number}",
        }
        return await self.client.create_device(wanted | ({} if name is None else {"name": name}))

    async def connected(self, number: int, name: str | None = None) -> int:
        """Register a simulated camera and wait until it is connected."""
        device = await self.create(number, name)
        await self.until(device, "connected")
        return device

    async def until(self, device: int, state: str) -> None:
        """Wait until a device is in a state."""
        try:
            await self.client.wait_until(
                lambda hub: device in hub.devices and hub.devices[device].state == state, START_S
            )
        except TimeoutError:
            known = self.client.devices.get(device)
            raise AssertionError(f"{state} is not reached: {self.client.available}, {known}") from None

    async def power(self, number: int, *, on: bool) -> None:
        """Switch a simulated camera on, or off in good order."""
        ssid = f"SIM-CAM-{number}".encode()
        if on:
            await self.client.simulate("PowerOnCamera", "ay", ssid)
        else:
            await self.client.simulate("PowerOffCamera", "ayb", ssid, True)

    async def add_camera(self, ssid: bytes, password: str, **options: Any) -> None:
        """Put another camera in range."""
        await self.client.simulate("AddCamera", "aysa{sv}", ssid, password, options)

    async def set_fault(self, kind: str, **options: Any) -> None:
        """Make something go wrong."""
        await self.client.simulate(
            "SetFault",
            "sa{sv}",
            kind,
            {name: Variant(SIGNATURES[type(value)], value) for name, value in options.items()},
        )

    async def silence(self, device: int) -> None:
        """Have a connected camera answer nothing any more; an answer is believed for ten seconds, and so the
        link is made anew, which is probed at once."""
        await self.set_fault("silent")
        await disconnect(self.client, device)
        await connect(self.client, device, wait=True)

    async def reset(self) -> None:
        """Forget every device, and bring the world back to what the default scenario says."""
        for device in list(self.client.devices):
            await self.client.remove_device(device)
        for name in ADAPTERS:
            if name in self.client.interfaces:
                await self.set_fault("rfkill", interface=name, off=True)
            else:
                await self.client.simulate("PlugAdapter", "s", name)
        for fault in ("slow-join", "silent", "bluetooth-off", "bond-lost", "out-of-range"):
            await self.set_fault(fault, off=True)
        for number in range(1, 5):
            await self.power(number, on=True)
        for ssid in SLEEPING:
            await self.client.simulate("SleepCamera", "ay", ssid)

    async def daemon(self) -> int:
        """The process id of the daemon."""
        connection = await BusConnection.open(self.bus)
        try:
            reply = await connection.call_bus("GetConnectionUnixProcessID", "s", ["org.wifimgrd1"])
        finally:
            await connection.close()
        return typed(int, reply[0])

    @asynccontextmanager
    async def without_daemon(self) -> AsyncIterator[None]:
        """End the daemon as a crash does; it is started again after that."""
        await self._on_disk()
        pid = await self.daemon()
        starter = _parent_of(pid)
        os.kill(starter, signal.SIGSTOP)
        try:
            os.kill(pid, signal.SIGKILL)
            await self.client.wait_until(lambda hub: not hub.available, START_S)
            yield
        finally:
            os.kill(starter, signal.SIGCONT)

    async def _on_disk(self) -> None:
        """Wait until all that the hub knows is on disk: after many writes the next ones come apart, and a
        crash loses what is not written. A change by a client is answered with all before it."""
        for device in list(self.client.devices.values())[:1]:
            for priority in (device.priority + 1, device.priority):
                await self.client.update_device(device.id, {"priority": priority})

    @asynccontextmanager
    async def frozen_daemon(self) -> AsyncIterator[None]:
        """Stop the daemon where it is, and its watchdog, too; both go on after that."""
        pid = await self.daemon()
        both = (_parent_of(pid), pid)
        for one in both:
            os.kill(one, signal.SIGSTOP)
        try:
            yield
        finally:
            for one in both:
                os.kill(one, signal.SIGCONT)


@asynccontextmanager
async def running_hub(folder: Path, configuration: str = "", scenario: str = "") -> AsyncIterator[RunningHub]:
    """Run it with a configuration, and a scenario where it is not the default one; stop it after."""
    config = folder / "wifimgrd.toml"
    config.write_text(configuration, encoding="utf-8")
    world = folder / "scenario.toml"
    world.write_text(scenario, encoding="utf-8")
    settings = [f"CONFIG={config}", *([f"SCENARIO={world}"] if scenario else [])]
    with (folder / "run.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "make", "-s", "run", "PORT=0", "BACKEND=simulated", *settings,
            stdin=DEVNULL, stdout=PIPE, stderr=log, start_new_session=True, env=NOT_BELOW_MAKE,
        )  # fmt: skip
    try:
        _, url, _, bus = await asyncio.wait_for(_ready(process), START_S)
        client = HubClient(bus)
        await client.start()
        try:
            yield RunningHub(url, bus, client)
        finally:
            await client.stop()
    finally:
        if process.returncode is None:
            process.terminate()
            await asyncio.wait_for(process.communicate(), STOP_S)
    has_no_traceback(folder / "run.log")


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def _ready(process: Process) -> list[str]:
    assert process.stdout is not None
    async for line in process.stdout:
        if line.startswith(b"ready "):
            return line.decode().split()
    raise AssertionError("it ended before it was ready")
