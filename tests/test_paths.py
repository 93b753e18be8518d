"""The modules that a lost link and a connect pass, in a run of the daemon and the shim in this process."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, cast, get_args

from aiohttp import web

import wifimgrd
from tests.daemon.backends.networkmanager.manager_on_the_bus import LINK, NetworkManagerOnTheBus, NoChanges
from tests.http.served import P, Served
from tests.message_bus import MessageBusDaemon
from tests.store_in_memory import StoreInMemory
from wifimgrd.bus import names
from wifimgrd.bus._framing import Frame
from wifimgrd.bus._transport import Reader, Writer
from wifimgrd.bus.connection import BusConnection, Signal, Variant
from wifimgrd.camera._session import Session
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.client.changes import Change
from wifimgrd.client.channel_messages import CAMERA as CAMERA_UPDATE
from wifimgrd.client.channel_messages import STATUS, Message
from wifimgrd.client.hub import HubClient
from wifimgrd.config import catalog
from wifimgrd.daemon.api.hub_service import HubService
from wifimgrd.daemon.backends.networkmanager._active_connection import ActiveConnection, Joined
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice
from wifimgrd.daemon.backends.networkmanager._ip_config import LinkReading
from wifimgrd.daemon.backends.networkmanager._link_monitor import LinkMonitor
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.store import NoHistory
from wifimgrd.domain.device import DeviceId, HeldLink, Ssid
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.events import Event
from wifimgrd.http.channel.channel import ChannelClient
from wifimgrd.http.channel.message_types import LoggedEvent
from wifimgrd.http.settings import Settings
from wifimgrd.proxies.networkmanager.definitions import DeviceState
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS, WPAS_INTERFACE, SupplicantState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator import Scenario, SimulatedWorld, load_scenario
from wifimgrd.simulator._backend import SimulatedBackend

_PACKAGE: Final = str(Path(wifimgrd.__file__).parent) + "/"
_DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "architecture.md"
_MOST: Final = 10
_WATCHED: Final = "/fi/w1/wpa_supplicant1/Interfaces/0"
_EVENT: Final = (Frame, Signal, WifimgrdError, *get_args(Event), *get_args(Change), Message, LoggedEvent)
"""The forms of an event on its way."""
_HANDLED: Final = web.RequestHandler.start.__code__
"""The task of a connection. From Python 3.12 on aiohttp makes it, and in it that of each request, without the
loop's factory, and runs it at once."""
_RECEIVED: Final = Reader._read.__code__
_SENT_TO_BUS: Final = Writer.send.__code__
_SENT_TO_BROWSER: Final = ChannelClient.offer.__code__
_ASKED: Final = Session.record.__code__
_JOINED: Final = SimulatedBackend.join.__code__


class Recorder:
    """Records what leads to each call of a function at which a path, or a part of one, ends.

    A module is on a path if one of its functions is being called then, or was called with the event and
    returned something, such as another form of it. A module that is called for anything else computes a
    value, and one that gets the event and returns nothing is another receiver.
    """

    def __init__(self) -> None:
        self._origins: dict[asyncio.Task[Any], list[str]] = {}
        """What led to the creation of each task."""
        self._handlers: dict[FrameType, list[str]] = {}
        """The same of the tasks of connections, by the frame that such a task has for life."""
        self._is_receiving = False
        """A socket of the bus is being read."""
        self._called: dict[str, None] = {}
        """The modules that were called meanwhile, in order."""
        self._returned: set[str] = set()
        """Those that were called with the event and returned something."""
        self._paths: list[tuple[CodeType, list[str]]] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(self._create_task)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            loop.set_task_factory(None)

    def path(self, end: CodeType, through: str = "") -> list[str]:
        """The first path that ends in this function, and leads through this module."""
        found = [path for code, path in self._paths if code is end and (not through or through in path)]
        assert found, f"{end.co_qualname} was not called"
        return found[0]

    def _create_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **options)
        self._origins[task] = self._running(sys._getframe())
        return task

    def _running(self, frame: FrameType) -> list[str]:
        """The modules whose functions are being called, the outermost first."""
        modules = []
        inner: FrameType | None = frame
        while inner is not None:
            modules += _module(inner.f_code)
            modules += reversed(self._handlers.get(inner, ()))
            inner = inner.f_back
        task = asyncio.current_task()
        return _each_once([*(self._origins.get(task, ()) if task else ()), *reversed(modules)])

    def _profile(self, frame: FrameType, kind: str, value: object) -> None:
        code = frame.f_code
        if code is _RECEIVED:
            self._is_receiving = kind == "call"
            self._called, self._returned = {}, set()
        if kind == "return" and value is not None and _gets_event(frame):
            self._returned.update(_module(code))
        if kind != "call":
            return
        if (task := asyncio.current_task()) is not None and task not in self._origins:
            self._origins[task] = self._running(frame) if _is_within(frame, _HANDLED) else []
            if code is _HANDLED:
                self._handlers[frame] = self._origins[task]
        self._called |= dict.fromkeys(_module(code))
        if code in (_SENT_TO_BUS, _SENT_TO_BROWSER, _JOINED, _ASKED):
            running = self._running(frame)
            returned = [one for one in self._called if one in running or one in self._returned]
            self._paths.append((code, returned if self._is_receiving else running))


