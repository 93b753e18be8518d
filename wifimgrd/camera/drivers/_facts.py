"""The state of one camera, as read since it was attached."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from wifimgrd.camera.drivers.clock_bounds import ClockBounds
from wifimgrd.domain.camera import CameraReading, RecordingState, StopReason

_SECOND_US: Final = 1_000_000
_LATE_CAUSE_US: Final = 10 * _SECOND_US
"""How long after a recording a state such as a full card is taken for the cause of its end."""


@dataclass(slots=True)
class _Recording:
    """A recording that was seen, and was not seen to end."""

    began_us: int
    """First sight, less what was counted then. It does not move: the count may run at any speed (a time
    lapse), stand still (a pause) or be left out, and the host's clock may be set."""
    counted_s: int | None = None
    """The last count of its seconds."""
    other_files_s: int = 0
    """Of that, in files before the present one."""
    has_split: bool = False
    """The next count may be that of another file."""

    def count(self, seconds: int) -> bool:
        """The camera has counted so many seconds; false if this is another recording: it has counted more
        before, and has not said that it begins another file."""
        counted_s, last_s = self.other_files_s + seconds, self.counted_s
        if last_s is not None and counted_s < last_s:
            if not self.has_split:
                return False
            self.other_files_s, counted_s = last_s, last_s + seconds
        self.counted_s, self.has_split = counted_s, False
        return True


class Facts:
    """The reading, and the rules of a recording's begin and end."""

    def __init__(self) -> None:
        self.reading = CameraReading()
        self.tells_recording = False
        """The camera has said at least once whether it records."""
        self._recording: _Recording | None = None
        self._ended_us = 0
        """When a recording that was seen has ended, while its cause is not known; else 0."""
        self._clock_at_us = 0
        """When its clock was read, by the steady clock."""

    def identify(self, model: str, serial_number: str, firmware_version: str) -> None:
        """Which camera it is; what was known of another one is forgotten."""
        if serial_number and self.reading.serial_number not in ("", serial_number):
            self.reading, self._ended_us = CameraReading(), 0
            self._recording, self.tells_recording = None, False
        self.reading = replace(
            self.reading,
            model=model or self.reading.model,
            serial_number=serial_number or self.reading.serial_number,
            firmware_version=firmware_version or self.reading.firmware_version,
        )

    def has_recording(self, state: RecordingState | None, at_us: int, seconds: int | None = None) -> None:
        """Whether it records, and if so how many seconds it has counted, if it says that."""
        self.tells_recording |= state is not None
        if state is RecordingState.RECORDING:
            recording = self._recording
            if recording is None or (seconds is not None and not recording.count(seconds)):
                recording = _Recording(at_us - (seconds or 0) * _SECOND_US, seconds)
            self._recording, self._ended_us = recording, 0
            self.reading = replace(
                self.reading,
                recording=state,
                recording_since_us=recording.began_us,
                recorded_s=None if seconds is None else recording.counted_s,
                stop_reason=None,
            )
            return
        if state is RecordingState.IDLE and self._recording is not None:
            self._recording, self._ended_us = None, at_us
        self.reading = replace(self.reading, recording=state, recording_since_us=None, recorded_s=None)

    def has_split(self) -> None:
        """The camera goes on recording in another file."""
        if self._recording is not None:
            self._recording.has_split = True

    def may_have_stopped_for(self, reason: StopReason | None, at_us: int) -> None:
        """Take `reason`, which would end a recording, for the cause if one was just seen to end."""
        if reason is None or not self._ended_us or not 0 <= at_us - self._ended_us <= _LATE_CAUSE_US:
            return
        self.stopped_for(reason)

    def stopped_for(self, reason: StopReason | None) -> None:
        """The camera has said why its recording has ended; None if it has said something else."""
        if reason is not None:
            self._ended_us = 0
            self.reading = replace(self.reading, stop_reason=reason)

    def update_clock(self, clock: ClockBounds, host_us: int, steady_us: int) -> None:
        """Its clock minus this host's now, by all that is known of it: it drifts, and this host's may have
        been set. The times are those of one moment, by this host's clock and by that of `clock`."""
        if (read := clock.now) is None:
            return
        bounds = clock.later(read, steady_us)
        read_us = host_us - (steady_us - read.at_us)
        if self._clock_at_us == read.at_us and abs(read_us - self.reading.clock_read_us) < _SECOND_US:
            read_us = self.reading.clock_read_us
        self._clock_at_us = read.at_us
        self.reading = replace(
            self.reading,
            clock_offset_us=bounds.middle_us + steady_us - host_us,
            clock_bound_us=(bounds.width_us + 1) // 2,
            clock_drift_ppm=clock.known_drift_ppm,
            clock_read_us=max(1, read_us),
        )

    def forget_clock(self) -> None:
        """The camera's clock may have been set."""
        self.reading = replace(
            self.reading, clock_offset_us=None, clock_bound_us=None, clock_drift_ppm=None, clock_read_us=0
        )
