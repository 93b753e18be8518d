"""Takes: the recordings of several cameras that belong together, made of rows of the history.

A take lasts from the begin of a recording while no other runs until none runs, and has all recordings of that
time. A row says which take it is of: the times of rows cannot always be compared, since the host's clock may
be set between them. Rows of earlier versions do not say it; among these, those that overlap are one take.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.history import DEFAULT_LIMIT, LARGEST_LIMIT, HistoryRow
from wifimgrd.domain.recordings import ExpectedCamera, Recording

_LATEST_US: Final = 2**64 - 1
_NOTHING: Final = Recording()


@dataclass(frozen=True, slots=True)
class Take:
    """One take."""

    recordings: tuple[HistoryRow, ...]
    """Those that began first come first; at least one."""
    missing: tuple[ExpectedCamera, ...]
    """The cameras that were expected to record when it began, and have no recording in it."""
    time_us: int
    """When the first recording began."""
    ended_us: int
    """When the last one ended, by the host's clock as it went at the begin; 0 while one runs."""


@dataclass(frozen=True, slots=True)
class TakeFilter:
    """Which takes somebody wants to read: the newest ones that fit."""

    since_us: int = 0
    """Only takes that lasted at that time or began later; 0 = all."""
    until_us: int = 0
    """Only takes that began before; 0 = all."""
    limit: int = DEFAULT_LIMIT

    def fits(self, take: Take) -> bool:
        """Whether a take is one of those, the limit aside."""
        has_begun = not self.until_us or take.time_us < self.until_us
        return has_begun and (not take.ended_us or take.ended_us >= self.since_us)


def parse_take_filter(fields: Mapping[str, object]) -> TakeFilter:
    """Check a filter; raises InvalidRequest. Unknown keys are ignored."""
    return TakeFilter(
        _number(fields, "since", 0, 0, _LATEST_US),
        _number(fields, "until", 0, 0, _LATEST_US),
        _number(fields, "limit", DEFAULT_LIMIT, 1, LARGEST_LIMIT),
    )


def _number(fields: Mapping[str, object], name: str, default: int, lowest: int, highest: int) -> int:
    value = fields.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        sentence = f"A whole number from {lowest} to {highest}."
        raise InvalidRequest(f"{name}: {sentence}", {name: (sentence,)})
    return value


@dataclass(slots=True)
class TakeReader:
    """Makes takes of rows of recordings, which are given in order, the newest first."""

    _rows: list[HistoryRow] = field(default_factory=list)
    """Those of the take of the row that was given last."""
    _take: int = 0
    """The id of the first row of that take; 0 = it is of an earlier version."""
    _began_us: int = 0
    """When that take began, as far as it was given."""

    def add(self, rows: Iterable[HistoryRow]) -> Iterator[Take]:
        """The takes that are complete, since the next row is of another one."""
        for row in rows:
            take = (row.recording or _NOTHING).take
            if not self._rows or not self._has(row, take):
                yield from self.finish()
                self._take, self._began_us = take, row.time_us
            elif row.id == self._take:
                self._take = take  # another one, if it was found later that both are one
            self._rows.append(row)
            self._began_us = min(self._began_us, row.time_us)

    def _has(self, row: HistoryRow, take: int) -> bool:
        """Whether a row is of the present take."""
        if not self._take:
            return not take and row.ended_us > self._began_us
        return self._take in (take, row.id)

    def finish(self) -> Iterator[Take]:
        """The last take: there are no more rows."""
        rows, self._rows = self._rows, []
        if rows:
            yield _take_of(rows[::-1])


def _take_of(rows: list[HistoryRow]) -> Take:
    """The take of some rows, in the order of their ids."""
    known = [row.recording or _NOTHING for row in rows]
    if not known[0].take:  # they have ids by their ends
        rows.sort(key=lambda row: row.time_us)
    both = list(zip(rows, known, strict=True))
    have_recorded = {row.device_id for row in rows}
    expected = {camera.device_id: camera for one in known for camera in one.expected}
    runs = any(not row.ended_us for row in rows)
    return Take(
        tuple(rows),
        tuple(camera for camera in expected.values() if camera.device_id not in have_recorded),
        min(row.time_us - one.set_us for row, one in both),
        0 if runs else max(row.ended_us - one.set_us for row, one in both),
    )


def takes_of(rows: Iterable[HistoryRow]) -> list[Take]:
    """The takes of rows of recordings, the newest first, as the rows are."""
    reader = TakeReader()
    return [*reader.add(rows), *reader.finish()]
