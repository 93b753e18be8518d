"""What connected cameras say of themselves, and the commands to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from wifimgrd.domain import sentences
from wifimgrd.domain.camera import (
    COMMAND_OF_MANY_S,
    COMMAND_S,
    DIFFERS_S,
    SILENT_S,
    CameraCommand,
    CameraReading,
    CameraStatus,
    CommandResult,
    RecordingState,
    Wish,
    ended,
    problems_of,
    stop_reason,
)
from wifimgrd.domain.camera_model import Control
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import (
    NotConnected,
    NotSupported,
    WifimgrdError,
)
from wifimgrd.domain.events import CameraChanged, RecordingStopped
from wifimgrd.manager._camera import Camera, cancel, log_failure, log_problems, may_be_done
from wifimgrd.manager._camera_clocks import CameraClocks
from wifimgrd.manager._entry import DeviceEntry
from wifimgrd.manager._over_bluetooth import OverBluetooth
from wifimgrd.manager._state import HubState
from wifimgrd.ports import CameraControl, HostClock, OpenCameraSocket
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_READ_S: Final = 2.0
"""How long a command waits, after its answer, until the camera is seen to do what it was told."""
_MARGIN_S: Final = 0.5
"""By how much a command over Bluetooth ends before its caller's limit."""
_Send = Callable[..., Awaitable[Mapping[DeviceId, CommandResult]]]
"""Sends a command to cameras by their ids, `on` or not; never raises the errors of the tree."""
_AGAIN_S: Final = 30.0
"""The time between two commands to a camera that should record and does not."""


