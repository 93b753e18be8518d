"""The hub: every use case, and the listener of what the backend and the adapters tell."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import structlog

from wifimgrd.domain.adapter import Adapter
from wifimgrd.domain.device import Device, DeviceId, DeviceStatus, Link
from wifimgrd.domain.errors import Busy, WifimgrdError
from wifimgrd.domain.events import (
    BackendChanged,
    BackendState,
    BackendStatus,
    DeviceCreated,
    DeviceRemoved,
    DeviceUpdated,
    InterfaceAdded,
    InterfaceRemoved,
)
from wifimgrd.domain.interface import BackendFacts, InterfaceStatus
from wifimgrd.domain.network import Network
from wifimgrd.domain.registration import (
    Amendment,
    default_name,
    parse_amendment,
    parse_registration,
)
from wifimgrd.manager.connections import Connections
from wifimgrd.manager.links import Links
from wifimgrd.manager.reconnecting import Reconnecting
from wifimgrd.manager.scans import ScanReport, Scans
from wifimgrd.manager.state import Clock, DeviceEntry, HubSettings, HubState
from wifimgrd.ports import AdapterSource, Backend, DeviceStore, EventSink

_log = structlog.get_logger()

_BACKEND_START_S: Final = 5.0
"""How long a start waits for the backend, so that clients see adopted links from the first look."""


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
    ) -> None:
        self._backend = backend
        self._adapters = adapters
        self._store = store
        self._state = HubState(settings, store, sink, clock)
        self._connections = Connections(self._state, backend)
        self._reconnecting = Reconnecting(self._state, self._connections, backend)
        self._links = Links(self._state, self._connections)
        self._scans = Scans(self._state, backend)
        self._facts: dict[str, BackendFacts] = {}
        self._creating = asyncio.Lock()
        self._backend_decided = asyncio.Event()
        self._work: set[asyncio.Task[None]] = set()

    # -- life

    async def start(self) -> None:
        """Load what is on disk, list the adapters, and adopt the links that stand."""
        for device in (await self._store.load()).values():
            self._state.entries[device.id] = DeviceEntry(device)
        self._state.address_devices()
        await self._adapters.start(self)
        await self._backend.start(self)
        with suppress(TimeoutError):
            async with asyncio.timeout(_BACKEND_START_S):
                await self._backend_decided.wait()
        await self._settle()

    async def rest(self) -> None:
        """End attempts and whoever waits for them; nothing new is to be asked for from here on."""
        await self._reconnecting.stop()
        await self._connections.stop()
        await self._scans.stop()

    async def stop(self) -> None:
        """Stop in order; links that are up stay up, devices stay on disk."""
        await self.rest()
        await self._adapters.stop()
        await self._settle()
        await self._backend.stop()
        await self._store.close()

    async def reconfigure(self, settings: HubSettings) -> None:
        """Use other settings from here on. Links that are up stay, attempts that run end as they began;
        which adapters are listed at all stays as it was at the start."""
        state, before = self._state, self._state.allocator
        rules = replace(settings.rules, usb_only=before.rules.usb_only)
        state.settings = replace(settings, rules=rules, addresses=state.settings.addresses)
        state.allocator = before.follow(rules)
        for name, interface in list(state.allocator.interfaces.items()):
            if interface.exclusion == before.interfaces[name].exclusion:
                continue
            state.publish_interface(name)
            if interface.exclusion:
                await self._backend.release(name)
            else:
                await self._backend.hold(name)

    async def prove_progress(self) -> None:
        """Return once every part has taken a turn: the event loop, the disk's thread."""
        await self._store.find_key("")

    async def _settle(self) -> None:
        while self._work:
            await asyncio.wait(self._work)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work_done)

    def _work_done(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("background_work_failed", exc_info=error)

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
                self._connections.begin(entry)
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

    async def scan(self, interface: str | None = None) -> ScanReport:
        """See Scans.scan."""
        report = await self._scans.scan(interface)
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

    # -- what the adapters tell (AdapterListener)

    def adapter_present(self, adapter: Adapter) -> None:
        """An adapter appeared, or is described anew under the same name."""
        state, name = self._state, adapter.name
        before = state.allocator
        facts = self._facts.get(name) or BackendFacts(obstacle=f"not known to {self._backend.name} yet")
        state.allocator = before.plug(adapter, facts)
        interface = state.allocator.interfaces.get(name)
        if interface is None:
            return
        if name not in before.interfaces:
            _log.info(
                "adapter_added", interface=name, mac=adapter.identity.mac, port=adapter.identity.usb_port
            )
            state.publish(InterfaceAdded(state.allocator.status(name)))
            state.on_interface(name)
            if not interface.exclusion:
                self._spawn(self._backend.hold(name))
        elif interface != before.interfaces[name]:
            state.publish_interface(name)

    def adapter_gone(self, name: str) -> None:
        """An adapter was pulled out."""
        state = self._state
        self._facts.pop(name, None)
        if name not in state.allocator.interfaces:
            return
        holder = state.holder(name)
        state.allocator = state.allocator.unplug(name)
        _log.info("adapter_removed", interface=name)
        state.publish(InterfaceRemoved(name))
        if holder is not None:
            self._links.adapter_pulled(holder, name)

    # -- what the backend tells (BackendListener)

    def backend_changed(self, status: BackendStatus) -> None:
        """The backend came, went or is on its way."""
        _log.info("backend_changed", backend=self._backend.name, state=status.state, reason=status.reason)
        self._state.publish(BackendChanged(status))
        if status.state is not BackendState.STARTING:
            self._backend_decided.set()
        if status.state is BackendState.READY:
            self._spawn(self._take_up())

    async def _take_up(self) -> None:
        """The backend is there, for the first time or again: agree with it."""
        try:
            held = list(await self._backend.links())
        except WifimgrdError as error:
            _log.warning("links_unknown", reason=error.message)
            return
        await self._links.reconcile(held)
        for name, interface in list(self._state.allocator.interfaces.items()):
            if not interface.exclusion:
                await self._backend.hold(name)
        self._reconnecting.backend_ready()

    def interface_facts(self, name: str, facts: BackendFacts) -> None:
        """What the backend knows of an interface changed, or is known now."""
        self._facts[name] = facts
        before = self._state.allocator
        self._state.allocator = before.learn(name, facts)
        if self._state.allocator is not before:
            self._state.publish_interface(name)

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        """A link that was up dropped and may come back."""
        self._links.link_interrupted(interface, error)

    def link_restored(self, interface: str, link: Link) -> None:
        """A link that was interrupted is up again."""
        self._links.link_restored(interface, link)

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        """A link is gone for good."""
        self._links.link_ended(interface, error)

    def link_changed(self, interface: str, link: Link) -> None:
        """A link that is up has another signal, address or access point."""
        self._links.link_changed(interface, link)
