"""The objects that NetworkManager's devices refer to: profiles, active connections, addresses, access points.

https://networkmanager.dev/docs/api/1.42/spec.html
"""

from __future__ import annotations

from wifimgrd.bus.connection import BusConnection
from wifimgrd.bus.proxy import Proxy, ProxyWithProperties
from wifimgrd.domain.device import DeviceId
from wifimgrd.proxies.networkmanager import definitions
from wifimgrd.proxies.networkmanager.definitions import (
    AccessPointProperties,
    ActiveConnectionProperties,
    Dhcp4ConfigProperties,
    Ip4ConfigProperties,
    ProfileSettings,
)


class SettingsConnection(Proxy):
    """A connection profile."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_SETTINGS_CONNECTION
    TIMEOUT_S = 10.0

    async def settings(self) -> ProfileSettings:
        """Its settings, without secrets."""
        return await self.ask(ProfileSettings, "GetSettings")


class ProfileList(Proxy):
    """All connection profiles."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_SETTINGS
    TIMEOUT_S = 10.0

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, definitions.NM_SETTINGS_PATH)

    async def paths(self) -> list[str]:
        """Their object paths."""
        return await self.get("Connections", list[str])


def marked_device(settings: ProfileSettings) -> DeviceId | None:
    """The id of the device that a profile is for; None where the profile is not the hub's."""
    mark = settings.get("user", {}).get("data", {}).get(definitions.PROFILE_MARK, "")
    return DeviceId(int(mark)) if mark.isascii() and mark.isdigit() and int(mark) > 0 else None


class ActiveConnectionObject(ProxyWithProperties[ActiveConnectionProperties]):
    """A profile that is being activated, or is active."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_ACTIVE
    PROPERTIES = ActiveConnectionProperties


class Ip4Config(ProxyWithProperties[Ip4ConfigProperties]):
    """A device's IPv4 addresses and routes."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_IP4_CONFIG
    PROPERTIES = Ip4ConfigProperties


class Dhcp4Config(ProxyWithProperties[Dhcp4ConfigProperties]):
    """A device's lease."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_DHCP4_CONFIG
    PROPERTIES = Dhcp4ConfigProperties


class AccessPoint(ProxyWithProperties[AccessPointProperties]):
    """An access point, as seen by one device."""

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_ACCESS_POINT
    PROPERTIES = AccessPointProperties
