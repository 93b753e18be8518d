"""The readings of a minute, and which minutes are asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.signal_history import (
    KEPT_DAYS,
    MINUTE_US,
    RunningMinute,
    SignalSample,
    minutes_between,
)

NOW_US = 1_764_000_012_345_678
NOW = NOW_US // MINUTE_US


@given(st.lists(st.integers(min_value=0, max_value=100), min_size=1, max_size=20))
def test_a_minute_has_the_mean_and_the_minimum_of_its_readings(percents: list[int]) -> None:
    minute = RunningMinute.first(percents[0], NOW_US)
    for percent in percents[1:]:
        minute = minute.read(percent, NOW_US)
    assert minute.minute == NOW
    assert minute.sample == SignalSample(round(sum(percents) / len(percents)), min(percents))


@pytest.mark.parametrize("minutes", [1, 90, -1, -500_000])
def test_a_reading_in_another_minute_begins_that_one(minutes: int) -> None:
    minute = RunningMinute.first(40, NOW_US).read(80, NOW_US + minutes * MINUTE_US)
    assert (minute.minute, minute.sample) == (NOW + minutes, SignalSample(80, 80))


def test_a_reading_is_bounded() -> None:
    assert RunningMinute.first(101, NOW_US).read(-3, NOW_US).sample == SignalSample(50, 0)


def test_without_bounds_all_that_is_kept_until_the_running_minute() -> None:
    asked = minutes_between(0, 0, NOW_US)
    assert (asked[-1], len(asked)) == (NOW, KEPT_DAYS * 24 * 60)
    assert minutes_between(1, 2**64 - 1, NOW_US) == asked


def test_a_minute_is_asked_for_where_it_begins_in_the_span() -> None:
    begin = (NOW - 10) * MINUTE_US
    assert minutes_between(begin, begin + MINUTE_US, NOW_US) == range(NOW - 10, NOW - 9)
    assert minutes_between(begin + 1, begin + MINUTE_US + 1, NOW_US) == range(NOW - 9, NOW - 8)
    assert not minutes_between(begin, begin, NOW_US)
    assert not minutes_between(begin, begin - MINUTE_US, NOW_US)
    assert not minutes_between(2**64 - 1, 0, NOW_US)


def test_a_clock_at_the_epoch_is_a_clock() -> None:
    assert minutes_between(0, 0, 0)[-1] == 0
