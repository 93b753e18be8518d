"""BlueZ's objects, with a method for each call that is used.

No call starts bluetoothd: one that an administrator has stopped stays stopped, and no call waits for a start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, BusError, Variant
from wifimgrd.bus.proxy import Proxy, ProxyWithProperties
from wifimgrd.bus.values import typed
from wifimgrd.proxies.bluez import definitions
from wifimgrd.proxies.bluez.definitions import DeviceProperties

ManagedObjects = dict[str, dict[str, dict[str, object]]]
"""The properties of each interface of each object."""
NO_ANSWER: Final = "bluetoothd does not answer"
"""The message for people if a call is not answered."""
_WITH_RESPONSE: Final = "request"
"""The kind of write that the device acknowledges."""
_T = TypeVar("_T")


def _pass_on(shape: type[_T], on_reply: Callable[[_T], None]) -> Callable[[list[object]], None]:
    """A function that passes the one argument of a reply on, unless it is of another type: nobody handles
    exceptions where replies come in."""

    def received(reply: list[object]) -> None:
        with suppress(BusError):
            on_reply(typed(shape, reply[0] if len(reply) == 1 else None))

    return received


class _Object(Proxy):
    """An object of BlueZ's."""

    SERVICE = definitions.BLUEZ
    TIMEOUT_S = 10.0
    AUTO_START = False


class Root(_Object):
    """The object that lists the others."""

    INTERFACE = names.OBJECT_MANAGER

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, definitions.ROOT_PATH)

    async def read_objects(self, on_reply: Callable[[ManagedObjects], None]) -> None:
        """Read all objects; `on_reply` gets them before any signal that follows."""
        await self.call("GetManagedObjects", on_reply=_pass_on(ManagedObjects, on_reply))


class AgentManager(_Object):
    """Where agents are registered."""

    INTERFACE = definitions.AGENT_MANAGER

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, definitions.BLUEZ_PATH)

    async def register(self, path: str, capability: str) -> None:
        """Register the caller's agent, which is asked about the pairings that the caller starts."""
        await self.call("RegisterAgent", "os", [path, capability])


class Adapter(_Object):
    """An adapter of the host."""

    INTERFACE = definitions.ADAPTER

    async def set_discovery_filter(self, services: Sequence[str]) -> None:
        """Limit the caller's discovery to Bluetooth LE, and to devices with one of these services if any are
        given."""
        wanted = {"Transport": Variant("s", "le"), "DuplicateData": Variant("b", False)}
        if services:
            wanted["UUIDs"] = Variant("as", list(services))
        await self.call("SetDiscoveryFilter", "a{sv}", [wanted])

    async def start_discovery(self) -> None:
        """Start the caller's discovery; it ends with the caller's connection to the bus."""
        await self.call("StartDiscovery")

    async def stop_discovery(self) -> None:
        """End the caller's discovery."""
        await self.call("StopDiscovery")

    async def remove_device(self, device: str) -> None:
        """Remove a device, with its bond and all that was read from it."""
        await self.call("RemoveDevice", "o", [device])


class Device(ProxyWithProperties[DeviceProperties], _Object):
    """A device that was heard, or that is bonded."""

    INTERFACE = definitions.DEVICE
    PROPERTIES = DeviceProperties

    async def read_properties(self, on_reply: Callable[[DeviceProperties], None]) -> None:
        """Read all properties; `on_reply` gets them before any signal that follows."""
        await self.connection.call(
            self.SERVICE,
            self.path,
            names.PROPERTIES,
            "GetAll",
            "s",
            [self.INTERFACE],
            self.TIMEOUT_S,
            _pass_on(DeviceProperties, on_reply),
            auto_start=self.AUTO_START,
        )

    async def connect(self, timeout_s: float) -> None:
        """Wait until the device is heard, for 40 s at most, and connect."""
        await self._call_for("Connect", timeout_s)

    async def disconnect(self) -> None:
        """Disconnect, or end a Connect; replies after 2 s."""
        await self.call("Disconnect")

    async def pair(self, timeout_s: float) -> None:
        """Pair and bond; there may never be a reply, also if it succeeds."""
        await self._call_for("Pair", timeout_s)

    async def _call_for(self, member: str, timeout_s: float) -> None:
        await self.connection.call(
            self.SERVICE,
            self.path,
            self.INTERFACE,
            member,
            timeout_s=timeout_s,
            auto_start=self.AUTO_START,
        )


class Characteristic(_Object):
    """A GATT characteristic of a device."""

    INTERFACE = definitions.CHARACTERISTIC

    async def read(self) -> bytes:
        """Read the value. It stays visible on the bus, as the property `Value`, until the device is
        removed or bluetoothd restarted."""
        return await self.ask(bytes, "ReadValue", "a{sv}", [{}])

    async def write(self, value: bytes) -> None:
        """Write a value, and wait for the device's acknowledgement."""
        await self.call("WriteValue", "aya{sv}", [value, {"type": Variant("s", _WITH_RESPONSE)}])

    async def start_notify(self) -> None:
        """Subscribe to notifications or indications until the link ends; they come as changes of `Value`."""
        await self.call("StartNotify")


class AdvertisingManager(_Object):
    """Where an adapter's advertisements are registered."""

    INTERFACE = definitions.ADVERTISING_MANAGER

    async def register(self, path: str) -> None:
        """Advertise as the caller's object says, until it is unregistered or the caller's connection ends."""
        await self.call("RegisterAdvertisement", "oa{sv}", [path, {}])

    async def unregister(self, path: str) -> None:
        """End an advertisement."""
        await self.call("UnregisterAdvertisement", "o", [path])
