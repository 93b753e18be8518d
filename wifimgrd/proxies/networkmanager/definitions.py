"""NetworkManager's D-Bus names and enums, each with the address of its documentation."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final, TypedDict

NM: Final = "org.freedesktop.NetworkManager"
NM_PATH: Final = "/org/freedesktop/NetworkManager"
NM_DEVICE: Final = NM + ".Device"
NM_WIRELESS: Final = NM + ".Device.Wireless"
NM_ACTIVE: Final = NM + ".Connection.Active"
NM_ACCESS_POINT: Final = NM + ".AccessPoint"
NM_IP4_CONFIG: Final = NM + ".IP4Config"
NM_DHCP4_CONFIG: Final = NM + ".DHCP4Config"
NM_SETTINGS: Final = NM + ".Settings"
NM_SETTINGS_PATH: Final = NM_PATH + "/Settings"
NM_SETTINGS_CONNECTION: Final = NM_SETTINGS + ".Connection"
NO_OBJECT: Final = "/"
"""The object path that stands for no object, in both directions."""

PROFILE_MARK: Final = "org.wifimgrd.device"
"""The key in the `user` setting under which a profile of the hub's has the device's id:
https://networkmanager.dev/docs/api/1.42/settings-user.html."""

WIRELESS_TYPE: Final = "802-11-wireless"
"""A Wi-Fi profile's `connection.type`:
https://networkmanager.dev/docs/api/1.42/settings-802-11-wireless.html"""


class AddFlag(IntFlag):
    """Of AddConnection2:
    https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.Settings.html."""

    IN_MEMORY = 0x2


class RootProperties(TypedDict, total=False):
    """https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.html."""

    Devices: list[str]
    Startup: bool
    WirelessEnabled: bool
    WirelessHardwareEnabled: bool


class DeviceProperties(TypedDict, total=False):
    """https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.Device.html."""

    ActiveConnection: str
    Autoconnect: bool
    DeviceType: int
    Dhcp4Config: str
    FirmwareMissing: bool
    Interface: str
    InterfaceFlags: int
    Ip4Config: str
    Managed: bool
    Path: str
    """udev's ID_PATH; empty where it has none."""
    State: int


class WirelessProperties(TypedDict, total=False):
    """https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.Device.Wireless.html."""

    ActiveAccessPoint: str
    HwAddress: str
    Mode: int
    PermHwAddress: str
    WirelessCapabilities: int


class AccessPointProperties(TypedDict, total=False):
    """https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.AccessPoint.html."""

    Frequency: int
    HwAddress: str
    Strength: int


class ActiveConnectionProperties(TypedDict, total=False):
    """https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.Connection.Active.html."""

    Connection: str
    Default: bool
    Id: str
    Uuid: str


class AddressData(TypedDict, total=False):
    """An address in `AddressData` of IP4Config."""

    address: str
    prefix: int


class Ip4ConfigProperties(TypedDict, total=False):
    """https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.IP4Config.html."""

    AddressData: list[AddressData]
    Gateway: str


class DhcpOptions(TypedDict, total=False):
    """The options from a DHCP server, by the names of dhcp-options(5); each value is a text."""

    dhcp_server_identifier: str
    ip_address: str
    routers: str
    subnet_mask: str


class Dhcp4ConfigProperties(TypedDict, total=False):
    """https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.DHCP4Config.html."""

    Options: DhcpOptions


class WirelessSetting(TypedDict, total=False):
    """https://networkmanager.dev/docs/api/1.42/settings-802-11-wireless.html."""

    bssid: bytes
    ssid: bytes


class UserSetting(TypedDict, total=False):
    """https://networkmanager.dev/docs/api/1.42/settings-user.html."""

    data: dict[str, str]


ProfileSettings = TypedDict(
    "ProfileSettings", {"802-11-wireless": WirelessSetting, "user": UserSetting}, total=False
)
"""The reply to GetSettings of a profile, without secrets:
https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.Settings.Connection.html."""


class DeviceType(IntEnum):
    """NMDeviceType, the one of interest: https://networkmanager.dev/docs/api/1.42/nm-dbus-types.html#NMDeviceType."""

    WIFI = 2


class DeviceState(IntEnum):
    """NMDeviceState: https://networkmanager.dev/docs/api/1.42/nm-dbus-types.html#NMDeviceState."""

    UNKNOWN = 0
    UNMANAGED = 10
    UNAVAILABLE = 20
    DISCONNECTED = 30
    PREPARE = 40
    CONFIG = 50
    NEED_AUTH = 60
    IP_CONFIG = 70
    IP_CHECK = 80
    SECONDARIES = 90
    ACTIVATED = 100
    DEACTIVATING = 110
    FAILED = 120


class DeviceReason(IntEnum):
    """NMDeviceStateReason, the values that this backend distinguishes:
    https://networkmanager.dev/docs/api/1.42/nm-dbus-types.html#NMDeviceStateReason.
    """

    NONE = 0
    UNKNOWN = 1
    NOW_UNMANAGED = 3
    CONFIG_FAILED = 4
    IP_CONFIG_UNAVAILABLE = 5
    IP_CONFIG_EXPIRED = 6
    NO_SECRETS = 7
    SUPPLICANT_DISCONNECT = 8
    SUPPLICANT_CONFIG_FAILED = 9
    SUPPLICANT_FAILED = 10
    SUPPLICANT_TIMEOUT = 11
    DHCP_START_FAILED = 15
    DHCP_ERROR = 16
    DHCP_FAILED = 17
    REMOVED = 36
    SLEEPING = 37
    CONNECTION_REMOVED = 38
    USER_REQUESTED = 39
    SUPPLICANT_AVAILABLE = 42
    SSID_NOT_FOUND = 53
    NEW_ACTIVATION = 60
    UNMANAGED_LINK_NOT_INIT = 71
    """Since 1.48, in place of REMOVED: udev no longer has the interface."""


class InterfaceFlag(IntEnum):
    """NMDeviceInterfaceFlags, the one of interest:
    https://networkmanager.dev/docs/api/1.42/nm-dbus-types.html#NMDeviceInterfaceFlags.
    """

    LOWER_UP = 0x2
    """Packets can be sent; on a Wi-Fi interface, while it is associated and has its keys."""


class WifiMode(IntEnum):
    """NM80211Mode: https://networkmanager.dev/docs/api/1.42/nm-dbus-types.html#NM80211Mode."""

    INFRASTRUCTURE = 2
    ACCESS_POINT = 3


class WifiCapability(IntEnum):
    """NMDeviceWifiCapabilities, the bits about bands:
    https://networkmanager.dev/docs/api/1.42/nm-dbus-types.html#NMDeviceWifiCapabilities.
    """

    FREQ_VALID = 0x100
    FREQ_2GHZ = 0x200
    FREQ_5GHZ = 0x400
    FREQ_6GHZ = 0x800
    """Since NetworkManager 1.46; no earlier version uses the bit for anything."""
