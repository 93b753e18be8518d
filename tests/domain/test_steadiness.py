"""Values of a camera that change too often are held."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from wifimgrd.domain.camera import (
    BatteryState,
    CameraReading,
    RecordingState,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.steadiness import MOST_CHANGES, Steadiness

READING = CameraReading(
    read_us=1,
    battery_level=80,
    battery_state=BatteryState.DISCHARGING,
    recording=RecordingState.IDLE,
    recording_since_us=5,
    recorded_s=3,
    storage_state=StorageState.OK,
    storage_free=60_000_000_000,
    storage_total=64_000_000_000,
    time_left_s=7200,
    temperature=TemperatureState.NORMAL,
    clock_offset_us=0,
    clock_read_us=1,
    model="X4",
    serial_number="1",
    firmware_version="1",
)
OTHERS: dict[str, tuple[Any, Any]] = {
    "recording": (RecordingState.RECORDING, None),
    "battery_level": (78, None),
    "battery_state": (BatteryState.CHARGING, None),
    "storage_state": (StorageState.SLOW, None),
    "storage_free": (50_000_000_000, None),
    "storage_total": (32_000_000_000, None),
    "time_left_s": (60, None),
    "temperature": (TemperatureState.TOO_HOT, None),
    "clock_offset_us": (5_000_000, None),
    "model": ("X5", ""),
    "serial_number": ("2", ""),
    "firmware_version": ("2", ""),
}


def alternating(name: str, changes: int, every_s: float, since_s: float = 0.0) -> tuple[Steadiness, float]:
    """What is known after so many changes of a value, and when the last one was."""
    steadiness, now_s = Steadiness().read(READING, since_s), since_s
    for number in range(changes):
        now_s = since_s + (number + 1) * every_s
        value = OTHERS[name][0] if number % 2 == 0 else getattr(READING, name)
        steadiness = steadiness.read(replace(READING, **{name: value}), now_s)
    return steadiness, now_s


@pytest.mark.parametrize("name", OTHERS)
def test_a_value_that_changes_more_than_ten_times_a_minute_is_not_known(name: str) -> None:
    steadiness, _ = alternating(name, MOST_CHANGES, 1.0)
    assert steadiness.shown(READING) is READING
    steadiness, _ = alternating(name, MOST_CHANGES + 1, 1.0)
    assert list(steadiness.held) == [name]
    shown = steadiness.shown(READING)
    assert getattr(shown, name) == OTHERS[name][1]
    for other in OTHERS.keys() - {name}:
        assert getattr(shown, other) == getattr(READING, other)


def test_of_a_recording_nothing_is_known_then() -> None:
    shown = alternating("recording", MOST_CHANGES + 1, 1.0)[0].shown(READING)
    assert (shown.recording_since_us, shown.recorded_s, shown.stop_reason) == (None, None, None)


def test_ten_changes_a_minute_are_told_for_ever() -> None:
    assert alternating("recording", 1000, 6.0)[0].held == {}


def test_it_is_known_again_as_soon_as_a_minute_with_at_most_ten_changes_has_passed() -> None:
    steadiness, now_s = alternating("battery_level", 100, 0.25)
    assert steadiness.held == {"battery_level": 100 - MOST_CHANGES - 1}
    often_s = now_s - MOST_CHANGES * 0.25  # then it changed for the last time more often
    assert steadiness.read(READING, often_s + 59.9).held == steadiness.held
    assert steadiness.read(READING, often_s + 60).held == {}


def test_a_value_is_held_for_a_minute_at_least() -> None:
    steadiness, now_s = alternating("recording", MOST_CHANGES + 1, 5.9)
    for later_s, is_held in ((5.0, True), (59.9, True), (60.0, False)):
        assert bool(steadiness.read(READING, now_s + later_s).held) is is_held


def test_a_battery_between_two_levels_is_known() -> None:
    steadiness = Steadiness()
    for number in range(1000):
        steadiness = steadiness.read(replace(READING, battery_level=78 - number % 2), number * 2.0)
        assert steadiness.held == {}


NUMBERS = {
    "battery_level": (50, 52),
    "storage_free": (50_000_000_000, 52_000_000_000),
    "time_left_s": (100, 120),
    "clock_offset_us": (0, 2_500_000),
}
"""Two values of each that differ by two steps or more."""


def read_one_after_the_other(*readings: CameraReading, every_s: float = 1.0) -> Steadiness:
    """What is known after these readings, each of which is told."""
    steadiness = Steadiness()
    for number, reading in enumerate(readings):
        steadiness = steadiness.read(reading, number * every_s)
    return steadiness


@pytest.mark.parametrize("name", OTHERS)
def test_that_a_value_is_said_and_not_said_by_turns_counts(name: str) -> None:
    unsaid = replace(READING, **{name: OTHERS[name][1]})
    assert list(read_one_after_the_other(*(READING, unsaid) * 6).held) == [name]
    assert read_one_after_the_other(*(READING, unsaid) * 6, every_s=6.0).held == {}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_said_is_remembered_for_a_minute(name: str) -> None:
    unsaid = replace(READING, **{name: OTHERS[name][1]})
    steadiness = Steadiness().read(READING, 0.0).read(unsaid, 59.9)
    assert steadiness.remembered(unsaid) == READING
    assert steadiness.read(unsaid, 60.0).remembered(unsaid) == unsaid


def recording(recorded_s: int | None) -> CameraReading:
    return replace(READING, recording=RecordingState.RECORDING, recorded_s=recorded_s)


@pytest.mark.parametrize("counts", [(9, 8), (5, 0), (9, None, 8, None), (3, 2, 1)])
def test_each_recording_that_begins_anew_is_two_changes(counts: tuple[int | None, ...]) -> None:
    readings = [recording(one) for one in counts]
    assert list(read_one_after_the_other(*readings * 7).held) == ["recording"]
    assert read_one_after_the_other(*readings * 7, every_s=12.0).held == {}


def test_a_camera_that_is_read_anew_may_say_its_values_one_after_the_other() -> None:
    steadiness = Steadiness().read(READING, 0.0)
    for number in range(20):
        for reading in (CameraReading(), replace(READING, recorded_s=None)):
            steadiness = steadiness.read(reading, number * 2.0)
        steadiness = steadiness.attached()
    assert steadiness.held == {}


def test_a_number_that_goes_on_as_it_went_is_told_at_once_ten_times_a_minute_and_never_held() -> None:
    steadiness, told_s = Steadiness().read(replace(READING, battery_level=100), 0.0), []
    for number in range(1, 100):
        steadiness = steadiness.read(replace(READING, battery_level=100 - number), number * 0.25)
        if steadiness.has_news:
            told_s.append(number * 0.25)
            steadiness = steadiness.published()
    assert told_s == [number * 0.25 for number in range(1, MOST_CHANGES + 2)]  # the first one counts
    assert steadiness.held == {}


def test_a_number_that_flickers_by_a_step_is_told_with_the_next_change() -> None:
    steadiness = Steadiness().read(replace(READING, battery_level=50), 0.0)
    steadiness = steadiness.read(replace(READING, battery_level=49), 1.0).published()
    back = steadiness.read(replace(READING, battery_level=50), 2.0)
    assert not back.has_news
    assert back.read(replace(READING, battery_level=51), 3.0).has_news


@pytest.mark.parametrize(("name", "values"), NUMBERS.items())
def test_a_number_that_turns_counts(name: str, values: tuple[Any, Any]) -> None:
    readings = [replace(READING, **{name: value}) for value in values]
    assert list(read_one_after_the_other(*readings * 6).held) == [name]
    assert read_one_after_the_other(*readings * 6, every_s=6.0).held == {}


def test_whether_it_is_held_changes_at_most_twice_a_minute() -> None:
    """Of a camera that changes a little too often, or nearly so."""
    for every_s in (5.0, 5.45, 5.9):
        steadiness, told = Steadiness().read(READING, 0.0), 0
        for number in range(1, 1000):
            value = 80 + number % 2 * 2
            after = steadiness.read(replace(READING, battery_level=value), number * every_s)
            told += bool(after.held) is not bool(steadiness.held)
            steadiness = after
        assert told <= 2 * 1000 * every_s / 60


def test_what_a_recording_counts_is_never_held() -> None:
    """A camera that is read every second while it records with 300 Mbit/s on a card of 16 GB."""
    steadiness = Steadiness()
    for second in range(400):
        reading = replace(
            READING,
            recording=RecordingState.RECORDING,
            storage_total=16_000_000_000,
            storage_free=16_000_000_000 - second * 37_500_000,
            time_left_s=430 - second,
            clock_offset_us=second % 2 * 900_000,
            recorded_s=second,
            recording_since_us=second % 3,
            battery_level=90 - second // 60,
        )
        steadiness = steadiness.read(reading, float(second))
        assert steadiness.held == {}


def test_what_commands_change_does_not_count_though_it_is_not_known_in_between() -> None:
    steadiness = Steadiness().read(READING, 0.0)
    for number in range(30):
        steadiness = steadiness.commanded()
        state = RecordingState.RECORDING if number % 2 == 0 else RecordingState.IDLE
        for said in (None, state):
            steadiness = steadiness.read(replace(READING, recording=said), number)
    assert steadiness.held == {}


def test_what_commands_change_does_not_count() -> None:
    steadiness = Steadiness().read(READING, 0.0)
    for number in range(30):
        steadiness = steadiness.commanded()
        state = RecordingState.RECORDING if number % 2 == 0 else RecordingState.IDLE
        steadiness = steadiness.read(replace(READING, recording=state), number)
        steadiness = steadiness.read(replace(READING, recording=state), number + 0.5)
    assert steadiness.held == {}
