"""The hub: all use cases."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Final, Literal

from wifimgrd.daemon.manager._absent import NoBluetooth, NoControl, NoEvidence, RightClock
from wifimgrd.daemon.manager._adapter_events import AdapterEvents
from wifimgrd.daemon.manager._airtime import Airtime
from wifimgrd.daemon.manager._arrivals import Arrivals
from wifimgrd.daemon.manager._backend_events import BackendEvents
from wifimgrd.daemon.manager._bluetooth_commands import BluetoothCommands
from wifimgrd.daemon.manager._bonds import Bonds
from wifimgrd.daemon.manager._camera_steps import CameraSteps
from wifimgrd.daemon.manager._cameras import Cameras
from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._dead_links import DeadLinks
from wifimgrd.daemon.manager._groups import Groups
from wifimgrd.daemon.manager._link_evidence import LinkObserver
from wifimgrd.daemon.manager._link_records import LinkRecords
from wifimgrd.daemon.manager._link_steps import LinkSteps
from wifimgrd.daemon.manager._liveness import Liveness
from wifimgrd.daemon.manager._operations import Operations
from wifimgrd.daemon.manager._over_bluetooth import OverBluetooth
from wifimgrd.daemon.manager._pairing import Pairing
from wifimgrd.daemon.manager._port_steps import PortSteps
from wifimgrd.daemon.manager._reconciling import Reconciling
from wifimgrd.daemon.manager._reconnecting import Reconnecting
from wifimgrd.daemon.manager._recovering import Recovering
from wifimgrd.daemon.manager._registering import Registering
from wifimgrd.daemon.manager._rejoining import Rejoining
from wifimgrd.daemon.manager._reservations import Reservations
from wifimgrd.daemon.manager._scans import ScanReport, Scans
from wifimgrd.daemon.manager._state import Clock, HubState, Steady, loop_s
from wifimgrd.daemon.manager._turns import Turns
from wifimgrd.daemon.manager._waking import Waking
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import (
    AdapterSource,
    AddressRoutes,
    Backend,
    CameraBluetooth,
    CameraContact,
    CameraSockets,
    DeviceStore,
    EventSink,
    HostClock,
    LinkEvidence,
)
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.commands import (
    CONNECT,
    DISCONNECT,
    PAIR,
    RECOVER,
    SET_CLOCK,
    SLEEP,
    START_RECORDING,
    STOP_RECORDING,
    UNPAIR,
    WAKE,
)
from wifimgrd.domain.device import DeviceId, DeviceStatus
from wifimgrd.domain.errors import DeviceNotReachable, WifimgrdError
from wifimgrd.domain.events import BackendState, BackendStatus, DeviceUpdated
from wifimgrd.domain.interface import InterfaceCounts, InterfaceStatus
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.network import Network
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.domain.reservation import AbsentAdapter
from wifimgrd.runtime.tasks import Tasks

_KEPT_SHOWN: Final = 3
"""How many reserved interfaces the summary names."""


class Hub:
    """Registers devices, connects them and holds their state."""

    def __init__(
        self,
        settings: HubSettings,
        backend: Backend,
        adapters: AdapterSource,
        store: DeviceStore,
        sinks: Sequence[EventSink],
        clock: Clock,
        sockets: CameraSockets,
        contact: CameraContact,
        tasks: Tasks,
        routes: AddressRoutes | None = None,
        bluetooth: CameraBluetooth | None = None,
        control: CameraControl | None = None,
        host_clock: HostClock | None = None,
        evidence: LinkEvidence | None = None,
        steady_s: Steady = loop_s,
    ) -> None:
        """`routes` are None where the addresses of cameras lead nowhere, `bluetooth` where no camera can be
        woken, `control` where none can be commanded, `host_clock` where this host's is always right,
        `evidence` where nothing is known of a link that is up and dead."""
        self._backend = backend
        self.backend_choice = ""
        """Why it is this backend, as the end of a sentence; empty where the configuration names it."""
        self._adapters = adapters
        self._store = store
        self._sockets = sockets
        self._reconfiguring = asyncio.Lock()
        """Held until the adapters are given back, or taken, that a configuration is about."""
        self._state = state = HubState(settings, store, sinks, clock, steady_s)
        self.signal_read = state.signal_read
        """The signal of a connected device was read, which no client is told."""
        arrivals, event_tasks = Arrivals(state, routes), tasks.part("events")
        self._event_tasks = event_tasks
        """The work that follows from the events of the backend and of the adapters."""
        self._bluetooth = bluetooth = bluetooth or NoBluetooth()
        control = control or NoControl()
        self._bonds = bonds = Bonds(store, bluetooth, tasks.part("bonds"))
        self._waking = waking = Waking(state, backend, bluetooth, bonds, tasks.part("waking"))
        turns = Turns(state)
        self.connections = connections = Connections(
            state, backend, arrivals, waking, turns, tasks.part("connections")
        )
        """Connects and disconnects devices, also for clients."""
        self.groups = Groups(state, connections, waking, backend, turns, tasks.part("groups"))
        """Connects groups of devices, also for clients."""
        self._airtime = airtime = Airtime(clock)
        self._reconnecting = Reconnecting(
            state, connections, waking, airtime, backend, tasks.part("reconnecting")
        )
        self._links = links = LinkRecords(settings.link_recovery)
        self._ports = ports = PortSteps(state, links, airtime, backend, adapters, tasks.part("ports"))
        self._recovering = Recovering(
            state, self._reconnecting, airtime, backend, ports, links, tasks.part("recovery")
        )
        self._backend_events = BackendEvents(state, connections, arrivals, backend, event_tasks)
        self._reconciling = Reconciling(
            state, connections, self._reconnecting, self._backend_events, backend, event_tasks
        )
        self._reservations = reservations = Reservations(state)
        self._adapter_events = AdapterEvents(
            state,
            reservations,
            connections,
            self._backend_events,
            self._reconciling,
            self._recovering,
            backend,
            event_tasks,
        )
        self._scans = Scans(state, airtime, backend)
        self._pairing = pairing = Pairing(state, waking, bonds, control, tasks.part("pairing"))
        operations = Operations(state, tasks.part("power"))
        self.bluetooth = power = BluetoothCommands(
            state, connections, waking, self._scans, pairing, bluetooth, operations
        )
        """Wakes, pairs and finds cameras, also for clients."""
        self._registering = Registering(
            state, reservations, connections, self._reconnecting, pairing, tasks.part("registering")
        )
        over_bluetooth = OverBluetooth(state, waking, bluetooth)
        self.cameras = cameras = Cameras(
            state, control, host_clock or RightClock(), over_bluetooth, tasks.part("cameras")
        )
        """The commands to cameras, also for clients, and what cameras say of themselves."""
        self._liveness = Liveness(state, contact, tasks.part("liveness"))
        self._observer = observer = LinkObserver(
            state, evidence or NoEvidence(), airtime, backend, tasks.part("listening")
        )
        camera_steps = CameraSteps(state, waking, over_bluetooth, bluetooth, tasks.part("camera-steps"))
        self._link_steps = steps = LinkSteps(
            state,
            links,
            connections,
            Rejoining(state, connections, backend, tasks.part("rejoining")),
            turns,
            ports,
            camera_steps,
            operations,
        )
        self._dead_links = dead_links = DeadLinks(
            state,
            links,
            observer,
            connections,
            ports,
            camera_steps,
            steps,
            operations,
            backend,
            tasks.part("dead-links"),
        )
        self.device_commands: Mapping[str, Callable[..., Awaitable[None]]] = {
            CONNECT.name: connections.connect,
            DISCONNECT.name: connections.disconnect,
            WAKE.name: power.wake,
            SLEEP.name: power.sleep,
            PAIR.name: power.pair,
            UNPAIR.name: power.unpair,
            RECOVER.name: dead_links.recover,
            START_RECORDING.name: cameras.start_recording,
            STOP_RECORDING.name: cameras.stop_recording,
            SET_CLOCK.name: cameras.set_clock,
        }
        """The function that carries out each of DEVICE_COMMANDS."""
        self._subscribe()

    def _subscribe(self) -> None:
        """Subscribe the parts to each other's notices: all who hear one, in the order in which they do."""
        state, connections, ports = self._state, self.connections, self._ports
        dead_links = self._dead_links
        reconnecting, recovering = self._reconnecting, self._recovering
        connections.device_commanded.subscribe(reconnecting.commanded)
        connections.device_commanded.subscribe(self.bluetooth.commanded)
        connections.released.subscribe(dead_links.released)
        connections.released.subscribe(self._waking.link_over)
        connections.device_waits.subscribe(reconnecting.waits)
        connections.attempt_started.subscribe(reconnecting.attempt_started)
        connections.attempt_over.subscribe(recovering.attempt_over)
        connections.attempt_over.subscribe(reconnecting.attempt_over)
        self._airtime.over.subscribe(reconnecting.listened)
        self._airtime.over.subscribe(recovering.listened)
        self._airtime.over.subscribe(ports.look)
        state.waiting_over.subscribe(reconnecting.end)
        state.device_connected.subscribe(self._reservations.gone.connected)
        state.device_connected.subscribe(reconnecting.end)
        state.device_connected.subscribe(recovering.connected)
        state.link_up.subscribe(self._liveness.link_up)
        state.device_connected.subscribe(self._liveness.start)
        state.device_connected.subscribe(self._waking.connected)
        state.device_connected.subscribe(self.cameras.readings.connected)
        state.link_ended.subscribe(self._liveness.link_ended)
        state.link_ended.subscribe(self.cameras.readings.link_ended)
        state.link_ended.subscribe(dead_links.link_ended)
        state.device_lost.subscribe(self._waking.link_over)
        state.device_lost.subscribe(reconnecting.lost)
        state.device_lost.subscribe(self.cameras.readings.lost)
        self._waking.bluetooth_ready.subscribe(self._pairing.bluetooth_ready)
        self._waking.unfit_met.subscribe(self._pairing.camera_unfit)
        self._reservations.applied.subscribe(self.groups.resolve)
        state.interface_may_be_free.subscribe(reconnecting.interface_changed)
        state.interface_may_be_free.subscribe(recovering.interface_changed)
        state.interface_may_be_free.subscribe(self._observer.interface_changed)
        state.interface_may_be_free.subscribe(self._link_steps.interface_changed)
        state.interface_may_be_free.subscribe(ports.look)
        self._backend_events.status_changed.subscribe(self._reconciling.backend_changed)
        reconnecting.network_not_found.subscribe(recovering.network_not_found)
        self._registering.device_removed.subscribe(reconnecting.end)
        self._registering.device_removed.subscribe(recovering.removed)
        self._registering.device_removed.subscribe(self.bluetooth.removed)
        self._registering.device_removed.subscribe(self.cameras.readings.removed)
        self._registering.device_removed.subscribe(dead_links.removed)
        self._registering.model_changed.subscribe(self.cameras.readings.model_changed)
        self._registering.model_changed.subscribe(dead_links.model_changed)
        self.cameras.readings.not_recording.subscribe(self.cameras.not_recording)
        self._subscribe_to_links()

    def _subscribe_to_links(self) -> None:
        """The same of what is known by dead links."""
        ports, dead_links, links = self._ports, self._dead_links, self._links
        self._liveness.probed.subscribe(dead_links.probed)
        self.cameras.readings.read.subscribe(dead_links.answered)
        links.adapters_changed.subscribe(self._recovering.links_changed)
        links.adapters_changed.subscribe(ports.look)
        links.port_expired.subscribe(self._recovering.port_over)
        links.expired.subscribe(self._link_steps.expired)
        links.expired.subscribe(ports.look)
        ports.begun.subscribe(self._recovering.port_begun)
        ports.over.subscribe(self._recovering.port_over)

    # -- start, stop, settings

    async def start(self) -> None:
        """Load the devices from disk, list the adapters, and adopt the links that are up."""
        await self._registering.load()
        await self._bonds.load()
        self._reservations.apply()
        self._state.address_devices()
        await self._bluetooth.start(self._waking)
        await self.cameras.start(self._open_tcp)
        await self._adapters.start(self._adapter_events)
        await self._backend.start(self._backend_events)
        await self._reconciling.wait_for_backend()
        self._reservations.log()

    async def stop_work(self) -> None:
        """End attempts and their waiting callers; no further commands may be given."""
        await self._registering.stop()
        await self._dead_links.stop()
        await self.bluetooth.stop()
        await self._recovering.stop()
        await self._reconnecting.stop()
        await self.groups.stop()
        await self.connections.stop()
        await self._scans.stop()
        await self._liveness.stop()
        await self._waking.stop()
        await self.cameras.stop()

    async def stop(self) -> None:
        """Stop in order; links that are up stay up, devices stay on disk."""
        await self.stop_work()
        await self._adapters.stop()
        await self._event_tasks.settle()
        self._reconciling.stop()
        await self._backend.stop()
        await self.connections.stop()  # what the backend's last events have begun
        await self._bluetooth.stop()
        await self._store.close()

    async def reconfigure(self, settings: HubSettings) -> None:
        """Use other settings from now on. Links that are up stay, running attempts end with the old settings;
        the rule for which adapters are listed stays as it was at the start. The later of two calls counts."""
        async with self._reconfiguring:
            await self._reconfigure(settings)

    async def _reconfigure(self, settings: HubSettings) -> None:
        state, before = self._state, self._state.allocator
        rules = replace(settings.rules, usb_only=before.rules.usb_only)
        shown = list(state.device_statuses())
        state.settings = replace(settings, rules=rules, addresses=state.settings.addresses)
        for entry in state.entries.values():
            self.cameras.readings.model_changed(entry)
        for status in shown:
            now = state.status(state.entries[status.device.id])
            if now != status:
                state.publish(DeviceUpdated(now))
        self.groups.forget_unknown()
        self._reservations.apply()
        self._reconnecting.reconfigured()
        self._recovering.reconfigure(settings.recovery)
        self._links.reconfigure(settings.link_recovery)
        self._reservations.log()
        for name, interface in list(state.allocator.interfaces.items()):
            if interface.exclusion == before.interfaces[name].exclusion:
                continue
            if interface.exclusion:
                await self._backend.release(name)
            else:
                await self._backend.claim(name)

    # -- state for clients

    @property
    def backend_name(self) -> str:
        """The value of `[backend] name`."""
        return self._backend.name

    @property
    def backend_status(self) -> BackendStatus:
        """The present state of the backend."""
        return self._backend.status

    def device_name(self, device_id: DeviceId) -> str:
        """The name of a device; empty if it is not registered."""
        return self._state.device_name(device_id)

    def device_statuses(self) -> Iterator[DeviceStatus]:
        """Every device, in order of id."""
        return self._state.device_statuses()

    def device_status(self, device_id: DeviceId) -> DeviceStatus:
        """A device; raises DeviceNotFound."""
        return self._state.status(self._state.entry(device_id))

    def assigned_statuses(self) -> Iterator[DeviceStatus]:
        """Every device that has an interface, in order of id."""
        return self._state.assigned_statuses()

    def interface_statuses(self) -> Iterator[InterfaceStatus]:
        """Every listed interface, in natural order of names."""
        return self._state.interface_statuses()

    @property
    def interface_counts(self) -> InterfaceCounts:
        """The number of listed interfaces, of free ones and of those in use."""
        return self._state.allocator.counts

    @property
    def absent_adapters(self) -> tuple[AbsentAdapter, ...]:
        """The adapters that are not plugged in, and are kept for a device or were there since the start."""
        return self._reservations.absent

    @property
    def unmatched_reservations(self) -> tuple[str, ...]:
        """The reservations of the configuration that name no registered device, as sentences."""
        return self._reservations.unmatched

    def summary(self) -> str:
        """The state in one sentence, for `systemctl status`: "3 devices, 1 connected, 1 of 3 interfaces free,
        wlan2 reserved for Nose", and why the backend is not ready."""
        state, counts, backend = self._state, self.interface_counts, self._backend.status
        line = (
            f"{_counted(len(state.entries), 'device')}, {state.connected_count} connected, "
            f"{counts.free} of {_counted(counts.total, 'interface')} free"
        )
        kept = state.allocator.kept
        for name in kept[:_KEPT_SHOWN]:
            if (device_id := state.allocator.interfaces[name].reserved_for) is not None:
                line += f", {name} reserved for {state.device_name(device_id)}"
        if len(kept) > _KEPT_SHOWN:
            line += f", {len(kept) - _KEPT_SHOWN} more reserved"
        if backend.state is not BackendState.READY:
            line += f"; {self.backend_name} is {backend.state.value}"
            line += f": {backend.reason}" if backend.reason else ""
        return line

    # -- commands of clients

    async def create(self, fields: Mapping[str, object]) -> DeviceId:
        """See Registering.create."""
        return await self._registering.create(fields)

    async def update(self, device_id: DeviceId, fields: Mapping[str, object]) -> None:
        """See Registering.update."""
        await self._registering.update(device_id, fields)

    async def remove(self, device_id: DeviceId) -> None:
        """See Registering.remove."""
        await self._registering.remove(device_id)

    async def scan(self, interface: str | None = None) -> ScanReport:
        """See Scans.scan."""
        report = await self._scans.scan(interface)
        await self._recovering.scanned(report)
        with suppress(WifimgrdError):
            self._reconnecting.seen({network.ssid for network in await self._scans.networks(interface)})
        return report

    async def recover_interface(
        self, interface: str, step: RecoveryStep | Literal[LinkStep.POWER_PORT]
    ) -> None:
        """See Recovering.recover."""
        await self._recovering.recover(interface, step)

    async def networks(self, interface: str | None = None) -> list[Network]:
        """See Scans.networks."""
        return await self._scans.networks(interface)

    async def open_socket(self, device_id: DeviceId, port: int, kind: SocketKind) -> socket.socket:
        """A socket to a device's camera, through its interface; the caller closes it.

        Raises DeviceNotFound, DeviceNotReachable if it is not connected, and as CameraSockets does.
        """
        where = self._where(device_id)
        with ExitStack() as unless_it_fits:
            opened = await self._sockets.open(device_id, *where, port, kind)
            unless_it_fits.enter_context(opened)
            if self._where(device_id) != where:  # the interface may be another camera's by now
                raise DeviceNotReachable("the device was reconnected meanwhile")
            unless_it_fits.pop_all()
        return opened

    async def _open_tcp(self, device_id: DeviceId, port: int) -> socket.socket:
        return await self.open_socket(device_id, port, SocketKind.TCP)

    def _where(self, device_id: DeviceId) -> tuple[str, str]:
        """The interface and the address of a connected camera; raises DeviceNotReachable."""
        status = self._state.status(self._state.entry(device_id))
        if status.link is None or status.interface is None:
            raise DeviceNotReachable(f"the camera is {status.state.value}")
        if not status.link.camera_address:
            raise DeviceNotReachable("the camera's address is not known")
        return status.interface, status.link.camera_address


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
