"""Networks in the air: what adapters heard, put together by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import Device, DeviceId, Sighting, Ssid

KEPT_US: Final = 60_000_000
_ONE_SEARCH_US: Final = 15_000_000
"""Adapters that search at the same time are done within this much of each other."""


class Security(StrEnum):
    """What a network asks of who joins it."""

    OPEN = "open"
    OWE = "owe"
    """Encrypted without a password (RFC 8110)."""
    WEP = "wep"
    WPA = "wpa"
    WPA2 = "wpa2"
    WPA2_WPA3 = "wpa2-wpa3"
    """The same passphrase in either way."""
    WPA3 = "wpa3"
    ENTERPRISE = "enterprise"
    """A user name, and a certificate or a password (IEEE 802.1X)."""


@dataclass(frozen=True, slots=True)
class HeardPoint:
    """One access point as one interface heard it."""

    interface: str
    ssid: Ssid
    sighting: Sighting
    security: Security
    signal_percent: int
    last_seen_us: int
    """Microseconds since the epoch; 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network in the air: every access point of one name and one kind."""

    ssid: Ssid
    security: Security
    points: tuple[HeardPoint, ...]
    """Each access point once, as it was heard of late at its best; the strongest first."""
    interfaces: tuple[str, ...]
    """Which interfaces heard it."""
    device: DeviceId | None = None
    """The registered device with that SSID; the first of several."""

    @property
    def signal_percent(self) -> int:
        """Of the strongest access point."""
        return self.points[0].signal_percent

    @property
    def last_seen_us(self) -> int:
        """When it was heard last."""
        return max(point.last_seen_us for point in self.points)

    @property
    def bands(self) -> tuple[Band, ...]:
        """The bands that it is on, that of the strongest access point first."""
        return tuple(dict.fromkeys(Band.of_frequency(point.sighting.frequency_mhz) for point in self.points))


def networks(heard: Iterable[HeardPoint], devices: Iterable[Device]) -> list[Network]:
    """What was heard, as networks; the strongest first. Hidden networks say no name and are left out.

    So are readings that are older than the newest one by KEPT_US: adapters that are in use search no more,
    and remember cameras that were switched off since.
    """
    heard = list(heard)
    oldest_us = max((point.last_seen_us for point in heard), default=0) - KEPT_US
    owners: dict[Ssid, DeviceId] = {}
    for device in sorted(devices, key=lambda one: one.id):
        owners.setdefault(device.ssid, device.id)
    groups: dict[tuple[Ssid, Security], list[HeardPoint]] = {}
    for point in heard:
        if point.ssid.octets.strip(b"\0") and not 0 < point.last_seen_us < oldest_us:
            groups.setdefault((point.ssid, point.security), []).append(point)
    found = [
        Network(ssid, security, _best(points), _interfaces(points), owners.get(ssid))
        for (ssid, security), points in groups.items()
    ]
    return sorted(found, key=lambda one: (-one.signal_percent, one.ssid.octets, one.security))


def _best(points: list[HeardPoint]) -> tuple[HeardPoint, ...]:
    """Of an access point's readings that belong to one search of all adapters, the strongest."""
    newest_us: dict[Sighting, int] = {}
    for point in points:
        newest_us[point.sighting] = max(point.last_seen_us, newest_us.get(point.sighting, 0))
    best: dict[Sighting, HeardPoint] = {}
    for point in sorted(points, key=lambda one: (-one.signal_percent, one.sighting.bssid)):
        if point.last_seen_us >= newest_us[point.sighting] - _ONE_SEARCH_US:
            best.setdefault(point.sighting, point)
    return tuple(best.values())


def _interfaces(points: list[HeardPoint]) -> tuple[str, ...]:
    return tuple(sorted({point.interface for point in points}))
