"""The daemon: creates all parts, connects them, and starts and stops them in order."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import signal
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import structlog

from wifimgrd import __version__
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.config.configuration import Config, ConfigError, load_models
from wifimgrd.daemon._live_settings import LiveSettings, hub_settings
from wifimgrd.daemon.api.hub_service import HubService
from wifimgrd.daemon.helper_client.addresses import CameraAddresses
from wifimgrd.daemon.helper_client.helper import (
    HelperLinks,
    HelperNetworkManager,
    HelperSupplicant,
    HelperWireless,
)
from wifimgrd.daemon.helper_client.link_evidence import KernelLinkEvidence
from wifimgrd.daemon.helper_client.power_save import PowerSaveMonitor
from wifimgrd.daemon.helper_client.probes import SocketProbes
from wifimgrd.daemon.helper_client.sockets import HelperSockets
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.daemon.parts import Parts, Simulate
from wifimgrd.daemon.ports import Backend, BackendMemory, EventSink
from wifimgrd.daemon.store import NoHistory, SqliteHistory, SqliteStore, StoreError
from wifimgrd.domain.addresses import parse_network
from wifimgrd.domain.events import CameraChanged, SignalChanged
from wifimgrd.runtime.clock import now_us, steady_s
from wifimgrd.runtime.hardening import forbid_core_dumps
from wifimgrd.runtime.status_line import StatusLine
from wifimgrd.runtime.systemd import notify, start_watchdog
from wifimgrd.runtime.task_dump import dump_on_signal
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire.names import BUS_NAME

if TYPE_CHECKING:
    from wifimgrd.daemon._report import DaemonReport
    from wifimgrd.daemon.backends.choice import Choice
    from wifimgrd.daemon.udev import AutosuspendBlock, PortMemory

_log = structlog.get_logger()

STATE_DIRECTORY: Final = Path("/var/lib/wifimgrd")
_SIMULATOR: Final = "wifimgrd.simulator"
_HISTORY_AGAIN_S: Final = 60.0
"""Between attempts to open the history's file."""
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.ELOOP})
"""Errors of a state directory that do not pass: rights, or a file in its place."""


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """The options of the command line."""

    bus: str = "system"
    simulate: bool = False
    config: Path | None = None
    """Where the configuration was read from; None is the default file."""
    backend: str | None = None
    """Instead of `[backend] name`."""
    scenario: Path | None = None
    """A scenario of the simulated world; None is the default one."""


class DirectoryTaken(Exception):
    """A second instance uses the state directory."""


class StateDirectoryUnusable(Exception):
    """The state directory belongs to another user, or may not be created or entered."""


class BusLost(Exception):
    """The running daemon lost the message bus, or its name on the bus."""


async def run(config: Config, options: DaemonOptions) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises BusClosed (no bus), NameTaken and DirectoryTaken (a second instance), StateDirectoryUnusable,
    BusLost, ConfigError (the scenario), and StoreError.
    """
    forbid_core_dumps()
    os.umask(0o077)
    stopping, hung_up = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    loop.add_signal_handler(signal.SIGHUP, hung_up.set)
    dump_on_signal()
    connection = await BusConnection.open(options.bus, sockets=True)
    tasks = Tasks("wifimgrd")
    tasks.require("message-bus", connection.wait_closed())
    tasks.check("message-bus", connection.round_trip)
    try:
        service = HubService(connection, tasks.part("service"))
        await service.claim()
        with _alone_in(Path(os.environ.get("STATE_DIRECTORY", STATE_DIRECTORY))) as directory:
            await _serve(config, options, directory, connection, service, tasks, stopping, hung_up)
    finally:
        await tasks.stop()
        await connection.close()


@contextmanager
def _alone_in(directory: Path) -> Iterator[Path]:
    """Hold the state directory's lock, which the kernel releases with the process.

    Raises DirectoryTaken; StateDirectoryUnusable and StoreError before anything in it is touched.
    """
    with _enter(directory) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DirectoryTaken(f"another wifimgrd uses the state directory {directory}") from None
        yield directory


def _enter(directory: Path) -> TextIO:
    """Create the state directory and open its lock file; raises StateDirectoryUnusable where that is not
    allowed, StoreError where it is not possible now."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = directory.stat().st_uid
        if owner != os.geteuid():
            raise StateDirectoryUnusable(
                f"the state directory {directory} belongs to user {owner}, not to user {os.geteuid()}"
            )
        return os.fdopen(os.open(directory / "lock", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600), "w")
    except OSError as error:
        kind = StateDirectoryUnusable if error.errno in _FORBIDDEN else StoreError
        raise kind(f"the state directory {directory} cannot be used: {error.strerror}") from None


