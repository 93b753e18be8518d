"""NetworkManager's root object.

https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.html
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from wifimgrd.bus.connection import BusConnection, Signal, Watch
from wifimgrd.bus.proxy import Proxy
from wifimgrd.proxies.networkmanager import definitions


@dataclass(frozen=True, slots=True)
class Radio:
    """The global Wi-Fi switches."""

    enabled: bool = True
    hardware_enabled: bool = True

    def updated(self, properties: Mapping[str, Any]) -> Self:
        """Updated with those of NetworkManager's properties that are given."""
        return replace(
            self,
            enabled=bool(properties.get("WirelessEnabled", self.enabled)),
            hardware_enabled=bool(properties.get("WirelessHardwareEnabled", self.hardware_enabled)),
        )


class NetworkManager(Proxy):
    """The root object."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM
    TIMEOUT_S = 10.0

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, definitions.NM_PATH)

    @staticmethod
    def devices(properties: Mapping[str, Any]) -> list[str]:
        """The object paths of all devices, from the properties as read."""
        return list(properties["Devices"])

    @staticmethod
    def is_starting(properties: Mapping[str, Any]) -> bool:
        """Whether it has not dealt with all devices since its start, from the properties as read."""
        return bool(properties.get("Startup"))

    async def watch_devices(
        self,
        added: Callable[[Signal], None],
        removed: Callable[[Signal], None],
        state_changed: Callable[[Signal], None],
    ) -> list[Watch]:
        """Subscribe to devices that are added (path), removed (path), and to the states of all of them
        (new, old, reason)."""
        service = definitions.NM
        watch = self.connection.watch
        return list(
            await asyncio.gather(
                watch(added, sender=service, interface=service, member="DeviceAdded"),
                watch(removed, sender=service, interface=service, member="DeviceRemoved"),
                watch(state_changed, sender=service, interface=definitions.NM_DEVICE, member="StateChanged"),
            )
        )

    async def watch_any_property(self, handler: Callable[[Signal], None]) -> Watch:
        """Subscribe to changes of the root object's properties on any of its interfaces."""
        return await self.connection.watch(
            handler, sender=self.SERVICE, path=self.path, member="PropertiesChanged"
        )
