"""One camera that the hub has a driver for, as it was read last, and what the journal is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import structlog

from wifimgrd.domain import sentences
from wifimgrd.domain.camera import CameraDriver, CameraReading, CommandResult, Problem, Wish
from wifimgrd.domain.camera_steps import REFRESH_S
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import Device
from wifimgrd.domain.errors import Unconfirmed
from wifimgrd.domain.recordings import ExpectedCamera, Recording
from wifimgrd.domain.steadiness import RECORDING, Steadiness

_log = structlog.get_logger()


@dataclass(slots=True)
class Camera:
    """A camera as it was read last."""

    driver: CameraDriver
    noted: Clocks
    """When the recording was first seen by this hub."""
    is_attached: bool = False
    """It is connected, and read by its driver."""
    reading: CameraReading = field(default_factory=CameraReading)
    """The known state of the camera, without the values that are held."""
    said: CameraReading = field(default_factory=CameraReading)
    """The same with these values; its problems are found by this, and by what it has left out since."""
    wish: Wish = field(default_factory=Wish)
    began_us: int = 0
    """When the recording began that was seen last and has not been seen to end; 0 = there is none."""
    recorded_s: int = 0
    """Seconds that the camera has counted of it."""
    link_error: str = ""
    """Why the link was lost in which the camera was seen to record last."""
    ending: asyncio.TimerHandle | None = None
    """It was seen to end, and nobody knows why: until that is told. A camera that goes on to the next file
    seems to stop, too, and so does one that is being switched off."""
    stops: int = 0
    """Commands to stop that are under way."""
    is_stopped: bool = False
    """It was told to stop this recording, and was not seen to do it yet."""
    differs_from_s: float | None = None
    """Since when it does something else than it should, by the loop's clock."""
    timer: asyncio.TimerHandle | None = None
    """Until that is a problem, or the next try."""
    tries: int = 0
    """How often it was told to record again since then."""
    silence: asyncio.TimerHandle | None = None
    """Until it has not answered for so long that it is not known what it does."""
    is_clock_due: bool = False
    """Its clock is to be set, once it was read: by how much it is wrong is told before."""
    corrected_us: int = 0
    """When the clock was read that the hub is setting, or has set: that it was wrong is not a problem. 0 =
    there is none."""
    is_corrected: bool = False
    """The hub is setting its clock, which may be read meanwhile."""
    has_been_read: bool = False
    """It was read since it is connected; a camera whose clock is not read by the next time has none."""
    was_idle: bool = False
    """It did not record when it was read last, in this link or in those that recovery steps have taken down
    since."""
    followed: Clocks | None = None
    """When it was read last since it is connected, if it was known then whether it records."""
    steadiness: Steadiness = field(default_factory=Steadiness)
    """Which of its values change too often to be told."""
    published_s: float | None = None
    """When clients were told last what it says, by the loop's clock."""
    is_released: bool = False
    """Whether it records was held, and is known again since this reading."""
    reads: list[asyncio.Future[None]] = field(default_factory=list)
    """Resolved when it was read."""

    @property
    def is_read(self) -> bool:
        """It is connected, and answers."""
        return self.is_attached and self.silence is not None

    @property
    def held(self) -> Collection[str]:
        """While it is read, its values that change too often to be told."""
        return self.steadiness.held if self.is_read else ()

    def is_due(self, now_s: float, published: CameraReading) -> bool:
        """Whether clients, who were told a reading, are told what was read since, however little it is."""
        is_late = self.published_s is None or now_s - self.published_s >= REFRESH_S
        return is_late and self.reading.read_us != published.read_us

    def begun_us(self, now: Clocks) -> int:
        """When a recording began that is seen for the first time: whatever the camera says, after it was last
        seen without it in this connection. That is measured from the reading on back, by the clock that is
        never set."""
        read_us, since_us = self.reading.read_us, self.reading.recording_since_us
        if since_us is None or self.followed is None:
            return since_us or read_us
        return max(since_us, read_us - (now.steady_us - self.followed.steady_us))

    def unread(self) -> None:
        """It is no longer read."""
        self.reading, self.said = self.reading.after_link(), self.said.after_link()

    @property
    def is_recording_held(self) -> bool:
        """It was read last while that changed too often: it may record or not."""
        return RECORDING in self.steadiness.held


def recording_at_begin(
    camera: Camera, before: CameraReading, expected: tuple[ExpectedCamera, ...]
) -> Recording:
    """The facts of a recording that has begun since the reading `before`. Its clock is that of before, unless
    the clock was set since."""
    reading, is_set = camera.reading, camera.corrected_us == before.clock_read_us
    has_clock = before.clock_read_us and not is_set
    return Recording(
        reading.serial_number,
        battery_level=reading.battery_level,
        storage_free=reading.storage_free,
        clock_offset_us=before.clock_offset_us if has_clock else None,
        clock_bound_us=before.clock_bound_us if has_clock else None,
        expected=expected,
    )


def log_held(device: Device, before: Steadiness, now: Steadiness) -> None:
    """Write to the journal which values of a camera are held, and how often they changed until they were
    released."""
    for value in now.held.keys() - before.held.keys():
        _log.info("camera_value_held", device=device.id, device_name=device.name, value=value)
    for value in before.held.keys() - now.held.keys():
        changes = before.held[value]
        _log.info(
            "camera_value_released",
            device=device.id,
            device_name=device.name,
            value=value,
            changes=changes,
        )


def log_drift(device: Device, before: CameraReading, now: CameraReading) -> None:
    """Write to the journal by how much a camera's clock drifts, once that is measured."""
    if before.clock_drift_ppm is None and now.clock_drift_ppm is not None:
        _log.info(
            "camera_clock_drifts",
            device=device.id,
            device_name=device.name,
            drift_ppm=now.clock_drift_ppm,
        )


def log_problems(
    device: Device, before: Sequence[Problem], now: Sequence[Problem], reading: CameraReading
) -> None:
    """Write to the journal which problems a camera has got, and which are over."""
    for problem in now:
        if problem not in before:
            _log.warning(
                "camera_problem",
                device=device.id,
                device_name=device.name,
                code=problem.value,
                reason=sentences.camera_problem(problem, reading),
            )
    for problem in before:
        if problem not in now:
            _log.info(
                "camera_problem_over",
                device=device.id,
                device_name=device.name,
                code=problem.value,
            )


def log_failure(device: Device, result: CommandResult, *, is_repeated: bool = False) -> None:
    """Write to the journal why a command to record or to stop has failed, if it has; each time but if it
    `is_repeated`."""
    if result.error is not None:
        (_log.debug if is_repeated else _log.warning)(
            "recording_failed",
            device=device.id,
            device_name=device.name,
            code=result.error.code,
            reason=result.error.message,
        )


def may_be_done(result: CommandResult) -> bool:
    """Whether a command has succeeded, or may have."""
    return result.error is None or isinstance(result.error, Unconfirmed)


def cancel(timer: asyncio.TimerHandle | None) -> None:
    """Cancel a timer, if there is one."""
    if timer is not None:
        timer.cancel()
