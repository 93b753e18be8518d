"""An emulated camera: what it is and does at any time, without I/O and without a protocol.

Between two looks at it nothing runs: `advance` reckons what has happened since the last one, to the moment.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from wifimgrd.domain.camera import StopReason, StorageState, TemperatureState

BYTES_PER_S: Final = 12_500_000
"""The data rate of a recording: 100 Mbit/s."""
_FULL_PERCENT: Final = 100.0
_RECORDING_PERCENT_S: Final = -100 / (75 * 60)
_IDLE_PERCENT_S: Final = -100 / (6 * 3600)
_CHARGING_PERCENT_S: Final = 100 / (2 * 3600)
_DRAINING_PERCENT_S: Final = -1.0
_WARM_BY_RECORDING: Final = 8
_COLD_C: Final = 0
_WARM_C: Final = 60
_HOT_C: Final = 70
SLOW_CARD_S: Final = 2.0
"""How long a recording to a card that is too slow lasts."""
_FILES_KEPT: Final = 100


class Refusal(Enum):
    """Why a camera does not do what it is told."""

    BUSY = auto()
    """It records already."""
    IDLE = auto()
    """It does not record."""
    CARD_FULL = auto()
    CARD_MISSING = auto()
    BATTERY = auto()
    TOO_HOT = auto()
    OTHER = auto()
    """It does not say why."""


class Refused(Exception):
    """A camera refuses a command."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.name.lower().replace("_", " "))


class Change(Enum):
    """A change at a camera."""

    BATTERY = auto()
    """By one percent, or its charging."""
    CARD = auto()
    """It was inserted, removed, or is full or free again."""
    STARTED = auto()
    """A recording."""
    STOPPED = auto()
    """A recording; `EmulatedCamera.last_ended` says why."""


@dataclass(frozen=True, slots=True)
class CameraSettings:
    """A camera's properties, and its state at first."""

    model: str = "HERO12 Black"
    """The model's name that it reports."""
    serial_number: str = "C3501300000001"
    firmware_version: str = "H23.01.02.32.00"
    ssid: str = "GP00000001"
    """Some say it."""
    battery: int = 80
    """Percent."""
    charging: bool = False
    card_bytes: int = 64_000_000_000
    """0 = no card."""
    card_free_bytes: int | None = None
    """None = all of it."""
    recording: bool = False
    clock_offset_s: float = 0
    """By how much its clock is ahead."""
    clock_drift_ppm: float = 0
    """How many microseconds it gains in a second."""
    temperature_c: int = 36
    """While it is idle."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A recording that has ended."""

    number: int
    """Since it was made, from 1."""
    began_s: float
    """By its own clock, seconds since the epoch."""
    seconds: float
    size: int
    """Bytes."""
    reason: StopReason


