"""The history: rows made of the hub's events, collected in memory and written seldom, to spare the flash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

import structlog

from wifimgrd.domain import sentences
from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.events import (
    AdapterRecovery,
    BackendChanged,
    ConnectionFailed,
    DeviceStateChanged,
    Event,
    InterfaceAdded,
    InterfaceRemoved,
    SignalChanged,
)
from wifimgrd.domain.history import HistoryFilter, HistoryKind, HistoryRow, Signal, ended_unseen
from wifimgrd.manager.state import Clock
from wifimgrd.ports import HistoryStore

_log = structlog.get_logger()

_WRITE_S: Final = 10.0
"""The least time between writes, and the time until a row is on disk, except when a session ends."""
_END_S: Final = 0.2
"""Sessions that end within this time are written together."""
_CHECKPOINT_S: Final = 300.0
"""The interval at which the duration of running sessions is written, if there are no other writes."""
_PENDING_LIMIT: Final = 2000
"""Rows in memory; beyond that the oldest that have not been written are dropped."""


@dataclass(slots=True)
class _Session:
    """A running session."""

    row: HistoryRow
    signal: Signal
    interrupted_us: int = 0
    """Since when its link is interrupted; 0 while it is up."""


class History:
    """An EventSink. Events before `start` are dropped: the sessions are then made of the hub's state."""

    def __init__(self, store: HistoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._next_id = store.next_id
        self._sessions: dict[DeviceId, _Session] = {}
        self._statuses: dict[DeviceId, DeviceStatus] = {}
        """Devices that are not DISCONNECTED, by the last event."""
        self._pending: dict[int, HistoryRow] = {}
        """Rows whose present values are not on disk, by id."""
        self._timer: asyncio.TimerHandle | None = None
        self._backend = ""
        self._name_of: Callable[[DeviceId], str] = str
        self._last_backend: tuple[str, str] | None = None
        self._started = False

    def start(
        self, backend: str, statuses: Iterable[DeviceStatus], name_of: Callable[[DeviceId], str]
    ) -> None:
        """Continue the sessions that outlived the hub, end the others, and accept events.

        `backend` is the name of the backend, `name_of` returns the name of a device.
        """
        self._backend = backend
        self._name_of = name_of
        self._started = True
        unended = {row.device_id: row for row in self._store.unended}
        for row in self._store.unended:
            if unended[row.device_id] is not row:
                self._put(ended_unseen(row, sentences.ended_while_stopped()))
        for status in statuses:
            if status.state is not DeviceState.CONNECTED:
                continue
            known = unended.pop(status.device.id, None)
            if known is not None and known.interface == status.interface:
                self._begin(status, known)
            else:
                if known is not None:
                    self._put(ended_unseen(known, sentences.ended_while_stopped()))
                self._begin(status)
        for row in unended.values():
            self._put(ended_unseen(row, sentences.ended_while_stopped()))
        self._write_later()

    async def read(self, wanted: HistoryFilter) -> list[HistoryRow]:
        """The newest rows that match, the newest first, including those that are not on disk yet."""
        now_us = self._clock()
        fresh = self._pending | {
            session.row.id: self._current(session, now_us) for session in self._sessions.values()
        }
        on_disk = await self._store.read(wanted)
        rows = {row.id: row for row in on_disk}
        lowest = on_disk[-1].id if len(on_disk) == wanted.limit else 0
        rows |= {row.id: row for row in fresh.values() if wanted.fits(row) and row.id >= lowest}
        newest = sorted(rows.values(), key=lambda row: row.id, reverse=True)
        return newest[: wanted.limit]

    def forget(self, device_id: DeviceId) -> None:
        """Delete the rows of a device that was removed."""
        self._sessions.pop(device_id, None)
        self._pending = {one: row for one, row in self._pending.items() if row.device_id != device_id}
        self._store.forget(device_id)

    async def stop(self) -> None:
        """Write the pending rows; sessions whose links stay up continue."""
        self._started = False
        self._write()
        await self._store.close()

    def publish(self, event: Event) -> None:
        """Process an event."""
        if not self._started:
            return
        match event:
            case DeviceStateChanged(status):
                self._moved(status)
            case SignalChanged(status):
                session = self._sessions.get(status.device.id)
                if session is not None and status.link is not None:
                    session.signal = session.signal.changed(status.link.signal_percent, self._clock())
            case ConnectionFailed(device_id, failure):
                if device_id not in self._sessions:
                    self._failed(device_id, failure.code, failure.message)
            case InterfaceAdded(status=added):
                adapter = added.interface.adapter
                message = sentences.adapter_plugged_in(adapter.name, adapter.usb_product)
                self._record(HistoryKind.ADAPTER, "plugged-in", message, interface=adapter.name)
            case InterfaceRemoved(name):
                self._record(
                    HistoryKind.ADAPTER, "unplugged", sentences.adapter_unplugged(name), interface=name
                )
            case AdapterRecovery(interface, step):
                message = sentences.adapter_recovery(interface, step.value)
                self._record(HistoryKind.ADAPTER, step.value, message, interface=interface)
            case BackendChanged(backend):
                known = (backend.state.value, backend.reason)
                if known != self._last_backend:
                    self._last_backend = known
                    self._record(
                        HistoryKind.BACKEND, known[0], sentences.backend_state(self._backend, *known)
                    )

    # -- sessions and failures

    def _moved(self, status: DeviceStatus) -> None:
        device_id = status.device.id
        session = self._sessions.get(device_id)
        if session is None and status.state is DeviceState.CONNECTED:
            self._begin(status)
        elif session is not None and status.state is DeviceState.CONNECTED:
            session.interrupted_us = 0
        elif session is not None and status.state is DeviceState.CONNECTING:
            session.interrupted_us = session.interrupted_us or self._clock()
        elif session is not None:
            del self._sessions[device_id]
            self._end(session, status)
        if status.state is DeviceState.DISCONNECTED:
            self._statuses.pop(device_id, None)
        else:
            self._statuses[device_id] = status

    def _begin(self, status: DeviceStatus, known: HistoryRow | None = None) -> None:
        now_us, device = self._clock(), status.device
        row = known or HistoryRow(
            self._new_id(),
            device.last_success_us or now_us,
            HistoryKind.SESSION,
            device.id,
            device.name,
            status.interface or "",
        )
        percent = status.link.signal_percent if status.link else 0
        signal = Signal.first(percent, now_us)
        if known is not None and known.signal_minimum is not None and known.signal_mean is not None:
            passed_us = max(0, known.seen_us - known.time_us)
            signal = replace(
                signal,
                minimum=min(percent, known.signal_minimum),
                weighted=known.signal_mean * passed_us,
                passed_us=passed_us,
            )
        self._sessions[device.id] = _Session(row, signal)
        self._statuses[device.id] = status
        self._put(row)

    def _end(self, session: _Session, status: DeviceStatus) -> None:
        """DISCONNECTING by a command, or DISCONNECTED because the link has ended."""
        now_us, failure = self._clock(), status.device.failure
        row = self._current(session, now_us)
        if failure is not None and status.state is DeviceState.DISCONNECTED:
            row = replace(row, code=failure.code.value, message=failure.message)
        else:
            row = replace(row, message=sentences.disconnected_by_command())
        row = replace(row, ended_us=max(session.interrupted_us or now_us, row.time_us), seen_us=0)
        self._put(row, soon=True)

    def _current(self, session: _Session, now_us: int) -> HistoryRow:
        """A session's row with its present values."""
        return replace(
            session.row,
            signal_minimum=session.signal.minimum,
            signal_mean=session.signal.mean(session.interrupted_us or now_us),
            seen_us=session.interrupted_us or now_us,
        )

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
    ) -> None:
        name = "" if device_id is None else self._name_of(device_id)
        self._put(HistoryRow(self._new_id(), self._clock(), kind, device_id, name, interface, code, message))

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _put(self, row: HistoryRow, *, soon: bool = False) -> None:
        self._pending[row.id] = row
        if len(self._pending) > _PENDING_LIMIT:
            del self._pending[next(iter(self._pending))]
        self._write_later(soon=soon)

    def _write_later(self, *, soon: bool = False) -> None:
        """Schedule a write after a time that depends on the rows; with `soon` almost at once."""
        if not self._pending and not self._sessions:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + (_END_S if soon else _WRITE_S if self._pending else _CHECKPOINT_S)
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._write)

    def _write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now_us = self._clock()
        for session in self._sessions.values():
            self._pending[session.row.id] = self._current(session, now_us)
        if self._pending:
            rows, self._pending = list(self._pending.values()), {}
            self._store.put(rows)
        if self._started:
            self._write_later()
