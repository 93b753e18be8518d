"""The rows of recordings: each from its begin on, and which of them are one take."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.domain import sentences
from wifimgrd.domain.camera import COMMAND_OF_MANY_S, EndSeen
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import DeviceId, DeviceStatus
from wifimgrd.domain.events import (
    Event,
    RecordingFailed,
    RecordingFiles,
    RecordingStarted,
    RecordingStopped,
)
from wifimgrd.domain.history import HistoryKind, HistoryRow, recording_ended_unseen, without_expected
from wifimgrd.domain.recordings import Recording, expected_cameras
from wifimgrd.domain.takes import follows, without_device

_FILES_S: Final = 30.0
"""How long a take that is over waits for the files of its recordings, before it is told."""
_COMMAND_US: Final = round(COMMAND_OF_MANY_S * 1e6)
"""A recording begins at most so long after the command to record, and so a take."""
_SURE_US: Final = 2_000_000
"""Cameras count whole seconds: a recording that began so shortly before the end of another may have begun
after it."""
_KEPT: Final = 256
"""Recordings that have ended and takes that are over, which may be changed: the newest ones."""


@dataclass(slots=True)
class _Recorded:
    """A recording, and when its row got its times: it has those of the host's clock of then."""

    row: HistoryRow
    noted: Clocks
    known_end: HistoryRow | None = None
    """The row with its end, which the hub did not store before it was killed."""

    @property
    def recording(self) -> Recording:
        return self.row.recording or Recording()

    def current(self, now: Clocks) -> HistoryRow:
        """Its row, if it has not ended, with the present time."""
        return replace(self.row, seen_us=self.noted.time_of(now))


@dataclass(slots=True)
class _Take:
    """A take that runs, or is over."""

    id: int
    """`Recording.take` of its next row."""
    began: Clocks
    commanded_us: int
    """No earlier command was to record in it, by the clock that is never set."""
    first: _Recorded | None
    """The oldest recording that it still has; None if that is not known."""
    ended: Clocks | None = None
    due: set[int] = field(default_factory=set)
    """The ids of the rows whose files are not known yet, and will be."""
    waiting: asyncio.TimerHandle | None = None
    """Until it is told without the files that are not known by then."""

    def lasted_at(self, steady_us: int) -> bool:
        """Whether it lasted at a moment, or began later."""
        return self.ended is None or steady_us < self.ended.steady_us - _SURE_US

    def may_be_commanded_at(self, steady_us: int) -> bool:
        """Whether a command of a moment may have been to record in it."""
        return self.commanded_us <= steady_us and (self.ended is None or steady_us <= self.ended.steady_us)

    def stop_waiting(self) -> None:
        """It is told, or goes on."""
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None


