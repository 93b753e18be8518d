"""NetworkManager's Wi-Fi devices, live: what each is doing, and what stands in the way of using it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final, Protocol

import structlog

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.defs import DeviceReason, DeviceState, DeviceType
from wifimgrd.backends.networkmanager.devices import Carried, Gone, NmDevice, Radio, StateChange, obstacle_of
from wifimgrd.backends.networkmanager.following import Following
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Signal, Watch
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.runtime.tasks import Backoff, Tasks

_log = structlog.get_logger(__name__)


class InventoryListener(Protocol):
    """Told of the devices."""

    def device_seen(self, device: NmDevice, facts: BackendFacts | None) -> None:
        """A device appeared, or something about it changed; None where its facts did not."""

    def device_gone(self, device: NmDevice) -> None:
        """A device was removed."""


_PULLED: Final = (DeviceReason.REMOVED, DeviceReason.UNMANAGED_LINK_NOT_INIT)
_BACKOFF: Final = Backoff(first_s=0.5, last_s=30.0)
_KERNEL_INTERFACES: Final = "/sys/class/net"
_TELLING: Final = frozenset(("Interface", "Managed", "ActiveConnection", "FirmwareMissing"))
"""Properties of a device that change what may be done with it."""


class Inventory:
    """Follows the devices of one run of NetworkManager; nothing is polled."""

    def __init__(self, connection: BusConnection, listener: InventoryListener, tasks: Tasks) -> None:
        self.devices: dict[str, NmDevice] = {}
        """By object path."""
        self.radio = Radio()
        self._connection = connection
        self._listener = listener
        self._told: dict[str, tuple[str, BackendFacts]] = {}
        self._watches: list[Watch] = []
        self._following = Following(connection)
        self._minds_radio = False
        self._stale: dict[str, None] = {}
        self._meanwhile: dict[str, dict[str, Any]] = {}
        """What signals said of a device while it was being read: newer than the reply, or the same."""
        self._wake = asyncio.Event()
        self._appeared = asyncio.Event()
        self._tasks = tasks

    async def start(self) -> None:
        """Subscribe, then look at every device; returns when all are known. Raises BusError, BusClosed."""
        watch = self._connection.watch
        self._watches = list(
            await asyncio.gather(
                watch(self._device_added, sender=defs.NM, interface=defs.NM, member="DeviceAdded"),
                watch(self._device_removed, sender=defs.NM, interface=defs.NM, member="DeviceRemoved"),
                watch(self._state_changed, sender=defs.NM, interface=defs.NM_DEVICE, member="StateChanged"),
            )
        )
        root = await self._connection.get_all(defs.NM, defs.NM_PATH, defs.NM)
        self._note_radio(root)
        await asyncio.gather(*(self._look(path) for path in root["Devices"]))
        self._tasks.keep("refresh", self._refresh, _BACKOFF)

    async def stop(self) -> None:
        """Stop following; every device is gone for its ears."""
        await self._tasks.stop()
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.drop()
        self._following.close()

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

    def look_again(self, device: NmDevice) -> None:
        """Read a device anew, soon."""
        self._stale[device.path] = None
        self._wake.set()

    def reserve(self, device: NmDevice, reserved: bool) -> None:
        """Say whether a device works for us.

        While it does, its states alone are followed: all else that NetworkManager tells of it is of
        our own making. It is read anew when it does not any more.
        """
        device.reserved = reserved
        if reserved:
            self._following.unfollow(device.path)
        else:
            self.look_again(device)

    async def carried_by(self, path: str) -> Carried | None:
        """Read an active connection; None where it is gone."""
        if path == defs.NO_OBJECT:
            return None
        try:
            active = await self._connection.get_all(defs.NM, path, defs.NM_ACTIVE)
        except BusError:
            return None
        settings = None
        try:
            settings = (
                await self._connection.call(
                    defs.NM, active["Connection"], defs.NM_SETTINGS_CONNECTION, "GetSettings"
                )
            )[0]
        except BusError:
            _log.debug("profile_unreadable", profile=active.get("Id", ""))
        return Carried(
            path,
            str(active["Connection"]),
            str(active["Id"]),
            str(active["Uuid"]),
            bool(active["Default"]),
            settings,
        )

    # -- signals

    def _device_added(self, signal: Signal) -> None:
        self._stale[signal.body[0]] = None
        self._wake.set()

    def _device_removed(self, signal: Signal) -> None:
        self._stale.pop(signal.body[0], None)
        self._meanwhile.pop(signal.body[0], None)
        self._told.pop(signal.body[0], None)
        device = self.devices.pop(signal.body[0], None)
        if device is not None:
            for ear in list(device.ears):
                ear(_gone(device))
            self._listener.device_gone(device)
        self._following.unfollow(signal.body[0])
        self._mind_radio()

    def _state_changed(self, signal: Signal) -> None:
        state, _, reason = signal.body
        device = self._note(signal.path, {"State": state})
        if device is None:
            return
        step = _gone(device) if reason in _PULLED else StateChange(state, reason)
        for ear in list(device.ears):
            ear(step)
        if not device.reserved:
            self.look_again(device)

    def _device_changed(self, signal: Signal) -> None:
        changed: dict[str, Any] = signal.body[1]
        device = self._note(signal.path, changed)
        if device is None:
            return
        if not device.reserved and not _TELLING.isdisjoint(changed):
            self.look_again(device)
        elif "Autoconnect" in changed:
            self._tell(device)

    def _root_changed(self, signal: Signal) -> None:
        self._hear_of_radio(signal.body[1])

    def _hear_of_radio(self, root: dict[str, Any]) -> None:
        before = self.radio
        self._note_radio(root)
        if self.radio != before:
            for device in self.devices.values():
                self._tell(device)

    def _active_changed(self, signal: Signal) -> None:
        """A foreign connection became the default route, or ceased to be it."""
        if "Default" in signal.body[1]:
            for device in self.devices.values():
                if device.carried is not None and device.carried.path == signal.path:
                    self.look_again(device)

    def _note(self, path: str, changed: dict[str, Any]) -> NmDevice | None:
        if path in self._meanwhile:
            self._meanwhile[path].update(changed)
        device = self.devices.get(path)
        if device is not None:
            device.properties.update(changed)
        return device

    def _note_radio(self, root: dict[str, Any]) -> None:
        self.radio = Radio(
            bool(root.get("WirelessEnabled", self.radio.enabled)),
            bool(root.get("WirelessHardwareEnabled", self.radio.hardware_enabled)),
        )

    # -- reading

    async def _refresh(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._stale:
                path = next(iter(self._stale))
                del self._stale[path]
                try:
                    await (self._look_at_radio() if path == defs.NM_PATH else self._look(path))
                except (BusClosed, TimeoutError) as error:
                    _log.warning("device_unreadable", path=path, error=str(error))

    async def _look(self, path: str) -> None:
        """Read a device and tell of it, where it is a Wi-Fi device and still there."""
        self._meanwhile[path] = {}
        carried: Carried | None = None
        try:
            await self._following.follow(path, path, defs.NM_DEVICE, self._device_changed)
            properties = await self._connection.get_all(defs.NM, path, defs.NM_DEVICE)
            is_wifi = properties["DeviceType"] == DeviceType.WIFI
            if is_wifi:
                wireless = await self._connection.get_all(defs.NM, path, defs.NM_WIRELESS)
                active = properties["ActiveConnection"]
                if active != defs.NO_OBJECT:
                    await self._following.follow(path, active, defs.NM_ACTIVE, self._active_changed)
                self._following.unfollow(path, but=(path, active))
                carried = await self.carried_by(active)
        except BusError:
            is_wifi = False
        finally:
            meanwhile = self._meanwhile.pop(path, None)
        if meanwhile is None or not is_wifi:  # removed while it was read, or not for us
            self._following.unfollow(path)
            return
        properties.update(meanwhile)
        device = self.devices.get(path)
        if device is None:
            device = self.devices[path] = NmDevice(path, properties, wireless)
            _log.info("device_seen", interface=device.name, state=device.state)
        device.properties, device.wireless, device.carried = properties, wireless, carried
        if device.reserved:
            self._following.unfollow(path)
        self._appeared.set()
        self._tell(device)

    def _mind_radio(self) -> None:
        """Follow the switches for all of Wi-Fi while they may be what stands in a device's way."""
        minds = any(device.state == DeviceState.UNAVAILABLE for device in self.devices.values())
        if minds and not self._minds_radio:
            self._stale[defs.NM_PATH] = None
            self._wake.set()
        elif self._minds_radio and not minds:
            self._following.unfollow(defs.NM_PATH)
        self._minds_radio = minds

    async def _look_at_radio(self) -> None:
        try:
            await self._following.follow(defs.NM_PATH, defs.NM_PATH, defs.NM, self._root_changed)
            root = await self._connection.get_all(defs.NM, defs.NM_PATH, defs.NM)
        except BusError:
            return  # NetworkManager is gone
        self._hear_of_radio(root)
        if not self._minds_radio:
            self._following.unfollow(defs.NM_PATH)

    def _tell(self, device: NmDevice) -> None:
        told = (device.name, BackendFacts(obstacle_of(device, self.radio), device.bands))
        self._listener.device_seen(device, told[1] if told != self._told.get(device.path) else None)
        self._told[device.path] = told
        self._mind_radio()


def _gone(device: NmDevice) -> Gone:
    """NetworkManager says the same of an adapter that was pulled out and of one that it lets go; the
    kernel knows.
    """
    return Gone(pulled_out=not Path(_KERNEL_INTERFACES, device.name).exists())
