"""A network device of NetworkManager's.

https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.Device.html
https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.Device.Wireless.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from wifimgrd.bus.proxy import ProxyWithProperties
from wifimgrd.domain.adapter import Band
from wifimgrd.proxies.networkmanager import definitions
from wifimgrd.proxies.networkmanager.definitions import (
    DeviceProperties,
    DeviceState,
    DeviceType,
    WifiCapability,
    WifiMode,
    WirelessProperties,
)

AFFECTS_USE = frozenset(("Interface", "Managed", "ActiveConnection", "FirmwareMissing"))
"""Properties that decide whether a device may be used, beside its state."""


class StateChanged(NamedTuple):
    """The arguments of the signal of that name."""

    state: int
    """One of definitions.DeviceState."""
    before: int
    reason: int
    """One of definitions.DeviceReason, or another one."""


class Device(ProxyWithProperties[DeviceProperties]):
    """A device of any type."""

    PROPERTIES = DeviceProperties

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_DEVICE
    TIMEOUT_S = 5.0

    async def active_connection(self) -> str:
        """The object path of its active connection, also while that is being activated; or NO_OBJECT."""
        return await self.get("ActiveConnection", str)

    async def ip4_config(self) -> str:
        """The object path of its IPv4 configuration, or NO_OBJECT."""
        return await self.get("Ip4Config", str)

    async def dhcp4_config(self) -> str:
        """The object path of its lease, or NO_OBJECT."""
        return await self.get("Dhcp4Config", str)

    async def interface_flags(self) -> int:
        """Bits of definitions.InterfaceFlag."""
        return await self.get("InterfaceFlags", int)


class WirelessDevice(ProxyWithProperties[WirelessProperties]):
    """A Wi-Fi device."""

    PROPERTIES = WirelessProperties

    SERVICE = definitions.NM
    INTERFACE = definitions.NM_WIRELESS
    TIMEOUT_S = 5.0

    async def active_access_point(self) -> str:
        """The object path of the access point it is joined to, or NO_OBJECT."""
        return await self.get("ActiveAccessPoint", str)


def is_wifi(properties: DeviceProperties) -> bool:
    """Whether a device's properties are those of a Wi-Fi device."""
    return properties.get("DeviceType") == DeviceType.WIFI


@dataclass(eq=False, slots=True)
class WifiProperties:
    """A Wi-Fi device's properties, as read and updated by signals since."""

    path: str
    properties: DeviceProperties
    """Of org.freedesktop.NetworkManager.Device."""
    wireless: WirelessProperties
    """Of org.freedesktop.NetworkManager.Device.Wireless, as last read."""

    @property
    def name(self) -> str:
        """The interface's name."""
        return self.properties.get("Interface", "")

    @property
    def state(self) -> int:
        """One of definitions.DeviceState."""
        return self.properties.get("State", DeviceState.UNKNOWN)

    @property
    def has_address(self) -> bool:
        """Whether an address and its routes are set: from IP_CHECK on, only NetworkManager's dispatcher
        scripts are left to run."""
        return DeviceState.IP_CHECK <= self.state <= DeviceState.ACTIVATED

    @property
    def autoconnect(self) -> bool:
        """Whether NetworkManager may activate profiles on it automatically."""
        return self.properties.get("Autoconnect", False)

    @autoconnect.setter
    def autoconnect(self, value: bool) -> None:
        self.properties["Autoconnect"] = value

    @property
    def firmware_missing(self) -> bool:
        """Whether the driver lacks its firmware."""
        return self.properties.get("FirmwareMissing", False)

    @property
    def mac(self) -> str:
        """The permanent MAC address, lower case with colons."""
        return self.wireless.get("PermHwAddress", "").lower()

    @property
    def port(self) -> str:
        """Where it is plugged in, as udev's ID_PATH; empty where that is not known."""
        return self.properties.get("Path", "")

    @property
    def current_mac(self) -> str:
        """The MAC address in use, lower case with colons."""
        return self.wireless.get("HwAddress", "").lower()

    @property
    def is_access_point(self) -> bool:
        """Whether it serves as an access point itself."""
        return self.wireless.get("Mode") == WifiMode.ACCESS_POINT

    @property
    def bands(self) -> frozenset[Band]:
        """The bands that it supports; empty where the driver does not report them."""
        capabilities = self.wireless.get("WirelessCapabilities", 0)
        return frozenset(
            band
            for bit, band in (
                (WifiCapability.FREQ_2GHZ, Band.GHZ_2_4),
                (WifiCapability.FREQ_5GHZ, Band.GHZ_5),
                (WifiCapability.FREQ_6GHZ, Band.GHZ_6),
            )
            if capabilities & bit
        )
