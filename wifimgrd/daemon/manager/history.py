"""The history: rows made of the hub's events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from wifimgrd.daemon.manager._problem_history import ProblemHistory
from wifimgrd.daemon.manager._recording_history import RecordingHistory
from wifimgrd.daemon.manager._recovery_history import RecoveryHistory
from wifimgrd.daemon.manager._signal_history import SignalHistory
from wifimgrd.daemon.manager._state import Clock, Steady, loop_s
from wifimgrd.daemon.manager._takes import Takes
from wifimgrd.daemon.ports import HistoryStore
from wifimgrd.domain import sentences
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus, Failure
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.events import (
    AdapterRecovery,
    BackendChanged,
    ConnectionFailed,
    DeviceStateChanged,
    Event,
    InterfaceAdded,
    InterfaceRemoved,
    LinkStepEnded,
    LinkStepStarted,
    RecordingFailed,
    RecordingFiles,
    RecordingRefused,
    RecordingStarted,
    RecordingStopped,
    SignalChanged,
    WakeEnded,
)
from wifimgrd.domain.history import (
    LARGEST_ANSWER,
    HistoryFilter,
    HistoryKind,
    HistoryRow,
    SignalMean,
    ended_unseen,
    within,
)
from wifimgrd.domain.takes import without_device

_CHECKPOINT_S: Final = 300.0
"""The interval at which the duration of what lasts is written."""
_FIRST_CHECKPOINT_S: Final = 10.0
"""So long after a problem has begun that is written, in place of the next time: of a kill by then hardly more
than its begin would be known."""


@dataclass(slots=True)
class _Session:
    """A running session."""

    row: HistoryRow
    signal: SignalMean
    """Its times are of the clock that is never set."""
    noted: Clocks
    """When it began, or this hub did: its row has times of the host's clock of then."""
    interruption: Failure | None = None
    """Why and since when its link is interrupted; None while it is up."""
    interrupted: Clocks | None = None
    """When that was noted."""
    is_recovering: bool = False
    """A recovery step takes its link down, or has: that has a row of its own."""

    def current(self, now: Clocks) -> HistoryRow:
        """Its row with the present values."""
        seen_us = self.interruption.at_us if self.interruption else self.noted.time_of(now)
        return replace(
            self.row,
            signal_minimum=self.signal.minimum,
            signal_mean=self.signal.mean((self.interrupted or now).steady_us),
            seen_us=seen_us,
            interrupted_us=seen_us if self.interruption else 0,
        )

    def stored(self, now: Clocks) -> HistoryRow:
        """The same for the disk, with what ends the session if the hub does not outlive an interruption."""
        row, failure = self.current(now), self.interruption
        return replace(row, code=failure.code.value, message=failure.message) if failure else row


