"""BlueZ's objects as far as they are used, kept current by its signals.

Bounded: any number of devices may advertise, and BlueZ has an object for each. Of those that are neither
bonded nor connected the last 512 are kept; another one that changes is read again, a few at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import structlog

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, OwnerChange, Signal
from wifimgrd.bus.values import typed
from wifimgrd.proxies.bluez import definitions
from wifimgrd.proxies.bluez.definitions import AdapterProperties, CharacteristicProperties, DeviceProperties
from wifimgrd.proxies.bluez.objects import Device, ManagedObjects, Root
from wifimgrd.runtime.tasks import Backoff, Tasks

_log = structlog.get_logger()

_MOST_DEVICES: Final = 512
_MOST_CHARACTERISTICS: Final = 128
"""Of one device."""
_MOST_READS: Final = 8
"""Devices that are read at a time; a change of another one is dropped, and comes again while it is heard."""
_LOAD_PAUSES: Final = Backoff(first_s=0.5, last_s=30.0)
"""Before the objects are read again, where bluetoothd has not answered."""
_HEARD: Final = frozenset(("RSSI", "Name", "ManufacturerData", "ServiceData", "UUIDs"))
"""The properties of a device that change when it is heard."""


class Objects:
    """The objects of a running bluetoothd; there are none while it does not run."""

    def __init__(self, connection: BusConnection, tasks: Tasks) -> None:
        self._connection = connection
        self._tasks = tasks
        self.owner = ""
        """The unique name of bluetoothd; empty while it does not run."""
        self.adapters: dict[str, AdapterProperties] = {}
        self.devices: dict[str, DeviceProperties] = {}
        """By object path, those that were heard last at the end."""
        self.kept: set[str] = set()
        """The addresses of devices that are not forgotten while BlueZ has them."""
        self.own_links: set[str] = set()
        """The paths of devices that this process has connected, until BlueZ has them as not connected. Kept
        while it does not have them at all: a bluetoothd that stops removes all, and the next one may find a
        link as it was."""
        self._unauthenticated: set[str] = set()
        """The paths of devices whose link has ended because they, or this host, had no key."""
        self._characteristics: dict[str, dict[str, str]] = {}
        """Of each device that has some, by object path: the UUID of each, by its own."""
        self._on_value: dict[str, Callable[[bytes], None]] = {}
        """The function that takes each notification, by the characteristic's object path."""
        self.on_own_links: Callable[[], None] = lambda: None
        """Called when these have changed."""
        self._on_heard: list[Callable[[str, DeviceProperties], None]] = []
        self._on_services: list[Callable[[str], None]] = []
        self._on_change: list[Callable[[], None]] = []
        self._waiting: set[asyncio.Event] = set()
        self._reading: set[str] = set()
        self.loaded = False
        """Whether the objects of the running bluetoothd were read."""

    async def start(self) -> None:
        """Subscribe, and begin to read all objects; raises as a call does."""
        await self._connection.watch_owner(self._owner_changed, definitions.BLUEZ)
        for member, handler in (
            ("InterfacesAdded", self._interfaces_added),
            ("InterfacesRemoved", self._interfaces_removed),
        ):
            await self._connection.watch(
                handler, sender=definitions.BLUEZ, interface=names.OBJECT_MANAGER, member=member
            )
        await self._connection.watch(
            self._properties_changed,
            sender=definitions.BLUEZ,
            path_namespace=definitions.BLUEZ_PATH,
            interface=names.PROPERTIES,
            member="PropertiesChanged",
        )
        await self._connection.watch(
            self._disconnected,
            sender=definitions.BLUEZ,
            path_namespace=definitions.BLUEZ_PATH,
            interface=definitions.DEVICE,
            member="Disconnected",
        )
        owner = await self._connection.name_owner(definitions.BLUEZ)
        if owner is not None and not self.owner:
            self.owner = owner
        if self.owner and not self.loaded:
            self._tasks.start("bluez-objects", self._load(), expected=(BusClosed,))

    # -- waiting and listening

    def watch_devices(self, handler: Callable[[str, DeviceProperties], None]) -> Callable[[], None]:
        """Call `handler` with the path and the properties of each device that is heard; returns what ends
        that."""
        self._on_heard.append(handler)
        return partial(self._on_heard.remove, handler)

    def watch_services(self, handler: Callable[[str], None]) -> None:
        """Call `handler` with the path of each device that says anew which services it has."""
        self._on_services.append(handler)

    def watch_changes(self, handler: Callable[[], None]) -> None:
        """Call `handler` when adapters have changed, or bluetoothd has started or stopped."""
        self._on_change.append(handler)

    def watch_value(self, path: str, handler: Callable[[bytes], None]) -> None:
        """Call `handler` with each value that the characteristic notifies of, until `forget_values`."""
        self._on_value[path] = handler

    def forget_values(self, device: str) -> None:
        """End what `watch_value` has started for a device's characteristics."""
        for path in [path for path in self._on_value if path.startswith(device + "/")]:
            del self._on_value[path]

    async def until(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait until `condition` is true, which is checked now and after each change; False after
        `timeout_s`."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            async with asyncio.timeout(timeout_s):
                while not condition():
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            return False
        else:
            return True
        finally:
            self._waiting.discard(changed)

    def wake(self) -> None:
        """Have each `until` check its condition again."""
        self._changed()

    # -- reading

    def take_authentication_failure(self, device: str) -> bool:
        """Whether BlueZ has said, since this was asked last, that a link with a device has ended because one
        of the two had no key."""
        found = device in self._unauthenticated
        self._unauthenticated.discard(device)
        return found

    def powered_adapter(self) -> str | None:
        """The path of the first adapter that is on; None if there is none."""
        return min((path for path, one in self.adapters.items() if one.get("Powered")), default=None)

    def at_adapters(self, address: str) -> Sequence[str]:
        """The paths of a device, one for each adapter that has it, bonded ones first."""
        found = [path for path, one in self.devices.items() if one.get("Address") == address]
        return sorted(found, key=self.is_paired, reverse=True)

    def device(self, address: str) -> str | None:
        """The path of a device, a bonded one first; None if BlueZ has none with this address."""
        return next(iter(self.at_adapters(address)), None)

    def is_paired(self, device: str) -> bool:
        """Whether this host has a bond with a device."""
        return self.devices.get(device, {}).get("Paired", False)

    def adapter_of(self, device: str) -> str:
        """The address of a device's adapter; empty if that is not there."""
        return self.adapters.get(device.rpartition("/")[0], {}).get("Address", "")

    def characteristics(self, device: str) -> Mapping[str, str]:
        """The paths of a device's characteristics by UUID."""
        return {uuid: path for path, uuid in self._characteristics.get(device, {}).items()}

    def is_connected(self, device: str) -> bool:
        """Whether a device is connected, by whomever."""
        return self.devices.get(device, {}).get("Connected", False)

    def set_own(self, path: str, *, is_own: bool) -> None:
        """This process has connected a device, or has not."""
        if is_own != (path in self.own_links):
            (self.own_links.add if is_own else self.own_links.discard)(path)
            self.on_own_links()

    async def read_again(self) -> None:
        """Read all that BlueZ has at one moment; raises as a call does. Its signals come one by one: an
        adapter is there before its devices, and after them."""
        await Root(self._connection).read_objects(self._objects_read)

    async def refresh(self, device: str) -> None:
        """Read a device's properties again: BlueZ does not signal every change. Raises as a call does."""
        await Device(self._connection, device).read_properties(partial(self._device_read, device))

    async def _load(self) -> None:
        """Read all objects, until bluetoothd has answered or has gone."""
        owner, failures = self.owner, 0
        while self.owner == owner and not self.loaded:
            try:
                await Root(self._connection).read_objects(self._objects_read)
            except (BusError, TimeoutError) as error:
                failures += 1
                log = _log.warning if failures == 1 else _log.debug
                log("bluez_unreadable", reason=str(error))
                await asyncio.sleep(_LOAD_PAUSES.pause_s(failures))

    # -- what BlueZ sends

    def _objects_read(self, objects: ManagedObjects) -> None:
        self.loaded = True
        for path, interfaces in objects.items():
            for interface, properties in interfaces.items():
                self._add(path, interface, properties)
        self._changed(adapters=True)

    def _owner_changed(self, change: OwnerChange) -> None:
        self.owner, self.loaded = change.after, False
        for kept in (
            self.adapters,
            self.devices,
            self._characteristics,
            self._on_value,
            self._unauthenticated,
        ):
            kept.clear()
        self._changed(adapters=True)
        if change.after:
            self._tasks.start("bluez-objects", self._load(), expected=(BusClosed,))

    def _disconnected(self, signal: Signal) -> None:
        reason, _ = typed(tuple[str, str], list(signal.body))
        if reason == definitions.REASON_AUTHENTICATION and signal.path in self.devices:
            self._unauthenticated.add(signal.path)

    def _interfaces_added(self, signal: Signal) -> None:
        path, interfaces = typed(tuple[str, dict[str, dict[str, object]]], list(signal.body))
        for interface, properties in interfaces.items():
            self._add(path, interface, properties)
            self._changed(adapters=interface == definitions.ADAPTER)
        if definitions.DEVICE in interfaces:
            self._heard(path)

    def _interfaces_removed(self, signal: Signal) -> None:
        path, interfaces = typed(tuple[str, list[str]], list(signal.body))
        for interface in interfaces:
            match interface:
                case definitions.ADAPTER:
                    self.adapters.pop(path, None)
                case definitions.DEVICE:
                    self.devices.pop(path, None)
                    self._unauthenticated.discard(path)
                case definitions.CHARACTERISTIC:
                    self._forget_characteristic(path)
            self._changed(adapters=interface == definitions.ADAPTER)

    def _properties_changed(self, signal: Signal) -> None:
        interface, changed, gone = typed(tuple[str, dict[str, object], list[str]], list(signal.body))
        match interface:
            case definitions.ADAPTER:
                if signal.path in self.adapters:
                    self.adapters[signal.path].update(typed(AdapterProperties, changed))
                    self._changed(adapters=True)
            case definitions.DEVICE:
                self._device_changed(signal.path, typed(DeviceProperties, changed), gone)
            case definitions.CHARACTERISTIC:
                value = typed(CharacteristicProperties, changed).get("Value")
                on_value = self._on_value.get(signal.path)
                if value is not None and on_value is not None:
                    on_value(value)

    def _device_changed(self, path: str, changed: DeviceProperties, gone: list[str]) -> None:
        known = self.devices.get(path)
        if known is None:
            is_heard = not _HEARD.isdisjoint(changed) and path not in self._reading
            if is_heard and len(self._reading) < _MOST_READS:
                self._reading.add(path)
                self._tasks.start("bluez-device", self._read_unknown(path), expected=(BusClosed,))
            return
        known.update(changed)
        if "RSSI" in gone:
            known.pop("RSSI", None)
        self._linked(path)
        if "UUIDs" in changed:
            for told in list(self._on_services):
                told(path)
        self._changed()
        if not _HEARD.isdisjoint(changed):
            self._heard(path)

    async def _read_unknown(self, path: str) -> None:
        try:
            await self.refresh(path)
        except (BusError, TimeoutError):
            return  # it is gone
        finally:
            self._reading.discard(path)
        self._heard(path)

    def _device_read(self, path: str, properties: DeviceProperties) -> None:
        if properties:
            self._add_device(path, properties)
            self._changed()

    def _add(self, path: str, interface: str, properties: dict[str, object]) -> None:
        match interface:
            case definitions.ADAPTER:
                self.adapters[path] = typed(AdapterProperties, properties)
            case definitions.DEVICE:
                self._add_device(path, typed(DeviceProperties, properties))
            case definitions.CHARACTERISTIC:
                uuid = typed(CharacteristicProperties, properties).get("UUID", "")
                known = self._characteristics.setdefault(_device_of(path), {})
                if path in known or len(known) < _MOST_CHARACTERISTICS:
                    known[path] = uuid

    def _forget_characteristic(self, path: str) -> None:
        device = _device_of(path)
        known = self._characteristics.get(device, {})
        known.pop(path, None)
        if not known:
            self._characteristics.pop(device, None)

    def _add_device(self, path: str, properties: DeviceProperties) -> None:
        self.devices.pop(path, None)
        self.devices[path] = properties
        self._linked(path)
        if len(self.devices) > _MOST_DEVICES:
            oldest = next(self._expendable(), None)
            if oldest is not None:
                del self.devices[oldest]

    def _linked(self, path: str) -> None:
        """A device was read, or has changed: what this process had connected may be connected no more."""
        if not self.is_connected(path):
            self.set_own(path, is_own=False)

    def _expendable(self) -> Iterator[str]:
        """The devices that may be forgotten, the oldest first."""
        return (
            path
            for path, one in self.devices.items()
            if not (one.get("Paired") or one.get("Connected") or one.get("Address") in self.kept)
        )

    def _heard(self, path: str) -> None:
        device = self.devices.get(path)
        if device is not None and "RSSI" in device:
            for handler in list(self._on_heard):
                handler(path, device)

    def _changed(self, *, adapters: bool = False) -> None:
        for event in self._waiting:
            event.set()
        if adapters:
            for handler in self._on_change:
                handler()


def _device_of(characteristic: str) -> str:
    """The path of the device that a characteristic is of: `DEVICE/serviceNNNN/charNNNN`."""
    return characteristic.rsplit("/", 2)[0]
