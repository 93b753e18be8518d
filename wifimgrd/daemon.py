"""The daemon: everything wired together, started and stopped in order."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from wifimgrd import __version__, catalog
from wifimgrd.config import Config, ConfigError, load
from wifimgrd.dbus.bus import BusConnection
from wifimgrd.dbus.names import BUS_NAME
from wifimgrd.dbus.service.hub_service import HubService
from wifimgrd.dbus.service.simulator_object import World
from wifimgrd.domain.addresses import AddressPlan, parse_network
from wifimgrd.domain.allocator import AllocationRules, Reservation
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.manager.hub import Hub
from wifimgrd.manager.state import HubSettings
from wifimgrd.net.client import AddressTeller
from wifimgrd.ports import AdapterSource, Backend, BackendMemory
from wifimgrd.secrecy import forbid_core_dumps
from wifimgrd.service_manager import keep_watchdog_quiet, notify
from wifimgrd.standing import StandingTeller
from wifimgrd.store import SqliteStore

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
    connection = await BusConnection.open(options.bus)
    try:
        service = HubService(connection)
        await service.claim()
        with _alone_in(Path(os.environ.get("STATE_DIRECTORY", STATE_DIRECTORY))) as directory:
            await _serve(config, options, directory, connection, service, stopping)
    finally:
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
    stopping: asyncio.Event,
) -> None:
    store = await SqliteStore.open(directory)
    simulate = options.simulate or config.backend.name == "simulated"
    backend, adapters, world = (
        _simulated(options.scenario, store) if simulate else _networkmanager(config, store)
    )
    teller = StandingTeller(service, lambda line: notify(f"STATUS={line}"))
    settings = hub_settings(config)
    network = None if simulate else settings.addresses.network
    addresses = None if network is None else AddressTeller(teller, connection, network)
    hub = Hub(settings, backend, adapters, store, addresses or teller, _now_us)
    await hub.start()
    if addresses is not None:
        await addresses.start(hub.device_statuses)
    live = LiveSettings(hub, config, options.config)
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, live.reread_soon)
    try:
        service.start(hub, live.reread, world)
        _log.info("started", version=__version__, backend=backend.name, bus=options.bus)
        notify("READY=1")
        teller.start(hub)
        await _first(
            stopping.wait(),
            connection.wait_closed(),
            service.wait_name_lost(),
            keep_watchdog_quiet(hub.prove_progress),
        )
        if not connection.is_open:
            raise BusLost("the message bus went away")
        if not stopping.is_set():
            raise BusLost(f"the name {BUS_NAME} was lost")
    finally:
        notify("STOPPING=1\nSTATUS=stopping")
        teller.stop()
        service.refuse()
        if addresses is not None:
            await addresses.stop()
        await hub.rest()
        await service.stop()
        await hub.stop()
        _log.info("stopped")


# What one of the two worlds needs is imported with it: the daemon has little memory to spare.


def _simulated(scenario: Path | None, memory: BackendMemory) -> tuple[Backend, AdapterSource, World]:
    from wifimgrd.backends.simulated import ScenarioError, SimulatedWorld, load_scenario  # noqa: PLC0415

    try:
        world = SimulatedWorld(load_scenario(scenario), memory)
    except ScenarioError as error:
        raise ConfigError(str(error)) from None
    return world.backend, world.adapters, world


def _networkmanager(config: Config, memory: BackendMemory) -> tuple[Backend, AdapterSource, None]:
    from wifimgrd.backends.networkmanager import NetworkManagerBackend  # noqa: PLC0415
    from wifimgrd.udev import UdevAdapterSource  # noqa: PLC0415

    return NetworkManagerBackend(memory, country=config.radio.country), UdevAdapterSource(), None


def hub_settings(config: Config) -> HubSettings:
    """What the configuration says, in the manager's own terms."""
    interfaces = config.interfaces
    rules = AllocationRules(
        usb_only=interfaces.match == "usb",
        exclude=interfaces.exclude,
        reservations=tuple(
            Reservation(
                DeviceId(one.device) if isinstance(one.device, int) else one.device, one.mac, one.usb_port
            )
            for one in interfaces.reserve
        ),
    )
    return HubSettings(
        rules=rules,
        connect_on_create=config.connect.on_create,
        attempt_timeout_s=config.connect.timeout_s,
        auto_reconnect=config.connect.auto_reconnect,
        grace_s=config.link.grace_s,
        addresses=AddressPlan(parse_network(config.cameras.network)),
        codenames=frozenset(catalog.codenames()) if config.catalog.strict else None,
    )


class LiveSettings:
    """The configuration in use, and the way to a newer one."""

    def __init__(self, hub: Hub, config: Config, path: Path | None) -> None:
        self._hub = hub
        self._config = config
        self._path = path
        self._reading: asyncio.Task[None] | None = None

    async def reread(self) -> None:
        """Read the configuration again and use it; raises InvalidRequest, and then the old one stays."""
        notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            config = load(self._path)
            await self._hub.reconfigure(hub_settings(config))
        except ConfigError as error:
            _log.error("configuration_refused", reason=str(error))
            raise InvalidRequest(f"the old configuration stays in use: {error}") from None
        finally:
            notify("READY=1")
        _log.info("configuration_reloaded", needs_restart=self._beyond_reload(config) or None)
        self._config = config

    def reread_soon(self) -> None:
        """The same on SIGHUP, where nobody hears what is wrong but the log."""

        async def reread() -> None:
            with suppress(InvalidRequest):
                await self.reread()

        self._reading = asyncio.create_task(reread())

    def _beyond_reload(self, config: Config) -> list[str]:
        """What has changed and is not taken over."""
        was, now = self._config, config
        changed = {
            "backend": was.backend != now.backend,
            "interfaces.match": was.interfaces.match != now.interfaces.match,
            "radio": was.radio != now.radio,
            "cameras": was.cameras != now.cameras,
        }
        return [key for key, differs in changed.items() if differs]


async def _first(*waits: object) -> None:
    """Return when the first of some waits is over; the others are cancelled."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]  # type: ignore[call-overload]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _now_us() -> int:
    return time.time_ns() // 1000