async def _serve(
    config: Config,
    options: DaemonOptions,
    directory: Path,
    connection: BusConnection,
    service: HubService,
    tasks: Tasks,
    stopping: asyncio.Event,
    hung_up: asyncio.Event,
) -> None:
    settings = hub_settings(config, load_models(options.config, _warn_of_retired))
    name = "simulated" if options.simulate else options.backend or config.backend.name
    simulate = _simulator() if name == "simulated" else None
    store = await SqliteStore.open(directory)
    history = History(NoHistory(), now_us, steady_s)
    choice = await _choice(name, connection)
    parts = (
        simulate(options.scenario, store, tasks, now_us)
        if simulate
        else _on_adapters(
            choice.name, config, store, connection, tasks, lambda: live.config.recovery.power_ports
        )
    )
    status_line = StatusLine(lambda line: notify(f"STATUS={line}"), ignored=(SignalChanged, CameraChanged))
    autosuspend = None if simulate or config.adapters.usb_autosuspend else _autosuspend_block(store, tasks)
    addresses = (
        None if simulate else CameraAddresses(connection, settings.addresses.network, tasks.part("addresses"))
    )
    power_save = (
        None
        if simulate
        else PowerSaveMonitor(HelperWireless(connection).end_power_save, tasks.part("power-save"))
    )
    optional: tuple[EventSink | None, ...] = (autosuspend, addresses, power_save)
    sinks: tuple[EventSink, ...] = (
        service,
        status_line,
        history,
        *(sink for sink in optional if sink is not None),
    )
    hub = Hub(
        settings,
        parts.backend,
        parts.adapters,
        store,
        sinks,
        now_us,
        parts.sockets,
        parts.contact,
        tasks.part("hub"),
        addresses,
        parts.bluetooth,
        parts.control,
        parts.host_clock,
        parts.evidence,
        steady_s,
    )
    hub.backend_choice = choice.reason
    live = LiveSettings(hub, config, options.config, tasks)
    tasks.check("store", store.gets_on)
    start_watchdog(tasks)
    await hub.start()
    if autosuspend is not None:
        autosuspend.start()
    if addresses is not None:
        await addresses.start(hub.assigned_statuses)
    keeping = tasks.part("history")
    live.reread_on_hangup(hung_up)
    try:
        hub.signal_read.subscribe(history.signals.read)
        await _begin_history(partial(_keep_history, history, hub, config, directory), keeping)
        service.start(hub, live.reread, _report(hub, live, history, tasks), history, parts.world)
        _log.info("started", version=__version__, backend=parts.backend.name, bus=options.bus)
        notify("READY=1")
        status_line.start(hub.summary)
        await tasks.until_required_ends(stopping)
        if not connection.is_open:
            raise BusLost("the message bus became unavailable")
        if not stopping.is_set():
            raise BusLost(f"the name {BUS_NAME} was lost")
    finally:
        notify("STOPPING=1\nSTATUS=stopping")
        status_line.stop()
        service.refuse()
        if power_save is not None:
            await power_save.stop()
        if addresses is not None:
            await addresses.stop()
        await hub.stop_work()
        await service.stop()
        await _stop(hub, autosuspend, history, keeping)
        _log.info("stopped")


async def _choice(name: str, connection: BusConnection) -> Choice:
    """The backend to use, and why where `name` leaves that open; what an earlier run has left for
    another one is ended."""
    from wifimgrd.daemon.backends.choice import Choice, choose_backend  # noqa: PLC0415

    choice = Choice(name, "")
    if choice.name == "auto":
        choice = await choose_backend(connection)
        _log.info("backend_chosen", backend=choice.name, reason=choice.reason)
    if choice.name == "networkmanager":
        await _end_networkd_links(connection)
    return choice


async def _end_networkd_links(connection: BusConnection) -> None:
    """End what an earlier run with another backend has left, so that networkd configures none of the adapters
    beside NetworkManager."""
    if HelperLinks.are_configured():
        try:
            await HelperLinks(connection).clear()
        except (BusError, TimeoutError) as error:
            _log.error("links_not_released", reason=str(error) or "no answer")


async def _begin_history(keep: Callable[[], Awaitable[None]], tasks: Tasks) -> None:
    """Keep the history; where that is not possible, on which nothing else depends, as soon as it is."""
    try:
        await keep()
    except StoreError as error:
        _log.error("history_not_kept", reason=error.message)
        tasks.start("history", _keep_later(keep))


