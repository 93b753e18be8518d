"""A day of a hub that nobody attends: eight cameras, two adapters, and all that goes wrong around them.

The manager and its store are the real ones, the world is the simulated one, and time is virtual. What needs
processes of its own, the message bus, the shim, the bridge and its broker, has its random lives in
test_random_life.py and tests/mqtt/fleet_life.py.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final, TypeVar
from unittest.mock import patch

import structlog
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.daemon.manager.story import Story
from tests.soak import examples
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.config import catalog
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.daemon.store import SqliteStore, StoreError
from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus, Link, Ssid
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.events import BackendState, Event
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator import SimulatedWorld, load_scenario

_T = TypeVar("_T")

NUMBERS: Final = range(1, 9)
SEARCHED_S: Final = 600.0
"""While an adapter is idle, each lost camera is looked for at least this often."""
QUIET_S: Final = 300.0
"""After this time without changes no adapter is idle while a camera that it could connect is on."""
WRITTEN_S: Final = 60.0
"""So long after a disk is free, what could not be written before is on it."""
LOOK_S: Final = 10.0
WATCHDOG_S: Final = 10.0
BEGIN_US: Final = 1_800_000_000_000_000

ADAPTERS = st.sampled_from(["wlan0", "wlan1"])
CAMERAS = st.sampled_from(NUMBERS)
DEVICES = st.integers(1, len(NUMBERS) + 1).map(DeviceId)
MOMENTS = st.sampled_from([0.0, 0.1, 2.0, 15.0, 60.0, 300.0, 900.0, 3600.0])
"""How long nothing else happens."""
OFFSETS_H = st.sampled_from([-24 * 365, -30, -1, 0, 1, 30, 24 * 365])


def ssid_of(number: int) -> bytes:
    """The network of a camera."""
    return f"DAY-CAM-{number}".encode()


SCENARIO: Final = "[times]\nscan_s = 6\njoin_s = 3\ndhcp_s = 1\n" + "".join(
    [f'[[adapter]]\nname = "wlan{number}"\n' for number in range(2)]
    + [f'[[camera]]\nssid = "DAY-CAM-{number}"\npassword = "password-{number}"\n' for number in NUMBERS]
)
"""It takes the time that real adapters and cameras take."""


def run_at_once(_: ThreadPoolExecutor, work: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
    """As ThreadPoolExecutor.submit, but in the caller's thread: the time of another one is not virtual."""
    future: Future[_T] = Future()
    try:
        future.set_result(work(*args, **kwargs))
    except Exception as error:  # noqa: BLE001 - the caller's
        future.set_exception(error)
    return future


@dataclass
class Disk:
    """The state directory, on a disk that is full, or read-only after an error, at times."""

    directory: Path
    store: SqliteStore

    mended_s: float = 0.0
    """When it was; infinity while it is not."""

    def fill(self) -> None:
        """There is no room for more than is there."""
        self._pragma("max_page_count = 1")  # SQLite rounds it up to the pages there are
        self.mended_s = inf

    def fail(self) -> None:
        """All writes are refused."""
        self._pragma("query_only = ON")
        self.mended_s = inf

    def mend(self) -> None:
        self._pragma("max_page_count = 100000")
        self._pragma("query_only = OFF")
        self.mended_s = min(self.mended_s, asyncio.get_running_loop().time())

    @property
    def is_free(self) -> bool:
        """It has been for so long that what was not acknowledged can be there, too."""
        return asyncio.get_running_loop().time() - self.mended_s >= WRITTEN_S

    def copy(self, to: Path) -> Path:
        """What the next start would find, if the daemon ended now."""
        return Path(shutil.copytree(self.directory, to))

    def _pragma(self, statement: str) -> None:
        self.store._connection.execute(f"PRAGMA {statement}").fetchall()


@dataclass
class Acknowledged:
    """What was answered with success, and so must outlast everything."""

    names: dict[DeviceId, str] = field(default_factory=dict)
    stay_off: set[DeviceId] = field(default_factory=set)
    """The last command for them was to disconnect."""


