"""The numbering of events and what a client can catch up on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from wifimgrd.http.channel.channel import EventLog
from wifimgrd.http.channel.message_types import LoggedEvent


def log_of(count: int, capacity: int = 10) -> EventLog:
    log = EventLog("here", capacity)
    for number in range(1, count + 1):
        log.append("event", f"event {number}")
    return log


def test_numbers_start_at_one_and_have_no_gap() -> None:
    log = EventLog("here", 10)
    assert log.next_seq() == 1
    log.append("event", "event 1")
    assert (log.seq, log.next_seq()) == (1, 2)


def texts(replay: list[LoggedEvent] | None) -> list[str] | None:
    return None if replay is None else [reported.text for reported in replay]


def test_an_event_carries_the_mark_from_which_a_client_goes_on() -> None:
    log = log_of(3)
    reported = log.append("event", "event 4")
    assert (reported.mark, log.mark) == ("here:4", "here:4")
    assert log.since("here:4") == []


def test_what_was_missed_is_replayed_in_order() -> None:
    assert texts(log_of(4).since("here:2")) == ["event 3", "event 4"]


def test_a_client_that_is_current_missed_nothing() -> None:
    assert log_of(4).since("here:4") == []


def test_the_oldest_event_makes_room() -> None:
    log = log_of(12, capacity=10)
    assert texts(log.since("here:2")) == [f"event {number}" for number in range(3, 13)]
    assert log.since("here:1") is None


def test_after_forgetting_only_the_present_is_current() -> None:
    log = log_of(4)
    log.forget()
    assert log.since("here:3") is None
    assert log.since("here:4") == []


@pytest.mark.parametrize(
    "mark",
    ["", "here", "here:", ":2", "there:2", "here:5", "here:-1", "here:+2", "here:２", "here:2 ", "here:2.0"],
)
def test_any_other_mark_needs_a_snapshot(mark: str) -> None:
    assert log_of(4).since(mark) is None


@given(st.text())
def test_no_text_is_too_odd_for_a_mark(mark: str) -> None:
    assert log_of(4).since(mark) is None


@given(st.integers(min_value=10**18))
def test_a_huge_number_was_never_reached(number: int) -> None:
    assert log_of(4).since(f"here:{number}") is None


class ResumingClient(RuleBasedStateMachine):
    """A client that leaves at any time and comes back at any time has seen every event, once, in
    order, or is notified that it needs a snapshot."""

    capacity = 5

    def __init__(self) -> None:
        super().__init__()
        self.log = EventLog("here", self.capacity)
        self.sent: list[str] = []
        self.barrier = 0
        self.seen = 0

    @rule(count=st.integers(min_value=1, max_value=8))
    def events_happen(self, count: int) -> None:
        for _ in range(count):
            text = f"event {self.log.next_seq()}"
            self.sent.append(text)
            self.log.append("event", text)

    @rule()
    def the_daemon_comes_back(self) -> None:
        self.log.forget()
        self.barrier = self.log.seq

    @rule()
    def the_client_catches_up(self) -> None:
        replay = texts(self.log.since(f"here:{self.seen}"))
        if replay is None:
            assert self.seen < max(self.barrier, self.log.seq - self.capacity)
        else:
            assert replay == self.sent[self.seen :]
            assert self.seen >= self.barrier
        self.seen = self.log.seq

    @invariant()
    def numbers_count_what_was_sent(self) -> None:
        assert self.log.seq == len(self.sent)


TestResumingClient = ResumingClient.TestCase