async def _keep_later(keep: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(_HISTORY_AGAIN_S)
        with suppress(StoreError):
            await keep()
            _log.info("history_kept")
            return


async def _keep_history(history: History, hub: Hub, config: Config, directory: Path) -> None:
    """Keep the history in its file from now on; raises StoreError."""
    history.keep_in(await SqliteHistory.open(directory, config.history.rows, config.history.days))
    history.start(hub.backend_name, hub.device_statuses(), hub.device_name)


async def _stop(hub: Hub, autosuspend: AutosuspendBlock | None, history: History, keeping: Tasks) -> None:
    await keeping.stop()
    await history.stop()
    if autosuspend is not None:
        await autosuspend.stop()
    try:
        await hub.stop()
    except StoreError as error:  # only unacknowledged changes are lost; all else has stopped in order
        _log.error("state_not_written", reason=error.message)


def _report(hub: Hub, live: LiveSettings, history: History, tasks: Tasks) -> Callable[[], Awaitable[str]]:
    """The daemon's report; its modules are imported with the first one."""
    made: list[DaemonReport] = []

    async def text() -> str:
        from wifimgrd.daemon._report import DaemonReport  # noqa: PLC0415

        if not made:
            made.append(DaemonReport(hub, lambda: live.config, history, tasks, tasks.part("report")))
        return await made[0].text()

    return text


# Each backend's modules are imported only where it is used, to save memory.


def _simulator() -> Simulate:
    """The function that makes a simulated world; raises ConfigError on a host where none is installed."""
    module = None
    try:
        module = import_module(_SIMULATOR)
    except ModuleNotFoundError as error:
        if error.name != _SIMULATOR:
            raise
    simulate: Simulate | None = getattr(module, "parts", None)  # a folder with nothing in it is a module, too
    if simulate is None:
        raise ConfigError(
            "simulated adapters and cameras are in the package wifimgrd-simulator, which is not installed"
        )
    return simulate


def _on_adapters(
    name: str,
    config: Config,
    memory: PortMemory,
    connection: BusConnection,
    tasks: Tasks,
    power_ports: Callable[[], Collection[str]],
) -> Parts:
    from wifimgrd.daemon.camera_client.bluetooth import ProcessBluetooth  # noqa: PLC0415
    from wifimgrd.daemon.camera_client.control import ProcessControl  # noqa: PLC0415
    from wifimgrd.daemon.udev import UdevAdapterSource, UsbDevices, UsbPorts  # noqa: PLC0415
    from wifimgrd.proxies.timedated import Timedated  # noqa: PLC0415

    make = {"networkmanager": _networkmanager, "wpa_supplicant": _wpa_supplicant}[name]
    sockets = HelperSockets(connection)
    backend = make(config, memory, connection, tasks.part(name))
    bluetooth = ProcessBluetooth(connection, tasks.part("bluetooth"))
    return Parts(
        backend,
        UdevAdapterSource(UsbPorts(UsbDevices(), memory, power_ports)),
        sockets,
        SocketProbes(sockets),
        bluetooth,
        ProcessControl(connection, tasks.part("cameras")),
        Timedated(connection),
        KernelLinkEvidence(),
    )


def _networkmanager(
    config: Config, memory: BackendMemory, connection: BusConnection, tasks: Tasks
) -> Backend:
    from wifimgrd.daemon.backends.networkmanager import NetworkManagerBackend  # noqa: PLC0415

    supplicant = HelperSupplicant(connection)
    return NetworkManagerBackend(
        memory,
        tasks,
        changes=HelperNetworkManager(connection),
        country=config.radio.country,
        set_country=supplicant.set_country,
        limit_networks=supplicant.limit_networks,
        restart_link=HelperWireless(connection).restart_link,
        cameras=parse_network(config.cameras.network),
    )


def _wpa_supplicant(
    config: Config, memory: BackendMemory, connection: BusConnection, tasks: Tasks
) -> Backend:
    from wifimgrd.daemon.backends.wpa_supplicant import WpaSupplicantBackend  # noqa: PLC0415

    links, wireless = HelperLinks(connection), HelperWireless(connection)
    supplicant = HelperSupplicant(connection)

    return WpaSupplicantBackend(
        memory,
        tasks,
        register_interface=supplicant.register_interface,
        add_network=supplicant.add_network,
        set_country=supplicant.set_country,
        limit_networks=supplicant.limit_networks,
        configure_link=links.configure_link,
        request_lease=links.request_lease,
        release_link=links.release_link,
        restart_link=wireless.restart_link,
        country=config.radio.country,
        cameras=parse_network(config.cameras.network),
    )


def _warn_of_retired(file: Path, key: str) -> None:
    _log.warning("setting_without_effect", file=str(file), key=key)


def _autosuspend_block(memory: BackendMemory, tasks: Tasks) -> AutosuspendBlock:
    from wifimgrd.daemon.udev import AutosuspendBlock, UsbDevices  # noqa: PLC0415

    return AutosuspendBlock(memory, UsbDevices(), tasks.part("usb-power"))
