"""NetworkManager with one device on the bus, whose address and access point a test can set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, cast

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusError, Signal, Watch, Watches
from wifimgrd.domain.device import Link, Sighting
from wifimgrd.proxies.networkmanager import definitions as defs
from wifimgrd.proxies.networkmanager.definitions import InterfaceFlag
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS_INTERFACE

LINK = Link("192.168.42.10", "192.168.42.1", 80, Sighting("02:00:00:00:aa:00", 2412))


class NetworkManagerOnTheBus:
    """A device with a lease, whose address is shown or not, and a wpa_supplicant that is with its camera."""

    POINT: ClassVar[dict[str, Any]] = {"HwAddress": "02:00:00:00:AA:00", "Frequency": 2462, "Strength": 50}

    def __init__(self) -> None:
        self.properties: dict[str, Any] = {
            "Ip4Config": "/ip4",
            "Dhcp4Config": "/dhcp4",
            "ActiveAccessPoint": "/",
            "InterfaceFlags": InterfaceFlag.LOWER_UP,
        }
        self.next_point = "/"
        """The access point that it has once there is a subscription to its changes."""
        self.supplicant_state: str | Exception = "completed"
        self.addresses: list[dict[str, str]] = []
        self.looks: asyncio.Queue[bool] = asyncio.Queue()
        """At the addresses, and whether there were any."""
        self.handlers: dict[str, Callable[[Signal], None]] = {}
        self.watched: asyncio.Queue[str] = asyncio.Queue()
        """The keys of `handlers`, as they were added."""

    async def watch(self, handler: Callable[[Signal], None], **conditions: str) -> Watch:
        what = conditions.get("arg0", "")
        self.handlers[conditions["path"] + what] = handler
        self.watched.put_nowait(conditions["path"] + what)
        if what == defs.NM_WIRELESS:
            self.properties["ActiveAccessPoint"] = self.next_point
        return Watch(cast("Watches", self), handler, conditions)

    def drop(self, watch: Watch) -> None:
        del self.handlers[watch.conditions["path"] + watch.conditions.get("arg0", "")]

    async def get(self, destination: str, path: str, interface: str, name: str, timeout_s: float = 25) -> Any:
        if interface != WPAS_INTERFACE:
            return self.properties[name]
        if isinstance(self.supplicant_state, Exception):
            raise self.supplicant_state
        return self.supplicant_state

    async def get_all(
        self, destination: str, path: str, interface: str, timeout_s: float = 25
    ) -> dict[str, Any]:
        if path == "/ip4":
            self.looks.put_nowait(bool(self.addresses))
            return {"AddressData": self.addresses}
        if path == "/point":
            return self.POINT
        return {"Options": {"ip_address": LINK.local_address, "routers": LINK.camera_address}}

    async def call(
        self, destination: str, path: str, interface: str, member: str, *rest: Any, auto_start: bool = True
    ) -> list[str]:
        assert member == "GetInterface"
        return ["/station"]

    async def round_trip(self) -> None:
        """Nothing is under way here."""

    def show(self, *addresses: str) -> None:
        """Show these addresses from now on, and emit the change."""
        self.addresses = [{"address": address} for address in addresses]
        handler = self.handlers["/ip4" + defs.NM_IP4_CONFIG]
        body = [defs.NM_IP4_CONFIG, {"AddressData": self.addresses}, []]
        handler(Signal(defs.NM, "/ip4", names.PROPERTIES, "PropertiesChanged", body))


class NoChanges:
    """In the place of the helper, for what changes nothing in NetworkManager: what is to end has ended."""

    async def activate(self, *_: object) -> tuple[str, str]:
        raise AssertionError

    async def deactivate(self, active_connection: str) -> None:
        raise BusError("org.freedesktop.DBus.Error.UnknownMethod", "there is no such object")

    async def delete(self, profile: str) -> None:
        raise BusError("org.freedesktop.DBus.Error.UnknownMethod", "there is no such object")

    async def set_managed(self, interface: str, value: bool) -> None:
        raise AssertionError

    async def set_autoconnect(self, interface: str, value: bool) -> None:
        raise AssertionError
