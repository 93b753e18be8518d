"""The readings of a minute, with the battery, and which minutes are asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import (
    KEPT_DAYS,
    MINUTE_US,
    RunningMinute,
    SignalReading,
    SignalSample,
    minutes_between,
)

NOW_US = 1_764_000_012_345_678
NOW = NOW_US // MINUTE_US


def reading(percent: int, battery: int | None = None) -> SignalReading:
    return SignalReading(DeviceId(1), percent, battery)


@given(st.lists(st.integers(min_value=0, max_value=100), min_size=1, max_size=20))
def test_a_minute_has_the_mean_and_the_minimum_of_its_readings(percents: list[int]) -> None:
    minute = RunningMinute.first(reading(percents[0]), NOW_US)
    for percent in percents[1:]:
        minute = minute.read(reading(percent), NOW_US)
    assert minute.minute == NOW
    assert minute.sample == SignalSample(round(sum(percents) / len(percents)), min(percents))


@pytest.mark.parametrize("minutes", [1, 90, -1, -500_000])
def test_a_reading_in_another_minute_begins_that_one(minutes: int) -> None:
    minute = RunningMinute.first(reading(40, 9), NOW_US).read(reading(80), NOW_US + minutes * MINUTE_US)
    assert (minute.minute, minute.sample) == (NOW + minutes, SignalSample(80, 80))


def test_a_reading_is_bounded() -> None:
    minute = RunningMinute.first(reading(101, 101), NOW_US)
    assert minute.sample == SignalSample(100, 100, 100)
    assert minute.read(reading(-3, -3), NOW_US).sample == SignalSample(50, 0, 0)


@given(st.lists(st.none() | st.integers(min_value=0, max_value=100), min_size=1, max_size=20))
def test_a_minute_has_the_last_value_of_the_battery_that_was_known_in_it(batteries: list[int | None]) -> None:
    minute = RunningMinute.first(reading(50, batteries[0]), NOW_US)
    for battery in batteries[1:]:
        minute = minute.read(reading(50, battery), NOW_US)
    known = [battery for battery in batteries if battery is not None]
    assert minute.sample == SignalSample(50, 50, known[-1] if known else None)


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
