"""Which lost devices are to be brought back, and when to look for each: a pure state machine.

A device is pursued from the loss of its link until it is connected again, or until somebody
commands otherwise. `Pursuits` is a value; each operation returns the next one. Times are seconds on
any clock that only goes forward. Invariants, tested as a rule-based state machine:

- nothing is due within HOLD_S of the loss: clients see `disconnected` that long;
- waits grow with each failure, to LONGEST_WAIT_S and not beyond, and keep their jitter within bounds;
- a sign of life makes a look due at once, save after a refused password;
- of those that are due, the higher priority goes first, then who was lost earlier;
- a device that is being tried is not due.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import ErrorCode

HOLD_S: Final = 1.0
"""A lost device is shown as disconnected for at least this long."""
FIRST_WAIT_S: Final = 2.0
LONGEST_WAIT_S: Final = 30.0
REFUSED_WAIT_S: Final = 300.0
"""After a refused password, which nothing but a new one mends."""
JITTER: Final = 0.2
"""Waits vary by this share, so that hubs that lost power together do not go on in step."""


@dataclass(frozen=True, slots=True)
class Pursuit:
    """A device that was connected, and is wanted back."""

    device: DeviceId
    priority: int
    lost_s: float
    next_s: float
    """When to look for it next."""
    failures: int = 0
    barred_s: float = 0.0
    """Until then no sign of life counts."""
    trying: bool = False


@dataclass(frozen=True, slots=True)
class Pursuits:
    """All devices that are pursued."""

    all: Mapping[DeviceId, Pursuit] = field(default_factory=lambda: MappingProxyType({}))

    def lost(self, device: DeviceId, priority: int, now_s: float) -> Pursuits:
        """A device lost its link, or was connected when the hub last stopped."""
        return self._with(Pursuit(device, priority, now_s, now_s + HOLD_S))

    def ended(self, device: DeviceId) -> Pursuits:
        """A device is connected, was commanded, or is no more; of one that is not pursued, nothing."""
        if device not in self.all:
            return self
        return Pursuits(MappingProxyType({key: one for key, one in self.all.items() if key != device}))

    def begun(self, device: DeviceId) -> Pursuits:
        """A look or an attempt runs."""
        known = self.all.get(device)
        return self if known is None else self._with(replace(known, trying=True))

    def failed(
        self, device: DeviceId, now_s: float, chance: float, code: ErrorCode | None = None
    ) -> Pursuits:
        """It was not seen (no `code`), or an attempt ended by `code`; `chance` in [0, 1) draws the jitter."""
        known = self.all.get(device)
        if known is None:
            return self
        barred_s = now_s + REFUSED_WAIT_S if code is ErrorCode.AUTHENTICATION_FAILED else known.barred_s
        wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(known.failures, 16))
        wait_s *= 1 - JITTER + 2 * JITTER * chance
        return self._with(
            replace(
                known,
                next_s=max(now_s + wait_s, barred_s),
                failures=known.failures + 1,
                barred_s=barred_s,
                trying=False,
            )
        )

    def postponed(self, device: DeviceId) -> Pursuits:
        """What was begun could not be done just now; it stays due."""
        known = self.all.get(device)
        return self if known is None else self._with(replace(known, trying=False))

    def sign(self, now_s: float, device: DeviceId | None = None) -> Pursuits:
        """Something changed for the better, for one device or for all: look as soon as that is allowed."""
        better = self
        for one in self.all.values():
            if device in (None, one.device):
                soonest_s = max(now_s, one.lost_s + HOLD_S, one.barred_s)
                better = better._with(replace(one, next_s=min(one.next_s, soonest_s), failures=0))
        return better

    def pardoned(self, device: DeviceId) -> Pursuits:
        """The password was changed: a refusal of the old one counts no more."""
        known = self.all.get(device)
        return (
            self if known is None else self._with(replace(known, barred_s=0.0, next_s=known.lost_s + HOLD_S))
        )

    def due(self, now_s: float) -> list[DeviceId]:
        """Those to look for now, the most important first."""
        found = [one for one in self.all.values() if not one.trying and one.next_s <= now_s]
        return [one.device for one in sorted(found, key=lambda one: (-one.priority, one.lost_s, one.device))]

    def next_s(self, now_s: float) -> float | None:
        """When the next one that is not due yet will be; None where nothing is waited for."""
        waiting = (one.next_s for one in self.all.values() if not one.trying)
        return min((next_s for next_s in waiting if next_s > now_s), default=None)

    def _with(self, pursuit: Pursuit) -> Pursuits:
        return Pursuits(MappingProxyType({**self.all, pursuit.device: pursuit}))
