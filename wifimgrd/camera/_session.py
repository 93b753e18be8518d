"""The session of one attached camera: its connection, its reads, and commands, one after the other."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from wifimgrd.camera._clock_series import ClockSeries
from wifimgrd.camera._connection import Connection, ConnectionEnded, SessionLimits
from wifimgrd.camera._file_search import FileSearch
from wifimgrd.camera.conversations import Clock, converse, settle
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import (
    UNREADABLE,
    Answer,
    Conversation,
    HostTime,
    NetworkDriver,
    Nonsense,
    Push,
    Request,
    busy_recording,
)
from wifimgrd.domain.camera import CameraReading, CommandResult
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    CameraBusy,
    CameraRefused,
    DeviceNotFound,
    DeviceNotReachable,
    InterfaceLost,
    NotConnected,
    NotSupported,
    Unconfirmed,
    WifimgrdError,
)
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Backoff, Tasks

Report = Callable[[DeviceId, CameraReading], None]

_log = structlog.get_logger()
_T = TypeVar("_T")
_BROKE: Final = "the connection to the camera broke"
_LOST: Final = (DeviceNotReachable, InterfaceLost, NotConnected, DeviceNotFound, Nonsense, OSError)
"""After these a camera that was sent a command may have done it."""
_FRESH_US: Final = 2_000_000
"""A camera that was read before is read again before its files are searched for."""
_RESTART: Final = Backoff(first_s=1.0, last_s=60.0)
"""After a bug: sessions end their own failures."""


class _Ended(DeviceNotReachable):
    """The camera has ended a connection that was idle, or instead of an answer."""


@dataclass(eq=False)
class Attempt:
    """A command to one camera, beside those to others."""

    session: Session
    on: bool
    has_turn: bool = False
    """No other command to this camera is under way."""
    is_ready: bool = False
    """It waits for the others."""
    sent_s: float = 0.0
    """When its request was sent, by the loop's clock; the camera may have done it. 0 = it was not sent."""
    is_left_out: bool = False
    """It has not answered, and the others have not waited any longer."""

    @property
    def is_sent(self) -> bool:
        """Whether its request was sent."""
        return self.sent_s != 0

    def send(self) -> None:
        """Send the request of an attempt that is ready, at once."""
        if self.session.send_command():
            self.sent_s = asyncio.get_running_loop().time()


