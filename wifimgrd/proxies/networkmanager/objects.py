"""The objects that NetworkManager's devices refer to: profiles, active connections, addresses, access points.

https://networkmanager.dev/docs/api/1.42/spec.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from wifimgrd.bus.proxy import Proxy
from wifimgrd.domain.device import DeviceId
from wifimgrd.proxies.networkmanager import definitions


class SettingsConnection(Proxy):
    """A connection profile."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_SETTINGS_CONNECTION
    TIMEOUT_S = 10.0

    async def settings(self) -> dict[str, Any]:
        """Its settings, without secrets."""
        settings: dict[str, Any] = (await self.call("GetSettings"))[0]
        return settings


def marked_device(settings: Mapping[str, Any]) -> DeviceId | None:
    """The id of the device that a profile is for; None where the profile is not the hub's."""
    mark = settings.get("user", {}).get("data", {}).get(definitions.PROFILE_MARK, "")
    return DeviceId(int(mark)) if mark.isascii() and mark.isdigit() and int(mark) > 0 else None


class ActiveConnectionObject(Proxy):
    """A profile that is being activated, or is active."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_ACTIVE

    @staticmethod
    def has_default(changed: Mapping[str, Any]) -> bool:
        """Whether a change of properties concerns the default route."""
        return "Default" in changed


@dataclass(frozen=True, slots=True)
class ActiveConnectionProperties:
    """The properties of it that are used here."""

    profile: str
    """The profile's object path."""
    name: str
    uuid: str
    is_default: bool
    """The host's default route goes through it."""

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> Self:
        """Build it from the properties as read."""
        return cls(
            str(properties["Connection"]),
            str(properties["Id"]),
            str(properties["Uuid"]),
            bool(properties["Default"]),
        )


class Ip4Config(Proxy):
    """A device's IPv4 addresses and routes."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_IP4_CONFIG


class Dhcp4Config(Proxy):
    """A device's lease."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_DHCP4_CONFIG

    @staticmethod
    def has_lease(properties: Mapping[str, Any]) -> bool:
        """Whether the properties hold the options of a lease."""
        return bool(properties.get("Options"))


class AccessPoint(Proxy):
    """An access point, as seen by one device."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_ACCESS_POINT


@dataclass(frozen=True, slots=True)
class AccessPointProperties:
    """The properties of it that are used here; empty where they could not be read."""

    bssid: str = ""
    """Lower case with colons."""
    frequency: int = 0
    """MHz."""
    signal_percent: int = 0

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> Self:
        """Build it from the properties as read."""
        return cls(
            str(properties.get("HwAddress", "")).lower(),
            int(properties.get("Frequency", 0)),
            min(100, int(properties.get("Strength", 0))),
        )
