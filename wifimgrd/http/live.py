"""The live copy, as requests may read it: never while it is stale."""

from __future__ import annotations

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.records import DeviceRecord
from wifimgrd.domain.errors import BackendUnavailable, DeviceNotFound


def live(client: HubClient) -> HubClient:
    """The client itself; raises BackendUnavailable while the daemon is away."""
    if not client.available:
        raise BackendUnavailable(client.reason or "wifimgrd is not running")
    return client


def device_of(client: HubClient, device_id: int) -> DeviceRecord:
    """A device as it is now; raises DeviceNotFound, and BackendUnavailable."""
    device = live(client).devices.get(device_id)
    if device is None:
        raise DeviceNotFound(f"there is no device {device_id}")
    return device
