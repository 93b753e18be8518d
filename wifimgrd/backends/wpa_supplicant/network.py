"""The network that wpa_supplicant is configured to join: its settings, and the mark of this daemon's ones.

https://w1.fi/cgit/hostap/plain/wpa_supplicant/wpa_supplicant.conf
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from wifimgrd.dbus.connection import Variant
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.ports import JoinRequest
from wifimgrd.wpa_supplicant.bss import KeyManagement

_MARK: Final = "wifimgrd:"
"""In `id_str`, before the device's id: wpa_supplicant itself does not use that setting."""
_RAW_KEY_DIGITS: Final = 64
_FRAME_PROTECTION_OPTIONAL, _FRAME_PROTECTION_REQUIRED = 1, 2
_PERMANENT_ADDRESS: Final = 0


def settings_for(request: JoinRequest, key_management: KeyManagement, bssid: str = "") -> dict[str, Variant]:
    """The settings of the one network of an attempt; with a `bssid` only that access point is joined.

    There is no `bgscan`, so that a link is never interrupted by a background scan.
    """
    settings = {
        "ssid": Variant("ay", request.ssid.octets),
        "id_str": Variant("s", f"{_MARK}{request.device_id}"),
        "mac_addr": Variant("i", _PERMANENT_ADDRESS),
        **_security(key_management, request.passphrase),
    }
    if bssid:
        settings["bssid"] = Variant("s", bssid)
    if request.hidden:
        settings["scan_ssid"] = Variant("i", 1)
    return settings


def _security(key_management: KeyManagement, passphrase: Passphrase) -> dict[str, Variant]:
    match key_management:
        case KeyManagement.NONE:
            return {"key_mgmt": Variant("s", "NONE")}
        case KeyManagement.OWE:
            return {
                "key_mgmt": Variant("s", "OWE"),
                "ieee80211w": Variant("i", _FRAME_PROTECTION_REQUIRED),
            }
        case KeyManagement.SAE:
            return {
                "key_mgmt": Variant("s", "SAE"),
                "ieee80211w": Variant("i", _FRAME_PROTECTION_REQUIRED),
                "sae_password": Variant("s", passphrase.reveal()),
            }
    return {
        "key_mgmt": Variant("s", "WPA-PSK WPA-PSK-SHA256 SAE"),
        "ieee80211w": Variant("i", _FRAME_PROTECTION_OPTIONAL),
        "psk": _key(passphrase),
    }


def _key(passphrase: Passphrase) -> Variant:
    """A passphrase, or the key itself as 64 hexadecimal digits."""
    secret = passphrase.reveal()
    if len(secret) == _RAW_KEY_DIGITS:
        return Variant("ay", bytes.fromhex(secret))
    return Variant("s", secret)


def marked_device(settings: Mapping[str, Any]) -> DeviceId | None:
    """The id of the device that a network is for; None where the network is not this daemon's."""
    mark = str(settings.get("id_str", "")).strip('"')
    number = mark.removeprefix(_MARK)
    is_ours = number != mark and number.isascii() and number.isdigit() and int(number) > 0
    return DeviceId(int(number)) if is_ours else None


def ssid_of(settings: Mapping[str, Any]) -> Ssid:
    """The SSID of a network, which wpa_supplicant quotes where it is printable, and else has as digits."""
    text = str(settings.get("ssid", ""))
    if text.startswith('"'):
        return Ssid(text[1:-1].encode("utf-8", "surrogateescape"))
    return Ssid(bytes.fromhex(text))


def bssid_of(settings: Mapping[str, Any]) -> str:
    """The only access point that a network is joined at, lower case with colons; empty where it is any."""
    bssid = str(settings.get("bssid", "")).strip('"').lower()
    return bssid if len(bssid.split(":")) == 6 else ""
