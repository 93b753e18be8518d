"""Keeping NetworkManager's own autoconnect off the hub's adapters, and giving it back."""

from __future__ import annotations

from typing import Final

import structlog

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import NmDevice
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Variant
from wifimgrd.ports import BackendMemory

_log = structlog.get_logger(__name__)

_KEY: Final = "networkmanager.autoconnect."
_YES: Final = "yes"


class Holder:
    """Sets `Device.Autoconnect` to false on held adapters, and remembers what it was.

    The old value is noted under the adapter's permanent MAC address before it is changed, so that
    it can be given back after a crash of this daemon, too. NetworkManager itself forgets it when
    it is restarted.
    """

    def __init__(self, memory: BackendMemory) -> None:
        self._memory = memory
        self._held: set[str] = set()
        self._drifted: set[str] = set()
        """The devices whose random address was told."""

    def holds(self, interface: str) -> bool:
        """Whether an interface is held."""
        return interface in self._held

    def take(self, interface: str) -> None:
        """From now on, hold an interface whenever NetworkManager has it; see `apply`."""
        self._held.add(interface)

    def drop(self, interface: str) -> None:
        """Hold an interface no more; see `give_back`."""
        self._held.discard(interface)

    def drop_all(self) -> None:
        """Hold nothing any more."""
        self._held.clear()

    async def apply(self, connection: BusConnection, device: NmDevice) -> None:
        """Bring a device in line, where it is held and NetworkManager may use it by itself."""
        if device.name not in self._held or not device.properties.get("Autoconnect") or not device.mac:
            return
        if self._memory.recall(_KEY + device.mac) is None:
            self._memory.note(_KEY + device.mac, _YES)
        if await self._set(connection, device, False):
            _log.info("autoconnect_off", interface=device.name)

    def look_for_drift(self, device: NmDevice) -> None:
        """Tell, once, of a held device that searches the air under a random address: NetworkManager
        takes it down for that, again and again (`wifi.scan-rand-mac-address` in NetworkManager.conf(5)).
        """
        address = str(device.wireless.get("HwAddress", "")).lower()
        idle = device.state == DeviceState.DISCONNECTED and not device.reserved
        if not (idle and self.holds(device.name) and device.mac and address) or address == device.mac:
            return
        if device.path not in self._drifted:
            self._drifted.add(device.path)
            _log.warning(
                "adapter_drifted",
                interface=device.name,
                reason="NetworkManager gives it random MAC addresses while it is idle",
            )

    def forget(self, device: NmDevice) -> None:
        """It was removed; an adapter that is plugged in again is another device."""
        self._drifted.discard(device.path)

    async def give_back(self, connection: BusConnection, device: NmDevice) -> None:
        """Restore what was found, once: nothing happens to a device that was never changed."""
        if not device.mac or self._memory.recall(_KEY + device.mac) is None:
            return
        if await self._set(connection, device, self._memory.recall(_KEY + device.mac) == _YES):
            self._memory.note(_KEY + device.mac, None)
            _log.info("autoconnect_restored", interface=device.name)

    async def _set(self, connection: BusConnection, device: NmDevice, value: bool) -> bool:
        try:
            await connection.call(
                defs.NM,
                device.path,
                defs.PROPERTIES,
                "Set",
                "ssv",
                [defs.NM_DEVICE, "Autoconnect", Variant("b", value)],
                timeout_s=5,
            )
        except (BusError, BusClosed, TimeoutError) as error:
            _log.warning("autoconnect_unchanged", interface=device.name, error=str(error))
            return False
        device.properties["Autoconnect"] = value
        return True
