"""NetworkManager's root object.

https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.html
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from wifimgrd.bus.connection import BusConnection, Signal, Watch
from wifimgrd.bus.proxy import ProxyWithProperties
from wifimgrd.bus.values import typed
from wifimgrd.proxies.networkmanager import definitions
from wifimgrd.proxies.networkmanager.definitions import RootProperties
from wifimgrd.proxies.networkmanager.device import StateChanged


@dataclass(frozen=True, slots=True)
class Radio:
    """The global Wi-Fi switches."""

    enabled: bool = True
    hardware_enabled: bool = True

    def updated(self, properties: RootProperties) -> Self:
        """Updated with those of NetworkManager's properties that are given."""
        return replace(
            self,
            enabled=properties.get("WirelessEnabled", self.enabled),
            hardware_enabled=properties.get("WirelessHardwareEnabled", self.hardware_enabled),
        )


class NetworkManager(ProxyWithProperties[RootProperties]):
    """The root object."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM
    PROPERTIES = RootProperties
    TIMEOUT_S = 10.0

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, definitions.NM_PATH)

    async def watch_devices(
        self,
        added: Callable[[str], None],
        removed: Callable[[str], None],
        state_changed: Callable[[str, StateChanged], None],
    ) -> list[Watch]:
        """Subscribe to devices that are added and removed, and to the states of all of them; each handler
        gets the object path of the device."""
        service = definitions.NM
        watch = self.connection.watch
        return list(
            await asyncio.gather(
                watch(
                    lambda signal: added(*typed(tuple[str], signal.body)),
                    sender=service,
                    interface=service,
                    member="DeviceAdded",
                ),
                watch(
                    lambda signal: removed(*typed(tuple[str], signal.body)),
                    sender=service,
                    interface=service,
                    member="DeviceRemoved",
                ),
                watch(
                    lambda signal: state_changed(signal.path, typed(StateChanged, signal.body)),
                    sender=service,
                    interface=definitions.NM_DEVICE,
                    member="StateChanged",
                ),
            )
        )

    async def watch_any_property(self, handler: Callable[[Signal], None]) -> Watch:
        """Subscribe to changes of the root object's properties on any of its interfaces."""
        return await self.connection.watch(
            handler, sender=self.SERVICE, path=self.path, member="PropertiesChanged"
        )
