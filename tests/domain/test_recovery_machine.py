"""The recovery steps as a rule-based state machine; the invariants of wifimgrd.domain.recovery."""

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
    AdapterHealth,
    Condition,
    Health,
    RecoveryRules,
    RecoveryStep,
    Symptom,
    worst,
)

A, B, C = (AdapterIdentity(usb_port=f"1-1.{number}") for number in (1, 2, 3))
NOSE, TAIL = Ssid(b"NOSE"), Ssid(b"TAIL")
ADAPTERS = st.sampled_from([A, B, C])
NETWORKS = st.sampled_from([NOSE, TAIL])
STEPS = list(RecoveryStep)


class Recovery(RuleBasedStateMachine):
    """Evidence comes and goes; whatever is due may be done, and takes a while."""

    @initialize(steps=st.frozensets(st.sampled_from(RecoveryStep)))
    def begin(self, steps: frozenset[RecoveryStep]) -> None:
        self.now = 1000.0
        self.health = AdapterHealth(RecoveryRules(steps))
        self.taken: dict[tuple[AdapterIdentity, RecoveryStep], float] = {}
        self.running: dict[AdapterIdentity, RecoveryStep] = {}
        self.worked: dict[AdapterIdentity, float] = {}
        self.commanded: set[AdapterIdentity] = set()

    @rule(seconds=st.sampled_from([0.0, 1.0, SILENCE_S, WINDOW_S / 2, WINDOW_S]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        before = self.health.next_s()
        self.health = self.health.expired(self.now)
        if before is not None and before <= self.now:
            self.taken = {key: when for key, when in self.taken.items() if key[0] in self.health.records}

    @rule(adapter=ADAPTERS, network=NETWORKS)
    def fail(self, adapter: AdapterIdentity, network: Ssid) -> None:
        self.health = self.health.join_failed(adapter, network, self.now)

    @rule(adapter=ADAPTERS, network=NETWORKS)
    def join(self, adapter: AdapterIdentity, network: Ssid) -> None:
        if not self.health.obstacle(adapter):
            self.health = self.health.joined(adapter, network, self.now)
            self.worked[adapter] = self.now
            assert not self.health.is_suspect(adapter)

    @rule(adapter=ADAPTERS, receives=st.booleans())
    def scan(self, adapter: AdapterIdentity, receives: bool) -> None:
        self.health = self.health.received(adapter) if receives else self.health.silent(adapter, self.now)

    @rule(adapter=ADAPTERS)
    def crash(self, adapter: AdapterIdentity) -> None:
        free = not self.health.obstacle(adapter)
        before, self.health = self.health, self.health.firmware_failed(adapter, self.now)
        assert self.health.is_suspect(adapter) if free else self.health is before
        if (
            self.health.rules.steps >= {RecoveryStep.RESCAN}
            and (adapter, RecoveryStep.RESCAN) not in self.taken
        ):
            assert ((adapter, RecoveryStep.RESCAN) in self.health.due(self.now, {adapter})) == free

    @rule(adapter=ADAPTERS)
    def pull(self, adapter: AdapterIdentity) -> None:
        self.health = self.health.removed(adapter)
        if self.running.get(adapter) is not RecoveryStep.REPLUG:
            assert adapter not in self.health.records
            self.running.pop(adapter, None)
            self.commanded.discard(adapter)
            self.taken = {key: when for key, when in self.taken.items() if key[0] != adapter}

    @rule(idle=st.frozensets(ADAPTERS))
    def act(self, idle: frozenset[AdapterIdentity]) -> None:
        due = self.health.due(self.now, idle)
        assert len({adapter for adapter, _ in due}) == len(due)
        for adapter, step in due:
            assert adapter in idle
            assert adapter not in self.running
            assert step in self.health.rules.steps
            last = self.taken.get((adapter, step))
            assert last is None or self.now - last >= WINDOW_S
            earlier = [one for one in STEPS[: STEPS.index(step)] if one in self.health.rules.steps]
            for one in earlier:
                assert self.now - self.taken[adapter, one] < WINDOW_S, "the gentler ones come first"
            if step is RecoveryStep.QUARANTINE:
                for one in earlier:
                    assert self.taken[adapter, one] >= self.worked.get(adapter, 0), "it has worked since"
            self.taken[adapter, step] = self.now
            self.health = self.health.started(adapter, step, self.now)
            if step is not RecoveryStep.QUARANTINE:
                self.running[adapter] = step
            assert self.health.obstacle(adapter)

    @rule(adapter=ADAPTERS, step=st.sampled_from([one for one in RecoveryStep if one != "quarantine"]))
    def command(self, adapter: AdapterIdentity, step: RecoveryStep) -> None:
        if not self.health.obstacle(adapter):
            before, self.health = self.health, self.health.commanded(adapter, step)
            assert self.health.obstacle(adapter)
            assert self.health.ended(adapter) == before
            self.running[adapter] = step
            self.commanded.add(adapter)

    @rule(adapter=ADAPTERS)
    def reset_the_port(self, adapter: AdapterIdentity) -> None:
        """For a dead link: it counts as a replug, and is no evidence."""
        if not self.health.obstacle(adapter):
            before, self.health = self.health, self.health.port_reset(adapter, self.now)
            assert self.health.obstacle(adapter)
            assert self.health.is_suspect(adapter) == before.is_suspect(adapter)
            self.running[adapter] = RecoveryStep.REPLUG
            self.taken[adapter, RecoveryStep.REPLUG] = self.now
            self.commanded.add(adapter)

    @rule(adapter=ADAPTERS)
    def end(self, adapter: AdapterIdentity) -> None:
        if self.running.pop(adapter, None) is not None:
            self.commanded.discard(adapter)
            self.health = self.health.ended(adapter)
            assert not self.health.obstacle(adapter)

    @invariant()
    def nothing_is_due_of_what_is_busy(self) -> None:
        if hasattr(self, "health"):
            for adapter, _ in self.health.due(self.now, {A, B, C}):
                assert not self.health.obstacle(adapter)
                assert self.health.is_suspect(adapter)

    @invariant()
    def an_obstacle_has_an_end(self) -> None:
        if hasattr(self, "health"):
            blocked = {one for one in (A, B, C) if self.health.obstacle(one)}
            assert not blocked - self.running.keys() or self.health.next_s() is not None

    @invariant()
    def clients_are_told_what_is_so(self) -> None:
        if hasattr(self, "health"):
            for adapter in (A, B, C):
                condition = self.health.condition(adapter)
                is_wrong = condition.health not in (None, Health.GOOD)
                by_command = adapter in self.running and adapter in self.commanded
                assert by_command or is_wrong == (condition.symptom is not None)
                assert (condition.health is Health.RECOVERING) == (adapter in self.running)
                assert not self.health.is_suspect(adapter) or condition.health is Health.SUSPECT or by_command
                quarantined = self.health.obstacle(adapter) and adapter not in self.running
                assert (condition.health is Health.QUARANTINED) == bool(quarantined)

    @invariant()
    def no_suspicion_lasts(self) -> None:
        """It ends by itself, or a step is due once the adapter is idle."""
        if hasattr(self, "health"):
            for adapter, record in self.health.records.items():
                is_over = self.health.expired(self.now + WINDOW_S).condition(adapter).symptom is None
                assert is_over or record.is_due or adapter in self.running


TestRecovery = Recovery.TestCase


def failed(
    health: AdapterHealth, adapter: AdapterIdentity, network: Ssid, times: int = FAILURES
) -> AdapterHealth:
    for second in range(times):
        health = health.join_failed(adapter, network, second)
    return health


def stepped(health: AdapterHealth, now_s: float) -> tuple[AdapterHealth, list[RecoveryStep]]:
    """The step that is due on adapter A is taken."""
    due = health.due(now_s, {A})
    for adapter, step in due:
        health = health.started(adapter, step, now_s).ended(adapter)
    return health, [step for _, step in due]


def test_an_adapter_on_which_two_cameras_fail_comes_into_quarantine() -> None:
    health, taken = AdapterHealth(), []
    for now in range(4):
        health = health.join_failed(A, NOSE, now).join_failed(A, TAIL, now)
        health, steps = stepped(health, now)
        taken += steps
    assert taken == STEPS
    assert "quarantine" in health.obstacle(A)
    assert health.next_s() == 3 + QUARANTINE_S
    assert not health.expired(3 + QUARANTINE_S).obstacle(A)


def test_one_camera_that_nobody_can_join_brings_no_adapter_into_quarantine() -> None:
    health, taken = AdapterHealth(), []
    for now in range(20):
        health, steps = stepped(failed(health, A, NOSE), now)
        taken += steps
    assert taken == STEPS[:-1]
    assert not health.obstacle(A)


def test_a_camera_that_fails_on_two_adapters_counts_against_neither() -> None:
    health = failed(AdapterHealth(), A, NOSE).join_failed(B, NOSE, 10)
    assert health.due(10, {A, B}) == []
    assert not health.is_suspect(A)


def test_what_another_adapter_joins_after_all_was_the_first_ones_fault() -> None:
    health = failed(AdapterHealth(), A, NOSE)
    assert health.is_suspect(A)
    assert not health.records[A].is_certain
    assert health.joined(B, NOSE, 10).records[A].is_certain


def test_one_failure_is_none() -> None:
    health = failed(AdapterHealth(), A, NOSE, 1)
    assert health.due(10, {A}) == []
    assert not failed(AdapterHealth(), A, NOSE, 1).joined(A, NOSE, 10).is_suspect(A)


def test_an_adapter_that_works_and_with_which_nothing_was_tried_has_no_record() -> None:
    assert failed(AdapterHealth(), A, NOSE, 1).joined(A, NOSE, 10).records == {}
    assert failed(AdapterHealth(), A, NOSE, 1).joined(A, TAIL, 10).records == {}
    tried = failed(AdapterHealth(), A, NOSE).started(A, RecoveryStep.RESCAN, 5)
    assert tried.joined(A, NOSE, 10).records[A].running is RecoveryStep.RESCAN
    assert tried.ended(A).joined(A, NOSE, 10).records[A].last_step_s == {RecoveryStep.RESCAN: 5}


def test_an_adapter_that_worked_since_the_first_step_is_not_put_into_quarantine() -> None:
    health = AdapterHealth()
    for now in range(4):
        health = health.join_failed(A, NOSE, now).join_failed(A, TAIL, now)
        if now == 3:
            health = health.joined(A, NOSE, now).join_failed(A, NOSE, now).join_failed(A, TAIL, now)
        health, _ = stepped(health, now)
    assert not health.obstacle(A)


def test_an_adapter_whose_firmware_crashes_comes_into_quarantine_one_crash_a_step() -> None:
    health, taken = AdapterHealth(), []
    for now in range(4):
        health, steps = stepped(health.firmware_failed(A, now), now)
        assert len(steps) == 1
        health, more = stepped(health, now)
        assert more == [], "what was held against it is settled"
        taken += steps
    assert taken == STEPS
    assert health.obstacle(A).endswith("it had a firmware crash")
    assert health.firmware_failed(A, 5) is health
    assert health.firmware_failed(B, 5).due(5, {B}) == [(B, RecoveryStep.RESCAN)]


def test_a_firmware_crash_outlasts_a_scan_and_ends_with_a_join() -> None:
    health = AdapterHealth().firmware_failed(A, 0).silent(A, 0).received(A)
    assert health.due(0, {A}) == [(A, RecoveryStep.RESCAN)]
    assert health.due(0, {B}) == [], "it waits until nobody uses the adapter"
    assert health.joined(A, NOSE, 0).due(0, {A}) == []


def test_a_step_that_crashes_the_firmware_is_not_followed_by_another_for_that() -> None:
    health = AdapterHealth().firmware_failed(A, 0).started(A, RecoveryStep.RESTART, 0)
    assert health.firmware_failed(A, 1).ended(A).due(1, {A}) == []


@pytest.mark.parametrize(("seconds", "due"), [(SILENCE_S - 1, False), (SILENCE_S, True)])
def test_an_adapter_that_receives_nothing_for_minutes_is_due(seconds: float, due: bool) -> None:
    health = AdapterHealth().silent(A, 0).silent(A, seconds)
    assert bool(health.due(seconds, {A})) == due
    assert health.received(A).due(seconds, {A}) == []


def test_a_step_that_is_switched_off_is_skipped() -> None:
    rules = RecoveryRules(frozenset({RecoveryStep.RESTART, RecoveryStep.QUARANTINE}))
    health = failed(AdapterHealth(rules), A, NOSE).join_failed(A, TAIL, 5)
    assert health.due(5, {A}) == [(A, RecoveryStep.RESTART)]
    assert failed(AdapterHealth(RecoveryRules(frozenset())), A, NOSE).due(5, {A}) == []


def test_its_own_replug_does_not_clear_a_record_and_a_hands_does() -> None:
    health = failed(AdapterHealth(), A, NOSE).started(A, RecoveryStep.REPLUG, 5)
    assert health.removed(A) is health
    assert health.ended(A).removed(A).records == {}


def test_nothing_is_known_of_an_adapter_until_it_has_received_anything() -> None:
    health = AdapterHealth()
    assert health.condition(A) == Condition()
    assert health.received(A).condition(A) == Condition(Health.GOOD)
    assert health.joined(A, NOSE, 1).condition(A) == Condition(Health.GOOD)
    assert health.received(A).removed(A).condition(A) == Condition()


def test_an_adapter_is_suspect_since_the_first_evidence_and_until_it_works() -> None:
    health = AdapterHealth().received(A).join_failed(A, NOSE, 10).join_failed(A, NOSE, 20)
    assert health.condition(A) == Condition(Health.SUSPECT, Symptom.FAILS_TO_JOIN, 10)
    health = health.started(A, RecoveryStep.RESCAN, 30)
    assert health.condition(A) == Condition(Health.RECOVERING, Symptom.FAILS_TO_JOIN, 10, RecoveryStep.RESCAN)
    health = health.ended(A)
    tried = Condition(Health.SUSPECT, Symptom.FAILS_TO_JOIN, 10, RecoveryStep.RESCAN)
    assert health.condition(A) == health.received(A).condition(A) == tried
    assert health.joined(A, NOSE, 40).condition(A) == Condition(Health.GOOD)
    assert health.expired(30 + WINDOW_S).condition(A) == Condition()


def test_what_an_adapter_receives_ends_the_suspicion_that_it_receives_nothing() -> None:
    health = AdapterHealth().silent(A, 10).silent(A, 10 + SILENCE_S)
    assert health.condition(A) == Condition(Health.SUSPECT, Symptom.SILENT, 10)
    assert health.received(A).condition(A) == Condition(Health.GOOD)
    health = health.started(A, RecoveryStep.RESCAN, 200).ended(A)
    assert health.condition(A).health is Health.SUSPECT
    assert health.received(A).condition(A) == Condition(Health.GOOD)


def test_a_quarantine_says_until_when() -> None:
    health = AdapterHealth().firmware_failed(A, 5).started(A, RecoveryStep.QUARANTINE, 10)
    assert health.condition(A) == Condition(
        Health.QUARANTINED, Symptom.CRASHED, 5, RecoveryStep.QUARANTINE, 10 + QUARANTINE_S
    )


def test_a_single_failure_is_forgotten_after_its_time() -> None:
    health = AdapterHealth().join_failed(A, NOSE, 10)
    assert health.next_s() == 10 + WINDOW_S
    assert health.expired(10 + WINDOW_S).condition(A) == Condition()


def test_a_radio_is_as_bad_as_the_worst_that_is_known_of_it() -> None:
    good, suspect = Condition(Health.GOOD), Condition(Health.SUSPECT, Symptom.SILENT)
    assert worst([Condition(), good]) == good
    assert worst([good, suspect, Condition()]) == suspect
    assert worst([suspect, Condition(Health.QUARANTINED)]).health is Health.QUARANTINED