class RecordingHistory:
    """Makes the rows of recordings."""

    def __init__(
        self, put: Callable[[HistoryRow], None], new_id: Callable[[], int], now: Callable[[], Clocks]
    ) -> None:
        self._put = put
        self._new_id = new_id
        self._now = now
        self._running: dict[DeviceId, _Recorded] = {}
        self._ended: OrderedDict[tuple[DeviceId | None, int], _Recorded] = OrderedDict()
        """By device and begin."""
        self._takes: deque[_Take] = deque(maxlen=_KEPT)
        """Only the last one may run."""
        self._failures: dict[DeviceId, RecordingFailed] = {}
        """The last failed command to each camera."""
        self._early: OrderedDict[tuple[DeviceId | None, int], tuple[RecordingStopped, Clocks]] = OrderedDict()
        """The ends of recordings before `start`, and when they were told, by device and begin: of some there
        is a row."""
        self.take_over = Notice[int]()
        """A take is over, and the files of its recordings are known, or will not be: `Recording.take` of its
        last rows. Said again if a recording is found later that makes it last longer."""

    def start(self, known: Sequence[HistoryRow], statuses: Iterable[DeviceStatus]) -> None:
        """Go on with the recordings that outlived the hub, or began before the history; `known` are rows of
        the store, as its `last_recordings`."""
        ends, self._early = self._early, OrderedDict()
        rows, known = {row.device_id: row for row in known}, list(known)
        statuses = list(statuses)
        began = {one.device.id: one for one in statuses if one.device.recording_began_us}
        for at, row in enumerate(known):
            status = began.get(row.device_id) if row.device_id is not None else None
            is_last = rows[row.device_id] is row
            if is_last and status is not None and status.device.recording_began_us == row.time_us:
                self._go_on(status.device.id, row, known)
                del began[status.device.id]
            elif is_last and row.device_id is not None and (row.device_id, row.time_us) in ends:
                self._go_on(row.device_id, row, known)
            elif not row.ended_us:
                known[at] = recording_ended_unseen(row, sentences.recording_ended_unrecorded())
                self._put(known[at])
        for device_id, recorded in list(self._running.items()):
            if (end := ends.get((device_id, recorded.row.time_us))) is not None:
                self.stopped(*end)
        expected = expected_cameras(one.device for one in statuses if one.camera is not None)
        for status in sorted(began.values(), key=lambda one: one.device.recording_began_us):
            camera, device = status.camera, status.device
            serial_number = camera.reading.serial_number if camera is not None else ""
            recording = Recording(serial_number, expected=expected)
            self._begin(device.id, device.name, device.recording_began_us, recording)

    def happened_early(self, event: Event) -> None:
        """Keep an event from before `start`, if it is the end of a recording."""
        if not isinstance(event, RecordingStopped):
            return
        self._early[event.device_id, event.since_us] = event, self._now()
        if len(self._early) > _KEPT:
            self._early.popitem(last=False)

    def stop(self) -> None:
        """Wait for no more files."""
        for take in self._takes:
            take.stop_waiting()

    @property
    def any_runs(self) -> bool:
        """Whether a recording has not ended."""
        return bool(self._running)

    def current(self) -> Iterator[HistoryRow]:
        """The rows of the recordings that run, with the present time."""
        now = self._now()
        return (one.current(now) for one in self._running.values())

    def forget(self, device_id: DeviceId) -> None:
        """The rows of a device are deleted."""
        firsts = [take.first for take in self._takes if take.first is not None]
        known = {one.row.id: one for one in (*firsts, *self._ended.values(), *self._running.values())}
        rows = [known[row_id].row for row_id in sorted(known)]
        kept = without_device(rows, device_id)
        for row in kept:
            self._change(known[row.id], row)
        gone = {row.id for row in rows if row.device_id == device_id}
        for take in self._takes:
            if take.first is not None and (first := take.first.row).device_id == device_id:
                take.first = next((known[row.id] for row in kept if follows(row, first)), None)
            take.due -= gone
        self._running.pop(device_id, None)
        self._failures.pop(device_id, None)
        for key in [key for key in self._ended if key[0] == device_id]:
            del self._ended[key]
        self._over_if_none_runs(self._now())

    # -- events

    def started(self, event: RecordingStarted) -> None:
        """A recording has begun."""
        if (before := self._running.pop(event.device_id, None)) is not None:
            row = before.current(self._now())
            self._change(before, recording_ended_unseen(row, sentences.recording_ended_unrecorded()))
            self._over_if_none_runs(self._now())
        self._begin(event.device_id, event.device_name, event.since_us, event.recording)

    def failed(self, event: RecordingFailed) -> None:
        """A camera has not done a command to record, which others may have done, or will."""
        at_us = event.commanded.steady_us
        self._failures = {
            device_id: one
            for device_id, one in self._failures.items()
            if one.commanded.steady_us > at_us - _COMMAND_US
        }
        self._failures[event.device_id] = event
        for take in self._takes:
            if take.may_be_commanded_at(at_us):
                self._note_failures(take)

    def stopped(self, event: RecordingStopped, told: Clocks | None = None) -> None:
        """A recording has ended, which was told at a time; None = now."""
        recorded = self._running.pop(event.device_id, None)
        if recorded is None:  # its row was deleted
            recorded = self._begin(event.device_id, event.device_name, event.since_us, Recording())
            del self._running[event.device_id]
        known, is_late = recorded.recording, event.seen is EndSeen.LATER
        row = replace(
            recorded.row,
            ended_us=max(event.ended_us or self._now().host_us, recorded.row.time_us),
            seen_us=0,
            code=event.reason.value,
            message=sentences.recording_ended(event.reason, event.seen, event.link_error),
            recording=replace(
                known,
                serial_number=known.serial_number or event.serial_number,
                battery_level_after=None if is_late else event.battery_level,
                storage_free_after=None if is_late else event.storage_free,
            ),
        )
        if recorded.known_end is not None and event.seen is not EndSeen.DIRECTLY:
            row = recorded.known_end
        self._change(recorded, row)
        self._ended[event.device_id, row.time_us] = recorded
        if len(self._ended) > _KEPT:
            self._ended.popitem(last=False)
        if event.seen is EndSeen.NEVER and self._takes:
            self._takes[-1].due.discard(row.id)
        self._over_if_none_runs(told or self._now())

    def has_files(self, event: RecordingFiles) -> None:
        """The files of a recording are known, or will not be; it may not be told yet that it has ended."""
        recorded = self._running.get(event.device_id)
        if recorded is None or recorded.row.time_us != event.since_us:
            recorded = self._ended.get((event.device_id, event.since_us))
        if recorded is None:
            return
        recording = replace(recorded.recording, files=event.files)
        self._change(recorded, replace(recorded.row, recording=recording))
        for take in self._takes:
            if recorded.row.id in take.due:
                take.due.discard(recorded.row.id)
                if take.ended is not None and not take.due:
                    self._tell(take)

    # -- takes

    def _go_on(self, device_id: DeviceId, row: HistoryRow, known: Sequence[HistoryRow]) -> None:
        """A recording outlived the hub, as far as the hub knows. The first one of its take is among `known`
        rows, if it is still kept."""
        known_end = row if row.ended_us else None
        row = replace(row, ended_us=0, seen_us=max(row.seen_us, row.ended_us), code="", message="")
        recorded = self._running[device_id] = _Recorded(row, self._now(), known_end)
        if not self._takes:
            take_id = recorded.recording.take or row.id
            first = next((one for one in known if (one.recording or Recording()).take == take_id), row)
            is_first = first.id == row.id
            self._add_take(
                take_id, recorded.noted, recorded if is_first else _Recorded(first, recorded.noted)
            )
        self._takes[-1].due.add(row.id)
        self._put(row)

    def _begin(self, device_id: DeviceId, name: str, since_us: int, recording: Recording) -> _Recorded:
        """A recording has a row from now on."""
        now, row_id = self._now(), self._new_id()
        take = self._take_at(now.steady_us - max(0, now.host_us - since_us))
        is_first = take is None
        if take is None:
            recording = replace(recording, take=row_id)
        else:
            began = take.began
            set_us = now.host_us - began.time_of(now)
            recording = replace(recording, take=take.id, set_us=set_us, expected=())
        row = HistoryRow(
            row_id, since_us, HistoryKind.RECORDING, device_id, name, seen_us=now.host_us, recording=recording
        )
        recorded = self._running[device_id] = _Recorded(row, now)
        if take is None:
            take = self._add_take(row_id, now, recorded)
        take.due.add(row_id)
        if take.first is not None:
            self._change(take.first, without_expected(take.first.row, device_id))
        self._put(recorded.row)
        if is_first:
            self._note_failures(take)
        return recorded

    def _add_take(self, take_id: int, began: Clocks, first: _Recorded) -> _Take:
        commanded_us = began.steady_us - _COMMAND_US
        if self._takes and (ended := self._takes[-1].ended) is not None:
            commanded_us = max(commanded_us, ended.steady_us + 1)
        take = _Take(take_id, began, commanded_us, first)
        self._takes.append(take)
        return take

    def _take_at(self, began_us: int) -> _Take | None:
        """The take of a recording that has begun; None if no other ran then. It may have begun while others
        ran that have ended since: then all that followed is one take."""
        lasting = [take for take in self._takes if take.lasted_at(began_us)]
        if not lasting:
            return None
        take, *later = lasting
        for one in later:
            if one.first is not None:
                joined = replace(one.first.recording, joins=take.id)
                self._change(one.first, replace(one.first.row, recording=joined))
                take.id = one.id
            take.due |= one.due
            one.stop_waiting()
            self._takes.remove(one)
        take.ended = None
        take.stop_waiting()
        return take

    def _note_failures(self, take: _Take) -> None:
        """Keep the codes of the commands that failed at cameras that are expected, and do not record."""
        if take.first is None:
            return
        codes = {
            device_id: one.code.value
            for device_id, one in self._failures.items()
            if take.may_be_commanded_at(one.commanded.steady_us)
        }
        known = take.first.recording
        expected = tuple(
            replace(camera, code=codes.get(camera.device_id, camera.code)) for camera in known.expected
        )
        self._change(take.first, replace(take.first.row, recording=replace(known, expected=expected)))

    def _over_if_none_runs(self, ended: Clocks) -> None:
        if not self._takes or self._running or self._takes[-1].ended is not None:
            return
        take = self._takes[-1]
        take.ended = ended
        if not take.due:
            self._tell(take)
        else:
            take.waiting = asyncio.get_running_loop().call_later(_FILES_S, self._tell, take)

    def _tell(self, take: _Take) -> None:
        take.stop_waiting()
        take.due.clear()
        self.take_over.notify(take.id)

    def _change(self, recorded: _Recorded, row: HistoryRow) -> None:
        """Write another value of a row, if it is another one."""
        if row != recorded.row:
            recorded.row = row
            self._put(row if row.ended_us else recorded.current(self._now()))