def _module(code: CodeType) -> list[str]:
    """The module of a function as a path in the package; none for other code, and for the domain's values."""
    module = code.co_filename.removeprefix(_PACKAGE)
    return [] if module == code.co_filename or module.startswith("domain/") else [module]


def _is_within(frame: FrameType | None, code: CodeType) -> bool:
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def _gets_event(frame: FrameType) -> bool:
    arguments = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    return any(isinstance(frame.f_locals.get(name), _EVENT) for name in arguments)


def _each_once(modules: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(modules))


def documented(title: str) -> list[str]:
    """The modules in the table of a section of the document."""
    _, _, section = _DOCUMENT.read_text().partition(f"## {title}\n")
    rows = section.partition("\n## ")[0].splitlines()
    return [row.split("`")[1] for row in rows if row.startswith("| `")]


CAMERA: Final = {"codename": "x", "connection_type": "wifi", "ssid": "SIM-CAM-1", "password": "camera-pass-1"}
RECORDING: Final = Path(wifimgrd.__file__).parent / "simulator" / "recording.toml"
RECORDING_CAMERA: Final = CAMERA | {
    "codename": "insta360-x4",
    "ssid": "X4 SIM401.OSC",
    "password": "insta-pass-401",
}


@dataclass(frozen=True, slots=True)
class Product:
    """The daemon with a simulated world and device 1, and the shim."""

    world: SimulatedWorld
    hub: Hub
    bus: BusConnection
    served: Served


@asynccontextmanager
async def product(address: str, scenario: Scenario | None = None) -> AsyncIterator[Product]:
    async def nothing() -> None:
        """There is no configuration that could be read."""

    async def no_report() -> str:
        return ""

    def now_us() -> int:
        return time.time_ns() // 1000

    world, tasks, bus = SimulatedWorld(scenario), Tasks("test"), await BusConnection.open(address)
    service = HubService(bus, tasks.part("service"))
    await service.claim()
    hub = Hub(
        HubSettings(models=catalog.load(), connect_on_create=False),
        world.backend,
        world.adapters,
        StoreInMemory(),
        [service],
        now_us,
        world.sockets,
        world.contact,
        tasks.part("hub"),
        bluetooth=world.bluetooth,
        control=CameraSessions(tasks.part("cameras"), now_us),
    )
    await hub.start()
    service.start(hub, nothing, no_report, History(NoHistory(), now_us), world)
    try:
        assert await hub.create(CAMERA if scenario is None else RECORDING_CAMERA) == 1
        async with Served.start(HubClient(address), Settings()) as served:
            yield Product(world, hub, bus, served)
    finally:
        await hub.stop()
        await tasks.stop()
        await bus.close()


@asynccontextmanager
async def supplicant_on(address: str) -> AsyncIterator[BusConnection]:
    """A wpa_supplicant that replies to no call."""
    supplicant = await BusConnection.open(address)
    await supplicant.request_name(WPAS)
    yield supplicant
    await supplicant.close()


