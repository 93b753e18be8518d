"""NetworkManager's devices, where it is slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from wifimgrd.bus.connection import Signal
from wifimgrd.daemon.backends.networkmanager import _inventory as module
from wifimgrd.daemon.backends.networkmanager._inventory import Inventory
from wifimgrd.proxies.networkmanager.definitions import NM, NM_PATH, DeviceState, DeviceType
from wifimgrd.runtime.tasks import Tasks


class SlowNetworkManager:
    """It does not answer the first read of its device in time."""

    def __init__(self) -> None:
        self.reads = 0
        self.handlers: dict[str, Callable[[Signal], None]] = {}
        """By the name of the signal."""

    def add(self, path: str) -> None:
        """Signal that it has another device."""
        self.handlers["DeviceAdded"](Signal(NM, NM_PATH, NM, "DeviceAdded", [path]))

    async def watch(self, handler: Callable[[Signal], None], **conditions: str) -> Any:
        self.handlers[conditions.get("member", "")] = handler
        return SimpleNamespace(drop=lambda: None)

    async def get_all(self, destination: str, path: str, interface: str, timeout_s: float) -> dict[str, Any]:
        if path == "/org/freedesktop/NetworkManager":
            return {"Devices": [], "WirelessEnabled": True, "WirelessHardwareEnabled": True}
        self.reads += 1
        if self.reads == 1:
            raise TimeoutError
        state = DeviceState.DISCONNECTED
        return {"Interface": "wlan0", "DeviceType": DeviceType.WIFI, "State": state, "ActiveConnection": "/"}


async def test_a_device_that_was_not_read_in_time_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own signals are not heeded until it was read."""
    monkeypatch.setattr(module, "_REREAD_S", 0.01)
    manager, tasks = SlowNetworkManager(), Tasks("test")
    connection: Any = manager
    listener: Any = SimpleNamespace(device_seen=lambda *_: None, device_gone=lambda *_: None)
    inventory = Inventory(connection, listener, tasks)
    async with asyncio.timeout(10):
        await inventory.start()
        manager.add("/wlan0")
        device = await inventory.wait_for("wlan0", 10.0)
    assert device is not None
    assert device.state == DeviceState.DISCONNECTED
    await inventory.stop()
