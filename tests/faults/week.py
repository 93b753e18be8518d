"""A week of a hub with four cameras, in virtual time, in a process of its own: its manager, its state and
its history on a real disk, and its objects on a bus with clients.

`python -m tests.faults.week SECONDS FOLDER` prints a line of JSON for each day, or for each sixth of less.

Each camera says its state once a second. All record for twenty minutes of each hour; links are lost, adapters
pulled out, cards are full and the backend goes away, each every so often.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final, cast
from unittest.mock import patch

import structlog

from tests.daemon.manager.test_cameras import HostClockOf, ScriptedControl
from tests.faults.test_unattended_day import run_at_once
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.bus.connection import BusConnection, MethodCall
from wifimgrd.bus.library import LibraryConnection
from wifimgrd.config import catalog
from wifimgrd.daemon.api.hub_service import HubService
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.store import NoHistory, SqliteHistory, SqliteStore
from wifimgrd.daemon.store._history import FILE_NAME as HISTORY
from wifimgrd.daemon.store._steady_clock import SteadyClock
from wifimgrd.domain.camera import RecordingState, StopReason, StorageState, TemperatureState
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator import SimulatedWorld, load_scenario
from wifimgrd.wire import names

DAY_S: Final = 86_400
_CAMERAS: Final = 4
_CARD_BYTES: Final = 256 * 10**9
_BYTES_A_SECOND: Final = 12_500_000
_BEGIN_US: Final = 1_800_000_000_000_000
_SEED: Final = 59
_CLIENTS: Final = (":1.7", ":1.8")
_SCENARIO: Final = "adapter_count = 5\n[times]\nscan_s = 6\njoin_s = 3\ndhcp_s = 1\n" + "".join(
    f'[[camera]]\nssid = "WEEK-CAM-{number}"\npassword = "password-{number}"\n'
    for number in range(1, _CAMERAS + 1)
)


@dataclass(frozen=True)
class Reading:
    """What the process has come to, at the end of a day."""

    seconds: int
    rss_kb: int
    written_bytes: int
    """To files, by all that it has written since its start."""
    writes: int
    bus_bytes: int
    """Sent to clients: signals and answers."""
    asked: int
    """Calls of clients."""
    on_disk_bytes: int
    rows: int
    """Of the history."""
    connected: int


def own(file: str, name: str) -> int:
    """A number that proc(5) has of this process."""
    found = re.search(rf"^{name}:\s+(\d+)", Path("/proc/self", file).read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def rows_of(file: Path) -> int:
    """The rows that a history has on disk."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM history").fetchone()[0])


