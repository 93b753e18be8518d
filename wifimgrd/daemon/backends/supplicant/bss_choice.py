"""Which of several access points with one SSID a device joins: a pure function of what is known of them.

Equal cameras have one SSID, and often one password, so only the BSSID tells whose camera an access point is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from wifimgrd.domain.device import DeviceId, Sighting
from wifimgrd.proxies.wpa_supplicant.bss import Bss, key_management


class Rank(IntEnum):
    """Whose camera an access point seems to be; the lowest is joined first."""

    OWN = 0
    """The device was connected to it."""
    UNKNOWN = 1
    ANOTHERS = 2
    """Another device was connected to it last."""
    ATTEMPTED = 3
    """An attempt of another device is at it, and will soon have joined or left it."""
    IN_USE = 4
    """It carries the link of another device."""


@dataclass(frozen=True, slots=True)
class BssChoice:
    """The known facts about the access points with a device's SSID at one moment, by their BSSIDs."""

    sightings: Sequence[Sighting] = ()
    """Those that the device was connected to, most recent first."""
    others: Mapping[str, DeviceId] = field(default_factory=dict)
    """Those that other devices were connected to last."""
    in_use: Mapping[str, DeviceId] = field(default_factory=dict)
    """Those that other devices' links use."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """Those that have refused this attempt, and what they refused."""
    has_password: bool | None = None
    """Only those are joined that need a password or need none; None = all."""
    attempted: Mapping[str, DeviceId] = field(default_factory=dict)
    """Those that other devices' attempts use."""

    def rank(self, bssid: str) -> Rank:
        """Whose camera an access point seems to be."""
        if bssid in self.in_use:
            return Rank.IN_USE
        if bssid in self.attempted:
            return Rank.ATTEMPTED
        if bssid in self.others:
            return Rank.ANOTHERS
        return Rank.OWN if any(seen.bssid == bssid for seen in self.sightings) else Rank.UNKNOWN

    def fits(self, point: Bss) -> bool:
        """Whether an access point has the kind of security that the device is registered with."""
        return self.has_password is None or key_management(point, self.has_password) is not None

    def candidates(self, points: Iterable[Bss]) -> list[Bss]:
        """The access points that may be joined, in this order.

        Another device's comes last, and only where this device has no camera of its own yet or was connected
        to the same one last: a camera that is off is not replaced by another device's. One that a link or an
        attempt uses is shared only where no other is on the air, whether that one refuses or not.
        """
        found = {point.bssid: point for point in points if self.fits(point)}
        known = [seen.bssid for seen in self.sightings]
        allowed = {one for one in found if self.rank(one) <= Rank.UNKNOWN or one in known[:1] or not known}
        free = {one for one in allowed if self.rank(one) < Rank.ATTEMPTED}

        def order(bssid: str) -> tuple[Rank, int, int, str]:
            recency = known.index(bssid) if bssid in known else len(known)
            return self.rank(bssid), recency, -found[bssid].signal_dbm, bssid

        return [found[one] for one in sorted((free or allowed) - self.refusals.keys(), key=order)]

    def has_to_wait(self, points: Iterable[Bss]) -> bool:
        """Whether none may be joined, and one might if another device's attempt had left it."""
        found = list(points)
        return not self.candidates(found) and bool(replace(self, attempted={}).candidates(found))

    def is_settled(self, points: Iterable[Bss]) -> bool:
        """Whether a further scan is needless: one of them is the device's own, or nobody's."""
        return any(self.rank(point.bssid) <= Rank.UNKNOWN for point in self.candidates(points))

    def describe(self, points: Iterable[Bss]) -> str:
        """Say in words what became of the access points; empty if there is nothing to say."""
        described = {point.bssid: self._words(point.bssid) for point in points if self.fits(point)}
        return ", ".join(f"{bssid} {words}" for bssid, words in sorted(described.items()) if words)

    def _words(self, bssid: str) -> str:
        words = [f"refused the {self.refusals[bssid]}"] if bssid in self.refusals else []
        if bssid in self.in_use:
            words.append(f"is in use by camera {self.in_use[bssid]}")
        elif bssid in self.attempted:
            words.append(f"is being tried by camera {self.attempted[bssid]}")
        elif bssid in self.others:
            words.append(f"was last used by camera {self.others[bssid]}")
        return " and ".join(words)
