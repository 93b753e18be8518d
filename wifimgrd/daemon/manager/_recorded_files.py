"""The files of recordings that have ended: each camera is asked for them once, while it is idle."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final

import structlog

from wifimgrd.daemon.manager._camera import Camera
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.domain.camera import EndSeen, RecordingState
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.events import RecordingFiles, RecordingStopped
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_TRIES: Final = 2
"""The second one is for a camera that was commanded, has begun to record, or had not finished its files."""
_MOST_WAITING: Final = 4
"""Recordings of one camera that was not idle since: of older ones it is not known."""
_AT_ONCE: Final = 4
"""Cameras that are asked: each may send a list of all that is on its card."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """A recording that has ended, and was told so."""

    since_us: int
    """When it began, as clients were told."""
    noted: Clocks
    """When it was first seen."""
    ended: Clocks
    """When it was seen to have ended."""

    def span_us(self, now: Clocks) -> tuple[int, int]:
        """Its begin and its end, by the host's clock as it goes now: that may have been set meanwhile."""
        since_noted_us = now.steady_us - self.noted.steady_us
        age_us = since_noted_us + self.noted.host_us - self.since_us
        return now.host_us - age_us, now.host_us - (now.steady_us - self.ended.steady_us)


class RecordedFiles:
    """Publishes RecordingFiles exactly once for each recording whose end was seen and told."""

    def __init__(self, state: HubState, control: CameraControl, tasks: Tasks) -> None:
        self._state = state
        self._control = control
        self._tasks = tasks
        self._waiting: dict[DeviceId, deque[_Ended]] = {}
        """Those that are not published yet, the oldest first."""
        self._asking: dict[DeviceId, asyncio.Task[None]] = {}
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def ended(self, entry: DeviceEntry, camera: Camera, over: RecordingStopped) -> None:
        """A recording of a camera has ended, which is published before anything else happens."""
        if over.seen is EndSeen.NEVER:
            return
        device_id, waiting = entry.device.id, self._waiting.setdefault(entry.device.id, deque())
        waiting.append(_Ended(over.since_us, camera.noted, self._state.clocks()))
        if device_id not in self._asking:
            self._asking[device_id] = self._tasks.start("recorded-files", self._ask(device_id, camera))

    def gone(self, device_id: DeviceId) -> None:
        """A camera is no longer connected: the files of its recordings are not known."""
        if (asking := self._asking.pop(device_id, None)) is not None:
            asking.cancel()
        for one in self._waiting.pop(device_id, ()):
            self._tell(device_id, one, None)

    def stop(self) -> None:
        """Ask no camera from now on."""
        for device_id in list(self._waiting):
            self.gone(device_id)

    async def _ask(self, device_id: DeviceId, camera: Camera) -> None:
        """Ask a camera for the files of each recording that waits."""
        waiting = self._waiting[device_id]
        while waiting:
            files = await self._found(device_id, camera, waiting[0])
            self._tell(device_id, waiting.popleft(), files)
        del self._waiting[device_id], self._asking[device_id]

    async def _found(
        self, device_id: DeviceId, camera: Camera, one: _Ended
    ) -> tuple[RecordedFile, ...] | None:
        tries = 0
        while tries < _TRIES:
            while self._must_wait(device_id, camera):
                await self._next_read(camera)
            async with self._turns:
                if self._must_wait(device_id, camera):
                    continue
                if not camera.is_attached or self._are_too_many(device_id):
                    return None
                tries += 1
                try:
                    span_us = one.span_us(self._state.clocks())
                    return await self._control.recorded_files(device_id, *span_us)
                except WifimgrdError as error:
                    _log.debug("files_not_found", device=device_id, code=error.code, reason=error.message)
            if tries < _TRIES:
                await self._next_read(camera)
        return None

    def _must_wait(self, device_id: DeviceId, camera: Camera) -> bool:
        """Whether a camera is not known to be idle, and will be asked once it is."""
        is_idle = camera.reading.recording is RecordingState.IDLE
        return camera.is_attached and not is_idle and not self._are_too_many(device_id)

    def _are_too_many(self, device_id: DeviceId) -> bool:
        return len(self._waiting[device_id]) > _MOST_WAITING

    @staticmethod
    async def _next_read(camera: Camera) -> None:
        """Wait until a camera was read."""
        read: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        camera.reads.append(read)
        await read

    def _tell(self, device_id: DeviceId, one: _Ended, files: tuple[RecordedFile, ...] | None) -> None:
        known = None if files is None else len(files)
        _log.debug("recorded_files", device=device_id, files=known)
        self._state.publish(RecordingFiles(device_id, one.since_us, files))