class Bus:
    """What a message bus is to the daemon: a socket at whose other end clients read all that is sent."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        theirs.setblocking(False)
        self.bytes = 0
        self._serials = count(1)
        self._sock, self._negotiate_unix_fd, self.unique_name = theirs, False, ":1.1"
        loop = asyncio.get_running_loop()
        self._disconnect_future: asyncio.Future[None] = loop.create_future()
        self._user_disconnect = False
        loop.add_reader(self._ours, self._read)

    def next_serial(self) -> int:
        return next(self._serials)

    def _finalize(self, _: Exception | None, /) -> None:
        self._disconnect_future.cancel()

    def _read(self) -> None:
        self.bytes += len(self._ours.recv(1 << 20))

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._ours)
        self._ours.close()


@dataclass
class Rig:
    """The hub and its surroundings."""

    hub: Hub
    history: History
    world: SimulatedWorld
    control: ScriptedControl
    call: Callable[[MethodCall], None]
    now_us: Callable[[], int]
    chance: Random = field(default_factory=lambda: Random(_SEED))
    asked: int = 0
    free: dict[DeviceId, int] = field(default_factory=dict)
    """The room on the cards."""
    full: set[DeviceId] = field(default_factory=set)
    hot: set[DeviceId] = field(default_factory=set)

    @property
    def devices(self) -> list[DeviceId]:
        return [one.device.id for one in self.hub.device_statuses()]

    @property
    def connected(self) -> int:
        return sum(one.link is not None for one in self.hub.device_statuses())

    async def create(self, number: int) -> None:
        """Register a camera, which is connected at once."""
        network = {"ssid": f"WEEK-CAM-{number}", "password": f"password-{number}"}
        kind = {"codename": "insta360-x4", "connection_type": "wifi", "name": f"camera {number}"}
        await self.hub.create(kind | network | {"idempotency_key": f"{number} {self.now_us()}"})

    # -- what happens

    def tell(self, device: DeviceId, second: int) -> None:
        """A camera says its state."""
        reading = self.control.readings.get(device)
        records = reading is not None and reading.recording is RecordingState.RECORDING
        free = self.free.setdefault(device, _CARD_BYTES) - (_BYTES_A_SECOND if records else 0)
        self.free[device] = free if free > _BYTES_A_SECOND else _CARD_BYTES
        since_us = reading.recording_since_us if reading is not None else None
        self.control.says(
            device,
            read_us=self.now_us(),
            battery_level=100 - second // 90 % 95,
            recorded_s=(self.now_us() - since_us) // 1_000_000 if records and since_us else None,
            storage_free=0 if device in self.full else self.free[device],
            storage_total=_CARD_BYTES,
            storage_state=StorageState.FULL if device in self.full else StorageState.OK,
            time_left_s=self.free[device] // _BYTES_A_SECOND,
            temperature=TemperatureState.WARNING if device in self.hot else TemperatureState.NORMAL,
        )

    async def record(self, *, on: bool) -> None:
        if not on:
            for device in self.devices:
                self.control.files[device] = (RecordedFile(f"VID_{self.now_us()}_{device}.insv", 10**9),)
        await self.hub.cameras.record(self.devices, on=on)

    def stop_one(self) -> None:
        """A card is full, and its camera stops recording by itself."""
        device = self.chance.choice(self.devices)
        if device in self.control.attached:
            self.full.add(device)
            self.control.says(
                device,
                recording=RecordingState.IDLE,
                recording_since_us=None,
                stop_reason=StopReason.FULL,
            )

    def mend(self) -> None:
        """Each camera is well again; what was noted of commands is forgotten, since it is not the hub's."""
        self.full.clear()
        self.hot.clear()
        for noted in (self.control.commands, self.control.clocks, self.control.asked):
            noted.clear()

    async def lose(self, seconds: float) -> None:
        """A camera loses its power for a time."""
        ssid = f"WEEK-CAM-{self.chance.randint(1, _CAMERAS)}".encode()
        self.world.power_off_camera(ssid, self.chance.random() < 0.5)
        await asyncio.sleep(seconds)
        self.world.power_on_camera(ssid)

    async def pull(self, seconds: float) -> None:
        """An adapter is pulled out for a time."""
        name = f"wlan{self.chance.randrange(_CAMERAS + 1)}"
        self.world.unplug_adapter(name)
        await asyncio.sleep(seconds)
        self.world.plug_adapter(name)

    async def lose_backend(self, seconds: float) -> None:
        self.world.set_fault("backend-gone", {})
        await asyncio.sleep(seconds)
        self.world.set_fault("backend-gone", {"off": True})

    def change_signal(self) -> None:
        number = self.chance.randint(1, _CAMERAS)
        percent = self.chance.randint(40, 90)
        self.world.set_fault("signal", {"ssid": f"WEEK-CAM-{number}", "percent": percent})

    async def replace_one(self) -> None:
        """A camera is removed, with its history, and registered again."""
        number = self.chance.randint(1, _CAMERAS)
        for one in list(self.hub.device_statuses()):
            if one.device.ssid.data == f"WEEK-CAM-{number}".encode():
                await self.hub.remove(one.device.id)
                self.history.forget(one.device.id)
        await self.create(number)

    # -- clients

    def ask(self) -> None:
        """Each client reads what a page shows."""
        for client in _CLIENTS:
            self._ask(client)

    def _ask(self, client: str) -> None:
        serials = count(1)

        def call(path: str, interface: str, member: str, signature: str = "", *body: object) -> None:
            self.asked += 1
            asked = MethodCall(
                client, path, interface, member, signature, list(body), next(serials), True, False
            )
            self.call(asked)

        call(names.ROOT_PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        call(names.ROOT_PATH, names.MANAGER, "GetHistory", "a{sv}", {"limit": 50})
        call(names.ROOT_PATH, names.MANAGER, "GetTakes", "a{sv}", {})
        call(names.ROOT_PATH, names.MANAGER, "Check", "a{sv}", {})
        now = self.now_us()
        for device in self.devices:
            path = names.device_path(device)
            call(path, names.DEVICE, "GetSignalHistory", "tta{sv}", now - 3600 * 1_000_000, now, {})


@asynccontextmanager
async def running_rig(directory: Path) -> AsyncIterator[tuple[Rig, Bus]]:
    """A hub as the daemon composes it, on what is in a state directory, with simulated adapters."""
    loop = asyncio.get_running_loop()

    def now_us() -> int:
        return _BEGIN_US + int(loop.time() * 1_000_000)

    bus, tasks, control = Bus(), Tasks("week"), ScriptedControl()
    connection = BusConnection(cast("LibraryConnection", bus))
    refused: list[tuple[object, ...]] = []
    connection.reply_error = lambda *error: refused.append(error)  # type: ignore[method-assign]
    service = HubService(connection, tasks.part("service"))
    scenario = directory / "week.toml"
    scenario.write_text(_SCENARIO)
    store = await SqliteStore.open(directory)
    world = SimulatedWorld(load_scenario(scenario), store)
    history = History(NoHistory(), now_us, loop.time)
    hub = Hub(
        HubSettings(models=catalog.load()),
        world.backend,
        world.adapters,
        store,
        (service, history),
        now_us,
        world.sockets,
        world.contact,
        tasks.part("hub"),
        None,
        world.bluetooth,
        control,
        HostClockOf(),
        world.evidence,
        loop.time,
    )
    await hub.start()
    hub.signal_read.subscribe(history.signals.read)
    clock = SteadyClock(now_us, loop.time)
    history.keep_in(await SqliteHistory.open(directory, 10_000, 90, clock))
    history.start(hub.backend_name, hub.device_statuses(), hub.device_name)

    async def nothing() -> Any:
        return None

    service.start(hub, nothing, nothing, history, world)
    rig = Rig(hub, history, world, control, connection._on_call, now_us)
    try:
        yield rig, bus
        assert refused == [], "a client was refused what it asked"
    finally:
        await hub.stop_work()
        await service.stop()
        await history.stop()
        await hub.stop()
        await tasks.stop()
        await connection.close()
        bus.close()


async def live(rig: Rig, seconds: int, at_end: Callable[[int], None], part_s: int) -> None:
    """Let a time pass, second by second."""
    tasks = Tasks("events")
    events: Mapping[tuple[int, int], Callable[[], Any]] = {
        # every so many seconds, after so many
        (5, 0): rig.change_signal,
        (3600, 600): lambda: rig.record(on=True),
        (3600, 1800): lambda: rig.record(on=False),
        (3600 * 5, 1300): rig.stop_one,
        (3600, 1500): rig.mend,
        (2700, 900): lambda: rig.lose(120),
        (3600 * 4, 2100): lambda: rig.lose(1500),
        (3600 * 3, 3000): lambda: rig.pull(60),
        (3600 * 7, 3300): lambda: rig.hot.update(rig.devices),
        (3600 * 8, 5000): lambda: rig.lose_backend(30),
        (DAY_S, 7000): rig.replace_one,
        (60, 1): rig.ask,
    }
    for number in range(1, _CAMERAS + 1):
        await rig.create(number)
    for second in range(1, seconds + 1):
        await asyncio.sleep(1)
        for device in list(rig.control.attached):
            rig.tell(device, second)
        for (every, after), happen in events.items():
            if second >= after and (second - after) % every == 0:
                with suppress(WifimgrdError):
                    done = happen()
                    if asyncio.iscoroutine(done):
                        tasks.start("event", done, expected=(WifimgrdError,))
        if second % part_s == 0:
            at_end(second)
    await tasks.stop()


async def main(seconds: int, directory: Path) -> None:
    """Print a reading at the end of each part."""
    async with running_rig(directory) as (rig, bus):

        def report(second: int) -> None:
            files = [one.stat().st_size for one in directory.iterdir()]
            reading = Reading(
                second,
                own("status", "VmRSS"),
                own("io", "wchar"),
                own("io", "syscw"),
                bus.bytes,
                rig.asked,
                sum(files),
                rows_of(directory / HISTORY),
                rig.connected,
            )
            sys.stdout.write(json.dumps(asdict(reading)) + "\n")
            sys.stdout.flush()

        await live(rig, seconds, report, min(DAY_S, seconds // 6))


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with (
        patch.object(ThreadPoolExecutor, "submit", run_at_once),
        asyncio.Runner(loop_factory=VirtualTimeLoop) as runner,
    ):
        runner.run(main(int(sys.argv[1]), Path(sys.argv[2])))
