"""Which devices are to be connected without a further command, and when: a pure state machine.

There are two kinds. A lost device is pending from the loss of its link until it is connected again, or until
a command ends that; its network is searched for before an attempt. A waiting device was commanded
to be connected as soon as an interface is free; it is pending until the outcome of its attempt, or until
a command ends that. `ReconnectPolicy` is a value; each operation returns the next one. Times are
seconds on any clock that only goes forward. Invariants, tested as a rule-based state machine:

- a lost device is not due within HOLD_S of the loss: clients see `disconnected` for that time;
- a waiting device that is not being tried is always due;
- waits grow with each failure, up to LONGEST_WAIT_S, and their jitter stays within bounds;
- a sign of life makes a search due at once, except after a refused password;
- of the due devices, lost or waiting, the one of higher priority goes first. Of equal ones those that may be
  on the air go first, the earlier one before the later, and then those that were searched for in vain, of
  which the one whose search was longest ago goes first. So each has its turn, however many there are;
- a lost device that has been due for OVERDUE_S has as high a priority as any that is due;
- a device that is being tried is not due;
- `schedule`, which makes it unnecessary to check all pending devices, equals a recount.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from math import inf
from operator import itemgetter
from typing import Final

from wifimgrd.domain._frozen import Frozen, empty, minus, plus, sorted_minus, sorted_plus
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import ErrorCode

HOLD_S: Final = 1.0
"""A lost device is shown as disconnected for at least this time."""
FIRST_WAIT_S: Final = 2.0
LONGEST_WAIT_S: Final = 30.0
REFUSED_WAIT_S: Final = 300.0
"""The wait after a refused password, which only a new password can correct."""
OVERDUE_S: Final = 240.0
"""Who is not searched for in this time, since others are, comes before those of higher priority."""
JITTER: Final = 0.2
"""Waits vary by this share, so that hubs that lost power together do not search at the same times."""


Rank = tuple[int, float, float, DeviceId]
"""Of two due devices, the one of the lower rank goes first."""
_NEVER: Final = -inf


@dataclass(frozen=True, slots=True)
class PendingDevice:
    """A device that was connected and is to be reconnected, or one that waits for an interface."""

    device_id: DeviceId
    priority: int
    since_s: float
    """When its link was lost, or since when it waits."""
    next_s: float
    """The time of the next search; for a waiting device it is in the past."""
    waiting: bool = False
    """It was commanded to be connected as soon as an interface is free."""
    failures: int = 0
    vain_s: float = _NEVER
    """When it was last tried in vain; _NEVER if it may be on the air: it was not tried yet, or was heard
    since."""
    is_refused: bool = False
    """It was found at the last try, and the attempt failed: hearing it again is nothing new."""
    barred_s: float = 0.0
    """Signs of life are ignored until then."""
    trying: bool = False

    @property
    def order(self) -> tuple[float, Rank]:
        """The time of the next search, and the rank at that time."""
        return self.next_s, (-self.priority, self.vain_s, self.since_s, self.device_id)


@dataclass(frozen=True, slots=True)
class ReconnectPolicy:
    """All devices that are pending."""

    all: Frozen[DeviceId, PendingDevice] = field(default_factory=empty)
    schedule: tuple[tuple[float, Rank], ...] = ()
    """The time of the next search for each device that is not being tried, the earliest first."""

    def lost(self, device_id: DeviceId, priority: int, now_s: float) -> ReconnectPolicy:
        """A device lost its link, or was connected when the hub last stopped; one that waits continues to."""
        if self.is_waiting(device_id):
            return self
        return self._with(PendingDevice(device_id, priority, now_s, now_s + HOLD_S))

    def waits(self, device_id: DeviceId, priority: int, since_s: float) -> ReconnectPolicy:
        """A device is to be connected as soon as an interface is free; one that waits keeps its rank."""
        if self.is_waiting(device_id):
            return self
        return self._with(PendingDevice(device_id, priority, since_s, since_s, waiting=True))

    def is_waiting(self, device_id: DeviceId) -> bool:
        """Whether a device waits for an interface, or its attempt for that runs."""
        known = self.all.get(device_id)
        return known is not None and known.waiting

    def prioritized(self, device_id: DeviceId, priority: int) -> ReconnectPolicy:
        """A device has another priority from now on."""
        known = self.all.get(device_id)
        return self if known is None else self._with(replace(known, priority=priority))

    def ended(self, device_id: DeviceId) -> ReconnectPolicy:
        """A device was connected, commanded or removed; no change if it is not pending."""
        known = self.all.get(device_id)
        return self if known is None else ReconnectPolicy(minus(self.all, device_id), self._without(known))

    def started(self, device_id: DeviceId) -> ReconnectPolicy:
        """A search or an attempt runs."""
        known = self.all.get(device_id)
        return self if known is None else self._with(replace(known, trying=True))

    def failed(
        self, device_id: DeviceId, now_s: float, chance: float, code: ErrorCode | None = None
    ) -> ReconnectPolicy:
        """It was not found (no `code`), or an attempt ended with `code`; `chance` in [0, 1) sets the jitter.

        For a waiting device this is the outcome, which ends the wait.
        """
        known = self.all.get(device_id)
        if known is None or known.waiting:
            return self.ended(device_id)
        barred_s = now_s + REFUSED_WAIT_S if code is ErrorCode.AUTHENTICATION_FAILED else known.barred_s
        wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(known.failures, 16))
        wait_s *= 1 - JITTER + 2 * JITTER * chance
        return self._with(
            replace(
                known,
                next_s=max(now_s + wait_s, barred_s),
                failures=known.failures + 1,
                vain_s=now_s,
                is_refused=code is not None,
                barred_s=barred_s,
                trying=False,
            )
        )

    def postponed(self, device_id: DeviceId) -> ReconnectPolicy:
        """A search or attempt could not be started now; the device stays due."""
        known = self.all.get(device_id)
        return self if known is None else self._with(replace(known, trying=False))

    def sign_of_life(self, now_s: float, device_id: DeviceId | None = None) -> ReconnectPolicy:
        """A sign of life of one device or of all: search as soon as that is allowed."""
        if device_id is None:
            better = Frozen({one.device_id: _with_sign_of_life(one, now_s) for one in self.all.values()})
            return ReconnectPolicy(
                better, tuple(sorted(one.order for one in better.values() if not one.trying))
            )
        known = self.all.get(device_id)
        return self if known is None else self._with(_with_sign_of_life(known, now_s))

    def heard(self, device_id: DeviceId, now_s: float) -> ReconnectPolicy:
        """The network of a lost device was received by the way, such as by the search for another one: search
        as soon as that is allowed. The waits grow on, in case that was an error."""
        known = self.all.get(device_id)
        if known is None or known.waiting or known.trying or known.is_refused:
            return self
        return self._with(replace(_with_sign_of_life(known, now_s), failures=known.failures))

    def retry_allowed(self, device_id: DeviceId) -> ReconnectPolicy:
        """The password was changed: the refusal of the old one no longer has an effect."""
        known = self.all.get(device_id)
        if known is None or known.waiting:
            return self
        return self._with(replace(known, barred_s=0.0, next_s=known.since_s + HOLD_S))

    def due(self, now_s: float) -> list[DeviceId]:
        """The devices to search for now, the most important first."""
        ready = self.schedule[: self._first_index_after(now_s)]
        ranks = sorted(map(itemgetter(1), ready))
        if ranks and ranks[0][0] < ranks[-1][0]:  # of several priorities
            overdue = set(map(itemgetter(1), ready[: self._first_index_after(now_s - OVERDUE_S)]))
            ranks = sorted(self._raised(rank, ranks[0][0]) if rank in overdue else rank for rank in ranks)
        return list(map(itemgetter(-1), ranks))

    def _raised(self, rank: Rank, highest: int) -> Rank:
        """The rank of an overdue device; one that waits for an interface is not searched for."""
        return rank if self.is_waiting(rank[-1]) else (highest, *rank[1:])

    def next_s(self, now_s: float) -> float | None:
        """The time at which the next device becomes due; None if there is none."""
        return next((next_s for next_s, _ in self.schedule[self._first_index_after(now_s) :]), None)

    def _first_index_after(self, now_s: float) -> int:
        """The index in the schedule of the first device that is not due yet."""
        return bisect_right(self.schedule, now_s, key=itemgetter(0))

    def _with(self, pending: PendingDevice) -> ReconnectPolicy:
        device = pending.device_id
        known = self.all.get(device)
        schedule = self.schedule if known is None else self._without(known)
        if not pending.trying:
            schedule = sorted_plus(schedule, pending.order)
        return ReconnectPolicy(plus(self.all, {device: pending}), schedule)

    def _without(self, pending: PendingDevice) -> tuple[tuple[float, Rank], ...]:
        return sorted_minus(self.schedule, pending.order)


def _with_sign_of_life(pending: PendingDevice, now_s: float) -> PendingDevice:
    """The device with its search as soon as that is allowed."""
    soonest_s = max(now_s, pending.since_s + HOLD_S, pending.barred_s)
    return replace(pending, next_s=min(pending.next_s, soonest_s), failures=0, vain_s=_NEVER)
