"""The other sides' D-Bus names, numbers and words, each with the address of its documentation."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final

# -- NetworkManager: https://networkmanager.dev/docs/api/1.42/spec.html

NM: Final = "org.freedesktop.NetworkManager"
NM_PATH: Final = "/org/freedesktop/NetworkManager"
NM_NAMESPACE: Final = "/org/freedesktop/NetworkManager"
NM_DEVICE: Final = NM + ".Device"
NM_WIRELESS: Final = NM + ".Device.Wireless"
NM_ACTIVE: Final = NM + ".Connection.Active"
NM_ACCESS_POINT: Final = NM + ".AccessPoint"
NM_IP4_CONFIG: Final = NM + ".IP4Config"
NM_DHCP4_CONFIG: Final = NM + ".DHCP4Config"
NM_SETTINGS_CONNECTION: Final = NM + ".Settings.Connection"
NO_OBJECT: Final = "/"
"""What both sides answer where there is no object."""

PROPERTIES: Final = "org.freedesktop.DBus.Properties"
BUS: Final = "org.freedesktop.DBus"

WIRELESS_TYPE: Final = "802-11-wireless"
"""A Wi-Fi profile's `connection.type`:
https://networkmanager.dev/docs/api/1.42/settings-802-11-wireless.html"""


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
    """NMDeviceStateReason, those that this backend tells apart:
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
    """Since 1.48, and then in the place of REMOVED: udev has the interface no more."""


class InterfaceFlag(IntEnum):
    """NMDeviceInterfaceFlags, the one of interest:
    https://networkmanager.dev/docs/api/1.42/nm-dbus-types.html#NMDeviceInterfaceFlags.
    """

    LOWER_UP = 0x2
    """The kernel lets packets out, which it does of Wi-Fi while it is associated and has its keys."""


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


# -- wpa_supplicant: https://w1.fi/wpa_supplicant/devel/dbus.html

WPAS: Final = "fi.w1.wpa_supplicant1"
WPAS_PATH: Final = "/fi/w1/wpa_supplicant1"
WPAS_INTERFACE: Final = WPAS + ".Interface"
WPAS_BSS: Final = WPAS + ".BSS"
WPAS_SCAN_ERROR: Final = WPAS_INTERFACE + ".ScanError"
"""Scan was refused: one runs already, or the interface is down."""
WPAS_INVALID_ARGUMENTS: Final = WPAS + ".InvalidArgs"
ACCESS_DENIED: Final = "org.freedesktop.DBus.Error.AccessDenied"
"""The message bus does not let this process talk to that service:
https://dbus.freedesktop.org/doc/dbus-specification.html"""


class SupplicantState(StrEnum):
    """`State` of an interface: https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_interface."""

    DISCONNECTED = "disconnected"
    INACTIVE = "inactive"
    DISABLED = "interface_disabled"
    SCANNING = "scanning"
    AUTHENTICATING = "authenticating"
    ASSOCIATING = "associating"
    ASSOCIATED = "associated"
    FOUR_WAY = "4way_handshake"
    GROUP = "group_handshake"
    COMPLETED = "completed"
    UNKNOWN = "unknown"


class ReasonCode(IntEnum):
    """Why a station was disconnected (`DisconnectReason`): IEEE 802.11-2020, table 9-49.

    Negative where the station itself ended it:
    https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_interface.
    """

    UNSPECIFIED = 1
    PREVIOUS_AUTH_NOT_VALID = 2
    DEAUTH_LEAVING = 3
    INACTIVITY = 4
    NO_MORE_STATIONS = 5
    DISASSOC_LEAVING = 8
    MIC_FAILURE = 14
    FOUR_WAY_TIMEOUT = 15
    IEEE_802_1X_FAILED = 23


class StatusCode(IntEnum):
    """How an access point answered (`AuthStatusCode`, `AssocStatusCode`): IEEE 802.11-2020, table 9-50."""

    SUCCESS = 0
    UNSPECIFIED_FAILURE = 1
    CHALLENGE_FAILURE = 15
    NO_MORE_STATIONS = 17
    TRY_LATER = 30
    INVALID_PMKID = 53
    ANTI_CLOGGING_TOKEN = 76
    GROUP_UNSUPPORTED = 77
    HASH_TO_ELEMENT = 126
