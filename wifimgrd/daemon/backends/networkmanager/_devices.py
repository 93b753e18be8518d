"""A Wi-Fi device's state in NetworkManager, and the obstacle to using it. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from wifimgrd.proxies.networkmanager.definitions import DeviceState, ProfileSettings
from wifimgrd.proxies.networkmanager.device import WifiProperties
from wifimgrd.proxies.networkmanager.manager import Radio
from wifimgrd.proxies.networkmanager.objects import marked_device


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
    settings: ProfileSettings | None
    """The profile's settings, without secrets; None where they may not be read."""

    @property
    def ours(self) -> bool:
        """Whether this daemon started it, in this run or an earlier one."""
        return self.settings is not None and marked_device(self.settings) is not None


@dataclass(frozen=True, slots=True)
class StateChange:
    """A device's state changed."""

    state: int
    reason: int


@dataclass(frozen=True, slots=True)
class DeviceGone:
    """A device was removed."""

    unplugged: bool
    """The adapter was unplugged; else NetworkManager dropped the device, as it does when it stops."""


Listener = Callable[[StateChange | DeviceGone], None]


@dataclass(eq=False, slots=True)
class NmDevice(WifiProperties):
    """A Wi-Fi device of NetworkManager's, with this backend's state for it."""

    carried: Carried | None = None
    supplicant: str = ""
    """The supplicant's object path for it when last opened; empty where that is not known."""
    names: dict[str, bytes] = field(default_factory=dict)
    """The SSIDs of access points, by the supplicant's objects for them."""
    reserved: bool = False
    """An attempt or a link of this daemon's uses it: what it carries is not an obstacle."""
    listeners: list[Listener] = field(default_factory=list)
    run: object = None
    """The inventory that has it, of one run of NetworkManager: the next gives its paths to others."""


def obstacle_of(device: NmDevice, radio: Radio) -> str:
    """Why a device cannot be used now, as a predicate ("wlan0 ..."); empty where it can."""
    if device.reserved:
        return ""
    if device.state == DeviceState.UNMANAGED:
        return "not managed by NetworkManager"
    if not radio.hardware_enabled:
        return "Wi-Fi is blocked by a switch (rfkill)"
    if not radio.enabled:
        return "Wi-Fi is switched off in NetworkManager"
    if device.firmware_missing:
        return "the adapter's firmware is missing"
    if device.state <= DeviceState.UNAVAILABLE:
        return "NetworkManager has not made it ready yet; `journalctl -u NetworkManager` may say why"
    carried = device.carried
    if carried is not None and not carried.ours:
        route = ", the host's default route" if carried.is_default else ""
        if device.is_access_point:
            return f'is an access point ("{carried.name}"{route})'
        return f'carries the connection "{carried.name}"{route}'
    return ""
