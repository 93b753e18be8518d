"""Links that are up and dead: whether the camera's service, the camera or the adapter is at fault.

`judge` is a pure function of the `Evidence` about a connected camera that answers nothing.
It goes by this table, measured on real 802.11 but for the third row, which no simulated radio shows:

==============================  ===============  ===================  ============
fault                           the link is      ARP is               the counters
==============================  ===============  ===================  ============
the camera's service hangs      up               answered             grow
its whole IP side hangs         up               not answered         grow
the adapter's firmware hangs    up               not answered         stand still
the camera's power is cut       lost, by itself
==============================  ===============  ===================  ============

Invariants, tested for any evidence:

- an answer to ARP, a frame that was received and a camera that answers through no adapter clear the adapter;
- it is only accused by two observations that agree: its counters stand still, and another adapter hears the
  access point in HEARD scans; or a rejoin has not helped, and another adapter has;
- a scan that does not hear the access point says nothing: one in three scans heard a camera that was there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from types import MappingProxyType
from typing import Final

HEARD: Final = 2
"""In so many scans another adapter must have heard the access point."""
STILL_S: Final = 10.0
"""So long the counters must have stood still. An access point sends some hundred beacons in that time."""
_BEACONS_PER_S: Final = 0.5
"""A driver that counted fewer while the camera answered does not count them: its firmware filters them."""


class Verdict(StrEnum):
    """The part that is at fault."""

    SERVICE = "service"
    """The camera's software: its host answers."""
    CAMERA = "camera"
    """The camera: its access point is on the air, and nothing behind it answers."""
    ADAPTER = "adapter"
    """The adapter: it receives nothing."""
    NOT_KNOWN = "not-known"


class Finding(StrEnum):
    """The reason for a verdict, as a sentence."""

    ANSWERS_ARP = "The camera answers ARP and nothing else."
    ON_THE_AIR = "The camera's access point is received, and the camera does not answer ARP."
    NOT_ASKED = "The camera's access point is received; the camera was not asked by ARP."
    SILENT_ELSEWHERE = "The camera answers through another adapter as little as through this one."
    HELPED_ELSEWHERE = "The camera answers through another adapter; a rejoin through this one did not help."
    HEARD_ELSEWHERE = "The adapter receives nothing, and another one hears the camera's access point."
    UNHEARD = (
        "The adapter receives nothing, and whether the camera's access point is on the air is not known."
    )
    NOT_COUNTED = "The camera does not answer, and the adapter's driver does not count what it receives."

    @property
    def verdict(self) -> Verdict:
        """The part that is at fault by this."""
        return _VERDICTS[self]


_VERDICTS: Final = MappingProxyType(
    {
        Finding.ANSWERS_ARP: Verdict.SERVICE,
        Finding.ON_THE_AIR: Verdict.CAMERA,
        Finding.NOT_ASKED: Verdict.NOT_KNOWN,
        Finding.SILENT_ELSEWHERE: Verdict.CAMERA,
        Finding.HELPED_ELSEWHERE: Verdict.ADAPTER,
        Finding.HEARD_ELSEWHERE: Verdict.ADAPTER,
        Finding.UNHEARD: Verdict.NOT_KNOWN,
        Finding.NOT_COUNTED: Verdict.NOT_KNOWN,
    }
)


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of an association as its driver has them at one moment; None = it has none."""

    at_s: float
    """When they were read, on a clock that only goes forward."""
    connected_s: int | None = None
    """For how long the association had lasted."""
    beacons: int | None = None
    """The beacons that were received in it."""
    packets: int | None = None
    """The frames that were received in it."""


class Counting(Enum):
    """The outcome of a comparison of an association's counters."""

    GREW = auto()
    """The adapter receives its access point."""
    STILL = auto()
    """The adapter received beacons, and receives nothing now."""
    NOT_COUNTED = auto()
    """Not known: the driver does not count, or they are not of one association, or were read too soon."""


def compare(before: Counters | None, after: Counters | None) -> Counting:
    """Compare the counters at the begin of a silence with later ones; None where they could not be read."""
    if before is None or after is None or not _of_one_association(before, after):
        return Counting.NOT_COUNTED
    pairs = ((before.beacons, after.beacons), (before.packets, after.packets))
    counted = [(old, new) for old, new in pairs if old is not None and new is not None]
    if any(new < old for old, new in counted):
        return Counting.NOT_COUNTED
    if any(new > old for old, new in counted):
        return Counting.GREW
    is_long = after.at_s - before.at_s >= STILL_S
    return Counting.STILL if is_long and _counts_beacons(before, after) else Counting.NOT_COUNTED


def _of_one_association(before: Counters, after: Counters) -> bool:
    if before.connected_s is None or after.connected_s is None:
        return True
    return before.connected_s <= after.connected_s


def _counts_beacons(before: Counters, after: Counters) -> bool:
    """Whether beacons were counted as long as the camera answered: with a firmware that filters them, a
    driver counts none, or only those that differ from the one before."""
    if not before.beacons or after.beacons is None or before.connected_s is None:
        return False
    return before.beacons >= before.connected_s * _BEACONS_PER_S


class Asked(Enum):
    """The outcome of a question to the camera, or of a try with another adapter."""

    NOT_ASKED = auto()
    ANSWERED = auto()
    SILENT = auto()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The observations of a connected camera that answers neither probes nor its driver, since its last
    answer."""

    arp: Asked = Asked.NOT_ASKED
    counting: Counting = Counting.NOT_COUNTED
    heard: int = 0
    """In how many scans another idle adapter has heard its access point, by the BSSID."""
    elsewhere: Asked = Asked.NOT_ASKED
    """Whether it answered through another adapter, once a rejoin through this one had not helped."""

    def asked(self, answered: bool) -> Evidence:
        """The camera was asked by ARP; one answer is enough."""
        if self.arp is Asked.ANSWERED:
            return self
        return replace(self, arp=Asked.ANSWERED if answered else Asked.SILENT)

    def counted(self, counting: Counting) -> Evidence:
        """The counters were compared; once they have grown, the adapter receives."""
        if self.counting is Counting.GREW or counting is Counting.NOT_COUNTED:
            return self
        return replace(self, counting=counting)

    def scanned(self, heard: bool) -> Evidence:
        """Another idle adapter has scanned."""
        return replace(self, heard=self.heard + 1) if heard else self


def judge(evidence: Evidence) -> Finding:
    """Which part is at fault, and why."""
    is_silent, is_still = evidence.arp is Asked.SILENT, evidence.counting is Counting.STILL
    if evidence.arp is Asked.ANSWERED:
        return Finding.ANSWERS_ARP
    if evidence.counting is Counting.GREW:
        return Finding.ON_THE_AIR if is_silent else Finding.NOT_ASKED
    if evidence.elsewhere is Asked.SILENT:
        return Finding.SILENT_ELSEWHERE
    if evidence.elsewhere is Asked.ANSWERED:
        return Finding.HELPED_ELSEWHERE
    if is_still and is_silent and evidence.heard >= HEARD:
        return Finding.HEARD_ELSEWHERE
    return Finding.UNHEARD if is_still else Finding.NOT_COUNTED