class Cameras:
    """The cameras that the hub has a driver for; implements `CameraControlListener`."""

    def __init__(
        self,
        state: HubState,
        control: CameraControl,
        clock: HostClock,
        over_bluetooth: OverBluetooth,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._over_bluetooth = over_bluetooth
        self._control = control
        self._clocks = CameraClocks(state, control, clock)
        self._tasks = tasks
        self._cameras: dict[DeviceId, Camera] = {}

    async def start(self, open_socket: OpenCameraSocket) -> None:
        """Be ready for the first connected camera; `open_socket` leads to its services."""
        await self._control.start(self, open_socket)

    async def stop(self) -> None:
        """End all; cameras go on with what they do."""
        for camera in self._cameras.values():
            cancel(camera.timer)
            cancel(camera.silence)
        await self._tasks.stop()
        await self._control.stop()

    # -- links

    def connected(self, entry: DeviceEntry) -> None:
        """A device is connected: read it from now on."""
        control = self._state.model(entry.device).control
        if control is None:
            return
        camera = self._camera(entry, control)
        camera.is_attached, camera.is_clock_due, camera.has_been_read = True, True, False
        self._control.attach(entry.device.id, camera.driver)

    def _camera(self, entry: DeviceEntry, control: Control) -> Camera:
        camera = self._cameras.get(entry.device.id)
        if camera is None:
            wish = Wish(records=entry.device.recording_requested)
            camera = self._cameras[entry.device.id] = Camera(control.driver, wish=wish)
        return camera

    def model_changed(self, entry: DeviceEntry) -> None:
        """A device may have another model than before, which is not published yet."""
        camera, control = self._cameras.get(entry.device.id), self._state.model(entry.device).control
        if (camera and camera.driver) is (control and control.driver):
            return
        self.link_ended(entry)
        self.removed(entry)
        entry.camera = CameraStatus(requested=entry.device.recording_requested)
        if entry.state is DeviceState.CONNECTED:
            self.connected(entry)

    def link_ended(self, entry: DeviceEntry) -> None:
        """A device is no longer connected: what it does is not known now. The caller publishes that."""
        camera = self._cameras.get(entry.device.id)
        if camera is None or not camera.is_attached:
            return
        camera.is_attached = False
        self._control.detach(entry.device.id)
        cancel(camera.timer)
        cancel(camera.silence)
        camera.differs_from_s = None
        camera.reading = camera.reading.after_link()
        entry.camera = self._status(entry, camera)

    def removed(self, entry: DeviceEntry) -> None:
        """A device was removed, or has another camera."""
        if (camera := self._cameras.pop(entry.device.id, None)) is not None:
            cancel(camera.timer)
            cancel(camera.silence)
        self._clocks.forget(entry)

    # -- what cameras say

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        """See CameraControlListener.camera_read."""
        entry, camera = self._state.entries.get(device_id), self._cameras.get(device_id)
        if entry is None or camera is None or not camera.is_attached:
            return
        over = self._read(entry, camera, reading)
        is_read, camera.has_been_read = camera.has_been_read or bool(reading.clock_read_us), True
        if camera.is_clock_due and is_read and reading.recording is not None:
            camera.is_clock_due = False
            if self._state.settings.set_clock and reading.recording is RecordingState.IDLE:
                camera.corrected_us = reading.clock_read_us
                self._tasks.start("clock", self._correct_clock(entry, camera))
        self._publish(entry, camera, over)
        reads, camera.reads = camera.reads, []
        for waiter in reads:
            if not waiter.done():
                waiter.set_result(None)

    def _read(self, entry: DeviceEntry, camera: Camera, reading: CameraReading) -> RecordingStopped | None:
        """A camera was read; returns the end of a recording."""
        camera.reading = reading
        camera.wish = camera.wish.seen(reading)
        cancel(camera.silence)
        camera.silence = asyncio.get_running_loop().call_later(SILENT_S, self._silent, entry, camera)
        return self._follow_recording(entry, camera)

    def _publish(self, entry: DeviceEntry, camera: Camera, over: RecordingStopped | None) -> None:
        self._compare(entry, camera)
        if over is not None:
            self._state.publish(over)

    async def _correct_clock(self, entry: DeviceEntry, camera: Camera) -> None:
        """Set the clock of a camera that was connected."""
        if not await self._clocks.set_if_right(entry, lambda: camera.reading):
            camera.corrected_us = 0
            if self._cameras.get(entry.device.id) is camera:
                self._compare(entry, camera)

    def _silent(self, entry: DeviceEntry, camera: Camera) -> None:
        """A camera that is connected has not answered for some time."""
        camera.silence = None
        camera.reading = camera.reading.after_link()
        self._compare(entry, camera)

    def _follow_recording(self, entry: DeviceEntry, camera: Camera) -> RecordingStopped | None:
        """A recording may have begun or ended; returns the end."""
        reading, device, over = camera.reading, entry.device, None
        if camera.began_us and ended(camera.began_us, reading):
            is_commanded = camera.is_stopped or camera.stops > 0
            reason = stop_reason(reading, commanded=is_commanded)
            over = RecordingStopped(device.id, reason, camera.began_us)
            camera.began_us = 0
            is_wanted = camera.wish.records and not is_commanded
            (_log.warning if is_wanted else _log.info)(
                "recording_stopped",
                device=device.id,
                device_name=device.name,
                code=reason.value,
                reason=sentences.recording_ended(reason),
            )
        if reading.recording is RecordingState.RECORDING and not camera.began_us:
            camera.began_us, camera.is_stopped = reading.recording_since_us or reading.read_us, False
            _log.info("recording_started", device=device.id, device_name=device.name)
        return over

    def _compare(self, entry: DeviceEntry, camera: Camera) -> None:
        """Compare what a camera does with what it should, and publish what clients are to know."""
        now_s = asyncio.get_running_loop().time()
        if not camera.wish.differs(camera.reading):
            camera.differs_from_s, camera.tries = None, 0
            cancel(camera.timer)
        elif camera.differs_from_s is None:
            camera.differs_from_s = now_s
            self._look_again(entry, camera, DIFFERS_S)
        now = self._status(entry, camera)
        before = entry.camera
        if now.differs(before):
            entry.camera = now
            log_problems(entry.device, before.problems, now.problems, camera.reading)
            self._state.publish(CameraChanged(self._state.status(entry)))

    def _look_again(self, entry: DeviceEntry, camera: Camera, after_s: float) -> None:
        loop = asyncio.get_running_loop()
        camera.timer = loop.call_later(after_s, self._differs_still, entry, camera)

    def _differs_still(self, entry: DeviceEntry, camera: Camera) -> None:
        """A camera has not done for some time what it should."""
        camera.timer = None
        self._compare(entry, camera)
        if not camera.wish.records:
            return
        self._look_again(entry, camera, _AGAIN_S)
        if self._state.settings.keep_recording and camera.is_attached:
            camera.tries += 1
            work = self._send({entry.device.id: entry}, on=True, is_repeated=camera.tries > 1)
            self._tasks.start("keep-recording", work, expected=(WifimgrdError,))

    @staticmethod
    def _status(entry: DeviceEntry, camera: Camera) -> CameraStatus:
        since_s = camera.differs_from_s
        differs_s = 0.0 if since_s is None else asyncio.get_running_loop().time() - since_s
        reading = camera.reading
        if camera.corrected_us and camera.corrected_us == reading.clock_read_us:
            reading = replace(reading, clock_offset_us=None)
        problems = problems_of(reading, camera.wish, entry.camera.problems, differs_s=differs_s)
        return CameraStatus(camera.reading, camera.wish.records, problems)

    # -- commands

    async def start_recording(self, device_id: DeviceId) -> None:
        """Start recording on one camera; one that records goes on.

        Raises DeviceNotFound, Busy, NotSupported, NotConnected, CameraBusy, CameraRefused,
        DeviceNotReachable, BackendUnavailable.
        """
        await self._record_one(device_id, on=True)

    async def stop_recording(self, device_id: DeviceId) -> None:
        """Stop recording on one camera; raises as `start_recording`."""
        await self._record_one(device_id, on=False)

    async def record(
        self, device_ids: Iterable[DeviceId], *, on: bool, everyone: bool = False
    ) -> Mapping[DeviceId, CommandResult]:
        """Start or stop recording on several cameras at once, each with a result of its own; `everyone`: also
        on all that are connected and have a driver."""
        wanted = dict.fromkeys(device_ids)
        if everyone:
            wanted |= dict.fromkeys(filter(self._is_able, self._state.entries))
        results: dict[DeviceId, CommandResult] = {}
        entries: dict[DeviceId, DeviceEntry] = {}
        unconnected: list[DeviceEntry] = []
        for device_id in wanted:
            try:
                entries[device_id] = self._able(device_id)
            except WifimgrdError as error:
                if isinstance(error, NotConnected) and self._over_bluetooth.may_reach(
                    entry := self._state.entry(device_id)
                ):
                    unconnected.append(entry)
                else:
                    results[device_id] = CommandResult(error=error)
        found = await asyncio.gather(
            self._record(entries, self._send, on=on),
            *(self._record_over_bluetooth(entry, on=on) for entry in unconnected),
        )
        for one in found:
            results |= one
        return {one: results[one] for one in wanted}

    async def set_clock(self, device_id: DeviceId) -> None:
        """Set the clock of a camera to this host's; raises as `start_recording`, CameraBusy also while it
        records."""
        try:
            entry = self._able(device_id)
        except NotConnected:
            entry = self._state.entry(device_id)
            if not self._over_bluetooth.may_reach(entry):
                raise
            until_s = await self._found(entry)
            result = await self._command_over_bluetooth(entry, CameraCommand.SET_CLOCK, until_s)
            if result.error is not None:
                raise result.error from None
            self._clocks.was_set(entry, CameraReading())
        else:
            await self._clocks.set(entry, self._cameras[device_id].reading)

    def _is_able(self, device_id: DeviceId) -> bool:
        try:
            self._able(device_id)
        except WifimgrdError:
            return False
        return True

    def _able(self, device_id: DeviceId) -> DeviceEntry:
        """A device that can be commanded."""
        entry = self._state.entry_to_change(device_id)
        model = self._state.model(entry.device)
        if model.control is None:
            raise NotSupported(f"the hub has no driver for cameras of the model {model.device_name}")
        if entry.state is not DeviceState.CONNECTED:
            raise NotConnected(f"the device is {entry.state.value}")
        return entry

    async def _record_one(self, device_id: DeviceId, *, on: bool) -> None:
        error = (await self.record([device_id], on=on))[device_id].error
        if error is not None:
            raise error

    async def _record(
        self, entries: Mapping[DeviceId, DeviceEntry], send: _Send, *, on: bool
    ) -> Mapping[DeviceId, CommandResult]:
        """Store what is wanted of cameras, and have them do it by `send`."""
        for entry in entries.values():
            camera = self._cameras[entry.device.id]
            before, camera.wish = camera.wish, camera.wish.commanded(on=on)
            if camera.wish != before:  # else a problem stays until the camera does what it should
                cancel(camera.timer)
                camera.differs_from_s = None
            self._state.record(entry, replace(entry.device, recording_requested=on), at_once=True)
            self._compare(entry, camera)
        if not entries:
            return {}
        return await send(entries, on=True) if on else await self._stop(entries, send)

    # -- over Bluetooth

    async def _found(self, entry: DeviceEntry) -> float:
        """Wait until a camera that is not connected was heard to be on; returns until when a command may
        take, by the loop's clock. Raises NotConnected, DeviceNotFound, Busy."""
        until_s = asyncio.get_running_loop().time() + COMMAND_S - _MARGIN_S
        await self._over_bluetooth.find(entry)
        self._state.entry_to_change(entry.device.id)  # it may have been removed meanwhile
        if (control := self._state.model(entry.device).control) is not None:
            self._camera(entry, control)
        return until_s

    async def _record_over_bluetooth(
        self, entry: DeviceEntry, *, on: bool
    ) -> Mapping[DeviceId, CommandResult]:
        """Start or stop recording on a camera that is not connected, if it is on."""
        device_id = entry.device.id
        try:
            send = partial(self._send_over_bluetooth, await self._found(entry))
            return await self._record({device_id: entry}, send, on=on)
        except WifimgrdError as error:
            return {device_id: CommandResult(error=error)}

    async def _send_over_bluetooth(
        self, until_s: float, entries: Mapping[DeviceId, DeviceEntry], *, on: bool
    ) -> Mapping[DeviceId, CommandResult]:
        command, results = CameraCommand.START if on else CameraCommand.STOP, {}
        for device_id, entry in entries.items():
            results[device_id] = result = await self._command_over_bluetooth(entry, command, until_s)
            log_failure(entry.device, result)
        return results

    async def _command_over_bluetooth(
        self, entry: DeviceEntry, command: CameraCommand, until_s: float
    ) -> CommandResult:
        """What the camera says meanwhile is known of it for as long as of one that has become silent."""
        try:
            answer = await self._over_bluetooth.carry_out(entry, command, until_s)
        except WifimgrdError as error:
            return CommandResult(error=error)
        camera = self._cameras.get(entry.device.id)
        if answer.reading.read_us and camera is not None and not camera.is_attached:
            self._publish(entry, camera, self._read(entry, camera, answer.reading))
        return answer.result

    async def _stop(
        self, entries: Mapping[DeviceId, DeviceEntry], send: _Send
    ) -> Mapping[DeviceId, CommandResult]:
        """Command cameras to stop. A recording that ends meanwhile has ended by that."""
        cameras = {device_id: self._cameras[device_id] for device_id in entries}
        began = {device_id: camera.began_us for device_id, camera in cameras.items()}
        for camera in cameras.values():
            camera.stops += 1
        try:
            results = await send(entries, on=False)
        finally:
            for camera in cameras.values():
                camera.stops -= 1
        for device_id, result in results.items():
            camera = cameras[device_id]
            if camera.began_us == began[device_id] and may_be_done(result):
                camera.is_stopped = True
        return results

    async def _send(
        self, entries: Mapping[DeviceId, DeviceEntry], *, on: bool, is_repeated: bool = False
    ) -> Mapping[DeviceId, CommandResult]:
        """Command cameras, and wait until they are seen to do it; of commands that are `is_repeated` the
        journal does not tell each failure."""
        loop, since_us = asyncio.get_running_loop(), self._state.clock()
        end_s = loop.time() + (COMMAND_S if len(entries) == 1 else COMMAND_OF_MANY_S)
        results = await self._control.record(list(entries), on=on)
        for device_id, result in results.items():
            log_failure(entries[device_id].device, result, is_repeated=is_repeated)
        done = [one for one, result in results.items() if result.error is None]
        with suppress(TimeoutError):
            async with asyncio.timeout_at(min(loop.time() + _READ_S, end_s)):
                await asyncio.gather(*(self._until_seen(one, since_us, on=on) for one in done))
        return results

    async def _until_seen(self, device_id: DeviceId, since_us: int, *, on: bool) -> None:
        """Wait until a camera was read and does what it should, or does not tell what it does."""
        while (camera := self._cameras.get(device_id)) is not None:
            reading = camera.reading
            is_untold = reading.recording is None and reading.read_us >= since_us
            if is_untold or reading.is_recording is on:
                return
            read: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            camera.reads.append(read)
            await read
