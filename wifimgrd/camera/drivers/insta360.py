"""Insta360's messages at TCP port 6666: ONE RS, X3, X4, X5.

Not documented by the maker; the numbers are those that two published clients have
(https://pypi.org/project/insta360/, https://github.com/hypoxic/insta360-ble-api). A frame is its length,
itself included, and a type; a message has a code, which in an answer is 200 or 500, and the request's number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Final

from wifimgrd.camera.drivers import _insta360_files as files
from wifimgrd.camera.drivers import _protobuf as protobuf
from wifimgrd.camera.drivers._protobuf import Fields
from wifimgrd.camera.drivers._refusals import refusal, require_card
from wifimgrd.camera.drivers._values import percent, seconds, space, text
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import (
    MICROSECONDS,
    Answer,
    Conversation,
    HostTime,
    NetworkDriver,
    Nonsense,
    Parser,
    Push,
    Request,
)
from wifimgrd.domain.camera import (
    BatteryState,
    CameraDriver,
    CameraReading,
    RecordingState,
    StopReason,
    StorageState,
)
from wifimgrd.domain.errors import CameraBusy, CameraRefused, WifimgrdError
from wifimgrd.domain.recordings import RecordedFile

FRAME_BYTES: Final = 64 * 1024
"""The largest frame; those of a preview, which nobody asks for, may be larger."""
_LENGTH: Final = 4
_HEAD: Final = 12
"""Of a message: type, code, 02, number, 80, two bytes of no use."""
_MESSAGE: Final = b"\x04\x00\x00"
_KEEP_ALIVE: Final = b"\x05\x00\x00"
_HELLO: Final = b"\x06\x00\x00syNceNdinS"
_STREAM: Final = b"\x01\x00\x00"
_TYPES: Final = (_MESSAGE, _KEEP_ALIVE, _HELLO[:3], _STREAM)
_NUMBERS: Final = 0xFFFFFF


class Code(IntEnum):
    """The code of a message: a command, an answer, or a message that the camera pushes."""

    START = 4
    STOP = 5
    SET_OPTIONS = 7
    GET_OPTIONS = 8
    FILES = 13
    STATUS = 15
    OK = 200
    FAILED = 500
    PUSHED = 8192
    """All messages that the camera sends by itself have this code or a higher one."""
    SPLIT = 8194
    """It goes on recording in another file."""
    BATTERY = 8195
    BATTERY_LOW = 8196
    CARD = 8198
    CARD_FULL = 8199
    STOPPED = 8201
    CAPTURE = 8208


class Option(IntEnum):
    """Numbers of options, and of their fields."""

    SECONDS_LEFT = 9
    BATTERY = 11
    TIME = 12
    ZONE = 13
    SERIAL = 15
    STORAGE = 20
    FIRMWARE = 30
    MODEL = 48


_STATE: Final = (Option.SECONDS_LEFT, Option.BATTERY, Option.STORAGE)
_NORMAL_VIDEO: Final = 1
_BUSY: Final = 5
"""The code in an error."""
_STORAGE: Final[Mapping[int, StorageState]] = {
    0: StorageState.OK,
    1: StorageState.MISSING,
    2: StorageState.FULL,
    3: StorageState.ERROR,
    4: StorageState.ERROR,
    5: StorageState.ERROR,
}
_REASONS: Final[Mapping[int, StopReason]] = {
    1: StopReason.FULL,
    3: StopReason.FULL,  # too many files
    4: StopReason.SLOW_CARD,
    7: StopReason.BATTERY,
    8: StopReason.SLOW_CARD,  # it is fragmented
    9: StopReason.TOO_HOT,
    10: StopReason.BATTERY,
    11: StopReason.FULL,
    12: StopReason.TOO_HOT,
}
"""Why a recording has ended, 10 to 12 why none has begun; the others say nothing that helps."""
_SETTLED_S: Final = 1.0
"""Until a camera that only says that it has stopped is read: it may begin another file, as an X3 does every
30 minutes."""
_AT_ONCE: Final = 0.0
_IDLE: Final = 0
_PHOTOS: Final = frozenset({3, 4, 5, 6, 10, 11, 14, 15, 16, 19})
"""States in which it takes photos."""
_RECORDS: Final = RecordingState.RECORDING
_NEW_SETTINGS: Final = 8
_STATES: Final = 255
_OPTIONS_US: Final = 9 * MICROSECONDS
_LATEST_S: Final = 1 << 33
"""Of a clock: the year 2242."""


def frame(content: bytes) -> bytes:
    """A frame: a type and what belongs to it."""
    return (_LENGTH + len(content)).to_bytes(_LENGTH, "little") + content


def encode(code: int, number: int, body: bytes = b"") -> bytes:
    """The frame of a message."""
    head = _MESSAGE + code.to_bytes(2, "little") + b"\x02" + number.to_bytes(3, "little") + b"\x80\x00\x00"
    return frame(head + body)


class FrameParser(Parser):
    """Parses frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def expect(self, most_bytes: int = 0) -> None:
        """Answers carry the number of their request, and are frames."""

    def feed(self, data: bytes) -> Sequence[Answer | Push]:
        """Add bytes; raises Nonsense."""
        self._buffer += data
        return [found for content in self._frames() if (found := _message(content)) is not None]

    def _frames(self) -> Iterator[bytes]:
        at = 0
        while len(self._buffer) - at >= _LENGTH:
            size = int.from_bytes(self._buffer[at : at + _LENGTH], "little")
            if not _LENGTH + len(_KEEP_ALIVE) <= size <= FRAME_BYTES:
                raise Nonsense("the camera sent a frame of a length that no frame has")
            if len(self._buffer) - at < size:
                break
            yield bytes(self._buffer[at + _LENGTH : at + size])
            at += size
        del self._buffer[:at]

    def end(self) -> Answer | None:
        """No answer ends with the connection."""
        self.is_reusable = False
        return None