async def watched(made: Product) -> LinkMonitor:
    """The monitor of a link through NetworkManager, for a link of the simulated world."""
    supplicant = SupplicantInterface(made.bus, _WATCHED)
    await supplicant.subscribe()
    [link] = await made.world.backend.links()
    device = NmDevice("/d", {"State": DeviceState.ACTIVATED, "Interface": link.interface}, {})
    monitor = LinkMonitor(
        cast("BusConnection", NetworkManagerOnTheBus()),
        NoChanges(),
        HeldLink(link.device_id, link.interface, Ssid(b"SIM-CAM-1"), LINK),
        Joined(device, supplicant, ActiveConnection("", "/p", "/a"), LinkReading(LINK)),
        Tasks("test"),
        lambda *_: None,
    )
    assert made.world.backend.joined.listener is not None
    monitor.start(made.world.backend.joined.listener, lambda _: None)
    return monitor


async def until_connecting(channel: Any) -> None:
    """Read the channel up to the status of an interrupted link."""
    message = await channel.receive_json()
    while message["type"] != STATUS or message["data"]["connection_status"] != "connecting":
        message = await channel.receive_json()


async def test_a_lost_link_passes_ten_modules_at_most(message_bus: MessageBusDaemon) -> None:
    recorder = Recorder()
    async with (
        asyncio.timeout(60),
        product(message_bus.address) as made,
        supplicant_on(message_bus.address) as supplicant,
    ):
        await made.hub.connections.connect(DeviceId(1), wait=True)
        monitor = await watched(made)
        channel = await made.served.channel()
        with recorder.recording():
            changed = {"State": Variant("s", SupplicantState.DISCONNECTED)}
            body = [WPAS_INTERFACE, changed, []]
            supplicant.emit(_WATCHED, names.PROPERTIES, "PropertiesChanged", "sa{sv}as", body)
            await until_connecting(channel)
        monitor.close()
    daemon = recorder.path(_SENT_TO_BUS, "daemon/backends/supplicant/link_monitor.py")
    path = _each_once([*daemon, *recorder.path(_SENT_TO_BROWSER, "client/_live_objects.py")])
    assert path == documented("The modules of a lost link")
    assert len(path) <= _MOST


async def test_the_modules_of_a_connect_are_those_of_the_document(message_bus: MessageBusDaemon) -> None:
    recorder = Recorder()
    async with asyncio.timeout(60), product(message_bus.address) as made:
        with recorder.recording():
            answer = await made.served.get(P + "/wifi/connect?device_id=1&wait=30")
        assert answer.json["status"] == "connected"
    shim = recorder.path(_SENT_TO_BUS, "client/hub.py")
    path = _each_once([*shim, *recorder.path(_JOINED)])
    assert path == documented("The modules of a connect")


async def test_the_modules_of_a_battery_reading_are_the_documented_ones(
    message_bus: MessageBusDaemon,
) -> None:
    recorder = Recorder()
    async with asyncio.timeout(60), product(message_bus.address, load_scenario(RECORDING)) as made:
        await made.hub.connections.connect(DeviceId(1), wait=True)
        channel = await made.served.channel()
        with recorder.recording():
            made.world.set_fault("battery", {"percent": 50})
            message = await channel.receive_json()
            while message["type"] != CAMERA_UPDATE:
                message = await channel.receive_json()
    daemon = recorder.path(_SENT_TO_BUS, "daemon/manager/_camera_readings.py")
    path = _each_once([*daemon, *recorder.path(_SENT_TO_BROWSER, "client/_live_objects.py")])
    assert path == documented("The modules of a battery reading")


async def test_the_modules_of_record_on_all_are_the_documented_ones(message_bus: MessageBusDaemon) -> None:
    recorder = Recorder()
    async with asyncio.timeout(60), product(message_bus.address, load_scenario(RECORDING)) as made:
        await made.hub.connections.connect(DeviceId(1), wait=True)
        with recorder.recording():
            answer = await made.served.post(P + "/recording", json={"recording": True, "all": True})
        assert answer.json["results"][0]["done"]
    shim = recorder.path(_SENT_TO_BUS, "client/hub.py")
    path = _each_once([*shim, *recorder.path(_ASKED)])
    assert path == documented('The modules of "record on all"')
