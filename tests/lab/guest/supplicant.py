"""wpa_supplicant over D-Bus, as far as the lab needs it: what really was sent and received.

https://w1.fi/wpa_supplicant/devel/dbus.html
"""

import time
from dataclasses import dataclass
from typing import Any

from dbus_next.message import Message

from .system_bus import SystemBus

_NAME = "fi.w1.wpa_supplicant1"
_ROOT = "/fi/w1/wpa_supplicant1"
_INTERFACE = f"{_NAME}.Interface"


@dataclass(frozen=True)
class Change:
    """A property of an interface that wpa_supplicant reported, be it new or the same value again."""

    path: str
    name: str  # State, DisconnectReason, AuthStatusCode, AssocStatusCode, CurrentBSS, Scanning, ...
    value: Any
    time_s: float  # time.monotonic


class Supplicant:
    """A listener to the running wpa_supplicant."""

    def __init__(self, bus: SystemBus) -> None:
        self.changes: list[Change] = []
        self._bus = bus

    async def watch(self) -> None:
        """Keep `changes` from now on."""
        # Its interfaces have a PropertiesChanged of their own, beside org.freedesktop.DBus.Properties'.
        await self._bus.listen(_NAME, _INTERFACE, "PropertiesChanged", self._on_changed)

    async def interface(self, name: str) -> str:
        """Give the object path of a network interface."""
        (path,) = await self._bus.call(_NAME, _ROOT, _NAME, "GetInterface", "s", name)
        return str(path)

    async def registered(self) -> list[str]:
        """Give the names of the network interfaces that it has."""
        paths = await self._bus.read(_NAME, _ROOT, _NAME, "Interfaces")
        return sorted([str(await self._bus.read(_NAME, path, _INTERFACE, "Ifname")) for path in paths])

    async def network_property(self, interface: str, name: str) -> str:
        """Read a setting of the network that an interface has joined, such as "bssid"; without quotes."""
        return str((await self.network_properties(interface))[name]).strip('"').lower()

    async def network_properties(self, interface: str) -> dict[str, Any]:
        """Read all settings of the network that an interface has joined."""
        network = await self._bus.read(_NAME, await self.interface(interface), _INTERFACE, "CurrentNetwork")
        settings = await self._bus.read(_NAME, network, f"{_NAME}.Network", "Properties")
        return {name: setting.value for name, setting in settings.items()}

    async def interface_properties(self, interface: str) -> dict[str, Any]:
        """Read all properties of an interface."""
        path = await self.interface(interface)
        (found,) = await self._bus.call(
            _NAME, path, "org.freedesktop.DBus.Properties", "GetAll", "s", _INTERFACE
        )
        return {name: value.value for name, value in found.items()}

    async def wait_for_state(self, state: str, seconds: float = 20.0) -> Change:
        """Wait for a state of any interface, which may not be registered yet, that has come since watch()."""

        async def came() -> Change | None:
            found = (one for one in self.changes if (one.name, one.value) == ("State", state))
            return next(found, None)

        return await self._bus.until(came, f"any interface: {state}", seconds)

    async def wait_for(self, interface: str, name: str, *values: Any, seconds: float = 20.0) -> Change:
        """Wait for a change of a property that has come since watch(), to one of these values or to any."""
        path = await self.interface(interface)

        async def came() -> Change | None:
            for change in self.changes:
                if (change.path, change.name) == (path, name) and (not values or change.value in values):
                    return change
            return None

        return await self._bus.until(came, f"{interface}: {name} {values or ''}", seconds)

    def _on_changed(self, message: Message) -> None:
        now = time.monotonic()
        for name, value in message.body[0].items():
            self.changes.append(Change(message.path, name, value.value, now))
