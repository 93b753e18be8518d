"""The backend on wpa_supplicant and systemd-networkd, against the one on NetworkManager in the same guest and
against the programs below both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.accounting import Memory
from benchmarks.lab import joins, losses
from benchmarks.lab.losses import Failures, Losses
from benchmarks.lab.networkmanager_stage import NetworkManagerStage
from benchmarks.lab.rest import idle_rows
from benchmarks.lab.stage import Join
from benchmarks.lab.supplicant_stage import SupplicantStage
from benchmarks.table import Row, Target

PART: Final = "Lab: without NetworkManager"
_THE_OTHER: Final = "NetworkManager backend"
_REPEATED: Final = "connects, not in these rows, whose first DHCP message was lost"
_ALL: Final = "connect, network in the scan list, those included"
_PHASES: Final = {
    "until_joining": "until wpa_supplicant begins to join",
    "association": "the association and its handshake",
    "address": "from there to the address",
    "answer": "from the address to the answer",
}


@dataclass(frozen=True, slots=True)
class Figures:
    """What is measured of each backend."""

    listed: joins.Joins
    known: joins.Joins
    losses: Losses
    failures: Failures
    memory_at_start: Memory
    """Of the daemon, with no adapter."""
    memory: Memory
    """Of the daemon, after all of the above."""
    wake_ups: dict[str, float]
    """In a minute with idle adapters, by process."""


def rows(ours: Figures, networkmanager: Figures) -> list[Row]:
    """The comparison; `networkmanager` was measured first, in the same guest."""
    return [
        *connect_rows(ours.listed, ours.known, networkmanager.listed, networkmanager.known),
        *_losses_and_failures(ours, networkmanager),
        *(
            Row(
                PART,
                f"daemon's RSS {when}",
                "MB",
                [mine.rss_mb],
                [its.rss_mb],
                _THE_OTHER,
                Target("ratio", 1),
            )
            for when, mine, its in (
                ("after start", ours.memory_at_start, networkmanager.memory_at_start),
                ("after all of that", ours.memory, networkmanager.memory),
            )
        ),
        *idle_rows(PART, ours.wake_ups),
    ]


def connect_rows(
    listed: joins.Joins, known: joins.Joins, its_listed: joins.Joins, its_known: joins.Joins
) -> list[Row]:
    """Connects, the last two by NetworkManager's backend."""
    ours = _undelayed(known.ours)
    return [
        *_connects(listed, its_listed),
        Row(PART, joins.KNOWN, "s", ours, _undelayed(known.bare), SupplicantStage.bare_scan_is),
        Row(PART, joins.KNOWN, "s", ours, _undelayed(its_known.ours), _THE_OTHER, Target("ours", 0.25)),
    ]


def _connects(ours: joins.Joins, networkmanager: joins.Joins) -> list[Row]:
    """Connects with the network in the scan list, and what their time is made of."""
    sides = (
        (ours.bare, SupplicantStage.bare_is),
        (networkmanager.bare, NetworkManagerStage.bare_is),
        (networkmanager.ours, _THE_OTHER),
    )
    return [
        *(
            Row(PART, joins.LISTED, "s", _undelayed(ours.ours), _undelayed(other), other_is)
            for other, other_is in sides
        ),
        *(
            Row(PART, f"of that: {what}", "s", _phase(ours.ours, name), _phase(other, name), other_is)
            for name, what in _PHASES.items()
            for other, other_is in sides
        ),
        *(
            Row(PART, _REPEATED, "%", _repeated(ours.ours), _repeated(other), other_is)
            for other, other_is in sides
        ),
        *(
            Row(PART, _ALL, "s", joins.seconds(ours.ours), joins.seconds(other), other_is)
            for other, other_is in sides
        ),
    ]


def _undelayed(of: Sequence[Join]) -> list[float]:
    """How long those took whose first DHCP message was answered: the others are counted."""
    return joins.seconds(_answered(of))


def _phase(of: Sequence[Join], name: str) -> list[float]:
    return [getattr(one.phases, name) for one in _answered(of)]


def _answered(of: Sequence[Join]) -> Sequence[Join]:
    return [one for one in of if not one.is_repeated] or of


def _repeated(of: Sequence[Join]) -> list[float]:
    return [100 * sum(one.is_repeated for one in of) / len(of)]


def _losses_and_failures(ours: Figures, networkmanager: Figures) -> list[Row]:
    lost, other_lost = ours.losses, networkmanager.losses
    failed, other_failed = ours.failures, networkmanager.failures
    return [
        Row(
            PART,
            losses.SWITCHED_OFF,
            "s",
            lost.switched_off,
            other_lost.switched_off,
            _THE_OTHER,
            Target("ours", 0.1),
        ),
        Row(
            PART,
            losses.POWER_CUT,
            "s",
            lost.power_cut,
            lost.power_cut_kernel,
            "the kernel's own event",
            Target("over", 0.05),
        ),
        Row(PART, losses.POWER_CUT, "s", lost.power_cut, other_lost.power_cut, _THE_OTHER),
        Row(
            PART,
            losses.WRONG_SAE,
            "s",
            failed.wrong_sae,
            other_failed.wrong_sae,
            _THE_OTHER,
            Target("ours", 0.3),
        ),
        Row(
            PART,
            losses.SCANS_FOR_ABSENT,
            "",
            [failed.scans_for_absent],
            [other_failed.scans_for_absent],
            _THE_OTHER,
            Target("ours", 2),
        ),
        Row(PART, losses.ABSENT, "s", [failed.absent], [other_failed.absent], _THE_OTHER),
    ]
