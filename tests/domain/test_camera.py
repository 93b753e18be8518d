"""What a camera says of itself: what clients are told, what is wrong with it, and why a recording ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain import sentences
from wifimgrd.domain.camera import (
    DIFFERS_S,
    BatteryState,
    CameraReading,
    CameraStatus,
    Problem,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
    Wish,
    drift_ppm,
    ended,
    problems_of,
    stop_reason,
)
from wifimgrd.domain.camera_steps import differs
from wifimgrd.domain.steadiness import Steadiness

S = 1_000_000
GB = 10**9
FULL = CameraReading(
    read_us=100 * S,
    battery_level=80,
    battery_state=BatteryState.DISCHARGING,
    recording=RecordingState.RECORDING,
    recording_since_us=90 * S,
    storage_state=StorageState.OK,
    storage_free=50 * GB,
    storage_total=64 * GB,
    time_left_s=6000,
    temperature=TemperatureState.NORMAL,
    clock_offset_us=0,
    clock_read_us=95 * S,
    model="HERO12 Black",
)
IDLE = replace(FULL, recording=RecordingState.IDLE, recording_since_us=None)


def is_told_at_once(before: CameraReading, now: CameraReading) -> bool:
    """Whether clients, who were told one reading, are told the next one at once."""
    has_news = Steadiness().read(before, 0.0).published().read(now, 1.0).has_news
    return has_news or differs(CameraStatus(now), CameraStatus(before))


@pytest.mark.parametrize(
    ("change", "is_told"),
    [
        ({}, False),
        ({"battery_level": 79}, True),
        ({"battery_level": None}, True),
        ({"storage_free": 50 * GB - 64 * GB // 100 + 1}, False),
        ({"storage_free": 50 * GB - 64 * GB // 100}, True),
        ({"storage_free": None}, True),
        ({"time_left_s": 5941}, False),
        ({"time_left_s": 5940}, True),
        ({"clock_offset_us": 999_999}, False),
        ({"clock_offset_us": S}, True),
        ({"read_us": 110 * S, "clock_read_us": 110 * S, "recorded_s": 20}, False),
        ({"stop_reason": StopReason.FULL}, False),
        ({"recording_since_us": 91 * S}, True),
        ({"recording": RecordingState.IDLE}, True),
        ({"temperature": TemperatureState.WARNING}, True),
        ({"storage_state": StorageState.FULL}, True),
        ({"firmware_version": "2"}, True),
    ],
)
def test_clients_are_told_when_a_step_is_passed(change: dict[str, Any], is_told: bool) -> None:
    assert is_told_at_once(FULL, replace(FULL, **change)) is is_told


def test_the_time_left_has_short_steps_below_five_minutes() -> None:
    before = replace(FULL, time_left_s=290)
    assert not is_told_at_once(before, replace(FULL, time_left_s=281))
    assert is_told_at_once(before, replace(FULL, time_left_s=280))


def test_a_wish_and_a_problem_are_told_at_once() -> None:
    before = CameraStatus(FULL)
    assert differs(CameraStatus(FULL, requested=True), before)
    assert differs(CameraStatus(FULL, problems=(Problem.TOO_HOT,)), before)


@pytest.mark.parametrize(("after_s", "level"), [(0, 80), (59, 80), (60, None), (90_000, None), (-3600, 80)])
def test_a_battery_is_known_while_the_camera_is_read(after_s: int, level: int | None) -> None:
    """A clock that was set back makes no value old."""
    read = CameraReading(read_us=7_200_000_000, battery_level=80)
    assert read.battery_at(read.read_us + after_s * 1_000_000) == level


def test_a_battery_of_a_camera_that_was_never_read_is_not_known() -> None:
    assert CameraReading().battery_at(0) is None


def test_after_the_link_battery_and_card_are_kept_and_the_rest_is_not_known() -> None:
    left = FULL.after_link()
    assert (left.battery_level, left.storage_free, left.read_us) == (80, 50 * GB, 100 * S)
    assert (left.recording, left.recording_since_us, left.temperature, left.time_left_s) == (None,) * 4
    assert (left.clock_offset_us, left.clock_read_us) == (None, 0)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"battery_level": 14}, Problem.BATTERY_LOW),
        ({"storage_state": StorageState.MISSING}, Problem.STORAGE_MISSING),
        ({"storage_state": StorageState.FULL}, Problem.STORAGE_FULL),
        ({"storage_state": StorageState.ERROR}, Problem.STORAGE_ERROR),
        ({"storage_state": StorageState.SLOW}, Problem.STORAGE_SLOW),
        ({"time_left_s": 599}, Problem.STORAGE_LOW),
        ({"temperature": TemperatureState.TOO_HOT}, Problem.TOO_HOT),
        ({"temperature": TemperatureState.TOO_COLD}, Problem.TOO_COLD),
        ({"clock_offset_us": -5 * S}, Problem.CLOCK_WRONG),
    ],
)
def test_what_is_wrong_has_a_code_and_a_sentence(change: dict[str, Any], problem: Problem) -> None:
    reading = replace(FULL, **change)
    assert problems_of(reading, Wish(), differs_s=0) == (problem,)
    assert sentences.camera_problem(problem, reading).endswith(".")


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"battery_level": 15},
        {"battery_level": 3, "battery_state": BatteryState.CHARGING},
        {"battery_level": None},
        {"time_left_s": 600},
        {"time_left_s": None},
        {"clock_offset_us": 5 * S - 1},
    ],
)
def test_what_is_in_order_or_not_known_is_no_problem(change: dict[str, Any]) -> None:
    assert problems_of(replace(FULL, **change), Wish(), differs_s=0) == ()


@pytest.mark.parametrize(
    ("problem", "still", "over"),
    [
        (Problem.BATTERY_LOW, {"battery_level": 17}, {"battery_level": 18}),
        (Problem.STORAGE_LOW, {"time_left_s": 719}, {"time_left_s": 720}),
        (Problem.CLOCK_WRONG, {"clock_offset_us": 3 * S}, {"clock_offset_us": 3 * S - 1}),
    ],
)
def test_a_problem_does_not_come_and_go(
    problem: Problem, still: dict[str, Any], over: dict[str, Any]
) -> None:
    assert problems_of(replace(FULL, **still), Wish(), (problem,), differs_s=0) == (problem,)
    assert problems_of(replace(FULL, **still), Wish(), differs_s=0) == ()
    assert problems_of(replace(FULL, **over), Wish(), (problem,), differs_s=0) == ()


def test_a_camera_that_should_record_and_does_not_is_a_problem_after_a_while() -> None:
    wish = Wish().commanded(50 * S, on=True)
    assert not wish.differs(IDLE)  # it was read before
    wish = wish.seen(IDLE, 101 * S)
    assert wish.differs(IDLE)
    assert not wish.differs(FULL)
    assert wish.differs(CameraReading()) is None
    assert problems_of(IDLE, wish, differs_s=DIFFERS_S - 0.1) == ()
    assert problems_of(IDLE, wish, differs_s=DIFFERS_S) == (Problem.NOT_RECORDING,)


def test_a_recording_that_somebody_starts_at_the_camera_is_no_problem() -> None:
    assert not Wish().differs(FULL)
    stopped = Wish().commanded(50 * S, on=False).seen(FULL, 101 * S)
    assert stopped.differs(FULL)
    assert problems_of(FULL, stopped, differs_s=DIFFERS_S) == (Problem.STILL_RECORDING,)
    assert not stopped.seen(IDLE, 101 * S).differs(FULL)
    assert stopped.seen(FULL, 101 * S).differs(FULL)


def test_a_reading_from_before_a_stop_does_not_confirm_it() -> None:
    stopped = Wish().commanded(100 * S, on=False)
    before = replace(IDLE, read_us=100 * S - 1)
    assert stopped.seen(before, 101 * S) == stopped
    assert not stopped.differs(FULL)
    assert not stopped.seen(replace(IDLE, read_us=100 * S), 101 * S).stops


def test_a_reading_confirms_a_stop_also_after_the_hosts_clock_was_set_back() -> None:
    stopped = Wish().commanded(100 * S, on=False)
    assert not stopped.seen(replace(IDLE, read_us=10 * S), 10 * S).stops


def test_it_is_not_known_whether_a_camera_records_until_that_is_read() -> None:
    wish = Wish().commanded(100 * S, on=True).unconfirmed()
    assert problems_of(CameraReading(), wish, differs_s=0) == (Problem.RECORDING_UNCONFIRMED,)
    for unread in (CameraReading(read_us=101 * S), replace(FULL, read_us=100 * S - 1)):
        assert wish.seen(unread, 102 * S).is_unconfirmed
    for read in (FULL, IDLE):
        assert not wish.seen(replace(read, read_us=101 * S), 102 * S).is_unconfirmed
    assert wish.commanded(103 * S, on=False).is_unconfirmed, "it may still do the one before"
    assert not wish.done().is_unconfirmed


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"stop_reason": StopReason.BATTERY}, StopReason.BATTERY),
        ({"stop_reason": StopReason.SLOW_CARD, "storage_state": StorageState.FULL}, StopReason.SLOW_CARD),
        ({"storage_state": StorageState.FULL}, StopReason.FULL),
        ({"storage_state": StorageState.SLOW}, StopReason.SLOW_CARD),
        ({"temperature": TemperatureState.TOO_HOT}, StopReason.TOO_HOT),
        ({}, StopReason.UNKNOWN),
    ],
)
def test_why_a_recording_ended_is_what_the_camera_says(change: dict[str, Any], reason: StopReason) -> None:
    reading = replace(IDLE, **change)
    assert stop_reason(reading, commanded=False) is reason
    assert stop_reason(reading, commanded=True) is StopReason.STOPPED
    assert sentences.recording_ended(reason).endswith(".")


def test_a_recording_has_ended_when_the_camera_is_idle_or_counts_anew() -> None:
    assert ended(9, IDLE)
    assert not ended(9, CameraReading())
    assert not ended(9, FULL)
    assert not ended(9, replace(FULL, recorded_s=9))
    assert ended(9, replace(FULL, recorded_s=8))
    assert stop_reason(replace(FULL, recorded_s=8), commanded=False) is StopReason.UNKNOWN


def test_a_time_lapse_or_a_clock_that_is_set_does_not_end_a_recording() -> None:
    assert not ended(9, replace(FULL, recorded_s=10, recording_since_us=90 * S + 3600 * S))


@pytest.mark.parametrize(
    ("set_us", "change", "drift"),
    [
        (S, {"clock_read_us": 10_001 * S, "clock_offset_us": S}, 100),
        (S, {"clock_read_us": 10_001 * S, "clock_offset_us": -S}, -100),
        (S, {"clock_read_us": 3600 * S, "clock_offset_us": S}, None),
        (S, {"clock_read_us": 10_001 * S, "clock_offset_us": None}, None),
        (0, {"clock_read_us": 10_001 * S, "clock_offset_us": S}, None),
    ],
)
def test_a_drift_is_told_over_an_hour_or_more(set_us: int, change: dict[str, Any], drift: int | None) -> None:
    assert drift_ppm(replace(FULL, **change), set_us) == drift


@given(st.lists(st.integers(0, 100), max_size=40))
def test_a_battery_that_moves_is_never_told_too_late(levels: list[int]) -> None:
    """What clients know differs by a flicker at most from what is true."""
    known, steadiness = 80, Steadiness().read(replace(FULL, battery_level=80), 0.0).published()
    for number, level in enumerate(levels):
        steadiness = steadiness.read(replace(FULL, battery_level=level), (number + 1) * 6.5)
        if steadiness.has_news:
            known, steadiness = level, steadiness.published()
        assert abs(known - level) <= 1
        assert not steadiness.held
