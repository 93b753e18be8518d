"""Which moments are those of a recording that has ended."""

from __future__ import annotations

import pytest

from wifimgrd.camera.drivers.past_recording import PastRecording

S = 1_000_000
PAST = PastRecording(1000 * S, 1600 * S)


@pytest.mark.parametrize(
    ("moment_s", "began", "ran"),
    [(994, False, False), (995, True, True), (1005, True, True), (1006, False, True), (1600, False, True),
     (1601, False, False)],
)  # fmt: skip
def test_a_file_is_created_at_its_begin_or_while_it_runs(moment_s: int, began: bool, ran: bool) -> None:
    assert PAST.began_at(moment_s * S) is began
    assert PAST.ran_at(moment_s * S) is ran


def test_one_that_was_very_short_has_a_file_of_a_few_seconds_later() -> None:
    past = PastRecording(1000 * S, 1001 * S)
    assert past.ran_at(1004 * S)
    assert not past.is_before(1004 * S)
    assert past.is_before(1006 * S)


@pytest.mark.parametrize(
    ("moment_s", "ended"), [(1000, False), (1584, False), (1585, True), (1605, True), (1606, False)]
)
def test_a_camera_says_that_it_has_stopped_shortly_before_that_is_seen(moment_s: int, ended: bool) -> None:
    assert PAST.ended_at(moment_s * S) is ended


@pytest.mark.parametrize(
    ("seconds", "lasted"), [(594, False), (595, True), (605, True), (606, False), (None, False)]
)
def test_a_file_of_its_length_is_the_whole_of_it(seconds: int | None, lasted: bool) -> None:
    assert PAST.lasted(seconds) is lasted
