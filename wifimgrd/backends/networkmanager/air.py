"""What a scan shows, and what follows from it: pure functions over scan results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import Passphrase, Sighting, Ssid
from wifimgrd.domain.errors import AssociationRefused, AuthenticationFailed
from wifimgrd.domain.network import Security

LIKELY_FREQUENCIES: Final = (2412, 2437, 2462, 5180, 5220, 5745, 5785)
"""Centre frequencies, MHz, on which cameras usually stand: channels 1, 6, 11, 36, 44, 149, 157."""
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


@dataclass(frozen=True, slots=True)
class Bss:
    """One access point's network, as wpa_supplicant's scan results have it."""

    path: str
    """Its D-Bus object."""
    ssid: bytes
    bssid: str
    """Lower case with colons."""
    frequency_mhz: int
    age_s: int
    """Whole seconds since it was last heard."""
    suites: frozenset[str] = frozenset()
    """What it offers for key management, in the supplicant's words; empty = open or WEP."""
    private: bool = False
    """Its beacons say that frames are encrypted."""
    signal_dbm: int = _WEAKEST_DBM
    is_rsn: bool = False
    """It offers WPA2 or later, not WPA alone."""

    @property
    def sighting(self) -> Sighting:
        """Where it is."""
        return Sighting(self.bssid, self.frequency_mhz)

    @property
    def signal_percent(self) -> int:
        """How strong it is, on NetworkManager's scale: 100 from -40 dBm on, 0 from -100 dBm down.
        https://gitlab.freedesktop.org/NetworkManager/NetworkManager (nm_wifi_utils_level_to_quality).
        """
        over_dbm = min(max(self.signal_dbm, _WEAKEST_DBM), _STRONGEST_DBM) - _WEAKEST_DBM
        return 100 * over_dbm // (_STRONGEST_DBM - _WEAKEST_DBM)

    @property
    def link_percent(self) -> int:
        """How strong a link to it is, on the scale that NetworkManager has for the access point it is
        with: 100 from -20 dBm on, 30 from -90 dBm down.
        https://gitlab.freedesktop.org/NetworkManager/NetworkManager (nl80211_xbm_to_percent).
        """
        return 120 + min(max(self.signal_dbm, -90), -20)

    @property
    def offers_psk(self) -> bool:
        """Whether a passphrase opens it in the way of WPA and WPA2."""
        return any(suite.endswith(("psk", "psk-sha256")) for suite in self.suites)

    @property
    def offers_sae(self) -> bool:
        """Whether a passphrase opens it in the way of WPA3."""
        return any(suite.endswith("sae") for suite in self.suites)

    @property
    def is_open(self) -> bool:
        """Whether it wants no passphrase."""
        return not self.suites and not self.private


def bss_of(path: str, properties: Mapping[str, Any]) -> Bss:
    """Read a BSS object's properties: https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_bss."""
    suites = [*properties.get("RSN", {}).get("KeyMgmt", ()), *properties.get("WPA", {}).get("KeyMgmt", ())]
    return Bss(
        path,
        bytes(properties.get("SSID", b"")),
        bytes(properties.get("BSSID", b"")).hex(":"),
        int(properties.get("Frequency", 0)),
        int(properties.get("Age", 0)),
        frozenset(suites),
        bool(properties.get("Privacy", False)),
        int(properties.get("Signal", _WEAKEST_DBM)),
        bool(properties.get("RSN", {}).get("KeyMgmt", ())),
    )


def security_of(point: Bss) -> Security:
    """What an access point asks of who joins it."""
    if point.offers_sae:
        return Security.WPA2_WPA3 if point.offers_psk else Security.WPA3
    if point.offers_psk:
        return Security.WPA2 if point.is_rsn else Security.WPA
    if "owe" in point.suites:
        return Security.OWE
    if point.suites:
        return Security.ENTERPRISE
    return Security.WEP if point.private else Security.OPEN


def choose_key_management(found: Iterable[Bss], ssid: Ssid, passphrase: Passphrase) -> KeyManagement:
    """How to join, by what the access points of that name show.

    An access point of another kind under the same name is never joined: raises
    AuthenticationFailed where the password does not fit the kind of network (none given for a
    protected one, one given for an open one), AssociationRefused where no password could open it.
    """
    points = list(found)
    if passphrase.is_open:
        if any(point.is_open for point in points):
            return KeyManagement.NONE
    elif any(point.offers_psk for point in points):
        return KeyManagement.PSK
    elif any(point.offers_sae for point in points):
        return KeyManagement.SAE
    if any(point.is_open for point in points):
        raise AuthenticationFailed(
            f'the network "{ssid.printable}" is open, but a password is set for it; remove the password'
        )
    if any(point.offers_psk or point.offers_sae for point in points):
        raise AuthenticationFailed(f'the network "{ssid.printable}" asks for a password, and none is set')
    kind = "a user name and a certificate" if any(point.suites for point in points) else "WEP"
    raise AssociationRefused(
        f'the network "{ssid.printable}" wants {kind}, which cameras are not joined with'
    )


def frequencies_to_try(
    known: Sequence[Sighting], listed: Iterable[Bss], bands: frozenset[Band]
) -> tuple[int, ...]:
    """The channels worth a look before a full scan, MHz, best first: those where the network was
    met before, or else the likely ones. Bands that the adapter lacks are left out, because the
    kernel refuses a scan that names a channel unknown to it.
    """
    met = [sighting.frequency_mhz for sighting in known] + [point.frequency_mhz for point in listed]
    wanted = met or LIKELY_FREQUENCIES
    usable = (mhz for mhz in wanted if mhz > 0 and (not bands or Band.of_frequency(mhz) in bands))
    return tuple(dict.fromkeys(usable))


def heard_since(found: Iterable[Bss], elapsed_s: float) -> list[Bss]:
    """Those that were heard in the last `elapsed_s` seconds.

    The supplicant rounds ages down, and hands on what the kernel remembers for half a minute,
    so that being in the list is no proof of being on the air.
    """
    return [point for point in found if point.age_s <= elapsed_s]