class EmulatedCamera:
    """One camera. `set_...` and `fail_...` are what happens to it, the rest is what its client can do."""

    def __init__(
        self,
        settings: CameraSettings,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`wall` is the right time, seconds since the epoch; it is read only to set the camera's clock."""
        self.settings = settings
        self.on_sleep: Callable[[], None] = _nothing
        """Called when a client puts it to sleep."""
        self.on_reboot: Callable[[], None] = _nothing
        """Called when one reboots it."""
        self.refuses_recording = False
        self.silent = False
        """Its servers accept, read and never answer."""
        self._is_unanswered = self._has_obeyed = False
        self.garbage = False
        """Its servers answer with what makes no sense."""
        self.keeps_clock = False
        """It takes a new time, and goes on with its own."""
        self.takes_photos = False
        """It takes photos at intervals, which is not a recording."""
        self.files: deque[Ended] = deque(maxlen=_FILES_KEPT)
        """The newest recordings on the card."""
        self._monotonic = monotonic
        self._wall = wall
        self._listeners: dict[object, Callable[[Change], None]] = {}
        self._at = monotonic()
        self._battery = float(settings.battery)
        self._charging = settings.charging
        self._draining = False
        self._total = float(settings.card_bytes)
        self._free = min(self._total, _or(settings.card_free_bytes, self._total))
        self._is_missing = settings.card_bytes == 0
        self._is_slow = False
        self._is_hot = False
        self._stops_after: tuple[float, StopReason] | None = None
        self._recording_at: float | None = None
        self._counted_s = 0.0
        self._count_rate = 1.0
        self._recording_began_s = 0.0
        self._recorded = 0
        self._zone_min = 0
        self._clock_s = 0.0
        self._clock_at = self._at
        self.set_clock_off(settings.clock_offset_s)
        if settings.recording:
            with suppress(Refused):
                self.start()

    # Values and commands for clients.

    @property
    def battery(self) -> int:
        """Percent."""
        return self._advanced()._level

    @property
    def charging(self) -> bool:
        """Whether it has power from outside."""
        return self._charging

    @property
    def storage(self) -> StorageState:
        """The state of its card."""
        if self._is_missing:
            return StorageState.MISSING
        if self._is_slow:
            return StorageState.SLOW
        return StorageState.FULL if self._advanced()._free < 1 else StorageState.OK

    @property
    def card_total(self) -> int:
        """Bytes; 0 without a card."""
        return 0 if self._is_missing else int(self._total)

    @property
    def card_free(self) -> int:
        """Bytes; 0 without a card."""
        return 0 if self._is_missing else int(self._advanced()._free)

    @property
    def seconds_left(self) -> int:
        """For how long its card has room."""
        return self.card_free // BYTES_PER_S

    @property
    def temperature_c(self) -> int:
        """Degrees Celsius."""
        if self._is_hot:
            return _HOT_C + 5
        return self.settings.temperature_c + _WARM_BY_RECORDING * self.is_recording

    @property
    def temperature(self) -> TemperatureState:
        """The state that `temperature_c` means."""
        if self.temperature_c >= _HOT_C:
            return TemperatureState.TOO_HOT
        if self.temperature_c >= _WARM_C:
            return TemperatureState.WARNING
        return TemperatureState.TOO_COLD if self.temperature_c < _COLD_C else TemperatureState.NORMAL

    @property
    def is_recording(self) -> bool:
        """Whether it records."""
        return self._advanced()._recording_at is not None

    @property
    def counted_s(self) -> int:
        """How many seconds of the recording it has counted: in a time lapse those of the video."""
        return int(self._counted_s) if self.is_recording else 0

    @property
    def is_paused(self) -> bool:
        """Whether the recording is paused."""
        return self._count_rate == 0 and self.is_recording

    @property
    def last_ended(self) -> Ended | None:
        """The newest recording that has ended."""
        return self.files[-1] if self._advanced().files else None

    @property
    def clock_s(self) -> float:
        """Its clock, in seconds since the epoch."""
        passed = self._monotonic() - self._clock_at
        return self._clock_s + passed * (1 + self.settings.clock_drift_ppm / 1e6)

    @property
    def zone_min(self) -> int:
        """Its time zone, minutes east of UTC."""
        return self._zone_min

    @property
    def answers(self) -> bool:
        """Whether its servers answer."""
        return not (self.silent or self._has_obeyed)

    def set_clock(self, seconds: float, zone_min: int) -> None:
        """Set its clock, to seconds since the epoch, and its time zone."""
        if not self.keeps_clock:
            self._set_clock(seconds, zone_min)

    def _set_clock(self, seconds: float, zone_min: int) -> None:
        self._clock_s, self._clock_at, self._zone_min = seconds, self._monotonic(), zone_min

    def start(self) -> None:
        """Start to record; raises Refused."""
        self._has_obeyed = self._is_unanswered
        self.advance()
        if (refusal := self._refusal()) is not None:
            raise Refused(refusal)
        self._recording_at, self._counted_s = self._at, 0.0
        self._recording_began_s = self.clock_s
        self._notify(Change.STARTED)
        self.advance()  # it may end at once

    def stop(self) -> Ended:
        """Stop a recording; raises Refused."""
        self._has_obeyed = self._is_unanswered
        self.advance()
        return self._end(StopReason.STOPPED)

    def sleep(self) -> None:
        """Go to sleep; a recording ends."""
        self.switch_off()
        self.on_sleep()

    # Events that happen to it.

    def switch_off(self) -> None:
        """It is switched off, or its power is cut: a recording ends."""
        if self.is_recording:
            self._end(StopReason.STOPPED)

    def set_battery(self, percent: int | None, *, draining: bool) -> None:
        """Its battery is at `percent` now (None = as it is), and loses one each second (`draining`)."""
        self.advance()
        self._battery = _or(percent, self._battery)
        self._draining = draining
        self._notify(Change.BATTERY)
        self.advance()

    def set_card(
        self, *, missing: bool | None = None, full: bool | None = None, slow: bool | None = None
    ) -> None:
        """Its card is pulled out or put in, is full or as at first, is too slow to record to or not; None: as
        it is."""
        self.advance()
        if missing is not None:
            self._is_missing = missing or self._total == 0
        if full is not None:
            self._free = 0.0 if full else min(self._total, _or(self.settings.card_free_bytes, self._total))
        if slow is not None:
            self._is_slow = slow
        self._notify(Change.CARD)
        self.advance()

    def set_hot(self, *, is_hot: bool) -> None:
        """It is too hot to record."""
        self.advance()
        self._is_hot = is_hot
        self.advance()

    def set_stops(self, after_s: float | None, reason: StopReason = StopReason.UNKNOWN) -> None:
        """Each recording ends by itself after so long; None: no longer."""
        self.advance()
        self._stops_after = None if after_s is None else (after_s, reason)
        self.advance()

    def set_count_rate(self, rate: float) -> None:
        """How many seconds it counts in a second of a recording: 1, less in a time lapse, 0 in a pause."""
        self.advance()
        self._count_rate = rate

    def set_zone(self, minutes: int) -> None:
        """Its clock has another zone, and is as right as before."""
        self._set_clock(self.clock_s, minutes)

    def set_unanswered(self, *, is_set: bool) -> None:
        """It obeys the next command to start or to stop, and its servers answer nothing from then on."""
        self._is_unanswered, self._has_obeyed = is_set, False

    def set_clock_off(self, seconds: float) -> None:
        """Its clock is ahead of the right time by so much, in UTC."""
        self._set_clock(self._wall() + seconds, 0)

    # How it lives.

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` at each change, as soon as it is reckoned; returns what ends that."""
        key = object()
        self._listeners[key] = listener
        return lambda: self._listeners.pop(key, None) and None

    def seconds_to_change(self) -> float:
        """How long until something changes by itself: whoever wants to be told looks again by then."""
        self.advance()
        rate = self._battery_rate()
        battery = math.inf
        if rate < 0 < self._level:
            battery = (self._battery - (self._level - 0.5)) / -rate
        elif rate > 0 and self._level < _FULL_PERCENT:
            battery = (self._level + 0.5 - self._battery) / rate
        return min(battery, self._end_of_recording()[0])

    def advance(self) -> None:
        """Reckon what has happened until now."""
        until, reason = self._end_of_recording()
        if self._at + until <= self._monotonic():
            self._pass(until)
            if reason is StopReason.FULL:
                self._free = 0.0  # exactly, whatever the rounding
            self._end(reason)
        # Who was told of it may have looked at this camera, and so have come here.
        self._pass(max(0.0, self._monotonic() - self._at))

    def _advanced(self) -> EmulatedCamera:
        self.advance()
        return self

    def _pass(self, seconds: float) -> None:
        """So long passes, in which no recording begins or ends."""
        self._at += seconds
        before = self._level
        changed = self._battery + self._battery_rate() * seconds
        self._battery = min(_FULL_PERCENT, max(0.0, changed))
        if self._recording_at is not None:
            self._free = max(0.0, self._free - BYTES_PER_S * seconds)
            self._counted_s += seconds * self._count_rate
        if self._level != before:
            self._notify(Change.BATTERY)

    def _end_of_recording(self) -> tuple[float, StopReason]:
        """In how many seconds a recording ends by itself, and why."""
        if self._recording_at is None:
            return math.inf, StopReason.UNKNOWN
        recorded = self._at - self._recording_at
        ends = [(self._free / BYTES_PER_S, StopReason.FULL)]
        if self._battery_rate() < 0:
            ends.append((self._battery / -self._battery_rate(), StopReason.BATTERY))
        if self._is_slow:
            ends.append((SLOW_CARD_S - recorded, StopReason.SLOW_CARD))
        if self.settings.temperature_c >= _HOT_C or self._is_hot:
            ends.append((0, StopReason.TOO_HOT))
        if self._is_missing:
            ends.append((0, StopReason.UNKNOWN))
        if self._stops_after is not None:
            after, reason = self._stops_after
            ends.append((after - recorded, reason))
        until, reason = min(ends, key=_first)
        return max(0.0, until), reason

    @property
    def _level(self) -> int:
        return math.floor(self._battery + 0.5)

    def _battery_rate(self) -> float:
        """Percent that the battery gains in a second."""
        if self._draining:
            return _DRAINING_PERCENT_S
        used = _IDLE_PERCENT_S if self._recording_at is None else _RECORDING_PERCENT_S
        return used + _CHARGING_PERCENT_S * self._charging

    def _refusal(self) -> Refusal | None:
        if self._recording_at is not None or self.takes_photos:
            return Refusal.BUSY
        refusals = {
            Refusal.OTHER: self.refuses_recording,
            Refusal.TOO_HOT: self.temperature is TemperatureState.TOO_HOT,
            Refusal.CARD_MISSING: self._is_missing,
            Refusal.CARD_FULL: self._free < BYTES_PER_S,
            Refusal.BATTERY: self._battery < 1 and not self._charging,
        }
        return next((refusal for refusal, applies in refusals.items() if applies), None)

    def _end(self, reason: StopReason) -> Ended:
        if self._recording_at is None:
            raise Refused(Refusal.IDLE)
        seconds = self._at - self._recording_at
        self._recorded += 1
        ended = Ended(self._recorded, self._recording_began_s, seconds, int(seconds * BYTES_PER_S), reason)
        self._recording_at = None
        self.files.append(ended)
        self._notify(Change.STOPPED)
        if self._free < 1:
            self._notify(Change.CARD)
        return ended

    def _notify(self, change: Change) -> None:
        for listener in tuple(self._listeners.values()):
            listener(change)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else float(value)


def _first(end: tuple[float, StopReason]) -> float:
    return end[0]


def _nothing() -> None:
    pass
