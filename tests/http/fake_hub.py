"""A hub client without a bus, for what no real daemon does on demand: replies that are late, lost
or wrong, changes in any order, thousands of them. Everything else is tested on the real daemon."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Any

from wifimgrd.dbus.client.changes import (
    Change,
    DaemonAppeared,
    DaemonVanished,
    DeviceAdded,
    DeviceChanged,
    DeviceRemoved,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    ServiceChanged,
)
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.mirror import Mirror
from wifimgrd.dbus.client.records import DeviceRecord, ServiceRecord
from wifimgrd.domain.socket_kind import SocketKind
from wifimgrd.net.sockets import open_socket


class FakeHub(HubClient):
    """A live copy that the test writes to, and commands that do what the test says."""

    def __init__(self) -> None:
        super().__init__("nowhere")
        self.asked: list[tuple[Any, ...]] = []
        self.answer: Exception | None = None
        """What every command raises; None = it succeeds and does nothing."""
        self.made_id = 1
        self._reason = "wifimgrd is not connected yet"

    async def start(self) -> None:
        self.appear()

    async def stop(self) -> None:
        pass

    def appear(self, *devices: DeviceRecord) -> None:
        self._mirror = Mirror()
        self._mirror.service = ServiceRecord("1", "simulated", "ready")
        self._mirror.devices = {device.id: device for device in devices}
        self._reason = ""
        self._tell(DaemonAppeared())

    def vanish(self, reason: str = "wifimgrd is not running") -> None:
        self._mirror = Mirror()
        self._reason = reason
        self._tell(DaemonVanished(reason))

    def happen(self, *changes: Change) -> None:
        """Apply changes to the copy and tell of them."""
        for change in changes:
            match change:
                case DeviceAdded(device) | DeviceChanged(device):
                    self._mirror.devices[device.id] = device
                case DeviceRemoved(device_id):
                    self._mirror.devices.pop(device_id, None)
                case InterfaceAdded(interface) | InterfaceChanged(interface):
                    self._mirror.interfaces[interface.name] = interface
                case InterfaceRemoved(name):
                    self._mirror.interfaces.pop(name, None)
                case ServiceChanged(service):
                    self._mirror.service = service
            self._tell(change)

    async def create_device(self, properties: Mapping[str, Any]) -> int:
        await self._do("create", dict(properties))
        return self.made_id

    async def update_device(self, device_id: int, properties: Mapping[str, Any]) -> None:
        await self._do("update", device_id, dict(properties))

    async def remove_device(self, device_id: int) -> None:
        await self._do("remove", device_id)

    async def connect_device(self, device_id: int, *, wait: bool = False, timeout_s: float = 25) -> None:
        await self._do("connect", device_id, wait, timeout_s)

    async def disconnect_device(self, device_id: int, *, timeout_s: float = 25) -> None:
        await self._do("disconnect", device_id)

    async def open_connection(self, device_id: int, port: int) -> socket.socket:
        camera = self._mirror.devices[device_id]
        assert camera.interface
        assert camera.camera_address
        return await open_socket(camera.interface, IPv4Address(camera.camera_address), port, SocketKind.TCP)

    async def _do(self, *asked: Any) -> None:
        self.asked.append(asked)
        if self.answer is not None:
            raise self.answer
