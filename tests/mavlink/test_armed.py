"""Recording while armed: for any order of events."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.soak import examples
from wifimgrd.mavlink._armed import STOPS_AFTER_S, Armed

CAMERAS = st.sets(st.integers(1, 4))


class Flight(RuleBasedStateMachine):
    """Heartbeats, silence, recordings that end, and people who ask for them.

    Invariants:

    - cameras are started on an edge only: after a heartbeat that said "not armed", by one that says "armed";
    - what disarming stops was started by an edge, and has neither ended nor been asked for since;
    - nothing is stopped while the vehicle is armed, nor earlier than some seconds after it was disarmed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.armed = Armed()
        self.now_s = 100.0
        self.heard: bool | None = None
        self.disarmed_s: float | None = None
        self.ours: set[int] = set()

    @rule(is_armed=st.booleans(), idle=CAMERAS)
    def heartbeat(self, is_armed: bool, idle: set[int]) -> None:
        self.armed, starts = self.armed.heard(is_armed, self.now_s)
        assert starts is (self.heard is False and is_armed)
        if starts:
            self.armed = self.armed.recording(idle)
            self.ours |= idle
        if self.heard and not is_armed:
            self.disarmed_s = self.now_s
        elif is_armed:
            self.disarmed_s = None
        self.heard = is_armed

    @rule(cameras=CAMERAS)
    def ends_or_is_asked_for(self, cameras: set[int]) -> None:
        self.armed = self.armed.released(cameras)
        self.ours -= cameras

    @rule(passed_s=st.sampled_from([0.0, 0.5, 1.0, STOPS_AFTER_S, 600.0]))
    def time_passes(self, passed_s: float) -> None:
        self.now_s += passed_s

    @rule()
    def second_begins(self) -> None:
        self.armed, stops = self.armed.due(self.now_s)
        is_due = self.disarmed_s is not None and self.now_s >= self.disarmed_s + STOPS_AFTER_S
        assert stops == (self.ours if is_due else set())
        if is_due:
            self.ours, self.disarmed_s = set(), None


TestFlight = Flight.TestCase
TestFlight.settings = settings(max_examples=examples(100))


def test_a_vehicle_that_is_armed_as_the_process_starts_begins_nothing() -> None:
    armed, starts = Armed().heard(is_armed=True, now_s=0.0)
    assert not starts
    armed, starts = armed.heard(is_armed=True, now_s=1.0)
    assert not starts


def test_a_vehicle_that_is_armed_again_at_once_goes_on_recording() -> None:
    armed, _ = Armed().heard(is_armed=False, now_s=0.0)
    armed, _ = armed.heard(is_armed=True, now_s=1.0)
    armed, _ = armed.recording({1}).heard(is_armed=False, now_s=2.0)
    armed, starts = armed.heard(is_armed=True, now_s=3.0)
    assert starts
    assert armed.due(60.0) == (armed, frozenset())
    armed, _ = armed.heard(is_armed=False, now_s=70.0)
    assert armed.due(70.0 + STOPS_AFTER_S)[1] == {1}
