"""The register of devices: they are created, by typing or by pairing, changed and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from wifimgrd.daemon.manager._amending import amend
from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._pairing import Pairing
from wifimgrd.daemon.manager._reconnecting import Reconnecting
from wifimgrd.daemon.manager._reservations import Reservations
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.domain import sentences
from wifimgrd.domain.device import Device, DeviceId
from wifimgrd.domain.errors import (
    Cancelled,
    IdempotencyKeyReused,
    InvalidRequest,
    PairingFailed,
    WifimgrdError,
)
from wifimgrd.domain.events import DeviceCreated, DeviceRemoved, DeviceUpdated
from wifimgrd.domain.power import own_name
from wifimgrd.domain.registration import (
    Amendment,
    Beginning,
    PairingRegistration,
    Registration,
    free_name,
    parse_amendment,
    parse_pairing_registration,
    parse_registration,
    renamed_duplicates,
)
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Creation:
    """A creation with a pairing that runs, and what was asked for."""

    request: PairingRegistration
    task: asyncio.Task[DeviceId]


class Registering:
    """Creates, changes and removes devices by commands of clients."""

    def __init__(
        self,
        state: HubState,
        reservations: Reservations,
        connections: Connections,
        reconnecting: Reconnecting,
        pairing: Pairing,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._reservations = reservations
        self._store = state.store
        self._connections = connections
        self._reconnecting = reconnecting
        self._pairing = pairing
        self._tasks = tasks
        self._running: dict[str, _Creation] = {}
        """By their idempotency keys."""
        self._naming = asyncio.Lock()
        """Held from the check of a name until a device has it."""
        self.model_changed = Notice[DeviceEntry]()
        """A device has another camera model than before, which is not published yet."""
        self.device_removed = Notice[DeviceEntry]()
        """A device was removed, and is in the registry no more."""

    async def load(self) -> None:
        """Load the devices from disk, and give each a unique name, since earlier versions and their backups
        allowed duplicates."""
        registry, entries = self._state.registry, self._state.entries
        for device in (await self._store.load()).values():
            registry.add(DeviceEntry(device))
        plan, last = self._state.settings.addresses, await self._store.last_address()
        registry.last_address = last if plan.contains(last) else plan.highest(registry.addresses)
        for device_id, name in renamed_duplicates({one: entries[one].device.name for one in entries}).items():
            device = entries[device_id].device
            _log.warning("device_renamed", device=device_id, before=device.name, name=name)
            self._state.record(entries[device_id], replace(device, name=name), at_once=True)

    async def stop(self) -> None:
        """End the creations whose cameras are still being paired."""
        await self._tasks.stop()

    # -- create

    async def create(self, fields: Mapping[str, object]) -> DeviceId:
        """Register a device, safe on disk on return, and start its first attempt if so configured.

        A device with a Bluetooth address in place of a network is paired first, and says what that is. A
        repeat of an idempotency key joins the creation that runs.

        Raises InvalidRequest; DeviceNotFound if an idempotency key is repeated whose device was
        removed, IdempotencyKeyReused if another request had it; with a Bluetooth address Busy, PairingFailed,
        BluetoothUnavailable, Cancelled.
        """
        codenames = self._state.settings.codenames
        pairing = parse_pairing_registration(fields, codenames)
        request = pairing or parse_registration(fields, codenames)
        running = self._running.get(request.idempotency_key or "")
        if running is not None and running.request != request:
            raise IdempotencyKeyReused(
                "this idempotency key was used for another request, which is still being carried out"
            )
        if isinstance(request, Registration):
            return await self._create(request)
        task = self._start(request) if running is None else running.task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise Cancelled("wifimgrd is being stopped") from None
            raise

    def _start(self, request: PairingRegistration) -> asyncio.Task[DeviceId]:
        task = self._tasks.start("create", self._pair_and_create(request), expected=(WifimgrdError,))
        key = request.idempotency_key
        if key is not None:
            self._running[key] = _Creation(request, task)
            task.add_done_callback(lambda _: self._running.pop(key))
        return task

    async def _pair_and_create(self, request: PairingRegistration) -> DeviceId:
        key, values, address = request.idempotency_key, request.values(), request.bluetooth_address
        if key is not None and (device_id := await self._created_before(key, values)) is not None:
            return device_id
        if request.name is not None:
            self._require_free(request.name)
        async with self._pairing.introduced(request) as (codename, camera):
            if (device_id := await self._pairing.attach(address, camera, key, values)) is not None:
                await self._connect_first(device_id, request.beginning, is_new=False)
                return device_id
            if camera.password is None:
                raise PairingFailed("the camera's password was changed: register it by SSID and password")
            fields = request.of_network(codename, camera.ssid, camera.password)
            registration = parse_registration(fields, self._state.settings.codenames)
            registration = replace(registration, beginning=request.beginning)
            models = self._state.settings.models
            name = "" if request.codename else own_name(models[codename], camera.model)
            return await self._create(registration, address, values, name)

    async def _created_before(self, key: str, values: bytes) -> DeviceId | None:
        """The device that was created under an idempotency key; raises DeviceNotFound,
        IdempotencyKeyReused."""
        if (known := await self._store.find_key(key)) is None:
            return None
        first = self._state.entry(known).device.id
        if await self._store.request_of(key) not in (b"", values):
            raise IdempotencyKeyReused(
                f"this idempotency key was used for another request, which created device {first}"
            )
        return first

    async def _create(
        self, request: Registration, bluetooth_address: str = "", values: bytes = b"", called: str = ""
    ) -> DeviceId:
        """`values` are those of the client's request if it was another one; `called` is the camera's name
        where the client says none, in place of its network's name."""
        values = values or request.values()
        async with self._naming:
            key = request.idempotency_key
            if key is not None and (first := await self._created_before(key, values)) is not None:
                return first
            if request.name is not None:
                self._require_free(request.name)
            name = request.name or free_name(called or request.ssid.printable, self._state.registry.names)
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
                pin=request.beginning.pin,
            )
            draft = replace(draft, expected=self._is_expected(draft, request.beginning))
            device = await self._store.add(draft, request.passphrase, key, b"" if key is None else values)
            entry = DeviceEntry(device)
            if bluetooth_address:
                self._pairing.paired(entry)
            self._state.registry.add(entry)
        _log.info("device_created", device=device.id, codename=device.codename)
        self._state.publish(DeviceCreated(self._state.status(entry)))
        self._devices_changed(*[device.id] * bool(device.pin))
        if len(self._state.registry.sharing(device.ssid)) == 2:  # a third one changes no other warnings
            self._state.publish_sharing(device.ssid, device.id)
        await self._connect_first(device.id, request.beginning)
        return device.id

    async def _connect_first(self, device_id: DeviceId, beginning: Beginning, *, is_new: bool = True) -> None:
        """Start the first attempt of a registered device, if that is wanted; a refusal is published."""
        if self._connects_first(beginning):
            with suppress(WifimgrdError):
                await self._connections.connect(
                    device_id, wait=False, when_free=beginning.when_free, is_first=is_new
                )

    def _is_expected(self, device: Device, beginning: Beginning) -> bool:
        """Whether a new device is one of the rig: its first attempt begins, or it waits for an adapter."""
        begins = beginning.when_free or self._connections.may_begin(device)
        return self._connects_first(beginning) and begins

    def _connects_first(self, beginning: Beginning) -> bool:
        """Whether a device is connected when it is registered."""
        return self._state.settings.connect_on_create if beginning.connect is None else beginning.connect

    def _require_free(self, name: str, device_id: DeviceId | None = None) -> None:
        """Raises InvalidRequest if another device has a name."""
        if self._state.registry.is_taken(name, device_id):
            sentence = sentences.name_is_taken(name)
            raise InvalidRequest(f"name: {sentence}", {"name": (sentence,)})

    def _free_address(self) -> str:
        plan = self._state.settings.addresses
        registry = self._state.registry
        address = plan.next(registry.addresses, registry.last_address)
        if plan.network is not None and not address:
            _log.warning("addresses_exhausted", reason=f"all addresses of {plan.network} are assigned")
        return address

    # -- change, remove

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
        before = entry.device
        if replace(before, **changes) == before and amendment.passphrase is None:
            return
        await amend(self._state, entry, changes, amendment.passphrase)
        changed = entry.device
        if entry.removing:
            if changed.ssid != before.ssid:  # the removal tells only those that share the network of now
                self._state.publish_sharing(before.ssid, changed.id)
            return
        if changed.codename != before.codename:
            self.model_changed.notify(entry)
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
        before, entry.removing = entry.device, True
        try:
            await self._connections.release(entry)
            await self._store.remove(device_id)
        except BaseException:
            entry.removing = False
            self._store.record(before, entry.device)  # what was learned of it since
            raise
        self._state.registry.remove(device_id)
        self._devices_changed()
        self.device_removed.notify(entry)
        _log.info("device_removed", device=device_id)
        self._state.publish(DeviceRemoved(device_id))
        self._state.publish_sharing(entry.device.ssid, device_id)
        if "" in self._state.registry.addresses:  # there may be one for it now
            for entry in self._state.address_devices():
                self._state.publish(DeviceUpdated(self._state.status(entry)))

    def _devices_changed(self, *pinned: DeviceId) -> None:
        """A device was registered, renamed or removed, or has another pin: decide what is reserved now."""
        known = self._state.allocator.rules.reservations.of_no_device
        self._reservations.apply()
        self._reservations.log(pinned, known)