class History:
    """An EventSink. Events before `start` are dropped, except for the ends of recordings: what lasts is then
    made of the hub's state."""

    def __init__(self, store: HistoryStore, clock: Clock, steady_s: Steady = loop_s) -> None:
        self._steady_s = steady_s
        self._store = store
        self._clock = clock
        self._next_id = store.next_id
        self._sessions: dict[DeviceId, _Session] = {}
        self._statuses: dict[DeviceId, DeviceStatus] = {}
        """Devices that are not DISCONNECTED, by the last event."""
        self._checkpoint: asyncio.TimerHandle | None = None
        """Runs while there are rows without an end."""
        self._backend = ""
        self._name_of: Callable[[DeviceId], str] = str
        self._last_backend: tuple[str, str] | None = None
        self._started = False
        self._forgotten: set[DeviceId] = set()
        """The devices that were removed before `start`."""
        self.signals = SignalHistory(store, clock)
        """The signal and the battery of each device, also for clients."""
        self.takes = Takes(self._read)
        self.recordings = RecordingHistory(self._put, self._new_id, self._now)
        self._problems = ProblemHistory(self._put, self._new_id, self._now, self._check_soon)
        self._recoveries = RecoveryHistory(self._put, self._new_id, self._now)

    def keep_in(self, store: HistoryStore) -> None:
        """Keep the history in another store, before `start`."""
        self._store = store
        self._next_id = store.next_id
        self.signals.keep_in(store)
        for device_id in self._forgotten:
            store.forget(device_id)

    def start(
        self, backend: str, statuses: Iterable[DeviceStatus], name_of: Callable[[DeviceId], str]
    ) -> None:
        """Continue the sessions and recordings that outlived the hub, end what else lasted, and accept
        events.

        `backend` is the name of the backend, `name_of` returns the name of a device.
        """
        self._backend = backend
        self._name_of = name_of
        self._started = True
        statuses = list(statuses)
        recordings = self._store.last_recordings
        for device_id in self._forgotten:
            recordings = without_device(recordings, device_id)
        self.recordings.start(recordings, statuses)
        rows = [row for row in self._store.unended if row.device_id not in self._forgotten]
        self._forgotten.clear()
        self._problems.start((row for row in rows if row.kind is HistoryKind.PROBLEM), statuses)
        self._recoveries.start(row for row in rows if row.kind is HistoryKind.RECOVERY)
        sessions = [row for row in rows if row.kind is HistoryKind.SESSION]
        unended = {row.device_id: row for row in sessions}
        for row in sessions:
            if unended[row.device_id] is not row:
                self._put(ended_unseen(row, sentences.ended_while_stopped()))
        for status in statuses:
            if status.state is not DeviceState.CONNECTED and not status.is_interrupted:
                continue
            known = unended.pop(status.device.id, None)
            if known is not None and known.interface == status.interface:
                self._begin(status, known)
                continue
            if known is not None:
                self._put(ended_unseen(known, sentences.ended_while_stopped()))
            if status.state is DeviceState.CONNECTED:
                self._begin(status)
        for row in unended.values():
            self._put(ended_unseen(row, sentences.ended_while_stopped()))

    async def read(self, wanted: HistoryFilter) -> list[HistoryRow]:
        """The newest rows that match, the newest first, those that have no end with their present values. Not
        all where they are too many bytes for an answer."""
        return within(await self._read(wanted), LARGEST_ANSWER)

    async def _read(self, wanted: HistoryFilter) -> list[HistoryRow]:
        fresh = {row.id: row for row in self._unended(self._now())}
        on_disk = await self._store.read(wanted)
        rows = {row.id: row for row in on_disk}
        lowest = on_disk[-1].id if len(on_disk) == wanted.limit else 0
        rows |= {row.id: row for row in fresh.values() if wanted.fits(row) and row.id >= lowest}
        newest = sorted(rows.values(), key=lambda row: row.id, reverse=True)
        return newest[: wanted.limit]

    def _unended(self, now: Clocks) -> list[HistoryRow]:
        sessions = (session.current(now) for session in self._sessions.values())
        return [*sessions, *self._lasting(now)]

    def _lasting(self, now: Clocks) -> Iterator[HistoryRow]:
        """The rows without an end beside those of sessions, with the present time."""
        return chain(self.recordings.current(), self._problems.current(now), self._recoveries.current())

    def forget(self, device_id: DeviceId) -> None:
        """Delete the rows and the samples of a device that was removed."""
        self.signals.forget(device_id)
        self.recordings.forget(device_id)
        self._problems.forget(device_id)
        self._recoveries.forget(device_id)
        self._sessions.pop(device_id, None)
        self._store.forget(device_id)
        if not self._started:
            self._forgotten.add(device_id)

    async def stop(self) -> None:
        """Write how long the sessions and recordings have lasted; those that go on continue later."""
        self._started = False
        self.signals.stop()
        self.recordings.stop()
        self._write_unended()
        await self._store.close()

    def publish(self, event: Event) -> None:
        """Process an event."""
        if not self._started:
            self.recordings.happened_early(event)
            return
        self._problems.happened(event)
        match event:
            case DeviceStateChanged(status):
                self._moved(status)
            case SignalChanged(status):
                session = self._sessions.get(status.device.id)
                if session is not None and status.link is not None:
                    session.signal = session.signal.changed(status.link.signal_percent, self._now().steady_us)
            case ConnectionFailed(device_id, failure):
                if device_id not in self._sessions:
                    self._failed(device_id, failure.code, failure.message)
            case LinkStepStarted() | LinkStepEnded():
                self._of_step(event)
            case (
                WakeEnded()
                | RecordingStarted()
                | RecordingFailed()
                | RecordingRefused()
                | RecordingStopped()
                | RecordingFiles()
            ):
                self._of_camera(event)
            case InterfaceAdded() | InterfaceRemoved() | AdapterRecovery():
                self._of_adapter(event)
            case BackendChanged(backend):
                known = (backend.state.value, backend.reason)
                if known != self._last_backend:
                    self._last_backend = known
                    self._record(
                        HistoryKind.BACKEND, known[0], sentences.backend_state(self._backend, *known)
                    )

    def _of_adapter(self, event: InterfaceAdded | InterfaceRemoved | AdapterRecovery) -> None:
        match event:
            case InterfaceAdded(status=added):
                adapter = added.interface.adapter
                name, code = adapter.name, "plugged-in"
                message = sentences.adapter_plugged_in(name, adapter.usb_product)
            case InterfaceRemoved(name):
                step = self._recoveries.port_step(name)
                code, message = "unplugged", sentences.adapter_unplugged(name, step)
            case AdapterRecovery(name, taken):
                code, message = taken.value, sentences.adapter_recovery(name, taken.value)
        self._record(HistoryKind.ADAPTER, code, message, interface=name)

    def _of_step(self, event: LinkStepStarted | LinkStepEnded) -> None:
        if isinstance(event, LinkStepEnded):
            status = self._statuses.get(event.device_id)
            self._recoveries.ended(event, (status.interface or "") if status else "")
            return
        if (session := self._sessions.get(event.device_id)) is not None:
            session.is_recovering = True
        self._recoveries.started(event, self._name_of(event.device_id))

    def _of_camera(
        self,
        event: WakeEnded
        | RecordingStarted
        | RecordingFailed
        | RecordingRefused
        | RecordingStopped
        | RecordingFiles,
    ) -> None:
        match event:
            case WakeEnded(device_id, error):
                code, message = (error.code.value, error.message) if error else ("", sentences.woken())
                self._record(HistoryKind.WAKE, code, message, device_id=device_id)
            case RecordingRefused(device_id, on, refused, why):
                message = sentences.recording_refused(why, on=on)
                self._record(HistoryKind.REFUSAL, refused.value, message, device_id=device_id)
            case RecordingStarted():
                self.recordings.started(event)
            case RecordingFailed():
                self.recordings.failed(event)
            case RecordingStopped():
                self.recordings.stopped(event)
            case RecordingFiles():
                self.recordings.has_files(event)

    # -- sessions and failures

    def _moved(self, status: DeviceStatus) -> None:
        device_id = status.device.id
        session = self._sessions.get(device_id)
        if session is None and status.state is DeviceState.CONNECTED:
            self._begin(status)
        elif session is not None and status.state is DeviceState.CONNECTED:
            self._restored(session)
        elif session is not None and status.state is DeviceState.CONNECTING:
            if session.interruption is None:
                self._interrupted(session, status.device.failure)
        elif session is not None:
            del self._sessions[device_id]
            self._end(session, status)
        if status.state is DeviceState.DISCONNECTED:
            self._statuses.pop(device_id, None)
        else:
            self._statuses[device_id] = status

    def _begin(self, status: DeviceStatus, known: HistoryRow | None = None) -> None:
        now, device = self._now(), status.device
        row = known or HistoryRow(
            self._new_id(),
            device.last_success_us or now.host_us,
            HistoryKind.SESSION,
            device.id,
            device.name,
            status.interface or "",
        )
        percent = status.link.signal_percent if status.link else 0
        signal = SignalMean.first(percent, now.steady_us)
        if known is not None and known.signal_minimum is not None and known.signal_mean is not None:
            passed_us = max(0, known.seen_us - known.time_us)
            signal = replace(
                signal,
                minimum=min(percent, known.signal_minimum),
                weighted=known.signal_mean * passed_us,
                passed_us=passed_us,
            )
        session = _Session(replace(row, code="", message="", interrupted_us=0), signal, now)
        self._sessions[device.id] = session
        self._statuses[device.id] = status
        self._put(session.row)
        if status.is_interrupted and device.failure is not None:
            message = device.failure.message or row.message
            self._interrupted(session, replace(device.failure, message=message))
            since_us = row.interrupted_us or device.failure.at_us
            session.interruption = replace(device.failure, message=message, at_us=since_us)
            self._put(session.stored(now))
        elif row.interrupted_us:
            message = row.message or sentences.restored_while_stopped()
            session.interruption = Failure(ErrorCode.CONNECTION_LOST, message, row.interrupted_us)
            self._restored(session)

    def _interrupted(self, session: _Session, failure: Failure | None) -> None:
        """A link dropped and may come back: written now, in case the hub is killed meanwhile."""
        now = session.interrupted = self._now()
        at_us = session.noted.time_of(now)
        message = sentences.taken_down() if session.is_recovering else ""
        session.interruption = replace(failure or Failure(ErrorCode.CONNECTION_LOST, message), at_us=at_us)
        self._put(session.stored(now))

    def _restored(self, session: _Session) -> None:
        """A link came back, if it was interrupted, or a recovery step had taken it down."""
        failure, session.interruption, session.interrupted = session.interruption, None, None
        was_recovering, session.is_recovering = session.is_recovering, False
        if failure is not None and was_recovering:
            self._put(session.stored(self._now()))
        elif failure is not None:
            self._record(
                HistoryKind.INTERRUPTION,
                failure.code.value,
                failure.message,
                device_id=session.row.device_id,
                interface=session.row.interface,
                since_us=failure.at_us,
                ended_us=session.noted.time_of(self._now()),
            )
            self._put(session.stored(self._now()))  # it is no longer interrupted

    def _end(self, session: _Session, status: DeviceStatus) -> None:
        """DISCONNECTING by a command, or DISCONNECTED because the link has ended.

        A link that was interrupted had ended then, whatever followed.
        """
        failure = status.device.failure
        row = session.current(self._now())
        if status.state is not DeviceState.DISCONNECTED:
            failure = session.interruption
        if failure is not None:
            row = replace(row, code=failure.code.value, message=failure.message)
        else:
            row = replace(row, message=sentences.disconnected_by_command())
        row = replace(row, ended_us=max(row.seen_us, row.time_us), seen_us=0, interrupted_us=0)
        self._put(row)

    def _failed(self, device_id: DeviceId, code: ErrorCode, message: str) -> None:
        status = self._statuses.get(device_id)
        self._record(
            HistoryKind.FAILURE,
            code.value,
            message,
            device_id=device_id,
            interface=(status.interface or "") if status else "",
        )

    # -- rows

    def _record(
        self,
        kind: HistoryKind,
        code: str,
        message: str,
        *,
        device_id: DeviceId | None = None,
        interface: str = "",
        since_us: int = 0,
        ended_us: int = 0,
    ) -> None:
        """Something that happened now, or that began at `since_us` and has ended at `ended_us`."""
        name, now_us = "" if device_id is None else self._name_of(device_id), self._clock()
        row = HistoryRow(self._new_id(), now_us, kind, device_id, name, interface, code, message)
        self._put(
            replace(row, time_us=since_us, ended_us=max(ended_us or now_us, since_us)) if since_us else row
        )

    def _now(self) -> Clocks:
        return Clocks(self._clock(), self._steady_s())

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _put(self, row: HistoryRow) -> None:
        """Write a row, or a new value of one; the store gathers them."""
        self._store.put([row])
        self._check_later()

    def _check_later(self) -> None:
        lasts = self.recordings.any_runs or self._problems.any_lasts or self._recoveries.any_runs
        if self._started and self._checkpoint is None and (self._sessions or lasts):
            self._checkpoint = asyncio.get_running_loop().call_later(_CHECKPOINT_S, self._write_unended)

    def _check_soon(self) -> None:
        """A problem has begun. The interval begins anew with that, so that no more is written."""
        loop, due = asyncio.get_running_loop(), self._checkpoint
        if not self._started or (due is not None and due.when() <= loop.time() + _FIRST_CHECKPOINT_S):
            return
        if due is not None:
            due.cancel()
        self._checkpoint = loop.call_later(_FIRST_CHECKPOINT_S, self._write_unended)

    def _write_unended(self) -> None:
        """Write how long what has no end has lasted until now."""
        if self._checkpoint is not None:
            self._checkpoint.cancel()
            self._checkpoint = None
        now = self._now()
        sessions = (session.stored(now) for session in self._sessions.values())
        if rows := [*sessions, *self._lasting(now)]:
            self._store.put(rows)
            self._check_later()
