"""What has been read of one camera since it was attached."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from wifimgrd.domain.camera import CameraReading, RecordingState, StopReason

_SECOND_US: Final = 1_000_000
_JITTER_US: Final = 2 * _SECOND_US
"""By how much the begin of a recording may seem to move between two reads."""
_LATE_CAUSE_US: Final = 10 * _SECOND_US
"""How long after a recording a state such as a full card is taken for the cause of its end."""


class Facts:
    """The reading, and the rules of a recording's begin and end."""

    def __init__(self) -> None:
        self.reading = CameraReading()
        self._ended_us = 0
        """When a recording that was seen has ended, while its cause is not known; else 0."""

    def identify(self, model: str, serial_number: str, firmware_version: str) -> None:
        """Which camera it is; what was known of another one is forgotten."""
        if serial_number and self.reading.serial_number not in ("", serial_number):
            self.reading, self._ended_us = CameraReading(), 0
        self.reading = replace(
            self.reading,
            model=model or self.reading.model,
            serial_number=serial_number or self.reading.serial_number,
            firmware_version=firmware_version or self.reading.firmware_version,
        )

    def has_recording(self, state: RecordingState | None, at_us: int, seconds: int | None = None) -> None:
        """Whether it records, and if so for how many seconds, if it says that."""
        before = self.reading
        if state is RecordingState.RECORDING:
            self._ended_us = 0
            since = before.recording_since_us
            if seconds is not None:
                said = at_us - seconds * _SECOND_US
                since = said if since is None or abs(said - since) > _JITTER_US else since
            self.reading = replace(
                before, recording=state, recording_since_us=since or at_us, stop_reason=None
            )
            return
        if before.recording is RecordingState.RECORDING:
            self._ended_us = at_us
        self.reading = replace(before, recording=state, recording_since_us=None)

    def may_have_stopped_for(self, reason: StopReason | None, at_us: int) -> None:
        """What would have ended a recording: taken as the cause if one was just seen to end."""
        if reason is None or not self._ended_us or at_us - self._ended_us > _LATE_CAUSE_US:
            return
        self.stopped_for(reason)

    def stopped_for(self, reason: StopReason | None) -> None:
        """The camera has said why its recording has ended; None if it has said something else."""
        if reason is not None:
            self._ended_us = 0
            self.reading = replace(self.reading, stop_reason=reason)

    def has_clock(self, offset_us: int, at_us: int) -> None:
        """Its clock minus this host's."""
        self.reading = replace(self.reading, clock_offset_us=offset_us, clock_read_us=at_us)
