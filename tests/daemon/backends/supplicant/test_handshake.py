"""When a passphrase is known to be rejected, by the replies of a station in a handshake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.daemon.backends.supplicant.diagnosis import Replies
from wifimgrd.kernel.nl80211 import HandshakeReply

Sent = list[tuple[float, int, bool]]
"""Of each reply: when it was sent in seconds, its counter, whether it was acknowledged."""


def rejected_at_s(replies: Sent) -> float | None:
    known = Replies()
    for at_s, counter, is_acknowledged in replies:
        if known.add(HandshakeReply(counter, is_acknowledged), at_s):
            return at_s
    return None


# The times of hostapd 2.10.
HOSTAPD: Sent = [(0.0, 1, True), (0.1, 2, True), (1.1, 3, True), (2.1, 4, True)]


def test_two_replies_that_arrived_and_another_question_are_a_rejection() -> None:
    assert rejected_at_s(HOSTAPD) == 1.1


def test_whether_the_last_reply_arrives_does_not_matter() -> None:
    assert rejected_at_s([*HOSTAPD[:2], (1.1, 3, False)]) == 1.1


@pytest.mark.parametrize("lost", [0, 1])
def test_a_reply_that_was_lost_proves_nothing(lost: int) -> None:
    replies = HOSTAPD.copy()
    at_s, counter, _ = replies[lost]
    replies[lost] = (at_s, counter, False)
    assert rejected_at_s(replies) == 2.1


def test_a_station_that_replies_late_to_several_questions_is_not_rejected() -> None:
    assert rejected_at_s([(2.2, 1, True), (2.21, 2, True), (2.22, 3, True), (2.23, 4, True)]) is None


def test_an_access_point_that_repeats_quickly_is_given_time() -> None:
    assert rejected_at_s([(0.1 * number, number, True) for number in range(8)]) is None
    assert rejected_at_s([(0.1 * number, number, True) for number in range(10)]) == pytest.approx(0.9)


def test_a_camera_that_asks_without_end_fills_no_memory() -> None:
    known = Replies()
    for number in range(10_000):
        known.add(HandshakeReply(number, is_acknowledged=True), number / 1000)
    assert len(known.arrived_s) == 2


def test_replies_of_an_association_before_do_not_count() -> None:
    assert rejected_at_s([*HOSTAPD[:2], (1.5, 1, True), (1.6, 2, True)]) is None


def test_a_reply_that_is_sent_again_is_one() -> None:
    assert rejected_at_s([(0.0, 1, True), (0.1, 1, True), (1.1, 2, True)]) is None


@given(st.lists(st.tuples(st.floats(0, 5), st.booleans()), max_size=12))
def test_there_is_no_rejection_without_two_arrivals_a_while_before(found: list[tuple[float, bool]]) -> None:
    replies = [(at_s, number, arrived) for number, (at_s, arrived) in enumerate(sorted(found))]
    at_s = rejected_at_s(replies)
    if at_s is not None:
        assert sum(arrived and at_s - sent_s >= 0.8 for sent_s, _, arrived in replies) >= 2
