"""The hub: every use case."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import structlog

from wifimgrd.domain.device import Device, DeviceId, DeviceStatus
from wifimgrd.domain.errors import Busy, WifimgrdError
from wifimgrd.domain.events import (
    BackendStatus,
    DeviceCreated,
    DeviceRemoved,
    DeviceUpdated,
)
from wifimgrd.domain.interface import InterfaceStatus
from wifimgrd.domain.network import Network
from wifimgrd.domain.registration import (
    Amendment,
    default_name,
    parse_amendment,
    parse_registration,
)
from wifimgrd.domain.socket_kind import SocketKind
from wifimgrd.manager.connections import Connections
from wifimgrd.manager.entry import DeviceEntry
from wifimgrd.manager.presence import Presence
from wifimgrd.manager.reconciling import Reconciling
from wifimgrd.manager.reconnecting import Reconnecting
from wifimgrd.manager.recovering import Recovering
from wifimgrd.manager.scans import ScanReport, Scans
from wifimgrd.manager.settings import HubSettings
from wifimgrd.manager.sockets import Sockets
from wifimgrd.manager.state import Clock, HubState
from wifimgrd.ports import AdapterSource, Backend, CameraContact, CameraSockets, DeviceStore, EventSink
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()


class Hub:
    """Registers devices, connects them and keeps the truth about it."""

    def __init__(
        self,
        settings: HubSettings,
        backend: Backend,
        adapters: AdapterSource,
        store: DeviceStore,
        sink: EventSink,
        clock: Clock,
        sockets: CameraSockets,
        contact: CameraContact,
        tasks: Tasks,
    ) -> None:
        self._backend = backend
        self._adapters = adapters
        self._store = store
        self._state = HubState(settings, store, sink, clock)
        self._connections = Connections(self._state, backend)
        self._reconnecting = Reconnecting(self._state, self._connections, backend)
        self._recovering = Recovering(
            self._state, self._connections, self._reconnecting, backend, adapters, tasks.part("recovery")
        )
        self._reconciling = Reconciling(
            self._state,
            self._connections,
            self._reconnecting,
            self._recovering,
            backend,
            tasks.part("reconciliation"),
        )
        self._scans = Scans(self._state, backend)
        self._sockets = Sockets(self._state, sockets)
        self._presence = Presence(self._state, contact, tasks.part("presence"))
        self._creating = asyncio.Lock()

    # -- life

    async def start(self) -> None:
        """Load what is on disk, list the adapters, and adopt the links that stand."""
        for device in (await self._store.load()).values():
            self._state.entries[device.id] = DeviceEntry(device)
        self._state.address_devices()
        await self._adapters.start(self._reconciling)
        await self._backend.start(self._reconciling)
        await self._reconciling.settle_with_backend()

    async def rest(self) -> None:
        """End attempts and whoever waits for them; nothing new is to be asked for from here on."""
        await self._recovering.stop()
        await self._reconnecting.stop()
        await self._connections.stop()
        await self._scans.stop()
        await self._presence.stop()

    async def stop(self) -> None:
        """Stop in order; links that are up stay up, devices stay on disk."""
        await self.rest()
        await self._adapters.stop()
        await self._reconciling.settle()
        await self._backend.stop()
        await self._store.close()

    async def reconfigure(self, settings: HubSettings) -> None:
        """Use other settings from here on. Links that are up stay, attempts that run end as they began;
        which adapters are listed at all stays as it was at the start."""
        state, before = self._state, self._state.allocator
        rules = replace(settings.rules, usb_only=before.rules.usb_only)
        shown = list(state.device_statuses())
        state.settings = replace(settings, rules=rules, addresses=state.settings.addresses)
        state.allocator = before.follow(rules)
        for status in shown:
            now = state.status(state.entries[status.device.id])
            if now != status:
                state.publish(DeviceUpdated(now))
        self._reconnecting.reconfigured()
        self._recovering.follow(settings.recovery)
        for name, interface in list(state.allocator.interfaces.items()):
            if interface.exclusion == before.interfaces[name].exclusion:
                continue
            state.publish_interface(name)
            if interface.exclusion:
                await self._backend.release(name)
            else:
                await self._backend.hold(name)

    # -- what clients read

    @property
    def backend_name(self) -> str:
        """As in `[backend] name`."""
        return self._backend.name

    @property
    def backend_status(self) -> BackendStatus:
        """Where the backend stands now."""
        return self._backend.status

    def device_statuses(self) -> Iterator[DeviceStatus]:
        """Every device, in order of id."""
        return self._state.device_statuses()

    def interface_statuses(self) -> Iterator[InterfaceStatus]:
        """Every listed interface, in natural order of names."""
        return self._state.interface_statuses()

    # -- what clients ask for

    async def create(self, fields: Mapping[str, object]) -> DeviceId:
        """Register a device, safe on disk on return, and start its first attempt if so configured.

        Raises InvalidRequest; DeviceNotFound where an idempotency key is repeated whose device was
        removed since.
        """
        request = parse_registration(fields, self._state.settings.codenames)
        async with self._creating:
            key = request.idempotency_key
            if key is not None and (known := await self._store.find_key(key)) is not None:
                return self._state.entry(known).device.id
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
            )
            device = await self._store.add(draft, request.passphrase, key)
            entry = self._state.entries[device.id] = DeviceEntry(device)
        _log.info("device_created", device=device.id, codename=device.codename)
        self._state.publish(DeviceCreated(self._state.status(entry)))
        if self._state.settings.connect_on_create:
            try:
                await self._connections.connect(device.id, wait=False)
            except WifimgrdError:
                return device.id  # registered all the same; the refusal was published
        return device.id

    def _free_address(self) -> str:
        plan = self._state.settings.addresses
        address = plan.next([entry.device.address for entry in self._state.entries.values()])
        if plan.network is not None and not address:
            _log.warning("addresses_exhausted", reason=f"all of {plan.network} are given")
        return address

    async def update(self, device: DeviceId, fields: Mapping[str, object]) -> None:
        """Change name, SSID or passphrase, safe on disk on return; a link that is up stays.

        Raises DeviceNotFound, Busy, InvalidRequest.
        """
        amendment = parse_amendment(fields)
        entry = self._at_rest_from_removal(device)
        async with entry.editing:
            self._at_rest_from_removal(device)
            await self._amend(entry, amendment)

    async def _amend(self, entry: DeviceEntry, amendment: Amendment) -> None:
        changed = entry.device
        if amendment.name is not None:
            changed = replace(changed, name=amendment.name)
        if amendment.ssid is not None and amendment.ssid != changed.ssid:
            changed = replace(changed, ssid=amendment.ssid, sightings=())
        if amendment.auto_reconnect is not None:
            changed = replace(changed, auto_reconnect=amendment.auto_reconnect)
        if amendment.priority is not None:
            changed = replace(changed, priority=amendment.priority)
        if changed == entry.device and amendment.passphrase is None:
            return
        await self._store.update(changed, amendment.passphrase)
        if entry.removing:
            return
        # What an attempt taught while the disk was busy is kept.
        learnt = replace(
            entry.device,
            name=changed.name,
            ssid=changed.ssid,
            auto_reconnect=changed.auto_reconnect,
            priority=changed.priority,
        )
        if changed.ssid != entry.device.ssid:
            learnt = replace(learnt, sightings=())
        entry.device = changed
        self._state.amend(entry, learnt)
        self._reconnecting.amended(
            entry, credentials=amendment.ssid is not None or amendment.passphrase is not None
        )
        _log.info("device_updated", device=changed.id)
        self._state.publish(DeviceUpdated(self._state.status(entry)))

    async def remove(self, device: DeviceId) -> None:
        """Disconnect and forget a device; raises DeviceNotFound, Busy."""
        entry = self._at_rest_from_removal(device)
        entry.removing = True
        try:
            await self._connections.release(entry)
            await self._store.remove(device)
        except BaseException:
            entry.removing = False
            raise
        del self._state.entries[device]
        self._reconnecting.removed(device)
        _log.info("device_removed", device=device)
        self._state.publish(DeviceRemoved(device))
        for entry in self._state.address_devices():
            self._state.publish(DeviceUpdated(self._state.status(entry)))

    async def connect(self, device: DeviceId, *, wait: bool) -> None:
        """See Connections.connect."""
        await self._connections.connect(device, wait=wait)

    async def disconnect(self, device: DeviceId, *, wait: bool = True) -> None:
        """See Connections.disconnect."""
        await self._connections.disconnect(device, wait=wait)

    async def open_socket(self, device: DeviceId, port: int, kind: SocketKind) -> socket.socket:
        """See Sockets.open."""
        return await self._sockets.open(device, port, kind)

    async def scan(self, interface: str | None = None) -> ScanReport:
        """See Scans.scan."""
        report = await self._scans.scan(interface)
        await self._recovering.scanned(report)
        with suppress(WifimgrdError):
            self._reconnecting.heard({network.ssid for network in await self._scans.networks(interface)})
        return report

    async def networks(self, interface: str | None = None) -> list[Network]:
        """See Scans.networks."""
        return await self._scans.networks(interface)

    def _at_rest_from_removal(self, device: DeviceId) -> DeviceEntry:
        entry = self._state.entry(device)
        if entry.removing:
            raise Busy("the device is being removed")
        return entry
