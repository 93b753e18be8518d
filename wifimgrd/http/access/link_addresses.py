"""The host's own addresses on the cameras' links: cameras assign them, so they are not names of the hub."""

from __future__ import annotations

from collections.abc import Callable

from wifimgrd.client.changes import Change, DaemonAppeared, DeviceAdded, DeviceChanged, DeviceRemoved
from wifimgrd.client.hub import HubClient


class LinkAddresses:
    """Follows the hub's devices."""

    def __init__(self, client: HubClient) -> None:
        self._client = client
        self._by_device: dict[int, str] = {}
        self._listeners: list[Callable[[], None]] = []
        client.subscribe(self._apply)

    def __contains__(self, address: object) -> bool:
        return address in self._by_device.values()

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` after an address was added."""
        self._listeners.append(listener)

    def _apply(self, change: Change) -> None:
        match change:  # when the daemon vanishes the links stay
            case DaemonAppeared():
                for device in self._client.devices.values():
                    self._set(device.id, device.local_address)
            case DeviceAdded(device) | DeviceChanged(after=device):
                self._set(device.id, device.local_address)
            case DeviceRemoved(device_id):
                self._by_device.pop(device_id, None)

    def _set(self, device_id: int, address: str | None) -> None:
        if not address:
            self._by_device.pop(device_id, None)
        elif self._by_device.get(device_id) != address:
            self._by_device[device_id] = address
            for listener in self._listeners:
                listener()
