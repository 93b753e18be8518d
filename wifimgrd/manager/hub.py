"""The hub: all use cases."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Final

import structlog

from wifimgrd.domain import sentences
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.commands import CONNECT, DISCONNECT, PAIR, SLEEP, UNPAIR, WAKE
from wifimgrd.domain.device import Device, DeviceId, DeviceStatus
from wifimgrd.domain.errors import DeviceNotReachable, IdempotencyKeyReused, InvalidRequest, WifimgrdError
from wifimgrd.domain.events import BackendState, BackendStatus, DeviceCreated, DeviceRemoved, DeviceUpdated
from wifimgrd.domain.interface import InterfaceCounts, InterfaceStatus
from wifimgrd.domain.network import Network
from wifimgrd.domain.registration import (
    Amendment,
    PairingRegistration,
    Registration,
    default_name,
    parse_amendment,
    parse_pairing_registration,
    parse_registration,
    renamed_duplicates,
)
from wifimgrd.domain.reservation import AbsentAdapter
from wifimgrd.manager._adapter_events import AdapterEvents
from wifimgrd.manager._arrivals import Arrivals
from wifimgrd.manager._backend_events import BackendEvents
from wifimgrd.manager._connections import Connections
from wifimgrd.manager._entry import DeviceEntry
from wifimgrd.manager._liveness import Liveness
from wifimgrd.manager._no_bluetooth import NoBluetooth
from wifimgrd.manager._power import Power
from wifimgrd.manager._reconciling import Reconciling
from wifimgrd.manager._reconnecting import Reconnecting
from wifimgrd.manager._recovering import Recovering
from wifimgrd.manager._scans import ScanReport, Scans
from wifimgrd.manager._state import Clock, HubState
from wifimgrd.manager._waking import Waking
from wifimgrd.manager.settings import HubSettings
from wifimgrd.ports import (
    AdapterSource,
    AddressRoutes,
    Backend,
    CameraBluetooth,
    CameraContact,
    CameraSockets,
    DeviceStore,
    EventSink,
)
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

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
    ) -> None:
        """`routes` are None where the addresses of cameras lead nowhere, `bluetooth` where no camera can be
        woken."""
        self._backend = backend
        self.backend_choice = ""
        """Why it is this backend, as the end of a sentence; empty where the configuration names it."""
        self._adapters = adapters
        self._store = store
        self._sockets = sockets
        self._state = state = HubState(settings, store, sinks, clock)
        arrivals, event_tasks = Arrivals(state, routes), tasks.part("events")
        self._event_tasks = event_tasks
        """What follows from the events of the backend and of the adapters."""
        self._bluetooth = bluetooth = bluetooth or NoBluetooth()
        self._waking = waking = Waking(state, backend, bluetooth, tasks.part("waking"))
        self.connections = connections = Connections(
            state, backend, arrivals, waking, tasks.part("connections")
        )
        """Connects and disconnects devices, also for clients."""
        self._reconnecting = Reconnecting(state, connections, waking, backend)
        self._recovering = Recovering(state, self._reconnecting, backend, adapters, tasks.part("recovery"))
        self._backend_events = BackendEvents(state, connections, arrivals, backend, event_tasks)
        self._reconciling = Reconciling(
            state, connections, self._reconnecting, self._backend_events, backend, event_tasks
        )
        self._adapter_events = AdapterEvents(
            state,
            connections,
            self._backend_events,
            self._reconciling,
            self._recovering,
            backend,
            event_tasks,
        )
        self._scans = Scans(state, backend)
        self.bluetooth = power = Power(
            state, connections, waking, self._scans, bluetooth, tasks.part("power")
        )
        """Wakes, pairs and finds cameras, also for clients."""
        self._creations: dict[str, asyncio.Task[DeviceId]] = {}
        """The creations with a pairing that run, by their idempotency keys."""
        self._liveness = Liveness(state, contact, tasks.part("liveness"))
        self._naming = asyncio.Lock()
        """Held from the check of a name until a device has it."""
        self.device_commands: Mapping[str, Callable[..., Awaitable[None]]] = {
            CONNECT.name: connections.connect,
            DISCONNECT.name: connections.disconnect,
            WAKE.name: power.wake,
            SLEEP.name: power.sleep,
            PAIR.name: power.pair,
            UNPAIR.name: power.unpair,
        }
        """What carries out each of DEVICE_COMMANDS."""
        self._subscribe()

    def _subscribe(self) -> None:
        """Subscribe the parts to each other's notices: all who hear one, in the order in which they do."""
        state, connections = self._state, self.connections
        reconnecting, recovering = self._reconnecting, self._recovering
        connections.device_commanded.subscribe(reconnecting.commanded)
        connections.device_commanded.subscribe(self.bluetooth.commanded)
        connections.device_waits.subscribe(reconnecting.waits)
        connections.attempt_started.subscribe(reconnecting.attempt_started)
        connections.attempt_over.subscribe(recovering.attempt_over)
        state.waiting_over.subscribe(reconnecting.end)
        state.device_connected.subscribe(reconnecting.end)
        state.device_connected.subscribe(self._liveness.start)
        state.device_connected.subscribe(self._waking.connected)
        state.device_lost.subscribe(self._waking.lost)
        state.device_lost.subscribe(reconnecting.lost)
        state.interface_may_be_free.subscribe(reconnecting.interface_changed)
        state.interface_may_be_free.subscribe(recovering.interface_changed)
        self._backend_events.status_changed.subscribe(self._reconciling.backend_changed)
        reconnecting.network_not_found.subscribe(recovering.network_not_found)

    # -- start, stop, settings

    async def start(self) -> None:
        """Load the devices from disk, list the adapters, and adopt the links that are up."""
        for device in (await self._store.load()).values():
            self._state.registry.add(DeviceEntry(device))
        self._rename_duplicates()
        self._state.apply_rules()
        self._state.address_devices()
        await self._bluetooth.start(self._waking)
        await self._adapters.start(self._adapter_events)
        await self._backend.start(self._backend_events)
        await self._reconciling.wait_for_backend()
        self._state.log_reservations()

    def _rename_duplicates(self) -> None:
        """Give each device a unique name, since earlier versions and their backups allowed duplicates."""
        entries = self._state.entries
        for device_id, name in renamed_duplicates({one: entries[one].device.name for one in entries}).items():
            device = entries[device_id].device
            _log.warning("device_renamed", device=device_id, before=device.name, name=name)
            self._state.record(entries[device_id], replace(device, name=name), at_once=True)

    async def stop_work(self) -> None:
        """End attempts and their waiting callers; no further commands may be given."""
        for creation in self._creations.values():
            creation.cancel()
        await self.bluetooth.stop()
        await self._recovering.stop()
        await self._reconnecting.stop()
        await self.connections.stop()
        await self._scans.stop()
        await self._liveness.stop()
        await self._waking.stop()

    async def stop(self) -> None:
        """Stop in order; links that are up stay up, devices stay on disk."""
        await self.stop_work()
        await self._adapters.stop()
        await self._event_tasks.settle()
        await self._backend.stop()
        await self._bluetooth.stop()
        await self._store.close()

    async def reconfigure(self, settings: HubSettings) -> None:
        """Use other settings from now on. Links that are up stay, running attempts end with the old settings;
        the rule for which adapters are listed stays as it was at the start."""
        state, before = self._state, self._state.allocator
        rules = replace(settings.rules, usb_only=before.rules.usb_only)
        shown = list(state.device_statuses())
        state.settings = replace(settings, rules=rules, addresses=state.settings.addresses)
        for status in shown:
            now = state.status(state.entries[status.device.id])
            if now != status:
                state.publish(DeviceUpdated(now))
        state.apply_rules()
        self._reconnecting.reconfigured()
        self._recovering.reconfigure(settings.recovery)
        state.log_reservations()
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
        """The adapters that are kept for a device and not plugged in."""
        return self._state.absent_adapters

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
        """Register a device, safe on disk on return, and start its first attempt if so configured.

        A device with a Bluetooth address in place of a network is paired first, and says what that is.

        Raises InvalidRequest; DeviceNotFound if an idempotency key is repeated whose device was
        removed, IdempotencyKeyReused if another request had it; with a Bluetooth address Busy, PairingFailed,
        BluetoothUnavailable.
        """
        pairing = parse_pairing_registration(fields, self._state.settings.codenames)
        if pairing is not None:
            return await self._create_by_pairing(pairing)
        return await self._create(parse_registration(fields, self._state.settings.codenames))

    async def _create_by_pairing(self, request: PairingRegistration) -> DeviceId:
        """A repeat of an idempotency key joins the creation that runs."""
        key = request.idempotency_key
        if key is None:
            return await self._pair_and_create(request)
        if (device_id := await self._created_before(key, request.values())) is not None:
            return device_id
        running = self._creations.get(key)
        if running is None:
            running = self._creations[key] = asyncio.create_task(self._pair_and_create(request))
            running.add_done_callback(lambda _: self._creations.pop(key, None))
        return await asyncio.shield(running)

    async def _pair_and_create(self, request: PairingRegistration) -> DeviceId:
        address = request.bluetooth_address
        codename, camera = await self.bluetooth.identify(request)
        if (device_id := await self.bluetooth.attach(address, camera)) is not None:
            await self._connect_first(device_id)
            return device_id
        try:
            fields = request.of_network(codename, camera.ssid, camera.password)
            registration = parse_registration(fields, self._state.settings.codenames)
            return await self._create(registration, address, request.values())
        except BaseException:
            await self._bluetooth.unpair(address)
            raise

    async def _created_before(self, key: str, values: bytes) -> DeviceId | None:
        """The device that was created under an idempotency key; raises DeviceNotFound,
        IdempotencyKeyReused."""
        if (known := await self._store.find_key(key)) is None:
            return None
        first = self._state.entry(known).device.id
        if await self._store.request_of(first) not in (b"", values):
            raise IdempotencyKeyReused(
                f"this idempotency key was used for another request, which created device {first}"
            )
        return first

    async def _create(
        self, request: Registration, bluetooth_address: str = "", values: bytes = b""
    ) -> DeviceId:
        """`values` are those of the client's request if it was another one."""
        values = values or request.values()
        async with self._naming:
            key = request.idempotency_key
            if key is not None and (first := await self._created_before(key, values)) is not None:
                return first
            if request.name is not None:
                self._require_free(request.name)
            taken = {entry.device.name for entry in self._state.entries.values()}
            name = request.name or default_name(request.ssid, taken)
            draft = Device(
                DeviceId(0),
                name,
                request.codename,
                request.ssid,
                auto_reconnect=request.auto_reconnect,
                priority=request.priority,
                address=self._free_address(),
                auto_wake=request.auto_wake,
                bluetooth_address=bluetooth_address,
            )
            device = await self._store.add(draft, request.passphrase, key, b"" if key is None else values)
            entry = DeviceEntry(device)
            if bluetooth_address:
                self._waking.paired(entry)
            self._state.registry.add(entry)
        _log.info("device_created", device=device.id, codename=device.codename)
        self._state.publish(DeviceCreated(self._state.status(entry)))
        self._devices_changed()
        if len(self._state.registry.sharing(device.ssid)) == 2:  # a third one changes no other warnings
            self._state.publish_sharing(device.ssid, device.id)
        await self._connect_first(device.id)
        return device.id

    async def _connect_first(self, device_id: DeviceId) -> None:
        """Start the first attempt of a registered device, if so configured; a refusal is published."""
        if self._state.settings.connect_on_create:
            with suppress(WifimgrdError):
                await self.connections.connect(device_id, wait=False)

    def _require_free(self, name: str, device_id: DeviceId | None = None) -> None:
        """Raises InvalidRequest if another device has a name."""
        if self._state.registry.is_taken(name, device_id):
            sentence = sentences.name_is_taken(name)
            raise InvalidRequest(f"name: {sentence}", {"name": (sentence,)})

    def _free_address(self) -> str:
        plan = self._state.settings.addresses
        address = plan.next([entry.device.address for entry in self._state.entries.values()])
        if plan.network is not None and not address:
            _log.warning("addresses_exhausted", reason=f"all addresses of {plan.network} are assigned")
        return address

    async def update(self, device_id: DeviceId, fields: Mapping[str, object]) -> None:
        """Change a registered device, safe on disk on return; a link that is up stays.

        Raises DeviceNotFound, Busy, InvalidRequest.
        """
        amendment = parse_amendment(fields, self._state.settings.codenames)
        entry = self._state.entry_to_change(device_id)
        async with entry.editing:
            self._state.entry_to_change(device_id)
            name = amendment.changes.get("name", entry.device.name)
            if name == entry.device.name:
                await self._apply(entry, amendment)
                return
            async with self._naming:
                self._require_free(name, device_id)
                await self._apply(entry, amendment)

    async def _apply(self, entry: DeviceEntry, amendment: Amendment) -> None:
        changes = dict(amendment.changes)
        if changes.get("ssid", entry.device.ssid) != entry.device.ssid:
            changes["sightings"] = ()
        written = replace(entry.device, **changes)
        if written == entry.device and amendment.passphrase is None:
            return
        await self._store.update(written, amendment.passphrase)
        if entry.removing:
            return
        # Data learned from an attempt while the disk was busy is kept.
        before, changed = entry.device, replace(entry.device, **changes)
        self._state.registry.replace(entry, written)
        self._state.record(entry, changed)
        if changed.pin != before.pin or changed.name != before.name:
            self._devices_changed(*[changed.id] * (changed.pin != before.pin))
        self._reconnecting.updated(
            entry, credentials="ssid" in amendment.changes or amendment.passphrase is not None
        )
        _log.info("device_updated", device=changed.id)
        self._state.publish(DeviceUpdated(self._state.status(entry)))
        if changed.ssid != before.ssid:
            self._state.publish_sharing(before.ssid, changed.id)
        if changed.ssid != before.ssid or changed.name != before.name:
            self._state.publish_sharing(changed.ssid, changed.id)

    async def remove(self, device_id: DeviceId) -> None:
        """Disconnect and remove a device; raises DeviceNotFound, Busy."""
        entry = self._state.entry_to_change(device_id)
        entry.removing = True
        try:
            await self.connections.release(entry)
            await self._store.remove(device_id)
        except BaseException:
            entry.removing = False
            raise
        self._state.registry.remove(device_id)
        self._devices_changed()
        self._reconnecting.end(entry)
        self._recovering.removed(device_id)
        self.bluetooth.removed(entry)
        _log.info("device_removed", device=device_id)
        self._state.publish(DeviceRemoved(device_id))
        self._state.publish_sharing(entry.device.ssid, device_id)
        for entry in self._state.address_devices():
            self._state.publish(DeviceUpdated(self._state.status(entry)))

    def _devices_changed(self, *pinned: DeviceId) -> None:
        """A device was registered, renamed or removed, or has another pin: decide what is reserved now."""
        known = self._state.allocator.rules.reservations.of_no_device
        self._state.apply_rules()
        self._state.log_reservations(pinned, known)

    async def scan(self, interface: str | None = None) -> ScanReport:
        """See Scans.scan."""
        report = await self._scans.scan(interface)
        await self._recovering.scanned(report)
        with suppress(WifimgrdError):
            self._reconnecting.seen({network.ssid for network in await self._scans.networks(interface)})
        return report

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

    def _where(self, device_id: DeviceId) -> tuple[str, str]:
        """The interface and the address of a connected camera; raises DeviceNotReachable."""
        status = self._state.status(self._state.entry(device_id))
        if status.link is None or status.interface is None:
            raise DeviceNotReachable(f"the device is {status.state.value}")
        if not status.link.camera_address:
            raise DeviceNotReachable("the camera's address is not known")
        return status.interface, status.link.camera_address


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
