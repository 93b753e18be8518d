"""Lost and waiting devices as a rule-based state machine; see wifimgrd.domain.reconnect_policy."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.reconnect_policy import (
    FIRST_WAIT_S,
    HOLD_S,
    JITTER,
    LONGEST_WAIT_S,
    OVERDUE_S,
    REFUSED_WAIT_S,
    PendingDevice,
    ReconnectPolicy,
)

DEVICES = st.integers(1, 5).map(DeviceId)
CHANCES = st.floats(0, 1, exclude_max=True)
ENDINGS = st.sampled_from([None, ErrorCode.DEVICE_NOT_REACHABLE, ErrorCode.ADDRESS_FAILED])


class Pursuing(RuleBasedStateMachine):
    """A clock, a set of pending devices, and what is known to be allowed of each."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.policy = ReconnectPolicy()
        self.not_before: dict[DeviceId, float] = {}
        self.trying: set[DeviceId] = set()
        self.waiting: dict[DeviceId, float] = {}
        """Since when each waits for an interface."""
        self.priorities: dict[DeviceId, int] = {}

    @rule(seconds=st.sampled_from([0.0, 0.1, HOLD_S, FIRST_WAIT_S, 10.0, LONGEST_WAIT_S, REFUSED_WAIT_S]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(device_id=DEVICES, priority=st.integers(-2, 2))
    def lose(self, device_id: DeviceId, priority: int) -> None:
        self.policy = self.policy.lost(device_id, priority, self.now)
        if device_id in self.waiting:
            return
        self.priorities[device_id] = priority
        self.not_before[device_id] = self.now + HOLD_S
        self.trying.discard(device_id)

    @rule(device_id=DEVICES, priority=st.integers(-2, 2), for_s=st.sampled_from([0.0, 0.5, 90.0]))
    def wait_for_an_interface(self, device_id: DeviceId, priority: int, for_s: float) -> None:
        self.policy = self.policy.waits(device_id, priority, self.now - for_s)
        if device_id in self.waiting:
            return
        self.waiting[device_id] = self.not_before[device_id] = self.now - for_s
        self.priorities[device_id] = priority
        self.trying.discard(device_id)

    @rule(device_id=DEVICES, priority=st.integers(-2, 2))
    def prioritize(self, device_id: DeviceId, priority: int) -> None:
        self.policy = self.policy.prioritized(device_id, priority)
        if device_id in self.not_before:
            self.priorities[device_id] = priority

    @rule(device_id=DEVICES)
    def end(self, device_id: DeviceId) -> None:
        self.policy = self.policy.ended(device_id)
        self.forget(device_id)

    def forget(self, device_id: DeviceId) -> None:
        self.not_before.pop(device_id, None)
        self.waiting.pop(device_id, None)
        self.trying.discard(device_id)

    @rule(device_id=DEVICES)
    def begin(self, device_id: DeviceId) -> None:
        self.policy = self.policy.started(device_id)
        if device_id in self.not_before:
            self.trying.add(device_id)

    @rule(device_id=DEVICES)
    def postpone(self, device_id: DeviceId) -> None:
        self.policy = self.policy.postponed(device_id)
        self.trying.discard(device_id)

    @rule(device_id=DEVICES, chance=CHANCES, code=ENDINGS)
    def fail(self, device_id: DeviceId, chance: float, code: ErrorCode | None) -> None:
        known = self.policy.all.get(device_id)
        self.policy = self.policy.failed(device_id, self.now, chance, code)
        self.trying.discard(device_id)
        if device_id in self.waiting:
            self.forget(device_id)
        elif known is not None:
            self.check_the_wait(known)

    def check_the_wait(self, known: PendingDevice) -> None:
        waits = self.policy.all[known.device_id].next_s - self.now
        wanted = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**known.failures)
        assert waits >= wanted * (1 - JITTER) - 1e-6
        assert waits <= max(wanted * (1 + JITTER), known.barred_s - self.now) + 1e-6

    @rule(device_id=DEVICES, chance=CHANCES)
    def be_refused(self, device_id: DeviceId, chance: float) -> None:
        self.policy = self.policy.failed(device_id, self.now, chance, ErrorCode.AUTHENTICATION_FAILED)
        self.trying.discard(device_id)
        if device_id in self.waiting:
            self.forget(device_id)
        elif device_id in self.not_before:
            self.not_before[device_id] = self.now + REFUSED_WAIT_S

    @rule(device_id=DEVICES)
    def pardon(self, device_id: DeviceId) -> None:
        self.policy = self.policy.retry_allowed(device_id)
        if (known := self.policy.all.get(device_id)) and device_id not in self.waiting:
            self.not_before[device_id] = known.since_s + HOLD_S

    @rule(device_id=st.none() | DEVICES)
    def give_a_sign(self, device_id: DeviceId | None) -> None:
        self.policy = self.policy.sign_of_life(self.now, device_id)
        due = self.policy.due(self.now)
        for one, not_before in self.not_before.items():
            if device_id in (None, one) and one not in self.trying and not_before <= self.now:
                assert one in due

    @rule(device_id=DEVICES)
    def hear(self, device_id: DeviceId) -> None:
        before = self.policy.all.get(device_id)
        self.policy = self.policy.heard(device_id, self.now)
        if before is None or before.waiting or before.trying or before.is_refused:
            return
        known = self.policy.all[device_id]
        assert known.failures == before.failures
        assert (device_id in self.policy.due(self.now)) == (self.not_before[device_id] <= self.now)

    @invariant()
    def nothing_is_due_before_its_time_or_twice(self) -> None:
        due = self.policy.due(self.now)
        assert len(set(due)) == len(due)
        assert not self.trying.intersection(due)
        assert all(self.not_before[device] <= self.now for device in due)

    @invariant()
    def who_waits_is_due_unless_tried_and_keeps_the_place(self) -> None:
        due = self.policy.due(self.now)
        assert {one.device_id for one in self.policy.all.values() if one.waiting} == self.waiting.keys()
        for device, since_s in self.waiting.items():
            assert self.policy.is_waiting(device)
            assert (device in due) == (device not in self.trying)
            assert self.policy.all[device].since_s == since_s

    @invariant()
    def priorities_are_those_said_last(self) -> None:
        for one in self.policy.all.values():
            assert one.priority == self.priorities[one.device_id]

    @invariant()
    def the_schedule_equals_a_recount(self) -> None:
        waiting = [one for one in self.policy.all.values() if not one.trying]
        assert list(self.policy.schedule) == sorted(one.order for one in waiting)
        due = [one for one in waiting if one.next_s <= self.now]
        highest = max((one.priority for one in due), default=0)

        def rank(one: PendingDevice) -> tuple[object, ...]:
            is_overdue = not one.waiting and self.now - one.next_s >= OVERDUE_S
            priority = highest if is_overdue else one.priority
            return -priority, one.vain_s, one.since_s, one.device_id

        assert self.policy.due(self.now) == [one.device_id for one in sorted(due, key=rank)]

    @invariant()
    def everybody_is_waited_for_and_nobody_else(self) -> None:
        assert self.policy.all.keys() == self.not_before.keys()
        waiting = [one.next_s for one in self.policy.all.values() if not one.trying and one.next_s > self.now]
        assert self.policy.next_s(self.now) == (min(waiting) if waiting else None)


TestPursuing = Pursuing.TestCase
