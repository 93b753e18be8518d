"""The recovery ladder as a rule-based state machine; the invariants of wifimgrd.domain.recovery."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.recovery import (
    FAILURES,
    QUARANTINE_S,
    SILENCE_S,
    WINDOW_S,
    Ladder,
    RecoveryRules,
    RecoveryStep,
)

A, B, C = (AdapterIdentity(usb_port=f"1-1.{number}") for number in (1, 2, 3))
NOSE, TAIL = Ssid(b"NOSE"), Ssid(b"TAIL")
ADAPTERS = st.sampled_from([A, B, C])
NETWORKS = st.sampled_from([NOSE, TAIL])
STEPS = list(RecoveryStep)


class Climbing(RuleBasedStateMachine):
    """Evidence comes and goes; whatever is due may be done, and takes a while."""

    @initialize(steps=st.frozensets(st.sampled_from(RecoveryStep)))
    def begin(self, steps: frozenset[RecoveryStep]) -> None:
        self.now = 1000.0
        self.ladder = Ladder(RecoveryRules(steps))
        self.taken: dict[tuple[AdapterIdentity, RecoveryStep], float] = {}
        self.running: dict[AdapterIdentity, RecoveryStep] = {}
        self.worked: dict[AdapterIdentity, float] = {}

    @rule(seconds=st.sampled_from([0.0, 1.0, SILENCE_S, WINDOW_S / 2, WINDOW_S]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        before = self.ladder.next_s()
        self.ladder = self.ladder.expired(self.now)
        if before is not None and before <= self.now:
            self.taken = {key: when for key, when in self.taken.items() if key[0] in self.ladder.records}

    @rule(adapter=ADAPTERS, network=NETWORKS)
    def fail(self, adapter: AdapterIdentity, network: Ssid) -> None:
        self.ladder = self.ladder.join_failed(adapter, network, self.now)

    @rule(adapter=ADAPTERS, network=NETWORKS)
    def join(self, adapter: AdapterIdentity, network: Ssid) -> None:
        if not self.ladder.obstacle(adapter):
            self.ladder = self.ladder.joined(adapter, network, self.now)
            self.worked[adapter] = self.now
            assert not self.ladder.is_suspect(adapter)

    @rule(adapter=ADAPTERS, hears=st.booleans())
    def scan(self, adapter: AdapterIdentity, hears: bool) -> None:
        self.ladder = self.ladder.heard(adapter) if hears else self.ladder.silent(adapter, self.now)

    @rule(adapter=ADAPTERS)
    def crash(self, adapter: AdapterIdentity) -> None:
        free = not self.ladder.obstacle(adapter)
        before, self.ladder = self.ladder, self.ladder.firmware_failed(adapter, self.now)
        assert self.ladder.is_suspect(adapter) if free else self.ladder is before
        if (
            self.ladder.rules.steps >= {RecoveryStep.RESCAN}
            and (adapter, RecoveryStep.RESCAN) not in self.taken
        ):
            assert ((adapter, RecoveryStep.RESCAN) in self.ladder.due(self.now, {adapter})) == free

    @rule(adapter=ADAPTERS)
    def pull(self, adapter: AdapterIdentity) -> None:
        self.ladder = self.ladder.gone(adapter)
        if self.running.get(adapter) is not RecoveryStep.REPLUG:
            assert adapter not in self.ladder.records
            self.running.pop(adapter, None)
            self.taken = {key: when for key, when in self.taken.items() if key[0] != adapter}

    @rule(idle=st.frozensets(ADAPTERS))
    def act(self, idle: frozenset[AdapterIdentity]) -> None:
        due = self.ladder.due(self.now, idle)
        assert len({adapter for adapter, _ in due}) == len(due)
        for adapter, step in due:
            assert adapter in idle
            assert adapter not in self.running
            assert step in self.ladder.rules.steps
            last = self.taken.get((adapter, step))
            assert last is None or self.now - last >= WINDOW_S
            earlier = [one for one in STEPS[: STEPS.index(step)] if one in self.ladder.rules.steps]
            for one in earlier:
                assert self.now - self.taken[adapter, one] < WINDOW_S, "the gentler ones come first"
            if step is RecoveryStep.QUARANTINE:
                for one in earlier:
                    assert self.taken[adapter, one] >= self.worked.get(adapter, 0), "it has worked since"
            self.taken[adapter, step] = self.now
            self.ladder = self.ladder.begun(adapter, step, self.now)
            if step is not RecoveryStep.QUARANTINE:
                self.running[adapter] = step
            assert self.ladder.obstacle(adapter)

    @rule(adapter=ADAPTERS)
    def end(self, adapter: AdapterIdentity) -> None:
        if self.running.pop(adapter, None) is not None:
            self.ladder = self.ladder.ended(adapter)
            assert not self.ladder.obstacle(adapter)

    @invariant()
    def nothing_is_due_of_what_is_busy(self) -> None:
        if hasattr(self, "ladder"):
            for adapter, _ in self.ladder.due(self.now, {A, B, C}):
                assert not self.ladder.obstacle(adapter)
                assert self.ladder.is_suspect(adapter)

    @invariant()
    def an_obstacle_has_an_end(self) -> None:
        if hasattr(self, "ladder"):
            blocked = {one for one in (A, B, C) if self.ladder.obstacle(one)}
            assert bool(blocked - self.running.keys()) == (self.ladder.next_s() is not None)


TestClimbing = Climbing.TestCase


def failed(ladder: Ladder, adapter: AdapterIdentity, network: Ssid, times: int = FAILURES) -> Ladder:
    for second in range(times):
        ladder = ladder.join_failed(adapter, network, second)
    return ladder


def climbed(ladder: Ladder, now_s: float) -> tuple[Ladder, list[RecoveryStep]]:
    """The step that is due on adapter A is taken."""
    due = ladder.due(now_s, {A})
    for adapter, step in due:
        ladder = ladder.begun(adapter, step, now_s).ended(adapter)
    return ladder, [step for _, step in due]


def test_an_adapter_on_which_two_cameras_fail_climbs_to_quarantine() -> None:
    ladder, taken = Ladder(), []
    for now in range(4):
        ladder = ladder.join_failed(A, NOSE, now).join_failed(A, TAIL, now)
        ladder, steps = climbed(ladder, now)
        taken += steps
    assert taken == STEPS
    assert "quarantine" in ladder.obstacle(A)
    assert ladder.next_s() == 3 + QUARANTINE_S
    assert not ladder.expired(3 + QUARANTINE_S).obstacle(A)


def test_one_camera_that_nobody_can_join_brings_no_adapter_into_quarantine() -> None:
    ladder, taken = Ladder(), []
    for now in range(20):
        ladder, steps = climbed(failed(ladder, A, NOSE), now)
        taken += steps
    assert taken == STEPS[:-1]
    assert not ladder.obstacle(A)


def test_a_camera_that_fails_on_two_adapters_counts_against_neither() -> None:
    ladder = failed(Ladder(), A, NOSE).join_failed(B, NOSE, 10)
    assert ladder.due(10, {A, B}) == []
    assert not ladder.is_suspect(A)


def test_what_another_adapter_joins_after_all_was_the_first_ones_fault() -> None:
    ladder = failed(Ladder(), A, NOSE)
    assert ladder.is_suspect(A)
    assert not ladder.records[A].beyond_doubt
    assert ladder.joined(B, NOSE, 10).records[A].beyond_doubt


def test_one_failure_is_none() -> None:
    ladder = failed(Ladder(), A, NOSE, 1)
    assert ladder.due(10, {A}) == []
    assert not failed(Ladder(), A, NOSE, 1).joined(A, NOSE, 10).is_suspect(A)


def test_an_adapter_that_worked_since_the_first_step_is_not_put_into_quarantine() -> None:
    ladder = Ladder()
    for now in range(4):
        ladder = ladder.join_failed(A, NOSE, now).join_failed(A, TAIL, now)
        if now == 3:
            ladder = ladder.joined(A, NOSE, now).join_failed(A, NOSE, now).join_failed(A, TAIL, now)
        ladder, _ = climbed(ladder, now)
    assert not ladder.obstacle(A)


def test_an_adapter_whose_firmware_crashes_climbs_to_quarantine_one_crash_a_step() -> None:
    ladder, taken = Ladder(), []
    for now in range(4):
        ladder, steps = climbed(ladder.firmware_failed(A, now), now)
        assert len(steps) == 1
        ladder, more = climbed(ladder, now)
        assert more == [], "what was held against it is settled"
        taken += steps
    assert taken == STEPS
    assert ladder.obstacle(A).endswith("it had a firmware crash")
    assert ladder.firmware_failed(A, 5) is ladder
    assert ladder.firmware_failed(B, 5).due(5, {B}) == [(B, RecoveryStep.RESCAN)]


def test_a_firmware_crash_outlasts_a_scan_and_ends_with_a_join() -> None:
    ladder = Ladder().firmware_failed(A, 0).silent(A, 0).heard(A)
    assert ladder.due(0, {A}) == [(A, RecoveryStep.RESCAN)]
    assert ladder.due(0, {B}) == [], "it waits until nobody uses the adapter"
    assert ladder.joined(A, NOSE, 0).due(0, {A}) == []


def test_a_step_that_crashes_the_firmware_is_not_followed_by_another_for_that() -> None:
    ladder = Ladder().firmware_failed(A, 0).begun(A, RecoveryStep.RESTART, 0)
    assert ladder.firmware_failed(A, 1).ended(A).due(1, {A}) == []


@pytest.mark.parametrize(("seconds", "due"), [(SILENCE_S - 1, False), (SILENCE_S, True)])
def test_an_adapter_that_hears_nothing_for_minutes_is_ripe(seconds: float, due: bool) -> None:
    ladder = Ladder().silent(A, 0).silent(A, seconds)
    assert bool(ladder.due(seconds, {A})) == due
    assert ladder.heard(A).due(seconds, {A}) == []


def test_a_step_that_is_switched_off_is_skipped() -> None:
    rules = RecoveryRules(frozenset({RecoveryStep.RESTART, RecoveryStep.QUARANTINE}))
    ladder = failed(Ladder(rules), A, NOSE).join_failed(A, TAIL, 5)
    assert ladder.due(5, {A}) == [(A, RecoveryStep.RESTART)]
    assert failed(Ladder(RecoveryRules(frozenset())), A, NOSE).due(5, {A}) == []


def test_its_own_replug_does_not_clear_a_record_and_a_hands_does() -> None:
    ladder = failed(Ladder(), A, NOSE).begun(A, RecoveryStep.REPLUG, 5)
    assert ladder.gone(A) is ladder
    assert ladder.ended(A).gone(A).records == {}
