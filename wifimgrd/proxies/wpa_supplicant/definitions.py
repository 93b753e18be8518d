"""wpa_supplicant's D-Bus names, states and codes, each with the address of its documentation."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, TypedDict

WPAS: Final = "fi.w1.wpa_supplicant1"
WPAS_PATH: Final = "/fi/w1/wpa_supplicant1"
WPAS_INTERFACE: Final = WPAS + ".Interface"
WPAS_BSS: Final = WPAS + ".BSS"
WPAS_NETWORK: Final = WPAS + ".Network"
NETWORK_MARK: Final = "wifimgrd:"
"""In `id_str` of the hub's networks, before the device's id: wpa_supplicant itself does not use that."""
NO_OBJECT: Final = "/"
"""The path of an object that there is not, such as `CurrentBSS` without an association."""
WPAS_SCAN_ERROR: Final = WPAS_INTERFACE + ".ScanError"
"""Scan was refused: one runs already, or the interface is down."""
WPAS_INTERFACE_EXISTS: Final = WPAS + ".InterfaceExists"
"""CreateInterface was refused: the interface is registered already."""
WPAS_UNKNOWN_ERROR: Final = WPAS + ".UnknownError"
"""CreateInterface failed: wpa_supplicant could not use the interface."""
WPAS_INVALID_ARGUMENTS: Final = WPAS + ".InvalidArgs"
WPAS_INTERFACE_UNKNOWN: Final = WPAS + ".InterfaceUnknown"
"""GetInterface was refused: the interface is not registered."""

IWD: Final = "net.connman.iwd"
"""The other supplicant: https://git.kernel.org/pub/scm/network/wireless/iwd.git/tree/doc/device-api.txt"""


class Capabilities(TypedDict, total=False):
    """`Capabilities` of an interface."""

    KeyMgmt: list[str]


class InterfaceProperties(TypedDict, total=False):
    """https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_interface."""

    AssocStatusCode: int
    """One of StatusCode, or another one."""
    AuthStatusCode: int
    BSSs: list[str]
    Capabilities: Capabilities
    CurrentBSS: str
    CurrentNetwork: str
    DisconnectReason: int
    """One of ReasonCode, or another one."""
    Scanning: bool
    State: str
    """One of SupplicantState."""


class Security(TypedDict, total=False):
    """`RSN` and `WPA` of a BSS."""

    KeyMgmt: list[str]


class BssProperties(TypedDict, total=False):
    """https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_bss."""

    Age: int
    BSSID: bytes
    Frequency: int
    Privacy: bool
    RSN: Security
    SSID: bytes
    Signal: int
    WPA: Security


class NetworkSettings(TypedDict, total=False):
    """`Properties` of a network, https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_network, in the syntax of
    https://w1.fi/cgit/hostap/plain/wpa_supplicant/wpa_supplicant.conf; without secrets."""

    bssid: str
    id_str: str
    ssid: str


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
    ELEMENT_INVALID = 13
    MIC_FAILURE = 14
    FOUR_WAY_TIMEOUT = 15
    GROUP_KEY_TIMEOUT = 16
    IE_DIFFERENT = 17
    GROUP_CIPHER_INVALID = 18
    PAIRWISE_CIPHER_INVALID = 19
    AKM_INVALID = 20
    RSN_VERSION_UNSUPPORTED = 21
    RSN_CAPABILITIES_INVALID = 22
    IEEE_802_1X_FAILED = 23
    CIPHER_REJECTED = 24


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
