"""A live list of NetworkManager's Wi-Fi devices: the state of each, and the obstacle to using it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import structlog

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, Signal, Watch
from wifimgrd.bus.proxy import Proxy
from wifimgrd.daemon.backends.networkmanager._devices import (
    Carried,
    DeviceGone,
    NmDevice,
    StateChange,
    obstacle_of,
)
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.proxies.networkmanager.definitions import (
    NO_OBJECT,
    DeviceProperties,
    DeviceReason,
    DeviceState,
    RootProperties,
)
from wifimgrd.proxies.networkmanager.device import (
    AFFECTS_USE,
    Device,
    StateChanged,
    WirelessDevice,
    is_wifi,
)
from wifimgrd.proxies.networkmanager.manager import NetworkManager, Radio
from wifimgrd.proxies.networkmanager.objects import ActiveConnectionObject, SettingsConnection
from wifimgrd.runtime.tasks import Backoff, Tasks

_log = structlog.get_logger(__name__)


class Subscriptions:
    """Subscriptions to the properties of NetworkManager's objects, grouped by the object that needs them and
    kept only while they are needed.

    A join makes NetworkManager emit some forty property changes. Each would wake up this process, and the
    message bus, during the join.
    """

    def __init__(self) -> None:
        self._watches: dict[str, dict[str, Watch]] = {}
        """By the object path of the owner, then of the watched object."""

    async def watch_object(self, owner: str, watched: Proxy, handler: Callable[[Signal], None]) -> None:
        """Call `handler` with each change of an object's properties; does nothing if subscribed already.

        Raises BusError, BusClosed, TimeoutError.
        """
        if watched.path in self._watches.get(owner, ()):
            return
        watch = await watched.watch_properties(handler)
        self._watches.setdefault(owner, {})[watched.path] = watch

    def unwatch(self, owner: str, but: tuple[str, ...] = ()) -> None:
        """End an owner's subscriptions, except those to the objects in `but`.

        Their match rules are removed from the bus a little later.
        """
        watches = self._watches.pop(owner, {})
        kept = {path: watch for path, watch in watches.items() if path in but}
        if kept:
            self._watches[owner] = kept
        for path in watches.keys() - kept.keys():
            watches[path].drop()

    def close(self) -> None:
        """End all subscriptions."""
        for owner in list(self._watches):
            self.unwatch(owner)


class InventoryListener(Protocol):
    """Receives changes of the devices."""

    def device_seen(self, device: NmDevice, facts: BackendFacts | None) -> None:
        """A device appeared or changed; `facts` is None where they did not change."""

    def device_gone(self, device: NmDevice) -> None:
        """A device was removed."""


_UNPLUGGED: Final = (DeviceReason.REMOVED, DeviceReason.UNMANAGED_LINK_NOT_INIT)
_BACKOFF: Final = Backoff(first_s=0.5, last_s=30.0)
_REREAD_S: Final = 1.0
"""Before the next read where NetworkManager has not answered one."""
_KERNEL_INTERFACES: Final = "/sys/class/net"


class Inventory:
    """Watches the devices of one run of NetworkManager by signals; nothing is polled."""

    def __init__(self, connection: BusConnection, listener: InventoryListener, tasks: Tasks) -> None:
        self.devices: dict[str, NmDevice] = {}
        """By object path."""
        self.radio = Radio()
        self._connection = connection
        self._manager = NetworkManager(connection)
        self._listener = listener
        self._reported: dict[str, tuple[str, BackendFacts]] = {}
        self._watches: list[Watch] = []
        self._subscriptions = Subscriptions()
        self._watches_radio = False
        self._stale: dict[str, None] = {}
        self._meanwhile: dict[str, DeviceProperties] = {}
        """Properties that signals changed while a device was being read: as new as the reply, or newer."""
        self._wake = asyncio.Event()
        self._appeared = asyncio.Event()
        self._tasks = tasks

    async def start(self) -> None:
        """Subscribe, then read every device; returns when all were read. Raises BusError, BusClosed."""
        self._watches = await self._manager.watch_devices(
            self._device_added, self._device_removed, self._state_changed
        )
        root = await self._manager.get_all()
        self._update_radio(root)
        await asyncio.gather(*(self._read_device(path) for path in root.get("Devices", ())))
        self._tasks.keep("refresh", self._refresh, _BACKOFF)

    async def stop(self) -> None:
        """Stop watching."""
        await self._tasks.stop()
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.drop()
        self._subscriptions.close()

    def by_name(self, name: str) -> NmDevice | None:
        """The device of that name, if NetworkManager has it."""
        return next((device for device in self.devices.values() if device.name == name), None)

    async def wait_for(self, name: str, timeout_s: float) -> NmDevice | None:
        """The device of that name as soon as NetworkManager has it; None after `timeout_s` seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                while (device := self.by_name(name)) is None:
                    self._appeared.clear()
                    await self._appeared.wait()
        except TimeoutError:
            return None
        return device

    def reread(self, device: NmDevice) -> None:
        """Schedule another read of a device."""
        self._stale[device.path] = None
        self._wake.set()

    def reserve(self, device: NmDevice, reserved: bool) -> None:
        """Set whether an attempt or a link of this daemon's uses a device.

        While it does, only the device's state is watched: all other changes are the result of this
        daemon's own calls. The device is read again when the reservation ends.
        """
        device.reserved = reserved
        if reserved:
            self._subscriptions.unwatch(device.path)
        else:
            self.reread(device)

    def forget_supplicant(self) -> None:
        """wpa_supplicant went away: its next run gives the object path of one device to another."""
        for device in self.devices.values():
            device.supplicant = ""

    async def carried_by(self, path: str) -> Carried | None:
        """Read an active connection; None where it is gone."""
        if path == NO_OBJECT:
            return None
        try:
            active = await ActiveConnectionObject(self._connection, path).get_all()
        except BusError:
            return None
        profile, name = active.get("Connection", NO_OBJECT), active.get("Id", "")
        settings = None
        try:
            settings = await SettingsConnection(self._connection, profile).settings()
        except BusError:
            _log.debug("profile_unreadable", profile=name)
        return Carried(path, profile, name, active.get("Uuid", ""), active.get("Default", False), settings)

    # -- signals

    def _device_added(self, path: str) -> None:
        self._stale[path] = None
        self._wake.set()

    def _device_removed(self, path: str) -> None:
        self._stale.pop(path, None)
        self._meanwhile.pop(path, None)
        self._reported.pop(path, None)
        device = self.devices.pop(path, None)
        if device is not None:
            for listener in list(device.listeners):
                listener(_gone(device))
            self._listener.device_gone(device)
        self._subscriptions.unwatch(path)
        self._enable_radio()

    def _state_changed(self, path: str, change: StateChanged) -> None:
        device = self._update(path, {"State": change.state})
        if device is None:
            return
        step = _gone(device) if change.reason in _UNPLUGGED else StateChange(change.state, change.reason)
        for listener in list(device.listeners):
            listener(step)
        if not device.reserved:
            self.reread(device)

    def _device_changed(self, signal: Signal) -> None:
        changed = Device.changes(signal.body)
        device = self._update(signal.path, changed)
        if device is None:
            return
        if not device.reserved and not AFFECTS_USE.isdisjoint(changed):
            self.reread(device)
        elif "Autoconnect" in changed:
            self._report(device)

    def _root_changed(self, signal: Signal) -> None:
        self._radio_changed(NetworkManager.changes(signal.body))

    def _radio_changed(self, root: RootProperties) -> None:
        before = self.radio
        self._update_radio(root)
        if self.radio != before:
            for device in self.devices.values():
                self._report(device)

    def _active_changed(self, signal: Signal) -> None:
        """A foreign connection became the default route, or ceased to be it."""
        if "Default" in ActiveConnectionObject.changes(signal.body):
            for device in self.devices.values():
                if device.carried is not None and device.carried.path == signal.path:
                    self.reread(device)

    def _update(self, path: str, changed: DeviceProperties) -> NmDevice | None:
        if path in self._meanwhile:
            self._meanwhile[path].update(changed)
        device = self.devices.get(path)
        if device is not None:
            device.properties.update(changed)
        return device

    def _update_radio(self, root: RootProperties) -> None:
        self.radio = self.radio.updated(root)

    # -- reading

    async def _refresh(self) -> None:
        failures = 0  # in a row
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._stale:
                path = next(iter(self._stale))
                del self._stale[path]
                try:
                    await (self._read_radio() if path == self._manager.path else self._read_device(path))
                    failures = 0
                except (BusClosed, TimeoutError) as error:
                    failures += 1
                    log = _log.warning if failures == 1 else _log.debug
                    log("device_unreadable", path=path, error=str(error) or "time-out")
                    self._stale[path] = None  # the events of a device that was never read are ignored
                    await asyncio.sleep(_REREAD_S)

    async def _read_device(self, path: str) -> None:
        """Read a device, and report it where it is a Wi-Fi device that still exists."""
        self._meanwhile[path] = {}
        carried: Carried | None = None
        try:
            device_object = Device(self._connection, path)
            await self._subscriptions.watch_object(path, device_object, self._device_changed)
            properties = await device_object.get_all()
            wifi = is_wifi(properties)
            if wifi:
                wireless = await WirelessDevice(self._connection, path).get_all()
                active = properties.get("ActiveConnection", NO_OBJECT)
                if active != NO_OBJECT:
                    carrying = ActiveConnectionObject(self._connection, active)
                    await self._subscriptions.watch_object(path, carrying, self._active_changed)
                self._subscriptions.unwatch(path, but=(path, active))
                carried = await self.carried_by(active)
        except BusError:
            wifi = False
        finally:
            meanwhile = self._meanwhile.pop(path, None)
        if meanwhile is None or not wifi:  # removed while it was read, or not a Wi-Fi device
            self._subscriptions.unwatch(path)
            return
        properties.update(meanwhile)
        device = self.devices.get(path)
        if device is None:
            device = self.devices[path] = NmDevice(path, properties, wireless, run=self)
            _log.info("device_seen", interface=device.name, state=device.state)
        device.properties, device.wireless, device.carried = properties, wireless, carried
        if device.reserved:
            self._subscriptions.unwatch(path)
        self._appeared.set()
        self._report(device)

    def _enable_radio(self) -> None:
        """Watch the global Wi-Fi switches while they may be what makes a device unavailable."""
        needed = any(device.state == DeviceState.UNAVAILABLE for device in self.devices.values())
        if needed and not self._watches_radio:
            self._stale[self._manager.path] = None
            self._wake.set()
        elif self._watches_radio and not needed:
            self._subscriptions.unwatch(self._manager.path)
        self._watches_radio = needed

    async def _read_radio(self) -> None:
        try:
            await self._subscriptions.watch_object(self._manager.path, self._manager, self._root_changed)
            root = await self._manager.get_all()
        except BusError:
            return  # NetworkManager is gone
        self._radio_changed(root)
        if not self._watches_radio:
            self._subscriptions.unwatch(self._manager.path)

    def _report(self, device: NmDevice) -> None:
        report = (device.name, BackendFacts(obstacle_of(device, self.radio), device.bands))
        self._listener.device_seen(device, report[1] if report != self._reported.get(device.path) else None)
        self._reported[device.path] = report
        self._enable_radio()


def _gone(device: NmDevice) -> DeviceGone:
    """NetworkManager gives the same reason for an adapter that was unplugged and for one that it drops; the
    kernel's list of interfaces shows which it was.
    """
    return DeviceGone(unplugged=not Path(_KERNEL_INTERFACES, device.name).exists())
