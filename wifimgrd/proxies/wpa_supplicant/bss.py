"""Scan results of wpa_supplicant, and pure functions over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from wifimgrd.domain.device import Sighting, Ssid
from wifimgrd.domain.errors import AssociationRefused, AuthenticationFailed, WifimgrdError
from wifimgrd.domain.network import ScanResult, Security
from wifimgrd.proxies.wpa_supplicant.definitions import BssProperties

_WEAKEST_DBM: Final = -100
_STRONGEST_DBM: Final = -40


class KeyManagement(StrEnum):
    """`802-11-wireless-security.key-mgmt`, as far as cameras need it:
    https://networkmanager.dev/docs/api/1.42/settings-802-11-wireless-security.html.
    """

    NONE = "none"
    """An open network: the profile has no security setting."""
    PSK = "wpa-psk"
    """WPA2 and WPA; NetworkManager offers SAE with it, too."""
    SAE = "sae"
    OWE = "owe"
    """Encrypted without a password (RFC 8110)."""

    @property
    def has_password(self) -> bool:
        """Whether a network of this kind has a password."""
        return self in (KeyManagement.PSK, KeyManagement.SAE)


@dataclass(frozen=True, slots=True)
class Bss:
    """One BSS of wpa_supplicant's scan results."""

    path: str
    """Its D-Bus object."""
    ssid: bytes
    bssid: str
    """Lower case with colons."""
    frequency_mhz: int
    age_s: int
    """Whole seconds since it was last received."""
    suites: frozenset[str] = frozenset()
    """The key management suites that it offers, by the supplicant's names; empty = open or WEP."""
    private: bool = False
    """The Privacy bit of its beacons is set: frames are encrypted."""
    signal_dbm: int = _WEAKEST_DBM
    is_rsn: bool = False
    """It offers WPA2 or later, not only WPA."""

    @property
    def sighting(self) -> Sighting:
        """Its BSSID and frequency."""
        return Sighting(self.bssid, self.frequency_mhz)

    @property
    def signal_percent(self) -> int:
        """Its signal strength on NetworkManager's scale: 100 from -40 dBm on, 0 from -100 dBm down.
        https://gitlab.freedesktop.org/NetworkManager/NetworkManager (nm_wifi_utils_level_to_quality).
        """
        over_dbm = min(max(self.signal_dbm, _WEAKEST_DBM), _STRONGEST_DBM) - _WEAKEST_DBM
        return 100 * over_dbm // (_STRONGEST_DBM - _WEAKEST_DBM)

    @property
    def link_percent(self) -> int:
        """The signal strength of a link to it; see `link_percent`."""
        return link_percent(self.signal_dbm)

    @property
    def offers_psk(self) -> bool:
        """Whether it accepts a passphrase by WPA-PSK or WPA2-PSK."""
        return any(suite.endswith(("psk", "psk-sha256")) for suite in self.suites)

    @property
    def offers_sae(self) -> bool:
        """Whether it accepts a passphrase by SAE (WPA3)."""
        return any(suite.endswith("sae") for suite in self.suites)

    @property
    def offers_owe(self) -> bool:
        """Whether it encrypts without a passphrase (OWE)."""
        return "owe" in self.suites

    @property
    def is_open(self) -> bool:
        """Whether it needs no passphrase, and encrypts nothing."""
        return not self.suites and not self.private


def link_percent(signal_dbm: int) -> int:
    """The signal strength of a link, on the scale that NetworkManager uses for the active access point: 100
    from -20 dBm on, 30 from -90 dBm down.
    https://gitlab.freedesktop.org/NetworkManager/NetworkManager (nl80211_xbm_to_percent).
    """
    return 120 + min(max(signal_dbm, -90), -20)


def bss_of(path: str, properties: BssProperties) -> Bss:
    """Read a BSS object's properties: https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_bss."""
    suites = [*properties.get("RSN", {}).get("KeyMgmt", ()), *properties.get("WPA", {}).get("KeyMgmt", ())]
    return Bss(
        path,
        properties.get("SSID", b""),
        properties.get("BSSID", b"").hex(":"),
        properties.get("Frequency", 0),
        properties.get("Age", 0),
        frozenset(suites),
        properties.get("Privacy", False),
        properties.get("Signal", _WEAKEST_DBM),
        bool(properties.get("RSN", {}).get("KeyMgmt", ())),
    )


def security_of(point: Bss) -> Security:
    """The security that an access point requires of stations."""
    if point.offers_sae:
        return Security.WPA2_WPA3 if point.offers_psk else Security.WPA3
    if point.offers_psk:
        return Security.WPA2 if point.is_rsn else Security.WPA
    if point.offers_owe:
        return Security.OWE
    if point.suites:
        return Security.ENTERPRISE
    return Security.WEP if point.private else Security.OPEN


def scan_result(interface: str, point: Bss, now_us: int) -> ScanResult:
    """An access point as a scan result of an interface; `now_us` is the time, in microseconds."""
    return ScanResult(
        interface,
        Ssid(point.ssid),
        point.sighting,
        security_of(point),
        point.signal_percent,
        now_us - point.age_s * 1_000_000,
    )


def key_management(point: Bss, has_password: bool) -> KeyManagement | None:
    """The key management to join an access point with; None where its kind of security does not fit. One that
    takes a passphrase is not joined without one, nor an open one with one."""
    if not has_password:
        open_kind = KeyManagement.NONE if point.is_open else None
        return KeyManagement.OWE if point.offers_owe else open_kind
    if point.offers_psk:
        return KeyManagement.PSK
    return KeyManagement.SAE if point.offers_sae else None


def misfit(points: Sequence[Bss], ssid: Ssid) -> WifimgrdError:
    """Why none of a network's access points has the kind of security that a device is registered with:
    the password does not fit the kind of network, or it takes no passphrase at all."""
    if any(point.is_open or point.offers_owe for point in points):
        return AuthenticationFailed(
            f'the network "{ssid.printable}" is open, but a password is set for it; remove the password'
        )
    if any(point.offers_psk or point.offers_sae for point in points):
        return AuthenticationFailed(f'the network "{ssid.printable}" asks for a password, and none is set')
    kind = "a user name and a certificate" if any(point.suites for point in points) else "WEP"
    return AssociationRefused(
        f'the network "{ssid.printable}" wants {kind}, which cameras are not joined with'
    )


def seen_since(found: Iterable[Bss], elapsed_s: float) -> list[Bss]:
    """Those that were received in the last `elapsed_s` seconds.

    The supplicant rounds ages down, and its list includes entries that the kernel caches for half a
    minute, so an access point in the list may be gone.
    """
    return [point for point in found if point.age_s <= elapsed_s]
