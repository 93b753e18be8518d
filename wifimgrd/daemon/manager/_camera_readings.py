"""The reports of cameras: their recordings, their problems, and what clients are told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import structlog

from wifimgrd.daemon.manager._camera import (
    Camera,
    cancel,
    log_drift,
    log_held,
    log_problems,
    recording_at_begin,
)
from wifimgrd.daemon.manager._camera_clocks import CameraClocks
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._recorded_files import RecordedFiles
from wifimgrd.daemon.manager._state import HubState, LinkEnd
from wifimgrd.domain import sentences
from wifimgrd.domain.camera import (
    DIFFERS_S,
    SILENT_S,
    CameraReading,
    CameraStatus,
    EndSeen,
    RecordingState,
    StopReason,
    Wish,
    ended,
    problems_of,
    stop_reason,
)
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.camera_model import Control
from wifimgrd.domain.camera_steps import differs
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.events import CameraChanged, RecordingStarted, RecordingStopped
from wifimgrd.domain.lifecycle import Phase
from wifimgrd.domain.recordings import ExpectedCamera, expected_cameras
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_AGAIN_S: Final = 30.0
"""The time between two commands to a camera that should record and does not."""
_ENDING_S: Final = 1.0
"""So long after a recording has ended without a cause it is told: a camera that goes on to its next file
records again by then, and the link of one that was switched off has ended."""

_STOPS_US: Final = 5_000_000
"""A camera that records so long after it was told to stop has not done that: its end has another cause."""


Turn = RecordingStarted | RecordingStopped
"""The begin or the end of a recording."""


class CameraReadings:
    """The cameras that the hub has a driver for; implements `CameraControlListener`."""

    def __init__(self, state: HubState, control: CameraControl, clocks: CameraClocks, tasks: Tasks) -> None:
        self._state = state
        self._control = control
        self._clocks = clocks
        self._tasks = tasks
        self._files = RecordedFiles(state, control, tasks)
        self.cameras: dict[DeviceId, Camera] = {}
        self.not_recording = Notice[DeviceEntry]()
        """A connected camera should record, and has not for some time; said again as long as that is so."""
        self.read = Notice[DeviceEntry]()
        """A connected camera has answered its driver, and that was told."""

    def stop(self) -> None:
        """End all; cameras go on with what they do."""
        self._files.stop()
        for device_id, camera in self.cameras.items():
            self._end_timers(camera)
            if (entry := self._state.entries.get(device_id)) is not None:
                self._remember(entry, camera)

    @staticmethod
    def _end_timers(camera: Camera) -> None:
        cancel(camera.timer)
        cancel(camera.silence)
        cancel(camera.ending)
        camera.ending = None

    # -- links

    def connected(self, entry: DeviceEntry) -> None:
        """A device is connected: read it from now on."""
        control = self._state.model(entry.device).control
        if control is None:
            return
        camera = self.of(entry, control)
        camera.is_attached, camera.is_clock_due, camera.has_been_read = True, True, False
        # Without a link, and once a step is over, anybody may have begun to record with the camera's button.
        camera.was_idle = camera.was_idle and entry.recovery_step is not None
        camera.followed, entry.is_unseen = None, not camera.was_idle
        camera.steadiness = camera.steadiness.attached()
        self._control.attach(entry.device.id, camera.driver)

    def of(self, entry: DeviceEntry, control: Control) -> Camera:
        """The camera of a device, connected or not."""
        camera = self.cameras.get(entry.device.id)
        if camera is None:
            device = entry.device
            camera = self.cameras[device.id] = Camera(
                control.driver,
                self._state.clocks(),
                wish=Wish(records=device.recording_requested, is_unconfirmed=device.recording_unconfirmed),
                began_us=device.recording_began_us,
                recorded_s=device.recorded_s,
            )
        return camera

    def model_changed(self, entry: DeviceEntry) -> None:
        """A device may have another model than before, which is not published yet."""
        camera, control = self.cameras.get(entry.device.id), self._state.model(entry.device).control
        if (camera and camera.driver) is (control and control.driver):
            return
        self.link_ended(LinkEnd(entry, None))
        self._forget(entry)
        entry.camera = entry.unread_camera
        if entry.state is DeviceState.CONNECTED:
            self.connected(entry)

    def link_ended(self, end: LinkEnd) -> None:
        """A device is no longer connected: what it does is not known now. The caller publishes that."""
        entry, error = end
        camera = self.cameras.get(entry.device.id)
        if camera is None or not camera.is_attached:
            return
        if camera.ending is not None:
            # An adapter that is pulled out, or a backend that stops, says nothing of the camera.
            is_off = error is not None and error.code is ErrorCode.CONNECTION_LOST
            self._end(entry, camera, EndSeen.SWITCHED_OFF if is_off else EndSeen.DIRECTLY)
        if camera.began_us and error is not None:
            camera.link_error = error.message
        camera.is_attached = False
        camera.was_idle = camera.was_idle and entry.phase is Phase.RECOVERING
        self._files.gone(entry.device.id)
        self._control.detach(entry.device.id)
        self._end_timers(camera)
        camera.differs_from_s = None
        camera.unread()
        self._remember(entry, camera)
        entry.camera = self.status(entry, camera)

    def lost(self, entry: DeviceEntry) -> None:
        """A device is disconnected without a command, such as after a step that did not help."""
        camera, failure = self.cameras.get(entry.device.id), entry.device.failure
        if camera is not None and camera.began_us and failure is not None:
            camera.link_error = failure.message

    def removed(self, entry: DeviceEntry) -> None:
        """A device was removed. A recording that was not seen to end is over for this hub."""
        device, began_us, reading = entry.device, entry.device.recording_began_us, entry.camera.reading
        camera = self.cameras.get(device.id)
        now = self._state.clocks()
        ended_us = now.host_us if camera is None else camera.noted.time_of(now)
        self._forget(entry)
        if began_us:
            over = RecordingStopped(
                device.id,
                device.name,
                StopReason.UNKNOWN,
                began_us,
                EndSeen.NEVER,
                ended_us=ended_us,
                battery_level=reading.battery_level,
                storage_free=reading.storage_free,
                serial_number=reading.serial_number,
            )
            self._state.publish(over)

    def _forget(self, entry: DeviceEntry) -> None:
        """A device was removed, or has another driver."""
        if (camera := self.cameras.pop(entry.device.id, None)) is not None:
            self._end_timers(camera)
        entry.is_recording_held = entry.is_unseen = False
        self._clocks.forget(entry)

    # -- what cameras say

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        """See CameraControlListener.camera_read."""
        entry, camera = self._state.entries.get(device_id), self.cameras.get(device_id)
        if entry is None or camera is None or not camera.is_attached:
            return
        turns = self.take(entry, camera, reading)
        reading = camera.reading
        is_read, camera.has_been_read = camera.has_been_read or bool(reading.clock_read_us), True
        if camera.is_clock_due and is_read and reading.recording is not None:
            camera.is_clock_due = False
            if self._state.settings.set_clock and reading.recording is RecordingState.IDLE:
                camera.corrected_us, camera.is_corrected = reading.clock_read_us, True
                self._tasks.start("clock", self._correct_clock(entry, camera))
        self.publish(entry, camera, turns)
        reads, camera.reads = camera.reads, []
        for waiter in reads:
            if not waiter.done():
                waiter.set_result(None)
        self.read.notify(entry)

    def take(self, entry: DeviceEntry, camera: Camera, reading: CameraReading) -> Sequence[Turn]:
        """A camera was read; returns the end and the begin of recordings, which are told after what was
        read."""
        camera.said, before = reading, camera.reading
        if reading.clock_read_us not in (0, camera.corrected_us):
            camera.corrected_us = reading.clock_read_us if camera.is_corrected else 0
        log_drift(entry.device, before, reading)
        reading = camera.reading = self._steady(entry, camera, reading)
        self.set_wish(entry, camera, camera.wish.seen(reading, self._state.clock()))
        cancel(camera.silence)
        camera.silence = asyncio.get_running_loop().call_later(SILENT_S, self._silent, entry, camera)
        turns = self._follow_recording(entry, camera, before)
        # A reading without that clears nothing, not even after one of an idle camera. So by itself the hub
        # takes no step for a camera whose driver never says it: some end their recording with the link.
        entry.is_unseen = reading.recording is None
        camera.was_idle = reading.recording is RecordingState.IDLE
        if reading.recording is not None:
            camera.followed = self._state.clocks()
        is_recording = reading.recording is RecordingState.RECORDING
        began_us = camera.began_us if is_recording else None  # the one that was seen first
        camera.reading = replace(reading, recording_since_us=began_us)
        return turns

    @staticmethod
    def _steady(entry: DeviceEntry, camera: Camera, reading: CameraReading) -> CameraReading:
        """The known state of a camera that reports this."""
        before, was_held = camera.steadiness, camera.is_recording_held
        camera.steadiness = before.read(reading, asyncio.get_running_loop().time())
        camera.is_released = was_held and not camera.is_recording_held
        entry.is_recording_held = camera.is_recording_held
        log_held(entry.device, before, camera.steadiness)
        return camera.steadiness.shown(reading)

    def set_wish(self, entry: DeviceEntry, camera: Camera, wish: Wish, *, at_once: bool = False) -> None:
        """Something else is wanted of a camera, or is known of what was; it is stored."""
        camera.wish = wish
        device = replace(
            entry.device, recording_requested=wish.records, recording_unconfirmed=wish.is_unconfirmed
        )
        self._state.record(entry, device, at_once=at_once)

    def publish(self, entry: DeviceEntry, camera: Camera, turns: Sequence[Turn]) -> None:
        """Publish what was read, and then the end and the begin of recordings."""
        self.compare(entry, camera)
        for turn in turns:
            self._state.publish(turn)

    async def _correct_clock(self, entry: DeviceEntry, camera: Camera) -> None:
        """Set the clock of a camera that was connected."""
        try:
            is_set = await self._clocks.set_if_right(entry, lambda: camera.reading)
        finally:
            camera.is_corrected = False
        if not is_set:
            camera.corrected_us = 0
            if self.cameras.get(entry.device.id) is camera:
                self.compare(entry, camera)

    def _silent(self, entry: DeviceEntry, camera: Camera) -> None:
        """A camera that is connected has not answered for some time."""
        camera.silence = None
        camera.unread()
        self.compare(entry, camera)

    # -- recordings

    def _follow_recording(self, entry: DeviceEntry, camera: Camera, before: CameraReading) -> Sequence[Turn]:
        """A recording may have ended, and one begun; returns what is told of that now."""
        reading, turns = camera.reading, list[Turn]()
        is_recording = reading.recording is RecordingState.RECORDING
        goes_on = is_recording or camera.is_recording_held  # to the next file, or with what is not known
        if camera.ending is not None and goes_on:
            cancel(camera.ending)
            camera.ending = None
        elif camera.began_us and ended(camera.recorded_s, reading):
            turns += self._ended(entry, camera)
        if not is_recording:
            return turns
        if not camera.began_us:
            camera.noted, camera.is_stopped = self._state.clocks(), False
            camera.began_us = camera.begun_us(camera.noted)
            _log.info("recording_started", device=entry.device.id, device_name=entry.device.name)
            self._remember(entry, camera, at_once=True)  # a row of the history follows
            recording = recording_at_begin(camera, before, self._expected())
            turns.append(RecordingStarted(entry.device.id, entry.device.name, camera.began_us, recording))
        camera.link_error = ""
        if camera.is_stopped and not camera.stops and reading.read_us > camera.wish.since_us + _STOPS_US:
            camera.is_stopped = False
        if reading.recorded_s is not None:
            camera.recorded_s = reading.recorded_s
        return turns

    def _expected(self) -> tuple[ExpectedCamera, ...]:
        """The cameras that are expected, and that the hub has a driver for."""
        devices = (entry.device for _, entry in sorted(self._state.entries.items()))
        return expected_cameras(one for one in devices if self._state.model(one).control is not None)

    def _ended(self, entry: DeviceEntry, camera: Camera) -> Sequence[RecordingStopped]:
        """A recording has ended. Without a cause that is told a moment later."""
        if not camera.has_been_read or not camera.is_attached or camera.is_released:
            return [self._over(entry, camera, EndSeen.LATER)]
        is_unexplained = self._reason(camera) is StopReason.UNKNOWN
        if is_unexplained and camera.reading.recording is RecordingState.IDLE:
            if camera.ending is None:
                loop = asyncio.get_running_loop()
                camera.ending = loop.call_later(_ENDING_S, self._end, entry, camera, EndSeen.DIRECTLY)
            return []
        return [self._over(entry, camera, EndSeen.DIRECTLY)]

    def end_seen(self, entry: DeviceEntry, camera: Camera) -> None:
        """Tell the end of a recording that has been seen, if that waits: another one may begin now."""
        if camera.ending is not None:
            self._end(entry, camera, EndSeen.DIRECTLY)

    def _end(self, entry: DeviceEntry, camera: Camera, seen: EndSeen) -> None:
        self._state.publish(self._over(entry, camera, seen))

    @staticmethod
    def _reason(camera: Camera) -> StopReason:
        return stop_reason(camera.reading, commanded=camera.is_stopped or camera.stops > 0)

    def _over(self, entry: DeviceEntry, camera: Camera, seen: EndSeen) -> RecordingStopped:
        """The end of a recording, which is over now."""
        device, reason = entry.device, self._reason(camera)
        ended_us = camera.noted.time_of(self._state.clocks())
        over = RecordingStopped(
            device.id,
            device.name,
            reason,
            camera.began_us,
            seen,
            camera.link_error,
            ended_us,
            camera.reading.battery_level,
            camera.reading.storage_free,
            camera.reading.serial_number,
        )
        self._files.ended(entry, camera, over)
        cancel(camera.ending)
        camera.ending, camera.began_us, camera.recorded_s, camera.link_error = None, 0, 0, ""
        is_wanted = camera.wish.records and reason is not StopReason.STOPPED
        (_log.warning if is_wanted else _log.info)(
            "recording_stopped",
            device=device.id,
            device_name=device.name,
            code=reason.value,
            reason=sentences.recording_ended(reason, seen, over.link_error),
        )
        self._remember(entry, camera, at_once=True)  # else one that follows would be taken for the same
        return over

    def _remember(self, entry: DeviceEntry, camera: Camera, *, at_once: bool = False) -> None:
        """Store the recording that has not been seen to end: it may outlive this process."""
        began_us, recorded_s = camera.began_us, camera.recorded_s
        device = replace(entry.device, recording_began_us=began_us, recorded_s=recorded_s)
        self._state.record(entry, device, at_once=at_once)

    # -- what it should do

    def compare(self, entry: DeviceEntry, camera: Camera) -> None:
        """Compare what a camera does with what it should, and publish what clients are to know."""
        now_s, is_wrong = asyncio.get_running_loop().time(), camera.wish.differs(camera.reading)
        is_unknown = not camera.is_attached or camera.is_recording_held
        if is_wrong is False or (is_wrong is None and is_unknown):
            camera.differs_from_s, camera.tries = None, 0
            cancel(camera.timer)
        elif is_wrong and camera.differs_from_s is None:
            camera.differs_from_s = now_s
            self._look_again(entry, camera, DIFFERS_S)
        now = self.status(entry, camera)
        before = entry.camera
        has_news = camera.is_read and camera.steadiness.has_news
        if differs(now, before) or has_news or camera.is_due(now_s, before.reading):
            entry.camera, camera.published_s, camera.steadiness = now, now_s, camera.steadiness.published()
            log_problems(entry.device, before.problems, now.problems, camera.said)
            self._state.publish(CameraChanged(self._state.status(entry)))

    def _look_again(self, entry: DeviceEntry, camera: Camera, after_s: float) -> None:
        loop = asyncio.get_running_loop()
        camera.timer = loop.call_later(after_s, self._differs_still, entry, camera)

    def _differs_still(self, entry: DeviceEntry, camera: Camera) -> None:
        """A camera has not done for some time what it should."""
        camera.timer = None
        self.compare(entry, camera)
        if not camera.wish.records:
            return
        self._look_again(entry, camera, _AGAIN_S)
        if camera.is_attached:
            self.not_recording.notify(entry)

    @staticmethod
    def status(entry: DeviceEntry, camera: Camera) -> CameraStatus:
        """The state of a camera that clients are to know now."""
        since_s = camera.differs_from_s
        differs_s = 0.0 if since_s is None else asyncio.get_running_loop().time() - since_s
        reading = camera.steadiness.remembered(camera.said) if camera.is_read else camera.said
        if camera.corrected_us:
            reading = replace(reading, clock_offset_us=None)
        problems = problems_of(
            reading, camera.wish, entry.camera.problems, differs_s=differs_s, held=camera.held
        )
        return CameraStatus(camera.reading, camera.wish.records, problems)
