"""A Wi-Fi device as NetworkManager shows it, and what stands in the way of using it. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wifimgrd.backends.networkmanager.defs import DeviceState, WifiCapability, WifiMode
from wifimgrd.backends.networkmanager.profile import marked_device
from wifimgrd.domain.adapter import Band


@dataclass(frozen=True, slots=True)
class Carried:
    """The connection that a device carries or is bringing up."""

    path: str
    """The active connection's object."""
    profile: str
    """Its profile's object."""
    name: str
    uuid: str
    is_default: bool
    """The host's default route goes through it."""
    settings: dict[str, Any] | None
    """The profile's settings, without secrets; None where they may not be read."""

    @property
    def ours(self) -> bool:
        """Whether it was started by this daemon, in this life or an earlier one."""
        return self.settings is not None and marked_device(self.settings) is not None


@dataclass(frozen=True, slots=True)
class StateChange:
    """A device took a step."""

    state: int
    reason: int


@dataclass(frozen=True, slots=True)
class Gone:
    """A device was removed."""

    pulled_out: bool
    """The adapter itself is gone; else NetworkManager let it go, as it does when it stops."""


Ear = Callable[[StateChange | Gone], None]


@dataclass(eq=False, slots=True)
class NmDevice:
    """A Wi-Fi device, as NetworkManager shows it."""

    path: str
    properties: dict[str, Any]
    """Of org.freedesktop.NetworkManager.Device."""
    wireless: dict[str, Any]
    """Of org.freedesktop.NetworkManager.Device.Wireless, as of the last look."""
    carried: Carried | None = None
    station: str = ""
    """The supplicant's object for it, where it was seen last; it is another after each restart."""
    names: dict[str, bytes] = field(default_factory=dict)
    """The SSIDs of access points, by the supplicant's objects for them."""
    reserved: bool = False
    """An attempt of ours runs on it, or a link of ours is up: what it carries is no obstacle."""
    ears: list[Ear] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The interface's name."""
        return str(self.properties.get("Interface", ""))

    @property
    def has_address(self) -> bool:
        """Whether an address and its routes are in place: from IP_CHECK on nothing but NetworkManager's
        dispatcher scripts is left to come."""
        return DeviceState.IP_CHECK <= self.state <= DeviceState.ACTIVATED

    @property
    def mac(self) -> str:
        """The permanent MAC address, lower case with colons."""
        return str(self.wireless.get("PermHwAddress", "")).lower()

    @property
    def state(self) -> int:
        """One of defs.DeviceState."""
        return int(self.properties.get("State", DeviceState.UNKNOWN))

    @property
    def bands(self) -> frozenset[Band]:
        """What it can use; empty where the driver does not say."""
        capabilities = int(self.wireless.get("WirelessCapabilities", 0))
        return frozenset(
            band
            for bit, band in (
                (WifiCapability.FREQ_2GHZ, Band.GHZ_2_4),
                (WifiCapability.FREQ_5GHZ, Band.GHZ_5),
                (WifiCapability.FREQ_6GHZ, Band.GHZ_6),
            )
            if capabilities & bit
        )


@dataclass(frozen=True, slots=True)
class Radio:
    """NetworkManager's switches for all of Wi-Fi."""

    enabled: bool = True
    hardware_enabled: bool = True


def obstacle_of(device: NmDevice, radio: Radio) -> str:
    """Why a device cannot be used now, as a sentence's end ("wlan0 ..."); empty where it can."""
    if device.reserved:
        return ""
    if device.state == DeviceState.UNMANAGED:
        return "not managed by NetworkManager"
    if not radio.hardware_enabled:
        return "Wi-Fi is blocked by a switch (rfkill)"
    if not radio.enabled:
        return "Wi-Fi is switched off in NetworkManager"
    if device.properties.get("FirmwareMissing"):
        return "the adapter's firmware is missing"
    if device.state <= DeviceState.UNAVAILABLE:
        return "not ready yet"
    carried = device.carried
    if carried is not None and not carried.ours:
        route = ", the host's default route" if carried.is_default else ""
        if device.wireless.get("Mode") == WifiMode.ACCESS_POINT:
            return f'is an access point ("{carried.name}"{route})'
        return f'carries the connection "{carried.name}"{route}'
    return ""