class Gate:
    """Where prepared attempts wait for the others."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        """Another attempt is ready, or has ended."""
        self._is_open = asyncio.Event()

    async def wait(self, attempt: Attempt) -> None:
        """Wait until the request was sent."""
        attempt.is_ready = True
        self.changed.set()
        await self._is_open.wait()

    def open(self, attempts: list[Attempt]) -> None:
        """Send the requests of all that are ready, one right after the other."""
        for attempt in attempts:
            if attempt.is_ready:
                attempt.send()
        self._is_open.set()


class Session:
    """Reads one camera's state until it is closed."""

    def __init__(
        self,
        device_id: DeviceId,
        driver: NetworkDriver,
        open_socket: Callable[[], Awaitable[socket.socket]],
        report: Report,
        tasks: Tasks,
        clock: Clock,
        steady: Clock,
        limits: SessionLimits,
    ) -> None:
        self.device_id = device_id
        self.tasks = tasks
        self.is_closed = False
        self._driver = driver
        self._open_socket = open_socket
        self._report = report
        self._clock = clock
        self._steady = steady
        self._limits = limits
        self._backoff = Backoff(limits.first_pause_s, limits.longest_pause_s)
        self._turn = asyncio.Lock()
        """Who speaks with the camera. It is fair, so commands to several cameras never wait in a circle."""
        self._connection: Connection | None = None
        self._has_begun = False
        self._failures = 0
        self._series = ClockSeries(
            driver, self._turn, self._connect, self._read_clock, self._fail, tasks, steady, limits
        )
        self._poked = asyncio.Event()
        self._search = FileSearch()
        self._command: Request | None = None
        self.is_commanded = False
        """A command to the camera is under way."""
        self.heard_s = 0.0
        """When it has last answered, by the loop's clock."""
        tasks.keep("read", self._run, _RESTART)

    def close(self) -> None:
        """End it: what runs is cancelled."""
        self.is_closed = True
        self.tasks.cancel()
        self._drop()

    # -- reading

    async def _run(self) -> None:
        while True:
            async with self._turn:
                await self._try_to_read()
            await self._until_due()

    async def _try_to_read(self) -> None:
        self._poked.clear()
        try:
            await self._begin()
            await self._converse(self._driver.read())
            self._driver.facts.update_clock(self._driver.clock, self._clock(), self._steady())
            self._publish()
            if self._series.is_due:
                await self._series.begin()
        except (WifimgrdError, Nonsense, OSError) as error:
            self._fail(error)
        else:
            self._succeed()

    async def _begin(self) -> None:
        if not self._has_begun:
            await self._connect()  # by which the driver knows the camera's address, before its first request
            await self._converse(self._driver.begin())
            self._has_begun = True

    async def _read_clock(self) -> bool:
        """Ask for the time once; false if the camera has no clock that can be read."""
        is_read = await self._converse(self._driver.read_clock(HostTime.at(self._clock()).offset_s))
        self._publish()
        return is_read

    async def _until_due(self) -> None:
        limits = self._limits
        period_s = limits.recording_s if self._driver.reading.is_recording else limits.idle_s
        if self._failures:
            period_s = self._backoff.pause_s(self._failures)
        await asyncio.sleep(min(limits.shortest_s, period_s))
        try:
            async with asyncio.timeout(max(0.0, period_s - limits.shortest_s)):
                await self._poked.wait()
        except TimeoutError:
            pass

    def _publish(self) -> None:
        if not self.is_closed and self._driver.reading.read_us:
            self._report(self.device_id, self._driver.reading)

    def _succeed(self) -> None:
        if self._failures:
            _log.info("camera_answers", device=self.device_id)
        self._failures = 0

    def _fail(self, error: Exception) -> None:
        self._drop()
        self._has_begun = False
        self._series.forget()
        self._failures += 1
        log = _log.info if self._failures == 1 else _log.debug
        log("camera_not_read", device=self.device_id, reason=str(error), failures=self._failures)

    # -- the connection

    async def _connect(self) -> Connection:
        if self._connection is not None and self._connection.is_usable:
            return self._connection
        self._drop()
        try:
            async with asyncio.timeout(self._limits.open_s):
                found = await self._open_socket()
        except TimeoutError:
            raise DeviceNotReachable("the camera does not take a connection") from None
        try:
            self._driver.host = _host_of(found)
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(self._new_connection, sock=found)
        except BaseException:
            found.close()
            raise
        self._connection = connection
        connection.open(self._driver.hello, self._driver.keep_alive)
        return connection

    def _new_connection(self) -> Connection:
        return Connection(
            self._driver.parser(), self._clock, self._steady, self._limits, self._pushed, self._ended
        )

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _pushed(self, push: Push | None) -> None:
        """Something that the camera has sent by itself, or that it has sent too much of that."""
        if push is None:
            self._driver.missed()
            self._poked.set()
            return
        if (after_s := self._driver.pushed(push, self._clock())) is not None:
            asyncio.get_running_loop().call_later(after_s, self._poked.set)
        self._publish()

    def _ended(self) -> None:
        """The connection has ended while nothing was asked: a camera that pushes is connected again."""
        if self._driver.keep_alive:
            self._poked.set()

    async def _converse(self, conversation: Conversation[_T]) -> _T:
        return await converse(conversation, self._exchange)

    async def _exchange(self, request: Request) -> Answer:
        """Send a request and wait for its answer; once more where the camera has ended a connection that was
        idle. Raises DeviceNotReachable, Nonsense, and what opening a socket raises."""
        connection = await self._connect()
        is_new = not connection.has_answered
        connection.send(request)
        try:
            return await self._answer(connection)
        except ConnectionEnded as ended:
            if is_new or ended.heard:
                raise DeviceNotReachable(str(ended)) from None
        return await self._exchange(request)

    async def _answer(self, connection: Connection) -> Answer:
        try:
            answer = await connection.answer()
        except TimeoutError:
            self._drop()
            raise DeviceNotReachable(f"no answer within {self._limits.answer_s:g} s") from None
        except BaseException:
            self._drop()
            raise
        self.heard_s = asyncio.get_running_loop().time()
        connection.has_answered = True
        if not connection.is_usable:
            self._drop()
        return answer

    # -- commands

    async def record(self, attempt: Attempt, gate: Gate) -> CommandResult:
        """Start or stop recording, when the gate opens."""
        self._search.give_way()
        async with self._turn:
            attempt.has_turn = self.is_commanded = True
            is_settled = False
            try:
                after_us = await self._record(attempt, gate)
                is_settled = True
            except (WifimgrdError, Nonsense, OSError) as error:
                is_settled = not isinstance(error, Unconfirmed)
                return CommandResult(error=self._failed(error))
            else:
                self._succeed()
                return CommandResult(after_us)
            finally:
                self.is_commanded = False
                if attempt.is_sent and not is_settled:  # what was read before says nothing now
                    self._driver.facts.has_recording(None, self._clock())
                self._publish()
                self._poked.set()

    async def _record(self, attempt: Attempt, gate: Gate) -> int:
        await self._begin()
        if await self._converse(self._driver.prepare(on=attempt.on)):
            return 0
        await self._connect()
        self._command = self._driver.command(on=attempt.on)
        await gate.wait(attempt)
        try:
            return await self._obeyed(attempt)
        except _Ended:  # the camera had ended an idle connection, and was seen not to have done it
            self._command = self._driver.command(on=attempt.on)
            return await self._obeyed(attempt, again=True)

    async def _obeyed(self, attempt: Attempt, *, again: bool = False) -> int:
        """Have a command carried out; returns the microseconds from its sending to the answer that says that
        it is done. If the answer is lost, the camera is read over another connection."""
        try:
            answer = await self._command_answer(attempt, again=again)
            return (await self._converse(self._driver.conclude(answer, on=attempt.on))).took_us
        except _LOST as error:
            if not attempt.is_sent:
                raise
            self._drop()
            return await settle(
                self._driver, self._exchange, error, on=attempt.on, sent_s=attempt.sent_s, lost=_LOST
            )

    def send_command(self) -> bool:
        """Send the command that is prepared, at once; false if the camera has ended the connection."""
        if self._command is None or self._connection is None or not self._connection.is_usable:
            return False
        self._connection.send(self._command)
        self._command = None
        return True

    async def _command_answer(self, attempt: Attempt, *, again: bool) -> Answer:
        """The answer to the command, which is sent now if it is not yet. Raises as `_exchange`, _Ended if the
        camera has ended a connection that was idle."""
        is_new = self._command is not None
        if is_new:
            await self._connect()
            attempt.send()
        if self._connection is None:
            raise DeviceNotReachable(_BROKE)
        try:
            return await self._answer(self._connection)
        except ConnectionEnded as ended:
            kind = DeviceNotReachable if is_new or again or ended.heard else _Ended
            raise kind(str(ended)) from None

    async def set_clock(self) -> None:
        """Set the camera's clock, and read it; raises the errors of commands, CameraBusy if it records, and
        CameraRefused if its clock is wrong afterwards."""
        async with self._command_turn():
            await self._converse(self._driver.read())  # it may have begun while this waited
            self._publish()
            if self._driver.reading.is_recording:
                raise busy_recording()
            await self._connect()
            try:
                await self._converse(self._driver.set_clock(HostTime.at(self._clock())))
            except NotSupported:
                raise
            except BaseException:
                self._forget_clock()
                raise
            self._forget_clock()
            try:
                await self._converse(self._driver.check_clock(HostTime.at(self._clock()).offset_s))
            finally:
                self._publish()
            self._series.go_on()

    def _forget_clock(self) -> None:
        """The camera's clock was set, or may have been."""
        self._series.forget()
        self._driver.facts.forget_clock()

    async def register_host(self, host: str) -> str:
        """Have the camera take commands over Bluetooth of the host with a UUID; returns the name that it
        advertises. Raises the errors of commands."""
        async with self._command_turn():
            return await self._converse(self._driver.register_host(host))

    async def recorded_files(self, recording: PastRecording) -> tuple[RecordedFile, ...] | None:
        """Find the files of a recording that has ended, unless a command comes; None if it is not certain
        which these are. Raises CameraBusy and DeviceNotReachable."""
        async with self._search.running(), self._turn:
            try:
                await self._begin()
                if not 0 <= self._clock() - self._driver.reading.read_us < _FRESH_US:
                    await self._converse(self._driver.read())  # it may have begun to record
                    self._publish()
                if self._driver.reading.is_recording is not False:
                    raise CameraBusy("the camera may record")
                files = await self._converse(self._driver.recorded_files(recording))
            except Nonsense:  # as a list that is too large: it is read over another connection
                self._drop()
                return None
            except (DeviceNotReachable, InterfaceLost, DeviceNotFound, OSError) as error:
                self._poked.set()  # a camera may be slow only with its list: whether it answers is read now
                raise DeviceNotReachable(str(error)) from None
            return self._search.found(files, recording)

    @asynccontextmanager
    async def _command_turn(self) -> AsyncIterator[None]:
        """The turn of a command; raises why it has failed."""
        self._search.give_way()
        async with self._turn:
            try:
                await self._begin()
                yield
            except (WifimgrdError, Nonsense, OSError) as error:
                raise self._failed(error) from None
            self._succeed()

    def _failed(self, error: Exception) -> WifimgrdError:
        """Why a command has failed, for clients; ends the connection if that is why."""
        match error:
            case InterfaceLost() | DeviceNotFound():
                told: WifimgrdError = NotConnected("the camera is no longer connected")
            case DeviceNotReachable() | Unconfirmed():
                told = error
            case WifimgrdError():
                return error
            case Nonsense():
                told = CameraRefused(UNREADABLE)
            case _:
                told = DeviceNotReachable(_BROKE)
        self._fail(error)
        return told


def _host_of(found: socket.socket) -> str:
    """The camera's address, as a Host field has it."""
    peer = found.getpeername()
    if isinstance(peer, tuple):
        return f"{peer[0]}:{peer[1]}" if peer[1] != 80 else str(peer[0])
    return "camera"
