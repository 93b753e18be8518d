"""Recording while armed: for any order of events."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.soak import examples
from wifimgrd.mavlink._recording import STOPS_AFTER_S, Flight


class Flights(RuleBasedStateMachine):
    """Heartbeats, and silence.

    Invariants:

    - cameras are started on an edge only: after a heartbeat that said "not armed", by one that says "armed";
    - nothing is stopped while the vehicle is armed, nor earlier than some seconds after it was disarmed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flight = Flight()
        self.now_s = 100.0
        self.heard: bool | None = None
        self.is_to_start = False
        self.disarmed_s: float | None = None

    @rule(is_armed=st.booleans())
    def heartbeat(self, is_armed: bool) -> None:
        self.flight.heard(is_armed, self.now_s)
        if self.heard is not None and self.heard is not is_armed:
            self.is_to_start, self.disarmed_s = is_armed, None if is_armed else self.now_s
        self.heard = is_armed

    @rule()
    def cameras_are_started(self) -> None:
        if self.flight.due(self.now_s):
            self.flight.began()
            self.is_to_start = False

    @rule(passed_s=st.sampled_from([0.0, 0.5, 1.0, STOPS_AFTER_S, 600.0]))
    def time_passes(self, passed_s: float) -> None:
        self.now_s += passed_s

    @invariant()
    def it_is_due(self) -> None:
        is_over = self.disarmed_s is not None and self.now_s >= self.disarmed_s + STOPS_AFTER_S
        assert self.flight.due(self.now_s) is (True if self.is_to_start else False if is_over else None)


TestFlight = Flights.TestCase
TestFlight.settings = settings(max_examples=examples(100))


def test_a_vehicle_that_is_armed_as_the_process_starts_begins_nothing() -> None:
    flight = Flight()
    for now_s in (0.0, 1.0):
        flight.heard(is_armed=True, now_s=now_s)
        assert flight.due(now_s) is None


def test_a_vehicle_that_is_armed_again_at_once_goes_on_recording() -> None:
    flight = Flight()
    flight.heard(is_armed=False, now_s=0.0)
    flight.heard(is_armed=True, now_s=1.0)
    flight.began()
    flight.heard(is_armed=False, now_s=2.0)
    flight.heard(is_armed=True, now_s=3.0)
    assert flight.due(60.0) is True
    flight.began()
    flight.heard(is_armed=False, now_s=70.0)
    assert flight.due(70.0 + STOPS_AFTER_S - 0.1) is None
    assert flight.due(70.0 + STOPS_AFTER_S) is False
