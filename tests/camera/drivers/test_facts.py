"""What is known of a camera, and since when it records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wifimgrd.camera.drivers._facts import Facts
from wifimgrd.domain.camera import CameraReading, RecordingState, StopReason

RECORDING, IDLE = RecordingState.RECORDING, RecordingState.IDLE
T = 1_800_000_000_000_000
S = 1_000_000


@pytest.fixture
def facts() -> Facts:
    return Facts()


def test_what_was_known_of_another_camera_is_forgotten(facts: Facts) -> None:
    facts.identify("X4", "A", "v1")
    facts.reading = replace(facts.reading, battery_level=50)
    facts.identify("X4", "A", "v2")
    assert facts.reading.battery_level == 50
    facts.identify("", "", "")
    assert (facts.reading.serial_number, facts.reading.battery_level) == ("A", 50)
    facts.identify("X4", "B", "v1")
    assert facts.reading == CameraReading(model="X4", serial_number="B", firmware_version="v1")


def test_without_the_camera_s_seconds_a_recording_began_when_it_was_seen(facts: Facts) -> None:
    facts.has_recording(RECORDING, T)
    facts.has_recording(RECORDING, T + 9 * S)
    assert facts.reading.recording_since_us == T


def test_the_begin_is_the_first_sight_less_the_seconds_counted_then(facts: Facts) -> None:
    facts.has_recording(RECORDING, T, 8)
    assert (facts.reading.recording_since_us, facts.reading.recorded_s) == (T - 8 * S, 8)


def test_a_count_that_is_slower_than_the_clock_does_not_move_the_begin(facts: Facts) -> None:
    """A time lapse counts the seconds of its video."""
    for second in range(0, 60, 2):
        facts.has_recording(RECORDING, T + second * S, second // 15)
        assert (facts.reading.recording_since_us, facts.reading.recorded_s) == (T, second // 15)


def test_a_count_that_stands_still_does_not_move_the_begin(facts: Facts) -> None:
    """It is paused."""
    for second in range(0, 40, 2):
        facts.has_recording(RECORDING, T + second * S, 5)
        assert facts.reading.recording_since_us == T - 5 * S


def test_a_clock_of_the_host_that_is_set_does_not_move_the_begin(facts: Facts) -> None:
    facts.has_recording(RECORDING, T, 5)
    for jump in (86_400 * S, -86_400 * S):
        facts.has_recording(RECORDING, T + jump, 7)
        assert facts.reading.recording_since_us == T - 5 * S


def test_a_count_that_goes_back_is_another_recording(facts: Facts) -> None:
    facts.has_recording(RECORDING, T, 90)
    facts.has_recording(RECORDING, T + 10 * S, 4)
    assert (facts.reading.recording_since_us, facts.reading.recorded_s) == (T + 6 * S, 4)


def test_a_recording_that_is_not_told_for_a_while_is_the_same_one(facts: Facts) -> None:
    facts.has_recording(RECORDING, T, 5)
    facts.has_recording(None, T + S)
    assert (facts.reading.recording, facts.reading.recording_since_us) == (None, None)
    assert facts.reading.recorded_s is None
    facts.has_recording(RECORDING, T + 60 * S, 9)
    assert facts.reading.recording_since_us == T - 5 * S


def test_a_recording_after_one_that_was_seen_to_end_has_a_begin_of_its_own(facts: Facts) -> None:
    facts.has_recording(RECORDING, T, 5)
    facts.has_recording(IDLE, T + S)
    facts.has_recording(RECORDING, T + 60 * S, 50)
    assert facts.reading.recording_since_us == T + 10 * S


def test_a_cause_is_taken_from_the_end_until_10_s_after_it(facts: Facts) -> None:
    facts.may_have_stopped_for(StopReason.FULL, T)
    assert facts.reading.stop_reason is None
    facts.has_recording(RECORDING, T)
    facts.may_have_stopped_for(StopReason.FULL, T)
    assert facts.reading.stop_reason is None
    facts.has_recording(IDLE, T + S)
    facts.may_have_stopped_for(StopReason.FULL, T + 12 * S)
    assert facts.reading.stop_reason is None
    facts.may_have_stopped_for(StopReason.FULL, T + 11 * S)
    facts.may_have_stopped_for(StopReason.TOO_HOT, T + 11 * S)
    assert facts.reading.stop_reason is StopReason.FULL
    facts.has_recording(RECORDING, T + 20 * S)
    assert facts.reading.stop_reason is None


def test_what_the_camera_has_said_counts(facts: Facts) -> None:
    facts.has_recording(RECORDING, T)
    facts.has_recording(IDLE, T + S)
    facts.stopped_for(StopReason.SLOW_CARD)
    facts.may_have_stopped_for(StopReason.FULL, T + 2 * S)
    facts.stopped_for(None)
    assert facts.reading.stop_reason is StopReason.SLOW_CARD
