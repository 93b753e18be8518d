"""The state that a GoPro reports in numbered statuses, over HTTP and over Bluetooth, and its commands:
https://gopro.github.io/OpenGoPro/ble/protocol/id_tables.html"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import IntEnum
from typing import ClassVar, Final

from wifimgrd.camera.drivers._refusals import require_card
from wifimgrd.camera.drivers._values import flag, percent, seconds, space, whole
from wifimgrd.camera.drivers.protocol import (
    TRY_AGAIN_S,
    Answer,
    Conversation,
    Driver,
    Pause,
    Request,
)
from wifimgrd.domain.camera import (
    BatteryState,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.errors import CameraBusy, WifimgrdError


class Status(IntEnum):
    """The ids of statuses."""

    BATTERY_PRESENT = 1
    BATTERY_BARS = 2
    OVERHEATING = 6
    BUSY = 8
    ENCODING = 10
    """It records, or takes photos."""
    RECORDED_S = 13
    CARD = 33
    SECONDS_LEFT = 35
    SPACE_LEFT_KB = 54
    ACCESS_POINT = 69
    BATTERY_PERCENT = 70
    COLD = 85
    MODE = 89
    """Of the preset."""
    PRESET_GROUP = 96
    CARD_SLOW = 111
    CARD_ERRORS = 112
    """How often the card was too slow since the camera was switched on."""
    CARD_SIZE_KB = 117


_KILOBYTE: Final = 1024
_CARD: Final[Mapping[int, StorageState]] = {
    0: StorageState.OK,
    1: StorageState.FULL,
    2: StorageState.MISSING,
    3: StorageState.ERROR,
    4: StorageState.OK,
    8: StorageState.OK,
}
"""4 is a card that is being written, 8 another card; -1 is not known."""
_CHARGES: Final = 4
"""In place of the bars, whatever charges it; what is connected by USB is another status."""
_VIDEO: Final = 1000
_PHOTO: Final = 1001
"""Groups of presets."""
_PHOTO_MODES: Final = frozenset({16, 17, 18, 19, 20, 21, 25})
"""Single, photo, night, burst, time lapse and night lapse as photos, live burst: the flat modes of
https://gopro.github.io/OpenGoPro/ble/protocol/protobuf.html."""
_LARGEST: Final = 1 << 53
"""Of a status; a JSON number may have thousands of digits."""
_READY_TRIES: Final = 12


