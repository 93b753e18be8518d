"""The daemon: everything wired together, started and stopped in order."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from wifimgrd import __version__
from wifimgrd.config import Config, ConfigError, load_models
from wifimgrd.dbus.bus import BusConnection
from wifimgrd.dbus.names import BUS_NAME
from wifimgrd.dbus.service.hub_service import HubService
from wifimgrd.dbus.service.simulator_object import World
from wifimgrd.live_settings import LiveSettings, hub_settings
from wifimgrd.manager.hub import Hub
from wifimgrd.net.client import AddressTeller
from wifimgrd.net.contact import SocketContact
from wifimgrd.net.power_save import PowerSaveWatch
from wifimgrd.net.sockets import HelpersSockets
from wifimgrd.net.wireless import HelpersWireless
from wifimgrd.ports import AdapterSource, Backend, BackendMemory, CameraContact, CameraSockets, EventSink
from wifimgrd.runtime.hardening import forbid_core_dumps
from wifimgrd.runtime.systemd import notify, start_watchdog
from wifimgrd.runtime.task_dump import tell_on_signal
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.standing import StandingTeller
from wifimgrd.store import SqliteStore, StoreError

if TYPE_CHECKING:
    from wifimgrd.udev import AwakeAdapters

_log = structlog.get_logger()

STATE_DIRECTORY: Final = Path("/var/lib/wifimgrd")


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """What the command line decides."""

    bus: str = "system"
    simulate: bool = False
    config: Path | None = None
    """Where the configuration was read from; None is the default file."""
    scenario: Path | None = None
    """A scenario of the simulated world; None is the default one."""


class DirectoryTaken(Exception):
    """A second instance uses the state directory."""


class StateDirectoryUnusable(Exception):
    """The state directory is another user's, or cannot be made or entered."""


class BusLost(Exception):
    """The message bus went away under the running daemon, or the name there did."""


async def run(config: Config, options: DaemonOptions) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises BusClosed (no bus), NameTaken and DirectoryTaken (a second instance), StateDirectoryUnusable,
    BusLost, and what the store and the scenario's file raise.
    """
    forbid_core_dumps()
    os.umask(0o077)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    tell_on_signal()
    connection = await BusConnection.open(options.bus, sockets=True)
    tasks = Tasks("wifimgrd")
    tasks.require("message-bus", connection.wait_closed())
    try:
        service = HubService(connection, tasks.part("service"))
        await service.claim()
        with _alone_in(Path(os.environ.get("STATE_DIRECTORY", STATE_DIRECTORY))) as directory:
            await _serve(config, options, directory, connection, service, tasks, stopping)
    finally:
        await tasks.stop()
        await connection.close()


@contextmanager
def _alone_in(directory: Path) -> Iterator[Path]:
    """Hold the state directory's lock, which ends with the process.

    Raises DirectoryTaken, and StateDirectoryUnusable before anything in it is touched.
    """
    with _enter(directory).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DirectoryTaken(f"another wifimgrd uses the state directory {directory}") from None
        yield directory


def _enter(directory: Path) -> Path:
    """The lock's file in a directory that is ours; raises StateDirectoryUnusable."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = directory.stat().st_uid
        if owner != os.geteuid():
            raise StateDirectoryUnusable(
                f"the state directory {directory} belongs to user {owner}, not to user {os.geteuid()}"
            )
        lock = directory / "lock"
        lock.touch(mode=0o600)
    except OSError as error:
        raise StateDirectoryUnusable(
            f"the state directory {directory} cannot be used: {error.strerror}"
        ) from None
    return lock


async def _serve(
    config: Config,
    options: DaemonOptions,
    directory: Path,
    connection: BusConnection,
    service: HubService,
    tasks: Tasks,
    stopping: asyncio.Event,
) -> None:
    settings = hub_settings(config, load_models(options.config))
    store = await SqliteStore.open(directory)
    simulate = options.simulate or config.backend.name == "simulated"
    backend, adapters, sockets, contact, world = (
        _simulated(options.scenario, store) if simulate else _networkmanager(config, store, connection, tasks)
    )
    teller = StandingTeller(service, lambda line: notify(f"STATUS={line}"))
    network = None if simulate else settings.addresses.network
    awake = None if simulate or config.adapters.usb_autosuspend else _awake_adapters(teller, store, tasks)
    addresses = (
        None
        if network is None
        else AddressTeller(
            awake or teller, connection, network, config.cameras.share, tasks.part("addresses")
        )
    )
    sink = addresses or awake or teller
    power_save = (
        None
        if simulate
        else PowerSaveWatch(sink, HelpersWireless(connection).end_power_save, tasks.part("power-save"))
    )
    hub = Hub(
        settings, backend, adapters, store, power_save or sink, _now_us, sockets, contact, tasks.part("hub")
    )
    tasks.check("message-bus", connection.round_trip)
    tasks.check("store", store.round_trip)
    start_watchdog(tasks)
    await hub.start()
    if awake is not None:
        awake.start()
    if addresses is not None:
        await addresses.start(hub.device_statuses)
    live = LiveSettings(hub, config, options.config, tasks)
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, live.reread_soon)
    try:
        service.start(hub, live.reread, world)
        _log.info("started", version=__version__, backend=backend.name, bus=options.bus)
        notify("READY=1")
        teller.start(hub)
        await tasks.until_required_ends(stopping)
        if not connection.is_open:
            raise BusLost("the message bus went away")
        if not stopping.is_set():
            raise BusLost(f"the name {BUS_NAME} was lost")
    finally:
        notify("STOPPING=1\nSTATUS=stopping")
        teller.stop()
        service.refuse()
        if power_save is not None:
            await power_save.stop()
        if addresses is not None:
            await addresses.stop()
        await hub.rest()
        await service.stop()
        if awake is not None:
            await awake.stop()
        try:
            await hub.stop()
        except StoreError as error:  # of what nobody was promised; links and all else ended in order
            _log.error("state_not_written", reason=error.message)
        _log.info("stopped")


# What one of the two worlds needs is imported with it: the daemon has little memory to spare.


def _simulated(
    scenario: Path | None, memory: BackendMemory
) -> tuple[Backend, AdapterSource, CameraSockets, CameraContact, World]:
    from wifimgrd.backends.simulated import ScenarioError, SimulatedWorld, load_scenario  # noqa: PLC0415

    try:
        world = SimulatedWorld(load_scenario(scenario), memory)
    except ScenarioError as error:
        raise ConfigError(str(error)) from None
    return world.backend, world.adapters, world.sockets, world.contact, world


def _networkmanager(
    config: Config, memory: BackendMemory, connection: BusConnection, tasks: Tasks
) -> tuple[Backend, AdapterSource, CameraSockets, CameraContact, None]:
    from wifimgrd.backends.networkmanager import NetworkManagerBackend  # noqa: PLC0415
    from wifimgrd.udev import UdevAdapterSource  # noqa: PLC0415

    backend = NetworkManagerBackend(
        memory,
        tasks.part("networkmanager"),
        country=config.radio.country,
        restart_link=HelpersWireless(connection).restart_link,
    )
    sockets = HelpersSockets(connection)
    return backend, UdevAdapterSource(), sockets, SocketContact(sockets), None


def _awake_adapters(sink: EventSink, memory: BackendMemory, tasks: Tasks) -> AwakeAdapters:
    from wifimgrd.udev import AwakeAdapters, UsbDevices  # noqa: PLC0415

    return AwakeAdapters(sink, memory, UsbDevices(), tasks.part("usb-power"))


def _now_us() -> int:
    return time.time_ns() // 1000
