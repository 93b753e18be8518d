"""The camera process against a scripted bluetoothd, on a message bus of their own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.camera.scripted_control import ScriptedControl
from tests.fake_bluez import ADAPTER, FakeBluez
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, Signal
from wifimgrd.camera._limits import Limits
from wifimgrd.camera._service import CameraService
from wifimgrd.kernel import bluetooth as host_module
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import camera_calls as calls

SOON_S = 8.0
"""Less than the time that what was ended would have taken."""
FAST = Limits(
    connect_s=20.0,
    absent_s=1.4,
    quick_s=1.3,
    services_s=20.0,
    characteristics_s=20.0,
    find_s=20.0,
    hear_s=0.5,
    pair_s=20.0,
    answer_s=20.0,
    boot_s=20.0,
    ask_again_s=0.05,
    access_point_s=20.0,
    pauses_s=(0.02, 0.02, 0.02),
    command_pauses_s=(0.02, 0.02),
    pairing_s=60.0,
    sleep_s=60.0,
    command_s=60.0,
    hold_s=60.0,
    report_s=0.02,
    late_s=0.05,
)
"""Short where something is done again; what has to come may come late."""
HURRIED = replace(
    FAST,
    services_s=1.0,
    characteristics_s=1.0,
    find_s=0.5,
    pair_s=0.5,
    answer_s=0.4,
    boot_s=1.0,
    access_point_s=0.6,
)
"""Waits only as long for what does not come."""
hurried = pytest.mark.parametrize("limits", [HURRIED])


@pytest.fixture
def limits() -> Limits:
    """Of the service; of tests in which something does not come, `hurried`."""
    return FAST


@pytest.fixture
def bus() -> Iterator[MessageBusDaemon]:
    with MessageBusDaemon.start() as daemon:
        yield daemon


@pytest.fixture
async def bluez(bus: MessageBusDaemon) -> AsyncIterator[FakeBluez]:
    fake = FakeBluez(bus.address)
    await fake.start()
    yield fake
    await fake.stop()


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The host's /sys: one Bluetooth adapter that is not blocked."""
    adapter, switch = tmp_path / "bluetooth" / "hci0", tmp_path / "rfkill" / "rfkill0"
    for folder in (adapter, switch):
        folder.mkdir(parents=True)
    for name, value in (("type", "bluetooth"), ("soft", "0"), ("hard", "0")):
        (switch / name).write_text(value + "\n")
    monkeypatch.setattr(host_module, "_ADAPTERS", tmp_path / "bluetooth")
    monkeypatch.setattr(host_module, "_SWITCHES", tmp_path / "rfkill")
    return tmp_path


@dataclass
class Caller:
    """The daemon, as far as the process sees it."""

    connection: BusConnection
    rows: list[dict[str, Any]] = field(default_factory=list)
    """What Advertised has reported."""
    reports: list[int] = field(default_factory=list)
    """The rows in each report."""
    states: list[tuple[str, str]] = field(default_factory=list)
    unfit: list[tuple[str, str]] = field(default_factory=list)
    """What Unfit has told."""
    bonding: list[tuple[str, str]] = field(default_factory=list)
    """What Bonding has told."""
    searches: Iterator[int] = field(default_factory=count)

    async def listen(self) -> None:
        await self.connection.watch(self._advertised, interface=calls.BUS_NAME, member="Advertised")
        await self.connection.watch(self._status, interface=calls.BUS_NAME, member="StatusChanged")
        await self.connection.watch(self._unfit, interface=calls.BUS_NAME, member="Unfit")
        await self.connection.watch(self._bonding, interface=calls.BUS_NAME, member="Bonding")

    def _advertised(self, signal: Signal) -> None:
        [rows] = signal.body
        assert isinstance(rows, list)
        self.rows += rows
        self.reports.append(len(rows))

    def _status(self, signal: Signal) -> None:
        state, reason = signal.body
        self.states.append((str(state), str(reason)))

    def _unfit(self, signal: Signal) -> None:
        address, reason = signal.body
        self.unfit.append((str(address), str(reason)))

    def _bonding(self, signal: Signal) -> None:
        address, adapter = signal.body
        self.bonding.append((str(address), str(adapter)))

    async def call(self, member: str, signature: str = "", *body: object) -> list[Any]:
        reply = await self.connection.call(
            calls.BUS_NAME, calls.PATH, calls.BUS_NAME, member, signature, body, 20.0
        )
        return list(reply)

    async def wake(self, address: str, protocol: str = "gopro", timeout_s: int = 10) -> None:
        await self.call("Wake", "ssayu", address, protocol, b"", timeout_s)

    async def pair(self, address: str, protocol: str = "gopro", *, again: bool = False) -> dict[str, Any]:
        """Pair; `again` says that the bond at the first adapter, if there is one, is the hub's."""
        [camera] = await self.call("Pair", "ssas", address, protocol, [ADAPTER] if again else [])
        return dict(camera)

    async def unpair(self, address: str, adapter: str = ADAPTER) -> None:
        await self.call("Unpair", "ss", address, adapter)

    async def is_bonded(self, address: str) -> bool:
        bonded, adapters = await self.call("GetBonds", "s", address)
        assert set(bonded) <= set(adapters)
        return bool(bonded)

    async def command(self, address: str, command: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a command has done, and what the camera has said."""
        result, reading = await self.call("Command", "sss", address, "gopro", command)
        return dict(result), dict(reading)

    async def search(self, *targets: tuple[str, str], seconds: int = 1, key: str = "") -> None:
        key = key or f"search-{next(self.searches)}"
        await self.call("Search", "sua(ss)", key, seconds, [list(target) for target in targets])


@pytest.fixture
async def control() -> ScriptedControl:
    return ScriptedControl()


@pytest.fixture
async def process(bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    """The process's connection to the bus; once it is closed, the process has ended for all others."""
    connection = await BusConnection.open(bus.address, sockets=True)
    yield connection
    await connection.close()


@pytest.fixture
async def service(
    process: BusConnection, control: ScriptedControl, limits: Limits
) -> AsyncIterator[CameraService]:
    """Served before bluetoothd is there, if the test has none."""
    tasks = Tasks("wifimgrd-camera")
    service = CameraService(process, os.getuid(), 30.0, tasks.part("service"), control, limits)
    await service.start()
    yield service
    await service.stop()
    await tasks.stop()


def is_at_work(service: CameraService) -> bool:
    """Whether it does something with a camera over Bluetooth; its end is seen nowhere else."""
    return service._operations.are_under_way


@pytest.fixture
async def caller(bus: MessageBusDaemon, service: CameraService) -> AsyncIterator[Caller]:
    caller = Caller(await BusConnection.open(bus.address))
    await caller.listen()
    yield caller
    await caller.connection.close()


async def until(condition: Any, timeout_s: float = 20.0) -> None:
    """Wait for what a fake has seen."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - a fake has no event for everything
            await asyncio.sleep(0.005)
