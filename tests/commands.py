"""Commands to a device by the client, for tests."""

from __future__ import annotations

from wifimgrd.client.hub import HubClient
from wifimgrd.domain.commands import CONNECT, DISCONNECT, WHEN_FREE


async def connect(
    hub: HubClient, device_id: int, *, wait: bool = False, when_free: bool = False, timeout_s: float = 25
) -> None:
    """Connect a device; with `wait` until the attempt has ended, else until it has begun."""
    await hub.command_device(CONNECT, device_id, {WHEN_FREE: when_free}, wait_s=timeout_s if wait else 0)


async def disconnect(hub: HubClient, device_id: int) -> None:
    """Disconnect a device, and wait until that is done."""
    await hub.command_device(DISCONNECT, device_id, wait_s=25)
