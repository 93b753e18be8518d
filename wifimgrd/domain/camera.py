"""The state that a connected camera reports: battery, card, recording, temperature, clock.

Values and rules, without a clock and without I/O; what is not known is None, and never 0.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from typing import Final

from wifimgrd.domain.errors import WifimgrdError

COMMAND_S: Final = 10.0
"""How long a command to one camera may take."""
COMMAND_OF_MANY_S: Final = 15.0
"""How long one to several may take."""
DIFFERS_S: Final = 10.0
"""How long a camera may record though it should not, or the other way round, before that is a problem."""
SILENT_S: Final = 30.0
"""After so long without an answer it is not known what a camera does."""
LOW_BATTERY: Final = 15
"""Percent; below it that is a problem."""
LITTLE_TIME_S: Final = 600
"""Seconds of recording that fit on the card; fewer are a problem."""
WRONG_CLOCK_US: Final = 5_000_000
"""By how much a camera's clock may differ from this host's before that is a problem."""
_BATTERY_MARGIN: Final = 3
"""Percent."""
_FRESH_US: Final = 60_000_000
"""A connected camera that answers is read more often, and that is published."""
TIME_LEFT_STEP_S: Final = 60
CLOCK_STEP_US: Final = 1_000_000
"""Cameras tell whole seconds."""
_DRIFT_US: Final = 3600 * 1_000_000
"""The shortest time over which a drift is told."""


class CameraDriver(StrEnum):
    """The language in which the hub speaks to a camera, over the camera's network."""

    GOPRO = "gopro"
    """Open GoPro over HTTP: HERO10 and newer."""
    GOPRO_HERO9 = "gopro-hero9"
    """The same of a HERO9, which says what it does, and is only told what to do over Bluetooth."""
    GOPRO_GPCONTROL = "gopro-gpcontrol"
    """The requests of GoPros before that, over HTTP: HERO5 to HERO8, MAX, Fusion."""
    INSTA360 = "insta360"
    """Insta360's own messages: ONE RS, X3, X4, X5."""
    OSC = "osc"
    """Open Spherical Camera over HTTP: Ricoh Theta, and Insta360 models without port 6666."""
    NOVATEK = "novatek"
    """The commands of Novatek's firmware over HTTP: SJCAM, and action and dash cameras of many brands."""

    @property
    def port(self) -> int:
        """The TCP port of the camera that it uses: no other one is opened for it."""
        return _DRIVERS[self].port

    @property
    def has_bluetooth(self) -> bool:
        """Whether a paired camera takes commands over Bluetooth, too."""
        return _DRIVERS[self].has_bluetooth

    @property
    def records_over_network(self) -> bool:
        """Whether the camera starts and stops recording over its network; else only over Bluetooth."""
        return _DRIVERS[self].records_over_network

    @property
    def module(self) -> str:
        """The name of the module that speaks so, and of the one that emulates it."""
        return _DRIVERS[self].module


@dataclass(frozen=True, slots=True)
class _Driver:
    module: str
    port: int
    has_bluetooth: bool = False
    records_over_network: bool = True


_DRIVERS: Final[Mapping[CameraDriver, _Driver]] = {
    CameraDriver.GOPRO: _Driver("gopro", 8080, has_bluetooth=True),
    CameraDriver.GOPRO_HERO9: _Driver("gopro", 8080, has_bluetooth=True, records_over_network=False),
    CameraDriver.GOPRO_GPCONTROL: _Driver("gopro_gpcontrol", 80),
    CameraDriver.INSTA360: _Driver("insta360", 6666),
    CameraDriver.OSC: _Driver("osc", 80),
    CameraDriver.NOVATEK: _Driver("novatek", 80),
}


class BatteryState(StrEnum):
    """Whether the battery is being charged."""

    CHARGING = "charging"
    DISCHARGING = "discharging"


class RecordingState(StrEnum):
    """Whether a camera records video."""

    RECORDING = "recording"
    IDLE = "idle"


