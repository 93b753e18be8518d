"""Disable NetworkManager's autoconnect on claimed adapters, and restore it."""

from __future__ import annotations

from typing import Final

import structlog

from wifimgrd.bus.connection import BusClosed, BusError
from wifimgrd.daemon.backends.networkmanager._changes import Changes
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice
from wifimgrd.daemon.ports import BackendMemory
from wifimgrd.proxies.networkmanager.definitions import DeviceState

_log = structlog.get_logger(__name__)

_KEY: Final = "networkmanager.autoconnect."
_YES: Final = "yes"


class AutoconnectBlock:
    """Sets `Device.Autoconnect` to false on claimed adapters, and stores the previous value.

    The previous value is stored before it is changed, so that it can be restored after a crash of this
    daemon, too: under the adapter's permanent MAC address, which some lack and some have in common, and its
    USB port. NetworkManager does not keep the property over its own restart, nor over a replug.
    """

    def __init__(self, memory: BackendMemory, changes: Changes) -> None:
        self._memory = memory
        self._changes = changes
        self._claimed: set[str] = set()
        self._drifted: set[str] = set()
        """The devices for which `adapter_drifted` was logged."""

    def is_claimed(self, interface: str) -> bool:
        """Whether an interface is claimed."""
        return interface in self._claimed

    def claim(self, interface: str) -> None:
        """Claim an interface: `apply` disables its autoconnect whenever NetworkManager has it."""
        self._claimed.add(interface)

    def release(self, interface: str) -> None:
        """End the claim of an interface; `restore` sets its autoconnect back."""
        self._claimed.discard(interface)

    def release_all(self) -> None:
        """End all claims."""
        self._claimed.clear()

    async def apply(self, device: NmDevice) -> None:
        """Disable autoconnect on a device that is claimed, where it is enabled."""
        if device.name not in self._claimed or not device.autoconnect:
            return
        if self._memory.recall(_key(device)) is None:
            self._memory.note(_key(device), _YES)
        if await self._set(device, False):
            _log.info("autoconnect_off", interface=device.name)

    def check_drift(self, device: NmDevice) -> None:
        """Log once that a claimed device scans with a random MAC address: NetworkManager takes the
        interface down for each change of it (`wifi.scan-rand-mac-address` in NetworkManager.conf(5)).
        """
        address = device.current_mac
        idle = device.state == DeviceState.DISCONNECTED and not device.reserved
        if not (idle and self.is_claimed(device.name) and device.mac and address) or address == device.mac:
            return
        if device.path not in self._drifted:
            self._drifted.add(device.path)
            _log.warning(
                "adapter_drifted",
                interface=device.name,
                reason="NetworkManager gives it random MAC addresses while it is idle",
            )

    def forget(self, device: NmDevice) -> None:
        """Drop the state of a removed device; an adapter that is plugged in again is a new device."""
        self._drifted.discard(device.path)
        self._forget_note(device)

    def forget_drifts(self) -> None:
        """NetworkManager went away: its next run gives the same object paths to other devices."""
        self._drifted.clear()

    async def restore(self, device: NmDevice) -> None:
        """Restore the stored value, once; a device that was never changed is left as it is."""
        if (before := self._noted(device)) is None:
            return
        if await self._set(device, before == _YES):
            self._forget_note(device)
            _log.info("autoconnect_restored", interface=device.name)

    def _noted(self, device: NmDevice) -> str | None:
        notes = map(self._memory.recall, _keys(device))
        return next((note for note in notes if note is not None), None)

    def _forget_note(self, device: NmDevice) -> None:
        for key in _keys(device):
            if self._memory.recall(key) is not None:
                self._memory.note(key, None)

    async def _set(self, device: NmDevice, value: bool) -> bool:
        try:
            await self._changes.set_autoconnect(device.name, value)
        except (BusError, BusClosed, TimeoutError) as error:
            _log.warning("autoconnect_unchanged", interface=device.name, error=str(error))
            return False
        device.autoconnect = value
        return True


def _key(device: NmDevice) -> str:
    """Of an adapter; one that has neither address nor port is known by its interface's name."""
    return _KEY + (" ".join(filter(None, (device.mac, device.port))) or device.name)


def _keys(device: NmDevice) -> tuple[str, ...]:
    """The keys that its note may be under: NetworkManager learns the port of a new device from udev after the
    device itself, and 0.1.0 wrote the note only under the address."""
    return tuple(dict.fromkeys((_key(device), _KEY + (device.mac or device.name), _KEY + device.name)))
