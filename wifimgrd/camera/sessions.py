"""Reads the state of connected cameras and commands them, over sockets that somebody else opens."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from wifimgrd.camera._connection import SessionLimits
from wifimgrd.camera._session import Attempt, Gate, Session
from wifimgrd.camera.conversations import UNCONFIRMED, Clock, steady_us
from wifimgrd.camera.drivers import driver_class
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.domain.camera import (
    COMMAND_OF_MANY_S,
    COMMAND_S,
    CameraDriver,
    CommandResult,
)
from wifimgrd.domain.camera_control import CameraControlListener, OpenCameraSocket
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import CameraBusy, DeviceNotReachable, NotConnected, Unconfirmed, WifimgrdError
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.kernel.bluetooth import host_uuid
from wifimgrd.runtime.tasks import Tasks

_T = TypeVar("_T")
_DRIVERS: Final = {driver: driver_class(driver) for driver in CameraDriver}
"""Read at the start, since the next version may be on disk later."""
_NOT_CONNECTED: Final = "the camera is not connected"
_DISCONNECTED: Final = "the camera was disconnected"
_OTHER_COMMAND: Final = "another command to this camera is under way"


class CameraSessions:
    """A session for each attached camera: the port `CameraControl`."""

    def __init__(
        self, tasks: Tasks, clock: Clock, limits: SessionLimits | None = None, *, steady: Clock = steady_us
    ) -> None:
        """`clock` is this host's, microseconds since the epoch; `steady` is one that nobody sets."""
        self._tasks = tasks
        self._clock = clock
        self._steady = steady
        self._limits = limits or SessionLimits()
        self._sessions: dict[DeviceId, Session] = {}
        self._listener: CameraControlListener | None = None
        self._open_socket: OpenCameraSocket | None = None

    async def start(self, listener: CameraControlListener, open_socket: OpenCameraSocket) -> None:
        """Nothing is read before `attach`."""
        self._listener, self._open_socket = listener, open_socket

    async def stop(self) -> None:
        """End everything, and close."""
        for device_id in list(self._sessions):
            self.detach(device_id)
        await self._tasks.stop()

    def attach(self, device_id: DeviceId, driver: CameraDriver) -> None:
        """Read a camera's state from now on; nothing is known of it."""
        if self._open_socket is None or self._listener is None:
            raise RuntimeError("attach before start")
        self.detach(device_id)
        self._sessions[device_id] = Session(
            device_id,
            _DRIVERS[driver](),
            partial(self._open_socket, device_id, driver.port),
            self._listener.camera_read,
            self._tasks.part(f"camera-{device_id}"),
            self._clock,
            self._steady,
            self._limits,
        )

    def detach(self, device_id: DeviceId) -> None:
        """End a session; commands that run end with NotConnected."""
        if (session := self._sessions.pop(device_id, None)) is not None:
            session.close()

    # -- commands

    async def record(self, device_ids: Sequence[DeviceId], *, on: bool) -> Mapping[DeviceId, CommandResult]:
        """Start or stop recording: all requests are prepared, then sent together; each has a result of its
        own. Never raises."""
        wanted = list(dict.fromkeys(device_ids))
        deadline_s = asyncio.get_running_loop().time() - self._limits.margin_s
        deadline_s += COMMAND_S if len(wanted) <= 1 else COMMAND_OF_MANY_S
        gate = Gate()
        runs: dict[DeviceId, tuple[Attempt, asyncio.Task[CommandResult]]] = {}
        for device_id in wanted:
            if (session := self._sessions.get(device_id)) is not None:
                attempt = Attempt(session, on)
                runs[device_id] = attempt, session.tasks.start("record", session.record(attempt, gate))
        try:
            await self._prepare(gate, list(runs.values()))
            attempts = [attempt for attempt, task in runs.values() if not task.done()]
            gate.open(attempts)
            running = []
            for attempt, task in runs.values():
                if attempt.is_ready and not task.done():
                    running.append(task)
                else:
                    task.cancel()  # too late: it must not record after it was told not to be ready
            if running:
                left_s = deadline_s - asyncio.get_running_loop().time()
                await asyncio.wait(running, timeout=max(0.0, left_s))
        finally:
            for _, task in runs.values():
                task.cancel()
        results = {device_id: self._result(*run) for device_id, run in runs.items()}
        missing = CommandResult(error=NotConnected(_NOT_CONNECTED))
        return {device_id: results.get(device_id, missing) for device_id in wanted}

    async def _prepare(self, gate: Gate, runs: Sequence[tuple[Attempt, asyncio.Task[CommandResult]]]) -> None:
        """Wait until each attempt is ready or has ended, or their time is over; that of cameras which do not
        answer is shorter if others are ready."""
        for _, task in runs:
            task.add_done_callback(lambda _: gate.changed.set())
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        deadline_s = began_s + self._limits.prepare_s
        while late := [attempt for attempt, task in runs if not (attempt.is_ready or task.done())]:
            until_s = deadline_s
            if any(attempt.is_ready for attempt, _ in runs):
                heard_s = max(began_s, *(attempt.session.heard_s for attempt in late))
                until_s = min(deadline_s, heard_s + self._limits.silent_s)
            if loop.time() >= until_s:
                for attempt in late:
                    attempt.is_left_out = until_s < deadline_s
                return
            gate.changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until_s):
                    await gate.changed.wait()

    def _result(self, attempt: Attempt, task: asyncio.Task[CommandResult]) -> CommandResult:
        if task.done() and not task.cancelled() and task.exception() is None:
            return task.result()
        error: WifimgrdError
        if attempt.is_sent:
            error = Unconfirmed(UNCONFIRMED)
        elif attempt.session.is_closed:
            error = NotConnected(_DISCONNECTED)
        elif not attempt.has_turn and attempt.session.is_commanded:
            error = CameraBusy(_OTHER_COMMAND)
        elif attempt.is_left_out:
            error = DeviceNotReachable(f"no answer within {self._limits.silent_s:g} s, and others were ready")
        elif not attempt.is_ready:
            error = DeviceNotReachable(f"the camera was not ready within {self._limits.prepare_s:g} s")
        else:
            error = DeviceNotReachable("the camera did not answer in time")
        return CommandResult(error=error)

    async def set_clock(self, device_id: DeviceId) -> None:
        """Set a camera's clock to this host's, with its time zone; raises the errors that `record` has, and
        NotSupported."""
        session = self._session(device_id)
        await self._in_time(session, "set-clock", session.set_clock())

    async def register_host(self, device_id: DeviceId) -> str:
        """Have a camera take commands over Bluetooth of this host; returns the name that it advertises.
        Raises the errors that `record` has, and NotSupported."""
        session = self._session(device_id)
        return await self._in_time(session, "register-host", session.register_host(host_uuid()))

    async def recorded_files(
        self, device_id: DeviceId, began_us: int, ended_us: int
    ) -> tuple[RecordedFile, ...] | None:
        """Find the files of a recording that has ended, on a camera that is idle; None if it is not certain
        which these are. Raises the errors that `record` has."""
        session = self._session(device_id)
        work = session.recorded_files(PastRecording(began_us, ended_us))
        return await self._in_time(session, "recorded-files", work)

    def _session(self, device_id: DeviceId) -> Session:
        if (session := self._sessions.get(device_id)) is None:
            raise NotConnected(_NOT_CONNECTED)
        return session

    async def _in_time(self, session: Session, name: str, work: Coroutine[Any, Any, _T]) -> _T:
        """The result of a command to one camera, which is given up when its time is over."""
        task = session.tasks.start(name, work, expected=(WifimgrdError,))
        try:
            await asyncio.wait({task}, timeout=COMMAND_S - self._limits.margin_s)
        finally:
            task.cancel()
        if task.done() and not task.cancelled():
            return task.result()
        raise NotConnected(_DISCONNECTED) if session.is_closed else DeviceNotReachable("no answer in time")
