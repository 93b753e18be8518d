"""The pursuit of lost devices as a rule-based state machine; the invariants of wifimgrd.domain.pursuit."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.pursuit import (
    FIRST_WAIT_S,
    HOLD_S,
    JITTER,
    LONGEST_WAIT_S,
    REFUSED_WAIT_S,
    Pursuits,
)

DEVICES = st.integers(1, 5).map(DeviceId)
CHANCES = st.floats(0, 1, exclude_max=True)
ENDINGS = st.sampled_from([None, ErrorCode.DEVICE_NOT_REACHABLE, ErrorCode.ADDRESS_FAILED])


class Pursuing(RuleBasedStateMachine):
    """A clock, a set of pursued devices, and what is known to be allowed of each."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.pursuits = Pursuits()
        self.not_before: dict[DeviceId, float] = {}
        self.trying: set[DeviceId] = set()

    @rule(seconds=st.sampled_from([0.0, 0.1, HOLD_S, FIRST_WAIT_S, 10.0, LONGEST_WAIT_S, REFUSED_WAIT_S]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(device=DEVICES, priority=st.integers(-2, 2))
    def lose(self, device: DeviceId, priority: int) -> None:
        self.pursuits = self.pursuits.lost(device, priority, self.now)
        self.not_before[device] = self.now + HOLD_S
        self.trying.discard(device)

    @rule(device=DEVICES)
    def end(self, device: DeviceId) -> None:
        self.pursuits = self.pursuits.ended(device)
        self.not_before.pop(device, None)
        self.trying.discard(device)

    @rule(device=DEVICES)
    def begin(self, device: DeviceId) -> None:
        self.pursuits = self.pursuits.begun(device)
        if device in self.not_before:
            self.trying.add(device)

    @rule(device=DEVICES)
    def postpone(self, device: DeviceId) -> None:
        self.pursuits = self.pursuits.postponed(device)
        self.trying.discard(device)

    @rule(device=DEVICES, chance=CHANCES, code=ENDINGS)
    def fail(self, device: DeviceId, chance: float, code: ErrorCode | None) -> None:
        known = self.pursuits.all.get(device)
        self.pursuits = self.pursuits.failed(device, self.now, chance, code)
        self.trying.discard(device)
        if known is None:
            return
        waits = self.pursuits.all[device].next_s - self.now
        wanted = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**known.failures)
        assert waits >= wanted * (1 - JITTER) - 1e-6
        assert waits <= max(wanted * (1 + JITTER), known.barred_s - self.now) + 1e-6

    @rule(device=DEVICES, chance=CHANCES)
    def be_refused(self, device: DeviceId, chance: float) -> None:
        self.pursuits = self.pursuits.failed(device, self.now, chance, ErrorCode.AUTHENTICATION_FAILED)
        self.trying.discard(device)
        if device in self.not_before:
            self.not_before[device] = self.now + REFUSED_WAIT_S

    @rule(device=DEVICES)
    def pardon(self, device: DeviceId) -> None:
        self.pursuits = self.pursuits.pardoned(device)
        if known := self.pursuits.all.get(device):
            self.not_before[device] = known.lost_s + HOLD_S

    @rule(device=st.none() | DEVICES)
    def give_a_sign(self, device: DeviceId | None) -> None:
        self.pursuits = self.pursuits.sign(self.now, device)
        due = self.pursuits.due(self.now)
        for one, not_before in self.not_before.items():
            if device in (None, one) and one not in self.trying and not_before <= self.now:
                assert one in due

    @invariant()
    def nothing_is_due_before_its_time_or_twice(self) -> None:
        due = self.pursuits.due(self.now)
        assert len(set(due)) == len(due)
        assert not self.trying.intersection(due)
        assert all(self.not_before[device] <= self.now for device in due)

    @invariant()
    def the_important_go_first(self) -> None:
        due = [self.pursuits.all[device] for device in self.pursuits.due(self.now)]
        assert due == sorted(due, key=lambda one: (-one.priority, one.lost_s, one.device))

    @invariant()
    def everybody_is_waited_for_and_nobody_else(self) -> None:
        assert self.pursuits.all.keys() == self.not_before.keys()
        waiting = [
            one.next_s for one in self.pursuits.all.values() if not one.trying and one.next_s > self.now
        ]
        assert self.pursuits.next_s(self.now) == (min(waiting) if waiting else None)


TestPursuing = Pursuing.TestCase