class StorageState(StrEnum):
    """The state of the card, or of the memory inside."""

    OK = "ok"
    FULL = "full"
    MISSING = "missing"
    ERROR = "error"
    """It cannot be read or written, or is write-protected."""
    SLOW = "slow"


class TemperatureState(StrEnum):
    """Whether the camera is too hot or too cold."""

    TOO_COLD = "too-cold"
    NORMAL = "normal"
    WARNING = "warning"
    TOO_HOT = "too-hot"


class StopReason(StrEnum):
    """Why a recording ended."""

    STOPPED = "stopped"
    """By a command, of this hub or at the camera."""
    FULL = "full"
    BATTERY = "battery"
    TOO_HOT = "too-hot"
    SLOW_CARD = "slow-card"
    UNKNOWN = "unknown"


class EndSeen(Enum):
    """How the hub knows that a recording has ended."""

    DIRECTLY = auto()
    """It was seen while the camera was connected."""
    SWITCHED_OFF = auto()
    """The same, and the camera's link ended in the next moment: somebody has switched it off."""
    LATER = auto()
    """It was over when the camera was read again."""
    NEVER = auto()
    """It was not seen to end, and will not be: the device was removed."""


class Problem(StrEnum):
    """A camera's problems, in the order in which people need them."""

    NOT_RECORDING = "not-recording"
    """It should record, and has not for 10 s."""
    STILL_RECORDING = "still-recording"
    """It should not record, and has for 10 s."""
    RECORDING_UNCONFIRMED = "recording-unconfirmed"
    """It was told to start or to stop, may have done it, and was not read since."""
    UNSTABLE = "unstable"
    """A value changes so often that it is held: wifimgrd.domain.steadiness."""
    TOO_HOT = "too-hot"
    TOO_COLD = "too-cold"
    BATTERY_LOW = "battery-low"
    STORAGE_MISSING = "storage-missing"
    STORAGE_FULL = "storage-full"
    STORAGE_ERROR = "storage-error"
    STORAGE_SLOW = "storage-slow"
    STORAGE_LOW = "storage-low"
    CLOCK_WRONG = "clock-wrong"


@dataclass(frozen=True, slots=True)
class CameraReading:
    """The state of a camera when it was last read."""

    read_us: int = 0
    """When, microseconds since the epoch; 0 = never."""
    battery_level: int | None = None
    """Percent."""
    battery_state: BatteryState | None = None
    recording: RecordingState | None = None
    recording_since_us: int | None = None
    """Since when it records, microseconds since the epoch."""
    recorded_s: int | None = None
    """The camera's own count of the recording's seconds: slower than the clock in a time lapse, still in a
    pause. It goes back only with another recording."""
    stop_reason: StopReason | None = None
    """Why the last recording ended, as far as the camera has said; None while it records."""
    storage_state: StorageState | None = None
    storage_free: int | None = None
    """Bytes."""
    storage_total: int | None = None
    """Bytes."""
    time_left_s: int | None = None
    """How long it can record, seconds."""
    temperature: TemperatureState | None = None
    clock_offset_us: int | None = None
    """Its clock minus this host's, microseconds."""
    clock_read_us: int = 0
    """When that was read, microseconds since the epoch; 0 = the offset is not known."""
    clock_bound_us: int | None = None
    """The true offset is within that of `clock_offset_us`; None if that is not known."""
    clock_drift_ppm: int | None = None
    """By how much its clock runs faster than this host's, in millionths."""
    model: str = ""
    """The model's name as the camera reports it; empty if it has not."""
    serial_number: str = ""
    firmware_version: str = ""

    @property
    def is_recording(self) -> bool | None:
        """Whether it records."""
        return None if self.recording is None else self.recording is RecordingState.RECORDING

    def battery_at(self, now_us: int) -> int | None:
        """How full the battery is, percent, if the camera was read just before; it may have changed since."""
        return self.battery_level if now_us - self.read_us < _FRESH_US else None

    def after_link(self) -> CameraReading:
        """The values that are still true once its link has ended, or it no longer answers."""
        return replace(
            self,
            recording=None,
            recording_since_us=None,
            recorded_s=None,
            stop_reason=None,
            time_left_s=None,
            temperature=None,
            clock_offset_us=None,
            clock_read_us=0,
            clock_bound_us=None,
            clock_drift_ppm=None,
        )


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command at one camera."""

    after_us: int = 0
    """From the sending of the request to the camera's answer, microseconds; 0 without an answer."""
    error: WifimgrdError | None = None
    """None if it is done."""


