"""Takes: the recordings of several cameras that belong together, made of rows of the history.

A take lasts from the begin of a recording while no other runs until none runs, and has all recordings of that
time. A row says which take it is of: the times of rows cannot always be compared, since the host's clock may
be set between them. Rows of earlier versions do not say it; among these, those that overlap are one take.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.history import (
    DEFAULT_LIMIT,
    LARGEST_ID,
    LARGEST_LIMIT,
    HistoryRow,
    size_of,
    whole_number,
    within,
    without_expected,
)
from wifimgrd.domain.recordings import ExpectedCamera, Recording

_LATEST_US: Final = 2**64 - 1
_NOTHING: Final = Recording()
_MISSING_SIZE: Final = 150
"""Bytes of a missing camera, without its name."""


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

    def has_rows_of(self, take_id: int) -> bool:
        """Whether rows of it name an id as that of their take."""
        return any((row.recording or _NOTHING).take == take_id for row in self.recordings)

    @property
    def size(self) -> int:
        """About how many bytes it has in an answer on D-Bus."""
        return sum(map(size_of, self.recordings)) + sum(map(_size_of_missing, self.missing))

    def within(self, size: int) -> Take:
        """A take of at most about so many bytes: this one, without its oldest recordings if it has more, and
        without the files of the last one if that has more. Missing cameras have at most half of them."""
        if self.size <= size:
            return self
        missing = self.missing[: size // 2 // max(map(_size_of_missing, self.missing), default=1)]
        left = size - sum(map(_size_of_missing, missing))
        rows = within(reversed(self.recordings), left)
        if len(rows) == 1 and size_of(rows[0]) > left:
            rows = [replace(rows[0], recording=replace(rows[0].recording or _NOTHING, files=None))]
        return replace(self, recordings=tuple(reversed(rows)), missing=missing)


@dataclass(frozen=True, slots=True)
class TakeFilter:
    """Which takes somebody wants to read: the newest ones that fit."""

    since_us: int = 0
    """Only takes that lasted at that time or began later; 0 = all."""
    until_us: int = 0
    """Only takes that began before; 0 = all."""
    limit: int = DEFAULT_LIMIT
    before: int | None = None
    """Only takes whose rows are before the one with this id."""

    def fits(self, take: Take) -> bool:
        """Whether a take is one of those, the limit aside."""
        has_begun = not self.until_us or take.time_us < self.until_us
        return has_begun and not self.is_before(take)

    def is_before(self, take: Take) -> bool:
        """Whether a take had ended before those that are wanted."""
        return bool(take.ended_us) and take.ended_us < self.since_us


def parse_take_filter(fields: Mapping[str, object]) -> TakeFilter:
    """Check a filter; raises InvalidRequest. Unknown keys are ignored."""
    return TakeFilter(
        whole_number(fields, "since", 0, _LATEST_US) or 0,
        whole_number(fields, "until", 0, _LATEST_US) or 0,
        whole_number(fields, "limit", 1, LARGEST_LIMIT) or DEFAULT_LIMIT,
        whole_number(fields, "before", 1, LARGEST_ID),
    )


@dataclass(slots=True)
class TakeReader:
    """Makes takes of rows of recordings, which are given in order, the newest first."""

    _rows: list[HistoryRow] = field(default_factory=list)
    """Those of the take of the row that was given last."""
    _ids: set[int] = field(default_factory=set)
    """The ids by which its rows name that take; none if it is of an earlier version."""
    _began_us: int = 0
    """When that take began, as far as it was given."""

    def add(self, rows: Iterable[HistoryRow]) -> Iterator[Take]:
        """The takes that are complete, since the next row is of another one."""
        for row in rows:
            known = row.recording or _NOTHING
            if not self._rows or not self._has(row, known.take):
                yield from self.finish()
                self._ids, self._began_us = {known.take} - {0}, row.time_us
            if known.joins:
                self._ids.add(known.joins)
            self._rows.append(row)
            self._began_us = min(self._began_us, row.time_us)

    def _has(self, row: HistoryRow, take: int) -> bool:
        """Whether a row is of the present take."""
        if not self._ids:
            return not take and row.ended_us > self._began_us
        return take in self._ids

    def finish(self) -> Iterator[Take]:
        """The last take: there are no more rows."""
        rows, self._rows = self._rows, []
        if rows:
            yield _take_of(rows[::-1])


def _take_of(rows: list[HistoryRow]) -> Take:
    """The take of some rows, in the order of their ids."""
    both = [(row, row.recording or _NOTHING) for row in rows]
    both.sort(key=lambda pair: pair[0].time_us - pair[1].set_us)
    have_recorded = {row.device_id for row in rows}
    expected = {camera.device_id: camera for _, one in both for camera in one.expected}
    runs = any(not row.ended_us for row in rows)
    return Take(
        tuple(row for row, _ in both),
        tuple(camera for camera in expected.values() if camera.device_id not in have_recorded),
        min(row.time_us - one.set_us for row, one in both),
        0 if runs else max(row.ended_us - one.set_us for row, one in both),
    )


def without_device(rows: Sequence[HistoryRow], device_id: DeviceId) -> list[HistoryRow]:
    """Rows of recordings, the oldest first, when the history of a device is deleted: others go on with what
    the oldest row of a take says of all of it."""
    kept = [row for row in rows if row.device_id != device_id]
    for gone in rows:
        if gone.device_id == device_id:
            at = next((at for at, row in enumerate(kept) if follows(row, gone)), None)
            if at is not None:
                kept[at] = in_place_of(kept[at], gone)
    return [without_expected(row, device_id) for row in kept]


def follows(row: HistoryRow, gone: HistoryRow) -> bool:
    """Whether a row that comes after another one is of the same take."""
    known, take = row.recording or _NOTHING, (gone.recording or _NOTHING).take
    return row.id > gone.id and bool(take) and take in (known.take, known.joins)


def in_place_of(row: HistoryRow, gone: HistoryRow) -> HistoryRow:
    """A row with what another one, which is deleted, says of all of their take."""
    known, before = row.recording or _NOTHING, gone.recording or _NOTHING
    expected = {
        one.device_id: one for one in (*before.expected, *known.expected) if one.device_id != row.device_id
    }
    joins = before.joins or known.joins
    return replace(row, recording=replace(known, expected=tuple(expected.values()), joins=joins))


def _size_of_missing(camera: ExpectedCamera) -> int:
    return _MISSING_SIZE + len(camera.device_name.encode("utf-8", "replace"))