def _message(content: bytes) -> Answer | Push | None:
    if content[:3] not in _TYPES:
        raise Nonsense("the camera sent a frame of a type that is not known")
    if content[:3] != _MESSAGE:
        return None
    if len(content) < _HEAD:
        raise Nonsense("the camera sent a message without its head")
    code = int.from_bytes(content[3:5], "little")
    if code >= Code.PUSHED:
        return Push(code, content[_HEAD:])
    return Answer(code, content[_HEAD:], int.from_bytes(content[6:9], "little"))


class Insta360Driver(NetworkDriver):
    """Speaks with one camera."""

    keep_alive = frame(_KEEP_ALIVE)

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        self._is_taking_photos = False
        self._reason: StopReason | None = None
        """The reason that the camera has sent by itself since the last command."""
        self._stopped = files.NamedFile()
        """When it has stopped last."""

    @property
    def hello(self) -> bytes:
        """The greeting that the camera waits for."""
        return frame(_HELLO) + self.keep_alive

    def parser(self) -> Parser:
        """For a new connection."""
        return FrameParser()

    def _request(self, code: Code, body: bytes = b"") -> Request:
        self._number = self._number % _NUMBERS + 1
        return Request(encode(code, self._number, body), self._number)

    def _get(self, *options: Option) -> Request:
        return self._request(Code.GET_OPTIONS, protobuf.numbers(1, options))

    def begin(self) -> Conversation[None]:
        """Read model, serial number and firmware."""
        answer = yield self._get(Option.SERIAL, Option.FIRMWARE, Option.MODEL)
        found = _options(answer) or Fields(b"")
        self.facts.identify(
            _text(found, Option.MODEL), _text(found, Option.SERIAL), _text(found, Option.FIRMWARE)
        )
        self._options_us = 0

    def read(self) -> Conversation[None]:
        """Read whether it records; battery and card every 10 s, else the camera pushes them."""
        answer = yield self._request(Code.STATUS)
        if answer.code != Code.OK:
            raise Nonsense("the camera does not say whether it records")
        self.facts.reading = replace(self.facts.reading, read_us=answer.moment_us)
        if (capture := Fields(answer.body).message(1)) is None:
            self.facts.has_recording(None, answer.moment_us)
        else:
            self._take_capture(capture, answer.moment_us)
        if not 0 <= answer.moment_us - self._options_us < _OPTIONS_US:
            yield from self._read_options()

    def _read_options(self) -> Conversation[None]:
        answer = yield self._get(*_STATE)
        found = _options(answer) or Fields(b"")
        self._options_us = answer.moment_us
        self._take_battery(found.message(Option.BATTERY))
        storage = found.message(Option.STORAGE)
        left = found.number(Option.SECONDS_LEFT)
        self.facts.reading = replace(
            self.facts.reading,
            storage_state=None if storage is None else _STORAGE.get(storage.number(1)),
            storage_free=None if storage is None else space(storage.number(2)),
            storage_total=None if storage is None else space(storage.number(3)) or None,
            time_left_s=seconds(left) if found.has(Option.SECONDS_LEFT) else None,
        )
        self.facts.may_have_stopped_for(_cause(self.reading), answer.moment_us)

    def _take_battery(self, battery: Fields | None) -> None:
        scale = 100 if battery is None else battery.number(3) or 100
        level = None if battery is None else percent(battery.number(2) * 100 / scale)
        state = None
        if battery is not None:
            state = BatteryState.CHARGING if battery.number(1) else BatteryState.DISCHARGING
        self.facts.reading = replace(self.facts.reading, battery_level=level, battery_state=state)

    def _take_capture(self, capture: Fields, at_us: int) -> None:
        state = capture.number(1)
        if state == _NEW_SETTINGS:
            return
        self._is_taking_photos = state in _PHOTOS
        elapsed = seconds(capture.number(2))  # it stands still in a pause, whose state is the recording's
        self.facts.has_recording(_recording(state), at_us, elapsed)

    # -- commands

    def prepare(self, *, on: bool) -> Conversation[bool]:
        """Read its state: the mode is in the command."""
        self._options_us = 0
        yield from self.read()
        if self.reading.is_recording is on:
            return True
        if on:
            if self._is_taking_photos:
                raise CameraBusy("the camera is taking photos")
            require_card(self.reading)
        return False

    def command(self, *, on: bool) -> Request:
        """Start or stop."""
        self._reason = None
        if not on:
            return self._request(Code.STOP)
        return self._request(Code.START, protobuf.number(1, _NORMAL_VIDEO))

    def refused(self, answer: Answer, *, on: bool) -> WifimgrdError | None:
        """By its code, and by the text in an error."""
        if answer.code == Code.OK:
            return None
        error = Fields(answer.body) if answer.code == Code.FAILED else Fields(b"")
        if error.number(1) == _BUSY:
            return CameraBusy("the camera is busy")
        said = text(error.content(2).decode("utf-8", "replace")) or f"error {answer.code}"
        return self._explained(said, on=on)

    def _explained(self, said: str, *, on: bool) -> CameraRefused:
        return refusal(self.reading, said, on=on, reason=self._reason)

    def take_answer(self, answer: Answer, *, on: bool) -> Conversation[Answer]:
        """Note the file that was stopped."""
        video = Fields(answer.body).message(1) if answer.code == Code.OK and not on else None
        if video is not None:
            self._stopped = files.NamedFile.of(video, answer.moment_us)
        return answer
        yield  # which makes it a generator

    # -- files

    def recorded_files(self, recording: PastRecording) -> Conversation[tuple[RecordedFile, ...] | None]:
        """The one that the camera has named when it has stopped, if that has all of the recording, and that
        of the other lens. None if the camera does not list all its files in three answers."""
        if not self._stopped.is_of(recording):
            return None
        return (yield from files.find(self._stopped, lambda body: self._request(Code.FILES, body)))

    # -- clock

    def ask_clock(self, offset_s: int) -> Conversation[tuple[int, Answer] | None]:
        """Its clock counts seconds since the epoch."""
        del offset_s
        answer = yield self._get(Option.TIME, Option.ZONE)
        found = _options(answer)
        said_s = 0 if found is None else found.number(Option.TIME)
        return (said_s * MICROSECONDS, answer) if 0 < said_s < _LATEST_S else None

    def set_clock(self, host: HostTime) -> Conversation[None]:
        """Set time and time zone at the beginning of a second."""
        yield host.until_second
        value = protobuf.number(Option.TIME, host.next_second_us // MICROSECONDS)
        value += protobuf.number(Option.ZONE, host.offset_s)
        body = protobuf.numbers(1, (Option.TIME, Option.ZONE)) + protobuf.message(2, value)
        answer = yield self._request(Code.SET_OPTIONS, body)
        if answer.code != Code.OK:
            raise refusal(self.reading, "it does not take the time", on=False)

    # -- what it sends by itself

    def pushed(self, push: Push, now_us: int) -> float | None:
        """Take battery, card and recording; after how many seconds there is more to read."""
        try:
            found = Fields(push.body)
            after_s = self._take_push(push.code, found, now_us)
            if push.code == Code.STOPPED and (video := found.message(2)) is not None:
                self._stopped = files.NamedFile.of(video, now_us)
        except Nonsense:
            return _AT_ONCE
        return after_s

    def _take_push(self, code: int, found: Fields, now_us: int) -> float | None:
        after_s = _AT_ONCE
        match code:
            case Code.BATTERY | Code.BATTERY_LOW:
                if (battery := found.message(1)) is not None:
                    self._take_battery(battery)
                return None
            case Code.SPLIT:
                self.facts.has_split()
                return None
            case Code.CARD:
                self._has_storage(_STORAGE.get(found.number(1)))
            case Code.CARD_FULL:
                self._has_storage(StorageState.FULL)
            case Code.STOPPED if (reason := _REASONS.get(found.number(1))) is not None:
                self._reason = reason
                self.facts.has_recording(RecordingState.IDLE, now_us)
                self.facts.stopped_for(reason)
            case Code.STOPPED:
                after_s = _SETTLED_S
            case Code.CAPTURE if self.reading.is_recording and _recording(found.number(1)) is not _RECORDS:
                after_s = _SETTLED_S
            case Code.CAPTURE:
                self._take_capture(found, now_us)
            case _:
                return None
        self._options_us = 0
        return after_s

    def _has_storage(self, state: StorageState | None) -> None:
        self.facts.reading = replace(self.facts.reading, storage_state=state)


DRIVERS: Final = {CameraDriver.INSTA360: Insta360Driver}


def _recording(state: int) -> RecordingState | None:
    """Whether a camera records in a state of its capture."""
    if state > _STATES:
        return None
    return RecordingState.IDLE if state == _IDLE or state in _PHOTOS else _RECORDS


def _options(answer: Answer) -> Fields | None:
    """The options in an answer; None if the camera does not tell them."""
    return Fields(answer.body).message(2) if answer.code == Code.OK else None


def _text(found: Fields, option: Option) -> str:
    return text(found.content(option).decode("utf-8", "replace"))


def _cause(reading: CameraReading) -> StopReason | None:
    return StopReason.FULL if reading.storage_state is StorageState.FULL else None
