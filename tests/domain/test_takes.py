"""Takes: which recordings belong together, and who is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.history import HistoryKind, HistoryRow
from wifimgrd.domain.recordings import ExpectedCamera, Recording
from wifimgrd.domain.takes import Take, TakeFilter, TakeReader, parse_take_filter

NOW_US = 1_800_000_000_000_000


@dataclass(frozen=True)
class Span:
    """A recording of a device, from a second to another one; None = it runs."""

    device: int
    began: int
    ended: int | None

    def runs_at(self, second: float) -> bool:
        return self.began <= second and (self.ended is None or second < self.ended)


@st.composite
def days(draw: st.DrawFn) -> list[Span]:
    """What up to four cameras record, in the order of the begins: no two turns in one second."""
    seconds = iter(draw(st.permutations(range(40))))
    spans: list[Span] = []
    for device in range(1, draw(st.integers(1, 4)) + 1):
        turns = sorted(next(seconds) for _ in range(draw(st.integers(1, 8))))
        ends: list[int | None] = [*turns[1::2], *([None] if len(turns) % 2 else [])]
        spans += [Span(device, began, ended) for began, ended in zip(turns[::2], ends, strict=True)]
    return sorted(spans, key=lambda one: one.began)


def row(number: int, span: Span, recording: Recording | None = None) -> HistoryRow:
    return HistoryRow(
        number,
        NOW_US + span.began,
        HistoryKind.RECORDING,
        DeviceId(span.device),
        f"Camera {span.device}",
        ended_us=0 if span.ended is None else NOW_US + span.ended,
        recording=recording,
    )


def rows(spans: list[Span]) -> list[HistoryRow]:
    """As the history makes them: the newest first, each with the id of the first one of its take."""
    made: list[HistoryRow] = []
    take = 0
    for number, span in enumerate(spans, 1):
        if not any(before.runs_at(span.began) for before in spans[: number - 1]):
            take = number
        made.append(row(number, span, Recording(take=take)))
    return made[::-1]


def rows_of_before(spans: list[Span]) -> list[HistoryRow]:
    """As earlier versions made them: when a recording had ended, and without more."""
    ended = [span for span in spans if span.ended is not None]
    ended.sort(key=lambda span: span.ended or 0)
    return [row(number, span) for number, span in enumerate(ended, 1)][::-1]


def moments(take: Take) -> tuple[int, float]:
    return take.time_us - NOW_US, take.ended_us - NOW_US if take.ended_us else float("inf")


def takes_of(given_rows: list[HistoryRow]) -> list[Take]:
    reader = TakeReader()
    return [*reader.add(given_rows), *reader.finish()]


ROWS = days().flatmap(lambda spans: st.sampled_from([rows(spans), rows_of_before(spans)]))


@given(ROWS)
def test_each_recording_is_in_exactly_one_take(given_rows: list[HistoryRow]) -> None:
    found = [one.id for take in takes_of(given_rows) for one in take.recordings]
    assert sorted(found) == sorted(one.id for one in given_rows)


@given(ROWS)
def test_takes_do_not_overlap_and_the_newest_come_first(given_rows: list[HistoryRow]) -> None:
    for newer, older in pairwise(takes_of(given_rows)):
        assert moments(older)[1] <= moments(newer)[0]


@given(days())
def test_something_is_recorded_all_the_time_in_a_take_and_nothing_beside_takes(spans: list[Span]) -> None:
    takes = list(map(moments, takes_of(rows(spans))))
    for second in range(42):
        is_recorded = any(span.runs_at(second + 0.5) for span in spans)
        assert is_recorded == any(began <= second + 0.5 < ended for began, ended in takes)


@given(ROWS)
def test_a_take_begins_with_its_first_recording_and_ends_with_its_last(given_rows: list[HistoryRow]) -> None:
    for take in takes_of(given_rows):
        assert take.time_us == take.recordings[0].time_us == min(one.time_us for one in take.recordings)
        runs = any(not one.ended_us for one in take.recordings)
        assert take.ended_us == (0 if runs else max(one.ended_us for one in take.recordings))


@given(ROWS, st.data())
def test_takes_are_the_same_however_many_rows_are_read_at_a_time(
    given_rows: list[HistoryRow], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(given_rows)))
    reader = TakeReader()
    parts = [*reader.add(given_rows[:cut]), *reader.add(given_rows[cut:]), *reader.finish()]
    assert parts == takes_of(given_rows)


@given(ROWS, st.integers(0, 41), st.integers(0, 41))
def test_a_filter_has_the_takes_of_a_span_of_time(
    given_rows: list[HistoryRow], since: int, until: int
) -> None:
    wanted = TakeFilter(NOW_US + since, NOW_US + until)
    takes = takes_of(given_rows)
    fitting = [take for take in takes if moments(take)[1] >= since and moments(take)[0] < until]
    assert [take for take in takes if wanted.fits(take)] == fitting
    assert all(TakeFilter().fits(take) for take in takes)


EXPECTED = (
    ExpectedCamera(DeviceId(1), "Nose"),
    ExpectedCamera(DeviceId(2), "Tail", "not-connected"),
    ExpectedCamera(DeviceId(3), "Left"),
)


def test_who_was_expected_and_has_no_recording_in_it_is_missing() -> None:
    first = row(5, Span(1, 0, 10), Recording(take=5, expected=EXPECTED))
    later = row(6, Span(3, 2, 8), Recording(take=5))
    [take] = takes_of([later, first])
    assert take.missing == (EXPECTED[1],)
    assert take.recordings == (first, later)


def test_a_row_whose_predecessors_were_deleted_is_a_take_of_its_own() -> None:
    of_deleted = row(7, Span(1, 50, 60), Recording(take=5))
    before = row(4, Span(1, 0, 10), Recording(take=3))
    assert [one.recordings for one in takes_of([of_deleted, before])] == [(of_deleted,), (before,)]


def test_takes_that_turned_out_to_be_one_are_one() -> None:
    first = row(1, Span(1, 0, 10), Recording(take=1))
    second = row(2, Span(2, 20, 30), Recording(take=2, joins=1))
    third = row(3, Span(3, 21, 25), Recording(take=2))
    found_late = row(4, Span(4, 5, 40), Recording(take=2))
    [take] = takes_of([found_late, third, second, first])
    assert [one.id for one in take.recordings] == [1, 4, 2, 3], "by their begins"
    assert moments(take) == (0, 40)


def test_a_take_in_which_the_clock_was_set_is_as_long_as_it_was() -> None:
    first = row(1, Span(1, 0, 10), Recording(take=1))
    set_us = 3_600_000_000
    later = row(2, Span(2, set_us + 5, set_us + 20), Recording(take=1, set_us=set_us))
    [take] = takes_of([later, first])
    assert moments(take) == (0, 20)


def test_recordings_at_the_same_times_by_a_clock_that_was_set_back_are_two_takes() -> None:
    takes = takes_of([row(2, Span(1, 5, 15), Recording(take=2)), row(1, Span(1, 0, 10), Recording(take=1))])
    assert [[one.id for one in take.recordings] for take in takes] == [[2], [1]]


def test_a_recording_of_an_earlier_version_is_no_part_of_a_later_take() -> None:
    takes = takes_of([row(2, Span(1, 5, 15), Recording(take=2)), row(1, Span(2, 0, 10))])
    assert [[one.id for one in take.recordings] for take in takes] == [[2], [1]]


def test_without_rows_there_is_no_take() -> None:
    assert takes_of([]) == []


def test_a_running_take_lasts_at_any_later_time() -> None:
    [take] = takes_of([row(1, Span(1, 0, None), Recording(take=1))])
    assert TakeFilter(since_us=NOW_US + 10**9).fits(take)
    assert not TakeFilter(until_us=NOW_US).fits(replace(take, ended_us=NOW_US + 1))


def test_a_filter_has_takes_before_a_row_of_an_id() -> None:
    assert parse_take_filter({"before": 7}).before == 7
    with pytest.raises(InvalidRequest):
        parse_take_filter({"before": 0})


def test_a_filter_has_its_defaults_and_limits() -> None:
    assert parse_take_filter({}) == TakeFilter(0, 0, 100)
    assert parse_take_filter({"since": 5, "until": 2**64 - 1, "limit": 1000, "other": "x"}) == TakeFilter(
        5, 2**64 - 1, 1000
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("limit", 0), ("limit", 1001), ("limit", "5"), ("limit", True), ("since", -1), ("until", 2**64)],
)
def test_a_filter_that_is_out_of_its_limits_is_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_take_filter({name: value})
    assert list(refused.value.fields) == [name]