@dataclass
class Client:
    """An EventSink that follows the hub once that has started."""

    story: Story | None = None

    def publish(self, event: Event) -> None:
        if self.story is not None:
            self.story.publish(event)


@dataclass
class Watch:
    """Looks at the hub every few seconds, and notes what should not be."""

    hub: Hub
    tasks: Tasks
    looked_for: dict[Ssid, float]
    """When a search or an attempt last began, by network."""
    found: list[str] = field(default_factory=list)
    lost_since: dict[DeviceId, float] = field(default_factory=dict)
    idle_since: float | None = None
    """Since then an adapter has been idle, whenever it was looked at."""

    async def look(self) -> None:
        """Go on looking."""
        while True:
            await asyncio.sleep(LOOK_S)
            self._look_at_searches(asyncio.get_running_loop().time())
            self.found += await self.tasks.find_dead(WATCHDOG_S)

    def _look_at_searches(self, now: float) -> None:
        if not (is_ready(self.hub) and idle(self.hub)):
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = now
        lost = {one.device.id: one.device.ssid for one in self.hub.device_statuses() if is_lost(one)}
        self.lost_since = {device: self.lost_since.get(device, now) for device in lost}
        if self.idle_since is None:
            return
        for device, ssid in lost.items():
            since = max(self.lost_since[device], self.idle_since, self.looked_for.get(ssid, 0.0))
            if now - since > SEARCHED_S:
                self.found.append(f"device {device} is lost, and was not looked for in {now - since:.0f} s")
                self.looked_for[ssid] = now  # once is enough


def note_searches(world: SimulatedWorld) -> dict[Ssid, float]:
    """The time at which each network is looked for, or an attempt for it begins, from now on."""
    backend, looked_for = world.backend, dict[Ssid, float]()
    is_visible, join = backend.is_visible, backend.join

    async def noted_search(interface: str, ssid: Ssid, *more: Any, **options: Any) -> bool:
        looked_for[ssid] = asyncio.get_running_loop().time()
        return await is_visible(interface, ssid, *more, **options)

    async def noted_join(request: JoinRequest) -> Link:
        looked_for[request.ssid] = asyncio.get_running_loop().time()
        return await join(request)

    backend.is_visible, backend.join = noted_search, noted_join  # type: ignore[method-assign]
    return looked_for


def is_ready(hub: Hub) -> bool:
    return hub.backend_status.state is BackendState.READY


def idle(hub: Hub) -> list[str]:
    """The adapters that nothing keeps from connecting a camera."""
    return [one.interface.name for one in hub.interface_statuses() if one.state is InterfaceState.AVAILABLE]


def is_lost(status: DeviceStatus) -> bool:
    return bool(status.state is DeviceState.DISCONNECTED and status.lost_us)


def is_missed(status: DeviceStatus) -> bool:
    """It is to be connected by the hub itself."""
    return is_lost(status) or bool(
        status.state is DeviceState.DISCONNECTED and status.device.waiting_since_us
    )


