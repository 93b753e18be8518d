"""The history as rows: values, and the signal of a session so far. No clock, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from wifimgrd.domain import sentences
from wifimgrd.domain.camera import StopReason
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.recordings import Recording

DEFAULT_LIMIT: Final = 100
LARGEST_LIMIT: Final = 1000
LARGEST_ID: Final = 2**63 - 1
LARGEST_ANSWER: Final = 4 << 20
"""About so many bytes of rows are in one answer: of more than 32 MiB a message bus disconnects the sender."""
_ROW_SIZE: Final = 800
_FILE_SIZE: Final = 80
"""Bytes without its texts."""


class HistoryKind(StrEnum):
    """The subject of a row."""

    SESSION = "session"
    """A device was connected, from `time_us` to `ended_us`; code and message say why it ended."""
    INTERRUPTION = "interruption"
    """A link that dropped and came back in time, from `time_us` to `ended_us`; its session goes on."""
    FAILURE = "failure"
    """An attempt failed or was refused."""
    WAKE = "wake"
    """A sleeping camera was woken, or could not be."""
    RECORDING = "recording"
    """A camera records, or recorded, from `time_us` to `ended_us`, as far as that was seen; the code says why
    that ended."""
    PROBLEM = "problem"
    """Something was wrong with a camera, from `time_us` to `ended_us`; the code is one of `Problem`."""
    REFUSAL = "refusal"
    """A connected camera did not record, or stop, as it was told."""
    ADAPTER = "adapter"
    """An adapter came or went, or something was tried with one that does not work."""
    RECOVERY = "recovery"
    """A recovery step for a camera whose link was up and dead, from `time_us` to `ended_us`: the code is the
    step, the message says why, and what has come of it."""
    BACKEND = "backend"
    """The service that joins networks came or went."""


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One thing that happened."""

    id: int
    """Larger than that of any row before."""
    time_us: int
    """When it happened or began, microseconds since the epoch."""
    kind: HistoryKind
    device_id: DeviceId | None = None
    device_name: str = ""
    """The device's name then."""
    interface: str = ""
    code: str = ""
    message: str = ""
    """The code as a sentence."""
    ended_us: int = 0
    """When a session, an interruption, a recording, a problem or a recovery step ended; 0 while it lasts, and
    of other kinds."""
    signal_minimum: int | None = None
    """Percent."""
    signal_mean: int | None = None
    """Percent, weighted by time."""
    seen_us: int = 0
    """When a session, a recording, a problem or a recovery step that has not ended was last known to last."""
    interrupted_us: int = 0
    """Since when the link of a session that has not ended is interrupted; 0 while it is up."""
    recording: Recording | None = None
    """The other facts of a recording; None in rows of other kinds, and of earlier versions."""

    @property
    def subject(self) -> DeviceId | str:
        """The device that it is about, or else the interface: each has room for so many rows of a kind."""
        return self.interface if self.device_id is None else self.device_id


@dataclass(frozen=True, slots=True)
class SignalMean:
    """The signal of a session up to a moment."""

    percent: int
    since_us: int
    """By a clock that is never set, as all times here."""
    minimum: int
    weighted: int = 0
    """Percent times microseconds, before `since_us`."""
    passed_us: int = 0

    @classmethod
    def first(cls, percent: int, now_us: int) -> SignalMean:
        """A session begins."""
        return cls(percent, now_us, percent)

    def changed(self, percent: int, now_us: int) -> SignalMean:
        """Another strength from now on."""
        passed_us = max(0, now_us - self.since_us)
        return SignalMean(
            percent,
            now_us,
            min(self.minimum, percent),
            self.weighted + self.percent * passed_us,
            self.passed_us + passed_us,
        )

    def mean(self, now_us: int) -> int:
        """The mean from the beginning until now, weighted by time."""
        until = self.changed(self.percent, now_us)
        return round(until.weighted / until.passed_us) if until.passed_us else self.percent


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which rows somebody wants to read: the newest ones that fit."""

    device_id: DeviceId | None = None
    before: int | None = None
    """Only rows before the one with this id."""
    limit: int = DEFAULT_LIMIT
    kind: HistoryKind | None = None

    def fits(self, row: HistoryRow) -> bool:
        """Whether a row is one of those, the limit aside."""
        is_meant = self.device_id is None or row.device_id == self.device_id
        is_meant = is_meant and self.kind in (None, row.kind)
        return is_meant and (self.before is None or row.id < self.before)


def parse_filter(fields: Mapping[str, object]) -> HistoryFilter:
    """Check a filter; raises InvalidRequest. Unknown keys are ignored."""
    device_id = whole_number(fields, "device_id", 1, LARGEST_ID)
    return HistoryFilter(
        None if device_id is None else DeviceId(device_id),
        whole_number(fields, "before", 1, LARGEST_ID),
        whole_number(fields, "limit", 1, LARGEST_LIMIT) or DEFAULT_LIMIT,
    )


def whole_number(fields: Mapping[str, object], name: str, lowest: int, highest: int) -> int | None:
    """The value of a field of a filter; None if it is not given. Raises InvalidRequest."""
    if name not in fields:
        return None
    value = fields[name]
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        sentence = f"A whole number from {lowest} to {highest}."
        raise InvalidRequest(f"{name}: {sentence}", {name: (sentence,)})
    return value


def size_of(row: HistoryRow) -> int:
    """About how many bytes a row has in an answer on D-Bus, rather too many than too few."""
    files = row.recording.files or () if row.recording is not None else ()
    texts = (row.device_name, row.message, *(one.name for one in files))
    return _ROW_SIZE + _FILE_SIZE * len(files) + sum(len(text.encode("utf-8", "replace")) for text in texts)


def within(rows: Iterable[HistoryRow], size: int) -> list[HistoryRow]:
    """The first ones of some rows, at least one, that have about so many bytes together."""
    found: list[HistoryRow] = []
    for row in rows:
        size -= size_of(row)
        if found and size < 0:
            break
        found.append(row)
    return found


def ended_unseen(row: HistoryRow, message: str) -> HistoryRow:
    """A session that ended while the hub did not run: when it was last known to be up. One that was
    interrupted then keeps the reason of that."""
    ended_us = max(row.seen_us, row.time_us)
    return replace(row, ended_us=ended_us, interrupted_us=0, message=row.message or message)


def recording_ended_unseen(row: HistoryRow, message: str) -> HistoryRow:
    """A recording whose end did not reach the history: when it was last known to last."""
    ended_us = max(row.seen_us, row.time_us)
    return replace(row, ended_us=ended_us, seen_us=0, code=StopReason.UNKNOWN.value, message=message)


def problem_ended_unseen(row: HistoryRow) -> HistoryRow:
    """A problem whose end did not reach the history: when it was last known to last."""
    message = sentences.problem_ended_unseen(row.message)
    return replace(row, ended_us=max(row.seen_us, row.time_us), seen_us=0, message=message)


def without_expected(row: HistoryRow, device_id: DeviceId) -> HistoryRow:
    """A row without that a recording expected a device, whose history is deleted."""
    if row.recording is None or not row.recording.expected:
        return row
    others = tuple(one for one in row.recording.expected if one.device_id != device_id)
    return replace(row, recording=replace(row.recording, expected=others))