class CameraCommand(StrEnum):
    """A command to a camera."""

    START = "start-recording"
    STOP = "stop-recording"
    SET_CLOCK = "set-clock"


@dataclass(frozen=True, slots=True)
class CameraAnswer:
    """The result and the reading from a connection for one command, to a camera that is not connected."""

    result: CommandResult
    reading: CameraReading


@dataclass(frozen=True, slots=True)
class CameraStatus:
    """A camera that the hub has a driver for, for clients, at one moment."""

    reading: CameraReading = CameraReading()
    requested: bool = False
    """Whether the last command was to record."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """The state that the last command has asked of a camera."""

    records: bool = False
    """It should record, until it is told to stop."""
    stops: bool = False
    """It was told to stop, and was not seen idle since. Whoever then starts it at the camera may."""
    since_us: int = 0
    """When that was commanded, microseconds since the epoch. A reading from before says nothing of it."""
    was_read: bool = False
    """The camera was read since, or since the first command to do that."""
    is_unconfirmed: bool = False
    """It may have done this command, or one before, and was not read since."""

    def commanded(self, at_us: int, *, on: bool) -> Wish:
        """A command to start recording, or to stop."""
        wish = Wish(records=on, stops=not on, since_us=at_us, is_unconfirmed=self.is_unconfirmed)
        return wish if wish.is_another(self) else replace(wish, was_read=self.was_read)

    def is_another(self, before: Wish) -> bool:
        """Whether something else is wanted than before."""
        return (self.records, self.stops) != (before.records, before.stops)

    def unconfirmed(self) -> Wish:
        """The command may have been done: its answer was lost, and the camera could not be read."""
        return replace(self, is_unconfirmed=True)

    def done(self) -> Wish:
        """The camera has said that it has done the command."""
        return replace(self, is_unconfirmed=False)

    def seen(self, reading: CameraReading, now_us: int) -> Wish:
        """The camera was read; `now_us` is the time, by a clock that may have been set back since the
        command."""
        if reading.recording is None or reading.read_us < self.since_us <= now_us:
            return self
        is_idle = reading.recording is RecordingState.IDLE
        return replace(self, stops=self.stops and not is_idle, was_read=True, is_unconfirmed=False)

    def differs(self, reading: CameraReading) -> bool | None:
        """Whether the camera does something else; None if that is not known."""
        if not self.was_read or reading.recording is None:
            return None
        if self.records:
            return reading.recording is RecordingState.IDLE
        return self.stops and reading.recording is RecordingState.RECORDING


_VALUES: Final[Mapping[Problem, frozenset[str]]] = {
    Problem.TOO_HOT: frozenset({"temperature"}),
    Problem.TOO_COLD: frozenset({"temperature"}),
    Problem.BATTERY_LOW: frozenset({"battery_level", "battery_state"}),
    Problem.STORAGE_MISSING: frozenset({"storage_state"}),
    Problem.STORAGE_FULL: frozenset({"storage_state"}),
    Problem.STORAGE_ERROR: frozenset({"storage_state"}),
    Problem.STORAGE_SLOW: frozenset({"storage_state"}),
    Problem.STORAGE_LOW: frozenset({"storage_state", "time_left_s"}),
    Problem.CLOCK_WRONG: frozenset({"clock_offset_us"}),
}
"""The values of a reading that a problem is found by."""


def problems_of(
    reading: CameraReading,
    wish: Wish,
    before: Container[Problem] = (),
    *,
    differs_s: float,
    held: Collection[str] = (),
) -> tuple[Problem, ...]:
    """The problems of a camera with this reading. `differs_s` is for how long it has not done what it should,
    `held` the values that are held. A problem with a number that is in `before` goes only once the number is
    better by a margin, two steps at least, so that the problem comes and goes only with changes that count.
    The problem of a value that is held does not go."""
    is_late = differs_s >= DIFFERS_S
    low_battery = LOW_BATTERY + _BATTERY_MARGIN * (Problem.BATTERY_LOW in before)
    little_time_s = LITTLE_TIME_S + 2 * TIME_LEFT_STEP_S * (Problem.STORAGE_LOW in before)
    wrong_clock_us = WRONG_CLOCK_US - 2 * CLOCK_STEP_US * (Problem.CLOCK_WRONG in before)
    found = {
        Problem.NOT_RECORDING: is_late and wish.records,
        Problem.STILL_RECORDING: is_late and not wish.records,
        Problem.RECORDING_UNCONFIRMED: wish.is_unconfirmed,
        Problem.UNSTABLE: bool(held),
        Problem.TOO_HOT: reading.temperature is TemperatureState.TOO_HOT,
        Problem.TOO_COLD: reading.temperature is TemperatureState.TOO_COLD,
        Problem.BATTERY_LOW: reading.battery_level is not None
        and reading.battery_level < low_battery
        and reading.battery_state is not BatteryState.CHARGING,
        Problem.STORAGE_MISSING: reading.storage_state is StorageState.MISSING,
        Problem.STORAGE_FULL: reading.storage_state is StorageState.FULL,
        Problem.STORAGE_ERROR: reading.storage_state is StorageState.ERROR,
        Problem.STORAGE_SLOW: reading.storage_state is StorageState.SLOW,
        Problem.STORAGE_LOW: reading.storage_state is StorageState.OK
        and reading.time_left_s is not None
        and reading.time_left_s < little_time_s,
        Problem.CLOCK_WRONG: reading.clock_offset_us is not None
        and abs(reading.clock_offset_us) >= wrong_clock_us,
    }
    kept = {one for one, values in _VALUES.items() if one in before and not values.isdisjoint(held)}
    return tuple(problem for problem, is_there in found.items() if is_there or problem in kept)


def ended(recorded_s: int, reading: CameraReading) -> bool:
    """Whether a recording of which the camera had counted so many seconds has ended: the camera is idle, or
    has begun to count anew, since another one runs. When one began tells nothing: a count may be slower than
    the clock, and the clock may be set."""
    if reading.recording is RecordingState.IDLE:
        return True
    return reading.recorded_s is not None and reading.recorded_s < recorded_s


def drift_ppm(reading: CameraReading, set_us: int) -> int | None:
    """By how much a clock that was set at `set_us` runs fast, in millionths; None if that is not known, or
    was set only just before."""
    passed_us = reading.clock_read_us - set_us
    if not set_us or reading.clock_offset_us is None or passed_us < _DRIFT_US:
        return None
    return round(reading.clock_offset_us / passed_us * 1e6)


def stop_reason(reading: CameraReading, *, commanded: bool) -> StopReason:
    """Why a recording that was seen has ended."""
    if commanded:
        return StopReason.STOPPED
    if reading.recording is RecordingState.RECORDING:  # it began another one
        return StopReason.UNKNOWN
    if reading.stop_reason is not None:
        return reading.stop_reason
    if reading.storage_state is StorageState.FULL:
        return StopReason.FULL
    if reading.storage_state is StorageState.SLOW:
        return StopReason.SLOW_CARD
    if reading.temperature is TemperatureState.TOO_HOT:
        return StopReason.TOO_HOT
    return StopReason.UNKNOWN