class GoPro(Driver):
    """Speaks with one GoPro, in one of its two protocols."""

    done_s = 2.5
    accepted: ClassVar[int]
    """The code of an answer to what the camera does."""
    busy_codes: ClassVar[Collection[int]] = ()
    """The codes that only a busy camera has."""
    code_name: ClassVar[str]
    """The word for a code in messages."""

    def __init__(self) -> None:
        super().__init__()
        self._statuses: Mapping[Status, float] = {}
        """Those that are numbers: a camera cannot make the hub keep more."""
        self._card_errors: int | None = None
        """At the last read."""

    @abstractmethod
    def _set_group(self, group: int) -> Request:
        """The request for a group of presets."""

    @abstractmethod
    def _claim(self) -> Request | None:
        """The request that claims control, which the camera's own menus else have; None if it has none."""

    # -- state

    def _number(self, status: Status, low: int, high: int) -> int | None:
        return whole(self._statuses.get(status), low, high)

    def _flag(self, status: Status) -> bool | None:
        return flag(self._statuses.get(status))

    def _value(self, status: Status) -> object:
        return self._statuses.get(status)

    def _take(self, told: Mapping[Status, object], at_us: int) -> None:
        self._statuses = {
            status: value
            for status, value in told.items()
            if isinstance(value, int | float) and abs(value) < _LARGEST
        }
        self.facts.reading = replace(
            self.facts.reading,
            read_us=at_us,
            battery_level=self._battery_level(),
            battery_state=self._battery(),
            storage_state=self._storage(),
            storage_free=space(self._value(Status.SPACE_LEFT_KB), _KILOBYTE),
            storage_total=space(self._value(Status.CARD_SIZE_KB), _KILOBYTE) or None,
            time_left_s=seconds(self._value(Status.SECONDS_LEFT)),
            temperature=self._temperature(),
        )
        self.facts.has_recording(self._recording(), at_us, seconds(self._value(Status.RECORDED_S)))
        self.facts.may_have_stopped_for(self._cause(), at_us)
        self._card_errors = self._number(Status.CARD_ERRORS, 0, _LARGEST)

    def _recording(self) -> RecordingState | None:
        encodes = self._flag(Status.ENCODING)
        if encodes is None:
            return None
        return RecordingState.RECORDING if encodes and not self._is_for_photos else RecordingState.IDLE

    @property
    def _is_for_photos(self) -> bool:
        """Whether its mode is one for photos."""
        return (
            self._number(Status.PRESET_GROUP, 0, _LARGEST) == _PHOTO
            or self._number(Status.MODE, 0, _LARGEST) in _PHOTO_MODES
        )

    def _battery_level(self) -> int | None:
        """Without a battery the camera says 0."""
        is_absent = self._flag(Status.BATTERY_PRESENT) is False
        return None if is_absent else percent(self._value(Status.BATTERY_PERCENT))

    def _battery(self) -> BatteryState | None:
        bars = self._number(Status.BATTERY_BARS, 0, _CHARGES)
        if bars is None:
            return None
        return BatteryState.CHARGING if bars == _CHARGES else BatteryState.DISCHARGING

    def _storage(self) -> StorageState | None:
        number = self._number(Status.CARD, 0, 8)
        state = None if number is None else _CARD.get(number)
        return StorageState.SLOW if state is StorageState.OK and self._flag(Status.CARD_SLOW) else state

    def _temperature(self) -> TemperatureState | None:
        is_hot, is_cold = self._flag(Status.OVERHEATING), self._flag(Status.COLD)
        if is_hot:
            return TemperatureState.TOO_HOT
        if is_cold:
            return TemperatureState.TOO_COLD
        return None if is_hot is None else TemperatureState.NORMAL

    def _cause(self) -> StopReason | None:
        """The condition in the present state that ends recordings; None if there is none."""
        reading = self.facts.reading
        if reading.storage_state is StorageState.FULL:
            return StopReason.FULL
        errors = self._number(Status.CARD_ERRORS, 0, _LARGEST)
        has_failed = None not in (errors, self._card_errors) and errors != self._card_errors
        if reading.storage_state is StorageState.SLOW or has_failed:
            return StopReason.SLOW_CARD
        if reading.temperature is TemperatureState.TOO_HOT:
            return StopReason.TOO_HOT
        return StopReason.BATTERY if reading.battery_level == 0 else None

    # -- commands

    def prepare(self, *, on: bool) -> Conversation[bool]:
        """Wait until it is not busy, and leave a mode for photos."""
        for _ in range(_READY_TRIES):
            yield from self.read()
            if self.reading.is_recording is on:
                return True
            if not on or not self._flag(Status.BUSY):
                break
            yield Pause(TRY_AGAIN_S)
        else:
            raise CameraBusy("the camera is busy")
        if on:
            if self._flag(Status.ENCODING):
                raise CameraBusy("the camera is taking photos")
            require_card(self.reading)
            if self._is_for_photos:
                if (claim := self._claim()) is not None:
                    yield claim  # the camera may refuse that, and change its preset all the same
                answer = yield self._set_group(_VIDEO)
                if answer.code != self.accepted:
                    raise self._error(answer, "it does not leave its mode for photos", on=on)
        return False

    def refused(self, answer: Answer, *, on: bool) -> WifimgrdError | None:
        """The answer only says whether the camera has taken the command."""
        if answer.code == self.accepted:
            return None
        return self._error(answer, f"{self.code_name} {answer.code}", on=on)

    def _error(self, answer: Answer, said: str, *, on: bool) -> WifimgrdError:
        if answer.code in self.busy_codes or self._flag(Status.BUSY):
            return CameraBusy("the camera is busy")
        return self._explained(said, on=on)
