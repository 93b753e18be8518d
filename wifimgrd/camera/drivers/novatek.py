"""Cameras with Novatek's firmware over HTTP: one request for each number of a command, answered in XML.

Commands, their numbers and results: Novatek's "NT9666x Wi-Fi Command User Guide", which
https://cdn.shopify.com/s/files/1/0878/4732/files/Survey3-WIFI-Manual.pdf is. Cameras that take them:
https://gist.github.com/surdu/d1981a3204851c3587f87e684ea7d734 (SJCAM),
https://dashcamtalk.com/forum/posts/307952/ (dash cameras).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from wifimgrd.camera.drivers._http import HttpParser, get
from wifimgrd.camera.drivers._refusals import require_card
from wifimgrd.camera.drivers._values import local, seconds, space, text
from wifimgrd.camera.drivers.protocol import (
    MICROSECONDS,
    Answer,
    Conversation,
    HostTime,
    NetworkDriver,
    Nonsense,
    Parser,
    Pause,
    Request,
    busy_recording,
)
from wifimgrd.domain.camera import BatteryState, CameraDriver, RecordingState, StopReason, StorageState
from wifimgrd.domain.errors import CameraRefused, NotSupported, WifimgrdError


class Command(IntEnum):
    """The numbers of commands."""

    RECORD = 2001
    SECONDS_LEFT = 2009
    RECORDED_S = 2016
    """The seconds of the present file; 0 while it does not record, and in the first second."""
    HEARTBEAT = 3016
    SET_DATE = 3005
    SET_TIME = 3006
    VERSION = 3012
    FREE_SPACE = 3017
    BATTERY = 3019
    CARD = 3024


_OK: Final = 200
_TAKEN: Final = 0
_NO_SUCH_COMMAND: Final = -256
_RESULTS: Final[Mapping[int, str]] = {
    -7: "the card is full",
    -8: "the camera cannot write to its card",
    -9: "the card is too slow",
    -10: "the battery is too low",
    -11: "the card is full",
    -12: "the folder on the card is full",
    -22: "the camera is in another mode: put it into its mode for video",
}
_BATTERY: Final[Mapping[int, int]] = {0: 100, 1: 66, 2: 33, 3: 10, 4: 0}
"""Full, middle, low, empty, exhausted: steps, as percent; only the last one ends recordings."""
_CHARGES: Final = 5
"""In place of a step."""
_CARD: Final[Mapping[int, StorageState]] = {
    0: StorageState.MISSING,
    1: StorageState.OK,
    2: StorageState.ERROR,
}
"""2 is a card that is locked."""
_OPTIONS_US: Final = 10_000_000
"""From one read of what changes slowly to the next."""
_LOOKS: Final = 4
_LOOK_S: Final = 0.3
"""How often, and after which pauses, a count of 0 is looked at again: longer than a second."""
_LONGEST_ANSWER: Final = 4096
"""Bytes."""
_BLANK: Final = rb"\s{0,20}"
_ANSWER: Final = re.compile(
    rb"~(?:<\?xml[^<>]{0,100}\?>)?~<Function>~<Cmd>~(\d{1,5})~</Cmd>~<Status>~(-?\d{1,6})~</Status>"
    rb"(?:~<Value>~(-?\d{1,18})~</Value>|~<String>([^<]{0,200})</String>)?[^\0]*</Function>~".replace(
        b"~", _BLANK
    )
)
"""Bounded, since blanks may be sent without an end."""


@dataclass(frozen=True, slots=True)
class _Response:
    """The answer of a camera to a command."""

    result: int
    value: int | None = None
    text: str = ""


class NovatekDriver(NetworkDriver):
    """Speaks with one camera over its network."""

    done_s = 1.0

    def __init__(self) -> None:
        super().__init__()
        self._unknown: set[Command] = set()
        """The commands that it does not know."""
        self._answered_us = 0
        """When it has answered last."""

    def parser(self) -> Parser:
        """For a new connection."""
        return HttpParser()

    def _request(self, command: Command, **parameters: str | int) -> Request:
        given = "".join(f"&{name}={value}" for name, value in parameters.items())
        return get(self.host, f"/?custom=1&cmd={int(command)}{given}")

    def _ask(self, command: Command) -> Conversation[_Response]:
        """Its answer."""
        answer = yield self._request(command)
        self._answered_us = answer.moment_us
        told = _parse(answer, command)
        if told.result == _NO_SUCH_COMMAND:
            self._unknown.add(command)
        return told

    def _ask_if_known(self, command: Command) -> Conversation[_Response]:
        """Its answer to a command that a brand may have left out, or answers in another way; none, without a
        request, if it does not know it."""
        if command in self._unknown:
            return _Response(_NO_SUCH_COMMAND)
        try:
            return (yield from self._ask(command))
        except Nonsense:
            return _Response(_NO_SUCH_COMMAND)

    # -- state

    def begin(self) -> Conversation[None]:
        """Read the firmware's version; it says no model and no serial number."""
        self._unknown.clear()
        self._options_us = 0
        told = yield from self._ask_if_known(Command.VERSION)
        self.facts.identify("", "", text(told.text))

    def read(self) -> Conversation[None]:
        """Read whether it records, and every 10 s all else."""
        yield from self._read_recording(is_patient=self.reading.recording is not RecordingState.IDLE)
        at_us = self._answered_us
        if not 0 <= at_us - self._options_us < _OPTIONS_US:
            yield from self._read_options()
            self._options_us = at_us
        self.facts.reading = replace(self.facts.reading, read_us=at_us)
        self.facts.may_have_stopped_for(self._cause(), at_us)

    def read_recording(self) -> Conversation[None]:
        """Read only that."""
        yield from self._read_recording(is_patient=True)

    def _read_recording(self, *, is_patient: bool) -> Conversation[None]:
        """A recording has counted 0 seconds in its first one, and in the first one of each further file: with
        `is_patient` that is looked at again. The count is that of a file, so it only tells the begin: a
        recording that was ended and begun between two reads looks the same as one that has gone on."""
        if Command.RECORDED_S in self._unknown:
            yield from self._ask(Command.HEARTBEAT)
            return
        told = yield from self._ask(Command.RECORDED_S)
        for _ in range(_LOOKS if is_patient else 0):
            if told.value != 0:
                break
            yield Pause(_LOOK_S)
            told = yield from self._ask(Command.RECORDED_S)
        at_us = self._answered_us
        counted_s = seconds(told.value) if told.result == _TAKEN else None
        if counted_s is None:
            self.facts.has_recording(None, at_us)
        elif counted_s == 0:
            if self.reading.is_recording:
                self._options_us = 0  # they may say why it has ended
            self.facts.has_recording(RecordingState.IDLE, at_us)
        else:
            self.facts.has_recording(RecordingState.RECORDING, at_us - counted_s * MICROSECONDS)

    def _cause(self) -> StopReason | None:
        """The condition in the present state that ends recordings; None if there is none."""
        if self.reading.storage_state is StorageState.FULL:
            return StopReason.FULL
        return StopReason.BATTERY if self.reading.battery_level == 0 else None

    def _read_options(self) -> Conversation[None]:
        found: dict[Command, int | None] = {}
        for command in (Command.BATTERY, Command.CARD, Command.FREE_SPACE, Command.SECONDS_LEFT):
            told = yield from self._ask_if_known(command)
            found[command] = told.value if told.result == _TAKEN else None
        battery, card = found[Command.BATTERY], found[Command.CARD]
        free = space(found[Command.FREE_SPACE])
        is_full = card == 1 and free == 0
        self.facts.reading = replace(
            self.facts.reading,
            battery_level=None if battery is None else _BATTERY.get(battery),
            battery_state=_battery_state(battery),
            storage_state=StorageState.FULL if is_full else None if card is None else _CARD.get(card),
            storage_free=free,
            time_left_s=seconds(found[Command.SECONDS_LEFT]),
        )

    # -- commands

    def prepare(self, *, on: bool) -> Conversation[bool]:
        """True if it does already what is wanted. One that has just begun to record may be told to do that
        again, which changes nothing; it must not be taken for one that has stopped."""
        yield from self._read_recording(is_patient=not on or self.reading.is_recording is True)
        if self.reading.is_recording is on:
            return True
        if on:
            yield from self._read_options()
            require_card(self.reading)
        return False

    def command(self, *, on: bool) -> Request:
        """Start or stop recording."""
        return self._request(Command.RECORD, par=int(on))

    def refused(self, answer: Answer, *, on: bool) -> WifimgrdError | None:
        """By the result in the answer."""
        told = _parse(answer, Command.RECORD)
        if told.result == _TAKEN:
            return None
        if told.result == _NO_SUCH_COMMAND:
            return NotSupported("the camera does not know the command to record")
        if (sentence := _RESULTS.get(told.result)) is not None:
            return CameraRefused(sentence)
        return self._explained(f"result {told.result}", on=on)

    # -- clock

    def set_clock(self, host: HostTime) -> Conversation[None]:
        """Set the local time at the beginning of a second, then the date. They cannot be read."""
        if self.reading.is_recording:
            raise busy_recording()
        yield host.until_second
        now = local(host.next_second_us, host.offset_s)
        for command, value in (
            (Command.SET_TIME, now.strftime("%H:%M:%S")),
            (Command.SET_DATE, now.strftime("%Y-%m-%d")),
        ):
            told = _parse((yield self._request(command, str=value)), command)
            if told.result != _TAKEN:
                raise CameraRefused(f"the camera does not take the time (result {told.result})")


def _parse(answer: Answer, command: Command) -> _Response:
    """Parse an answer; raises Nonsense, also if it is that to another command."""
    if answer.code != _OK:
        raise Nonsense(f"the camera does not answer command {int(command)} (HTTP {answer.code})")
    is_short = len(answer.body) <= _LONGEST_ANSWER
    found = _ANSWER.fullmatch(answer.body) if is_short else None
    if found is None or int(found[1]) != command:
        raise Nonsense(f"what the camera sent is not an answer to command {int(command)}")
    value = None if found[3] is None else int(found[3])
    return _Response(int(found[2]), value, (found[4] or b"").decode("utf-8", "replace"))


def _battery_state(told: int | None) -> BatteryState | None:
    if told == _CHARGES:
        return BatteryState.CHARGING
    return BatteryState.DISCHARGING if told in _BATTERY else None


DRIVERS: Final = {CameraDriver.NOVATEK: NovatekDriver}
