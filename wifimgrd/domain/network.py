"""Networks: the scan results of all adapters, merged by SSID and security."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import Device, DeviceId, Sighting, Ssid

KEPT_US: Final = 60_000_000
_ONE_SCAN_US: Final = 15_000_000
"""Scans of several adapters that were started together end within this time of each other."""


def is_full_scan(number: int, known_scans: int) -> bool:
    """Whether the scan of this number, from 1, in a search for one network is of all channels: after each
    `known_scans` of the channels where the network was met.

    A scan of all channels takes seconds, in which a camera comes on the air unheard; but it may have moved.
    """
    return number % (known_scans + 1) == 0


class Security(StrEnum):
    """The security that a network requires."""

    OPEN = "open"
    OWE = "owe"
    """Encrypted without a password (RFC 8110)."""
    WEP = "wep"
    WPA = "wpa"
    WPA2 = "wpa2"
    WPA2_WPA3 = "wpa2-wpa3"
    """One passphrase for both."""
    WPA3 = "wpa3"
    ENTERPRISE = "enterprise"
    """A user name, and a certificate or a password (IEEE 802.1X)."""


@dataclass(frozen=True, slots=True)
class ScanResult:
    """One access point in the scan results of one interface."""

    interface: str
    ssid: Ssid
    sighting: Sighting
    security: Security
    signal_percent: int
    last_seen_us: int
    """Microseconds since the epoch; 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network: all access points with one SSID and one kind of security."""

    ssid: Ssid
    security: Security
    points: tuple[ScanResult, ...]
    """Each access point once, by its strongest recent result; the strongest first."""
    interfaces: tuple[str, ...]
    """The interfaces that received it."""
    device_id: DeviceId | None = None
    """The registered device with that SSID; the first of several."""
    codename: str = ""
    """The camera model that it seems to be of; empty where that cannot be said."""

    @property
    def signal_percent(self) -> int:
        """The signal strength of the strongest access point."""
        return self.points[0].signal_percent

    @property
    def last_seen_us(self) -> int:
        """When it was last received."""
        return max(point.last_seen_us for point in self.points)

    @property
    def bands(self) -> tuple[Band, ...]:
        """Its bands, that of the strongest access point first."""
        return tuple(dict.fromkeys(Band.of_frequency(point.sighting.frequency_mhz) for point in self.points))


def networks(results: Iterable[ScanResult], devices: Iterable[Device]) -> list[Network]:
    """Merge scan results into networks, the strongest first. Hidden networks, without an SSID, are left out.

    So are results that are older than the newest one by KEPT_US: adapters that are in use do not scan, and
    their results still contain cameras that were switched off since.
    """
    results = list(results)
    oldest_us = max((point.last_seen_us for point in results), default=0) - KEPT_US
    owners: dict[Ssid, DeviceId] = {}
    for device in sorted(devices, key=lambda one: one.id):
        owners.setdefault(device.ssid, device.id)
    groups: dict[tuple[Ssid, Security], list[ScanResult]] = {}
    for point in results:
        if point.ssid.data.strip(b"\0") and not 0 < point.last_seen_us < oldest_us:
            groups.setdefault((point.ssid, point.security), []).append(point)
    found = [
        Network(ssid, security, _best(points), _interfaces(points), owners.get(ssid))
        for (ssid, security), points in groups.items()
    ]
    return sorted(found, key=lambda one: (-one.signal_percent, one.ssid.data, one.security))


def _best(points: list[ScanResult]) -> tuple[ScanResult, ...]:
    """For each access point, the strongest of the results that belong to its latest scan by all adapters."""
    newest_us: dict[Sighting, int] = {}
    for point in points:
        newest_us[point.sighting] = max(point.last_seen_us, newest_us.get(point.sighting, 0))
    best: dict[Sighting, ScanResult] = {}
    for point in sorted(points, key=lambda one: (-one.signal_percent, one.sighting.bssid)):
        if point.last_seen_us >= newest_us[point.sighting] - _ONE_SCAN_US:
            best.setdefault(point.sighting, point)
    return tuple(best.values())


def _interfaces(points: list[ScanResult]) -> tuple[str, ...]:
    return tuple(sorted({point.interface for point in points}))