class UnattendedDay(RuleBasedStateMachine):
    """Whatever happens, the hub goes on: it looks for its cameras, and forgets nothing."""

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self.accidents: list[dict[str, Any]] = []
        self.runner.get_loop().set_exception_handler(lambda _, context: self.accidents.append(context))
        self.folder = tempfile.TemporaryDirectory()
        scenario = Path(self.folder.name, "day.toml")
        scenario.write_text(SCENARIO)
        self.world = SimulatedWorld(load_scenario(scenario))
        self.looked_for = note_searches(self.world)
        self.clock_offset_us = 0
        self.logs = structlog.testing.LogCapture()
        self.before = structlog.get_config()
        structlog.configure(processors=[structlog.processors.format_exc_info, self.logs])
        self.told = Acknowledged()
        self.lives = 0
        self.at_once = patch.object(ThreadPoolExecutor, "submit", run_at_once)
        self.at_once.start()
        self.runner.run(self._begin())

    async def _begin(self) -> None:
        await self._start(Path(self.folder.name, "state"))
        for number in NUMBERS:  # each has been connected, so that the hub is to bring it back
            await self._create(number)
            await self.hub.connections.connect(DeviceId(number), wait=True)
            self.world.power_off_camera(ssid_of(number), True)
            await asyncio.sleep(15)

    async def _start(self, directory: Path) -> None:
        """Start the daemon's parts on what is in a state directory."""
        loop = asyncio.get_running_loop()
        self.disk = Disk(directory, await SqliteStore.open(directory))
        self.tasks, client = Tasks("test"), Client()
        self.hub = Hub(
            HubSettings(models=catalog.load()),
            self.world.backend,
            self.world.adapters,
            self.disk.store,
            [client],
            lambda: BEGIN_US + self.clock_offset_us + int(loop.time() * 1e6),
            self.world.sockets,
            self.world.contact,
            self.tasks.part("hub"),
        )
        await self.hub.start()
        self.story = client.story = Story(
            devices={one.device.id: one for one in self.hub.device_statuses()},
            interfaces={one.interface.name: one for one in self.hub.interface_statuses()},
        )
        self.watch = Watch(self.hub, self.tasks, self.looked_for)
        self.watching = asyncio.create_task(self.watch.look())

    async def _stop(self) -> None:
        self.watching.cancel()
        with suppress(StoreError):  # what was not acknowledged
            await self.hub.stop()
        await self.tasks.stop()

    async def _create(self, number: int) -> None:
        name = f"camera {number}"
        network = {"ssid": ssid_of(number).decode(), "password": f"password-{number}"}
        kind = {"codename": "generic-wifi-camera", "connection_type": "wifi"}
        self.told.names[await self.hub.create(kind | network | {"name": name})] = name

    def teardown(self) -> None:
        if not hasattr(self, "told"):
            return
        try:
            self.act(0, self.disk.mend)
            self.act(QUIET_S, self.world.set_fault, "backend-gone", {"off": True})
            self.nothing_ends()
            self.no_adapter_is_idle_while_a_camera_is_on()
            self.runner.run(self._read_back())
            self.runner.run(self._stop())
        finally:
            self.runner.close()
            self.at_once.stop()
            structlog.configure(**self.before)
            self.folder.cleanup()
        assert self.accidents == []

    def no_adapter_is_idle_while_a_camera_is_on(self) -> None:
        on = [one.device.id for one in self.hub.device_statuses() if is_missed(one) and self._is_on(one)]
        assert not (on and idle(self.hub)), f"{idle(self.hub)} are idle, and {on} are on"

    def _is_on(self, status: DeviceStatus) -> bool:
        return self.world.camera(status.device.ssid.data).powered

    def do(self, command: Coroutine[Any, Any, _T]) -> bool:
        """Give a command; whether it was acknowledged."""

        async def whole() -> bool:
            try:
                await command
            except WifimgrdError:
                return False
            return True

        return self.runner.run(whole())

    def act(self, seconds: float, action: Callable[..., None], *arguments: Any) -> None:
        """Change the world, where that is possible."""

        async def whole() -> None:
            with suppress(WifimgrdError):
                action(*arguments)
            await asyncio.sleep(seconds)

        self.runner.run(whole())

    # -- the world

    @rule(camera=CAMERAS, orderly=st.booleans(), seconds=MOMENTS)
    def switch_off(self, camera: int, orderly: bool, seconds: float) -> None:
        self.act(seconds, self.world.power_off_camera, ssid_of(camera), orderly)

    @rule(camera=CAMERAS, seconds=MOMENTS)
    def switch_on(self, camera: int, seconds: float) -> None:
        self.act(seconds, self.world.power_on_camera, ssid_of(camera))

    @rule(orderly=st.booleans(), seconds=MOMENTS)
    def switch_all_off(self, orderly: bool, seconds: float) -> None:
        for number in NUMBERS:
            self.act(0, self.world.power_off_camera, ssid_of(number), orderly)
        self.wait(seconds)

    @rule(seconds=MOMENTS)
    def switch_all_on(self, seconds: float) -> None:
        for number in NUMBERS:
            self.act(0, self.world.power_on_camera, ssid_of(number))
        self.wait(seconds)

    @rule(adapter=ADAPTERS, seconds=MOMENTS)
    def pull(self, adapter: str, seconds: float) -> None:
        self.act(seconds, self.world.unplug_adapter, adapter)

    @rule(adapter=ADAPTERS, seconds=MOMENTS)
    def plug(self, adapter: str, seconds: float) -> None:
        self.act(seconds, self.world.plug_adapter, adapter)

    @rule(off=st.booleans(), seconds=MOMENTS)
    def lose_the_backend(self, off: bool, seconds: float) -> None:
        self.act(seconds, self.world.set_fault, "backend-gone", {"off": off})

    @rule(what=st.sampled_from(["fill", "fail", "mend", "mend"]), seconds=MOMENTS)
    def change_the_disk(self, what: str, seconds: float) -> None:
        self.act(seconds, getattr(self.disk, what))

    @rule(hours=OFFSETS_H, seconds=MOMENTS)
    def set_the_clock(self, hours: int, seconds: float) -> None:
        self.clock_offset_us = hours * 3_600_000_000
        self.wait(seconds)

    def wait(self, seconds: float) -> None:
        self.runner.run(asyncio.sleep(seconds))

    # -- the few commands of a day

    @rule(device=DEVICES, when_free=st.booleans())
    def connect(self, device: DeviceId, when_free: bool) -> None:
        if self.do(self.hub.connections.connect(device, wait=False, when_free=when_free)):
            self.told.stay_off.discard(device)

    @rule(device=DEVICES)
    def disconnect(self, device: DeviceId) -> None:
        if self.do(self.hub.connections.disconnect(device)):
            self.told.stay_off.add(device)

    @rule(device=DEVICES, name=st.sampled_from(["nose", "tail", "left", "right"]), much=st.booleans())
    def rename(self, device: DeviceId, name: str, much: bool) -> None:
        name += " wing" * (10 if much else 0)
        if self.do(self.hub.update(device, {"name": name})):
            self.told.names[device] = name

    @rule(device=DEVICES)
    def replace(self, device: DeviceId) -> None:
        if self.do(self.hub.remove(device)):
            del self.told.names[device]
            self.told.stay_off.discard(device)
        if len(self.told.names) < len(NUMBERS):
            self.do(self._create(device % len(NUMBERS) + 1))

    # -- the daemon

    @rule(crashed=st.booleans(), seconds=MOMENTS)
    def restart(self, crashed: bool, seconds: float) -> None:
        self.runner.run(self._restart(crashed))
        self.wait(seconds)

    async def _restart(self, crashed: bool) -> None:
        await self._read_back()
        self.lives += 1
        after = self.disk.copy(Path(self.folder.name, f"state-{self.lives}")) if crashed else None
        await self._stop()
        await self._start(after or self.disk.directory)
        wanted = {one.device.id for one in self.hub.device_statuses() if one.device.wanted}
        self.told.stay_off -= wanted  # as far as the disk could not be told of them

    @rule()
    def read_back(self) -> None:
        self.runner.run(self._read_back())

    async def _read_back(self) -> None:
        """Nothing acknowledged is lost, if the daemon ends now."""
        with tempfile.TemporaryDirectory() as folder:
            store = await SqliteStore.open(self.disk.copy(Path(folder, "state")))
            devices = await store.load()
            await store.close()
        assert {device: one.name for device, one in devices.items()} == self.told.names
        if self.disk.is_free:
            assert {one for one in self.told.stay_off if devices[one].wanted} == set()

    # -- what must hold

    @invariant()
    def nothing_ends(self) -> None:
        if hasattr(self, "told"):
            assert self.accidents == []
            assert self.watch.found == []
            assert not self.watching.done()
            bugs = [one for one in self.logs.entries if "exception" in one or one["log_level"] == "critical"]
            assert not bugs, [(one["event"], one.get("exception")) for one in bugs]
            self.logs.entries.clear()
            off = (DeviceState.DISCONNECTED, DeviceState.DISCONNECTING)
            assert all(self.story.devices[one].state in off for one in self.told.stay_off)
            self.story.agrees()
            self.story.forget()


TestUnattendedDay = UnattendedDay.TestCase
TestUnattendedDay.settings = settings(max_examples=examples(10), stateful_step_count=50)
