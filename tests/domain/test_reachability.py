"""Whether a camera answers: one answer is proof, one silence is none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.reachability import ANSWERED_S, DOUBT_S, LONGEST_S, SILENCES, Reachability

histories = st.lists(st.booleans(), max_size=40)
"""Of each question, whether it was answered."""


def after(history: list[bool]) -> Reachability:
    state = Reachability()
    for answered in history:
        state = state.answered() if answered else state.silent()
    return state


def silences_at_the_end(history: list[bool]) -> int:
    return len(history) - 1 - max((at for at, answered in enumerate(history) if answered), default=-1)


@given(histories)
def test_it_is_reachable_from_an_answer_on_until_it_was_silent_some_times_in_a_row(
    history: list[bool],
) -> None:
    assert after(history).reachable == (any(history) and silences_at_the_end(history) < SILENCES)


@given(histories)
def test_a_camera_that_answers_is_left_in_peace_and_one_in_doubt_is_asked_soon(history: list[bool]) -> None:
    silences = silences_at_the_end(history)
    wait_s = after(history).wait_s
    if silences == 0:
        assert wait_s == ANSWERED_S
    elif silences < SILENCES:
        assert wait_s == DOUBT_S
    else:
        assert DOUBT_S < wait_s <= LONGEST_S


@given(histories)
def test_a_camera_that_stays_silent_is_asked_less_and_less_often(history: list[bool]) -> None:
    state = after([*history, *[False] * SILENCES])
    assert state.silent().wait_s >= state.wait_s
    assert after([*history, *[False] * 40]).wait_s == LONGEST_S


def test_an_address_by_dhcp_is_an_answer() -> None:
    assert Reachability.addressed() == Reachability().answered()


@given(histories)
def test_one_answer_forgets_all_silence(history: list[bool]) -> None:
    assert after(history).answered() == Reachability(reachable=True)
