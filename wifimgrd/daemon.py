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
from typing import Final

import structlog

from wifimgrd import __version__, catalog
from wifimgrd.config import Config, ConfigError
from wifimgrd.dbus.bus import BusConnection
from wifimgrd.dbus.service.hub_service import HubService
from wifimgrd.dbus.service.simulator_object import World
from wifimgrd.domain.allocator import AllocationRules, Reservation
from wifimgrd.domain.device import DeviceId
from wifimgrd.manager.hub import Hub
from wifimgrd.manager.state import HubSettings
from wifimgrd.ports import AdapterSource, Backend, BackendMemory
from wifimgrd.secrecy import forbid_core_dumps
from wifimgrd.service_manager import notify
from wifimgrd.store import SqliteStore

_log = structlog.get_logger()

STATE_DIRECTORY: Final = Path("/var/lib/wifimgrd")


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """What the command line decides."""

    bus: str = "system"
    simulate: bool = False
    scenario: Path | None = None
    """A scenario of the simulated world; None is the default one."""


class DirectoryTaken(Exception):
    """A second instance uses the state directory."""


class BusLost(Exception):
    """The message bus went away under the running daemon."""


async def run(config: Config, options: DaemonOptions) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises BusClosed (no bus), NameTaken and DirectoryTaken (a second instance), BusLost, and what
    the store and the scenario's file raise.
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
    """Hold the state directory's lock, which ends with the process; raises DirectoryTaken."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DirectoryTaken(f"another wifimgrd uses the state directory {directory}") from None
        yield directory


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
    hub = Hub(hub_settings(config), backend, adapters, store, service, _now_us)
    await hub.start()
    try:
        service.start(hub, world)
        _log.info("started", version=__version__, backend=backend.name, bus=options.bus)
        notify("READY=1")
        await _first(stopping.wait(), connection.wait_closed())
        if not connection.is_open:
            raise BusLost("the message bus went away")
    finally:
        notify("STOPPING=1")
        service.refuse()
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
        grace_s=config.link.grace_s,
        codenames=frozenset(catalog.codenames()) if config.catalog.strict else None,
    )


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
