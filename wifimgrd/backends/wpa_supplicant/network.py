"""The network that wpa_supplicant is configured to join, as its settings are read back: also the mark of the
hub's ones.

https://w1.fi/cgit/hostap/plain/wpa_supplicant/wpa_supplicant.conf
"""

from __future__ import annotations

from wifimgrd.domain.device import DeviceId, Ssid
from wifimgrd.proxies.wpa_supplicant.definitions import NETWORK_MARK, NetworkSettings


def marked_device(settings: NetworkSettings) -> DeviceId | None:
    """The id of the device that a network is for; None where the network is not this daemon's."""
    mark = settings.get("id_str", "").strip('"')
    number = mark.removeprefix(NETWORK_MARK)
    is_ours = number != mark and number.isascii() and number.isdigit() and int(number) > 0
    return DeviceId(int(number)) if is_ours else None


def ssid_of(settings: NetworkSettings) -> Ssid:
    """The SSID of a network, which wpa_supplicant quotes where it is printable, and else has as digits."""
    text = settings.get("ssid", "")
    if text.startswith('"'):
        return Ssid(text[1:-1].encode("utf-8", "surrogateescape"))
    return Ssid(bytes.fromhex(text))


def bssid_of(settings: NetworkSettings) -> str:
    """The only access point that a network is joined at, lower case with colons; empty where it is any."""
    bssid = settings.get("bssid", "").strip('"').lower()
    return bssid if len(bssid.split(":")) == 6 else ""
