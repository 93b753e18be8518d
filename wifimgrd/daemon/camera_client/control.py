"""The state of connected cameras and their commands, by the process `wifimgrd-camera`.

The bus starts it when the first camera is attached. It has no network: it says which connection to which
camera it wants, and gets it from here. Cameras that are attached are attached again after its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, OwnerChange, Signal
from wifimgrd.bus.values import typed
from wifimgrd.daemon.camera_client._process import NO_ANSWER, CameraProcess, unanswered
from wifimgrd.daemon.camera_client._results import Result, command_result
from wifimgrd.domain.camera import COMMAND_OF_MANY_S, COMMAND_S, CameraDriver, CommandResult
from wifimgrd.domain.camera_control import CameraControlListener, OpenCameraSocket
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    BackendUnavailable,
    InvalidRequest,
    NotConnected,
    ServiceRefused,
    Unconfirmed,
    WifimgrdError,
)
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Backoff, Kept, Tasks
from wifimgrd.wire import camera_calls as calls
from wifimgrd.wire import camera_names as names
from wifimgrd.wire import recorded_files
from wifimgrd.wire.camera_readings import decode
from wifimgrd.wire.private_calls import Member

_log = structlog.get_logger()

_BACKOFF: Final = Backoff(first_s=1.0, last_s=60.0, reset_s=60.0)
_START_S: Final = 3.0
"""How long a command waits for the process to start."""
_ATTACH_S: Final = 25.0
_ANSWER_S: Final = 10.0
_NOT_CONNECTED: Final = "the camera is not connected"


@dataclass(frozen=True, eq=False, slots=True)
class _Attachment:
    """A camera that is attached, until it is detached: two of one camera are not equal."""

    driver: CameraDriver


class ProcessControl:
    """Implements `CameraControl` of the domain."""

    def __init__(self, connection: BusConnection, tasks: Tasks, backoff: Backoff = _BACKOFF) -> None:
        """`connection` must support passing sockets."""
        self._connection = connection
        self._tasks = tasks
        self._backoff = backoff
        self._process = CameraProcess(connection)
        self._listener: CameraControlListener | None = None
        self._open_socket: OpenCameraSocket | None = None
        self._wanted: dict[DeviceId, _Attachment] = {}
        self._in_process: dict[DeviceId, _Attachment] = {}
        """The cameras that the process has attached."""
        self._changed = asyncio.Event()
        """Set if the two may differ."""
        self._is_tried = asyncio.Event()
        """Set once all was attached, or was tried in vain."""
        self._has_ended = False
        """Whether a process that had cameras has ended."""
        self._failure: WifimgrdError | None = None
        """Why nothing can be attached now."""
        self._attaching: Kept | None = None
        self._opening: dict[asyncio.Task[None], DeviceId] = {}
        """The sockets that are being opened."""

    async def start(self, listener: CameraControlListener, open_socket: OpenCameraSocket) -> None:
        """See CameraControl.start."""
        self._listener, self._open_socket = listener, open_socket
        try:
            await self._process.watch_running(self._process_changed)
            await self._process.watch(calls.SOCKET_WANTED.name, self._socket_wanted)
            await self._process.watch(calls.CAMERA_READ.name, self._camera_read)
        except (BusError, BusClosed, TimeoutError) as error:
            _log.warning("cameras_not_watched", reason=str(error))
        self._attaching = self._tasks.keep(
            "attach", self._keep_attached, self._backoff, expected=(WifimgrdError,)
        )

    async def stop(self) -> None:
        """See CameraControl.stop. The process detaches all cameras when the daemon leaves the bus."""
        self._listener = None
        await self._tasks.stop()

    # -- what is attached

    def attach(self, device_id: DeviceId, driver: CameraDriver) -> None:
        """See CameraControl.attach."""
        self._wanted[device_id] = _Attachment(driver)
        self._differ()
        if self._failure is not None and self._attaching is not None:
            self._attaching.retry_now()

    def detach(self, device_id: DeviceId) -> None:
        """See CameraControl.detach."""
        if self._wanted.pop(device_id, None) is not None:
            for task, of_device in list(self._opening.items()):
                if of_device == device_id:
                    task.cancel()
            self._differ()

    def _differ(self) -> None:
        self._changed.set()
        if self._failure is None:
            self._is_tried.clear()

    def _process_changed(self, change: OwnerChange) -> None:
        if change.before and self._in_process:
            self._in_process.clear()
            self._has_ended = True
            self._differ()

    async def _keep_attached(self) -> None:
        """Attach and detach in the process what was here; raises BackendUnavailable if it does not answer,
        and when it has ended."""
        try:
            while True:
                self._changed.clear()
                await self._update()
                if not self._changed.is_set():
                    self._failure = None
                    self._is_tried.set()
                await self._changed.wait()
        except WifimgrdError as error:
            self._failure = error
            self._is_tried.set()
            raise

    async def _update(self) -> None:
        if self._has_ended:
            self._has_ended = False
            if self._wanted:
                raise BackendUnavailable("wifimgrd-camera has ended")
        for device_id, attached in list(self._in_process.items()):
            if self._wanted.get(device_id) is not attached:
                body = [int(device_id)]
                await self._process.carry_out(calls.DETACH, body, _ANSWER_S, BackendUnavailable)
                self._in_process.pop(device_id, None)  # only now: without an answer it is asked once more
        for device_id, attachment in list(self._wanted.items()):
            if self._wanted.get(device_id) is attachment and device_id not in self._in_process:
                await self._attach(device_id, attachment)

    async def _attach(self, device_id: DeviceId, attachment: _Attachment) -> None:
        def attached(_: list[object]) -> None:
            """Before a reading that follows is heard."""
            self._in_process[device_id] = attachment

        try:
            body = [int(device_id), attachment.driver.value]
            await self._process.carry_out(calls.ATTACH, body, _ATTACH_S, BackendUnavailable, attached)
        except InvalidRequest as error:  # a process of another version; its other cameras are not affected
            _log.error("camera_not_attached", device=int(device_id), reason=error.message)
            attached([])

    # -- sockets that the process wants

    def _socket_wanted(self, signal: Signal) -> None:
        with suppress(BusError):
            serial, device, port = typed(tuple[int, int, int], signal.body)
            device_id = DeviceId(device)
            of_this_camera = list(self._opening.values()).count(device_id)
            if of_this_camera >= names.MOST_WANTED_OF_ONE or len(self._opening) >= names.MOST_WANTED:
                _log.debug("socket_not_opened", device=device, reason="too many are being opened")
                return
            # To the process that asked, not to one that comes after it and counts from 1, too.
            task = self._tasks.start("open-socket", self._open(signal.sender, serial, device_id, port))
            self._opening[task] = device_id
            task.add_done_callback(self._opening.pop)

    async def _open(self, process: str, serial: int, device_id: DeviceId, port: int) -> None:
        attachment, open_socket = self._wanted.get(device_id), self._open_socket
        try:
            if attachment is None or open_socket is None:
                raise NotConnected(_NOT_CONNECTED)
            if port != attachment.driver.port:  # not asked for by the process as it was installed
                raise InvalidRequest(f"the driver {attachment.driver} does not use port {port}")
            opened = await open_socket(device_id, port)
        except WifimgrdError as error:
            code = names.PORT_REFUSED if isinstance(error, ServiceRefused) else error.code.value
            await self._answer(process, calls.REFUSE_SOCKET, [serial, code, error.message])
            return
        if self._wanted.get(device_id) is attachment:
            await self._answer(process, calls.GIVE_SOCKET, [serial, opened])
        else:
            opened.close()

    async def _answer(self, process: str, method: Member, body: Sequence[object]) -> None:
        try:
            await self._connection.call(
                *(process, calls.PATH, calls.BUS_NAME, method.name, method.signature),
                *(body, _ANSWER_S),
                auto_start=False,
            )
        except (BusError, BusClosed, TimeoutError) as error:  # it waits no longer, or has ended
            _log.debug("socket_not_wanted", reason=str(error))

    # -- what cameras say

    def _camera_read(self, signal: Signal) -> None:
        with suppress(BusError):
            device, values = typed(tuple[int, dict[str, object]], signal.body)
            device_id = DeviceId(device)
            attachment = self._in_process.get(device_id)
            if attachment is None or self._wanted.get(device_id) is not attachment or self._listener is None:
                return
            self._listener.camera_read(device_id, decode(values))

    # -- commands

    async def record(self, device_ids: Sequence[DeviceId], *, on: bool) -> Mapping[DeviceId, CommandResult]:
        """See CameraControl.record."""
        limit_s = COMMAND_S if len(device_ids) == 1 else COMMAND_OF_MANY_S
        asked = [one for one in device_ids if one in self._wanted]
        found: dict[DeviceId, CommandResult] = {}
        if asked:
            try:
                body = [[int(one) for one in asked], on]
                why = unanswered(BackendUnavailable)
                reply = await self._command(asked, calls.RECORD, body, limit_s, why)
                [rows] = typed(tuple[list[Result]], reply)
                found = _results(rows)
            except BackendUnavailable as error:  # they were not commanded
                found = {one: CommandResult(error=error) for one in asked}
            except (WifimgrdError, BusError):
                found = {}
        no_answer = CommandResult(error=Unconfirmed(NO_ANSWER))
        not_connected = CommandResult(error=NotConnected(_NOT_CONNECTED))
        return {one: found.get(one, no_answer) if one in asked else not_connected for one in device_ids}

    async def set_clock(self, device_id: DeviceId) -> None:
        """See CameraControl.set_clock."""
        if device_id not in self._wanted:
            raise NotConnected(_NOT_CONNECTED)
        await self._command([device_id], calls.SET_CLOCK, [int(device_id)], COMMAND_S)

    async def register_host(self, device_id: DeviceId) -> str:
        """See CameraControl.register_host."""
        if device_id not in self._wanted:
            raise NotConnected(_NOT_CONNECTED)
        reply = await self._command([device_id], calls.REGISTER_HOST, [int(device_id)], COMMAND_S)
        [name] = typed(tuple[str], reply)
        return name

    async def recorded_files(
        self, device_id: DeviceId, began_us: int, ended_us: int
    ) -> tuple[RecordedFile, ...] | None:
        """See CameraControl.recorded_files."""
        if device_id not in self._wanted:
            raise NotConnected(_NOT_CONNECTED)
        body = [int(device_id), max(0, began_us), max(0, ended_us)]
        reply = await self._command([device_id], calls.RECORDED_FILES, body, COMMAND_S)
        try:
            return recorded_files.decode(*typed(tuple[bool, list[tuple[str, int]]], reply))
        except BusError:
            return None

    async def _command(
        self,
        device_ids: Collection[DeviceId],
        method: Member,
        body: Sequence[object],
        limit_s: float,
        unavailable: Callable[[str], WifimgrdError] = BackendUnavailable,
    ) -> list[object]:
        """Call the process once it has these cameras; it is not started for that. Raises BackendUnavailable
        if it was not called, and `unavailable` if it has not answered."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + limit_s
        if not self._are_attached(device_ids):
            with suppress(TimeoutError):
                async with asyncio.timeout(_START_S):
                    await self._is_tried.wait()
            if not self._are_attached(device_ids):
                raise BackendUnavailable(self._failure.message if self._failure is not None else NO_ANSWER)
        left_s = end_s - loop.time()
        return await self._process.carry_out(method, body, left_s, unavailable)

    def _are_attached(self, device_ids: Collection[DeviceId]) -> bool:
        return all(self._in_process.get(one) is self._wanted.get(one) for one in device_ids)


def _results(rows: Sequence[Result]) -> dict[DeviceId, CommandResult]:
    """By camera; a row without one, or without a code, says nothing."""
    return {DeviceId(row["device"]): command_result(row) for row in rows if "device" in row and "code" in row}
