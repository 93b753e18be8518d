"""The parts of a driver: conversations of requests and answers as generators, and a parser of the bytes that
come in.

A driver knows one camera. The owner of the connection (`camera/_session.py`, over Bluetooth
`camera/_gopro.py`) carries a conversation out: it sends each request that the generator yields, and sends the
answer into the generator. Times are in the answers.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, TypeVar

from wifimgrd.camera.drivers._facts import Facts
from wifimgrd.camera.drivers._refusals import refusal
from wifimgrd.camera.drivers.clock_bounds import ClockAnswer, ClockBounds
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.domain.camera import WRONG_CLOCK_US, CameraReading
from wifimgrd.domain.errors import CameraBusy, CameraRefused, NotSupported, Unconfirmed, WifimgrdError
from wifimgrd.domain.recordings import RecordedFile

_T = TypeVar("_T")
MICROSECONDS: Final = 1_000_000
NOT_TOLD: Final = "the camera took the command, and does not say whether it records"
TRY_AGAIN_S: Final = 0.25
"""From one look at a camera that is about to do something to the next."""


UNREADABLE: Final = "the camera's answer cannot be understood"
"""The message for clients about Nonsense."""


class Nonsense(Exception):
    """The camera has sent what its protocol does not have; nothing more can be made of that connection."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request; the next one is sent after its answer."""

    data: bytes
    number: int = 0
    """The number that its answer carries; 0 if answers carry none."""
    most_bytes: int = 0
    """That the body of its answer may have; 0 = as many as of every answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request."""

    code: int
    """The status of HTTP, or the maker's own."""
    body: bytes
    number: int = 0
    received_us: int = 0
    """By this host's clock, microseconds since the epoch."""
    took_us: int = 0
    """From the sending of the request to the answer."""
    steady_us: int = 0
    """When it was received, by a clock that nobody sets."""

    @property
    def moment_us(self) -> int:
        """When the camera probably made it, by this host's clock."""
        return self.received_us - self.took_us // 2

    def timed(self, received_us: int, took_us: int, steady_us: int | None = None) -> Answer:
        """The same with its times; `steady_us` is that of the host's clock if it is not given."""
        steady_us = received_us if steady_us is None else steady_us
        return replace(self, received_us=received_us, took_us=took_us, steady_us=steady_us)

    def says(self, second_us: int) -> ClockAnswer:
        """It says that it is this second, microseconds since the epoch."""
        return ClockAnswer(second_us, self.steady_us - self.took_us, self.steady_us)


@dataclass(frozen=True, slots=True)
class Push:
    """A message that a camera has sent by itself."""

    code: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    """Go on after so many seconds."""

    seconds: float


Conversation = Generator[Request | Pause, Answer, _T]


@dataclass(frozen=True, slots=True)
class HostTime:
    """This host's clock."""

    now_us: int
    """Microseconds since the epoch."""
    offset_s: int
    """Local time minus UTC."""
    is_dst: bool

    @classmethod
    def at(cls, now_us: int) -> HostTime:
        """With the time zone that this host has now: it may be changed while this process runs."""
        time.tzset()
        local = time.localtime(now_us // MICROSECONDS)
        return cls(now_us, local.tm_gmtoff, local.tm_isdst > 0)

    @property
    def next_second_us(self) -> int:
        """When the next second begins, or now: cameras take whole seconds."""
        return self.now_us + -self.now_us % MICROSECONDS

    @property
    def until_second(self) -> Pause:
        """The time until then."""
        return Pause((self.next_second_us - self.now_us) / MICROSECONDS)


class Parser(ABC):
    """Parses what comes in over one connection. It keeps no more bytes than one answer may have: more is
    Nonsense, which ends the connection."""

    is_reusable = True
    """Whether the camera takes another request on this connection."""

    @abstractmethod
    def expect(self, most_bytes: int = 0) -> None:
        """A request was sent, with `most_bytes` as it has them. Where answers have no number, the next one is
        its answer, and one that comes without a request is Nonsense. Raises Nonsense if the camera cannot
        take the request."""

    @abstractmethod
    def feed(self, data: bytes) -> Sequence[Answer | Push]:
        """Add bytes; raises Nonsense."""

    @abstractmethod
    def end(self) -> Answer | None:
        """The camera has ended the connection, which is not reusable then: the answer that ends with it, if
        that is complete."""


class Driver(ABC):
    """Speaks with one camera. Conversations raise Nonsense, and the errors of commands: CameraRefused,
    CameraBusy, NotSupported."""

    keeps_time: ClassVar[str] = "it keeps its own time"
    """The reason of the refusal if its clock is wrong right after it was set."""
    done_s: ClassVar[float] = 2.0
    """How long a camera that has taken a command may need until it is seen to do it."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.clock = ClockBounds()
        """The bounds of its clock, by its answers since it was set."""

    @property
    def reading(self) -> CameraReading:
        """All that is known of the camera."""
        return self.facts.reading

    @abstractmethod
    def begin(self) -> Conversation[None]:
        """Read what does not change: which camera it is."""

    @abstractmethod
    def read(self) -> Conversation[None]:
        """Read its state."""

    def ask_clock(self, offset_s: int) -> Conversation[tuple[int, Answer] | None]:
        """Ask what time it is: the second that it says, microseconds since the epoch, and the answer; None if
        it has no clock that can be read. `offset_s` is this host's local time minus UTC."""
        del offset_s
        return None
        yield  # which makes it a generator

    def read_clock(self, offset_s: int) -> Conversation[bool]:
        """Ask once, and narrow what is known of its clock; false if that cannot be read."""
        told = yield from self.ask_clock(offset_s)
        if told is None:
            return False
        second_us, answer = told
        self.clock = self.clock.with_answer(answer.says(second_us))
        if self.clock.is_over or self.clock.last is None:  # a later series says less than the last, so far
            self.facts.update_clock(self.clock, answer.received_us, answer.steady_us)
        return True

    def set_clock(self, host: HostTime) -> Conversation[None]:
        """Set its clock to this host's; raises NotSupported, as of a camera that takes no time."""
        del host
        raise no_clock()
        yield  # which makes it a generator

    def check_clock(self, offset_s: int) -> Conversation[None]:
        """Read the clock that was just set; raises CameraRefused if it is wrong all the same. One that cannot
        be read is believed."""
        self.clock = ClockBounds()
        is_read = yield from self.read_clock(offset_s)
        if is_read and abs(self.reading.clock_offset_us or 0) >= WRONG_CLOCK_US:
            raise CameraRefused(self.keeps_time)

    def register_host(self, host: str) -> Conversation[str]:
        """Have it take commands over Bluetooth of the host with a UUID, and switch its Bluetooth on; returns
        the name that it advertises. Raises NotSupported, as of a camera that knows no hosts."""
        del host
        raise NotSupported("this camera does not register hosts")
        yield  # which makes it a generator

    def recorded_files(self, recording: PastRecording) -> Conversation[tuple[RecordedFile, ...] | None]:
        """Find the files of a recording that has ended, in the order in which they were written, with at most
        three requests, while the camera is idle. None if that is not certain, as of a camera that does not
        say it. Raises CameraBusy if the camera has not finished them: then once more."""
        del recording
        yield from ()
        return None

    @abstractmethod
    def prepare(self, *, on: bool) -> Conversation[bool]:
        """Make it ready to start or stop recording: true if it does already what is wanted."""

    @abstractmethod
    def command(self, *, on: bool) -> Request:
        """The request that starts or stops recording."""

    @abstractmethod
    def refused(self, answer: Answer, *, on: bool) -> WifimgrdError | None:
        """Why the answer to `command` says that it is not done, by the state that was just read; None if it
        says that it is taken."""

    def read_recording(self) -> Conversation[None]:
        """Read its state, at least whether it records."""
        yield from self.read()

    def take_answer(self, answer: Answer, *, on: bool) -> Conversation[Answer]:
        """Act on an answer before it is judged; returns the answer to judge."""
        del on
        return answer
        yield  # which makes it a generator

    def conclude(self, answer: Answer, *, on: bool) -> Conversation[Answer]:
        """Judge the answer to `command`, by the state that was read after it: a camera that does what was
        wanted has done it, whatever it has answered. Returns the answer that says that it is done; raises
        CameraRefused and CameraBusy, and Unconfirmed if the camera does not say what it does."""
        answer = yield from self.take_answer(answer, on=on)
        yield from self.read_recording()
        error = self.refused(answer, on=on)
        if error is not None:
            if self.reading.is_recording is on:
                return answer
            raise error
        for _ in range(round(self.done_s / TRY_AGAIN_S)):
            is_recording = self.reading.is_recording
            if is_recording is on or not self.facts.tells_recording:  # one that never says that is believed
                return answer
            yield Pause(TRY_AGAIN_S)
            yield from self.read_recording()
        if self.reading.is_recording is None:
            raise Unconfirmed(NOT_TOLD)
        said = "it took the command, but " + ("does not record" if on else "goes on recording")
        raise self._explained(said, on=on)

    def _explained(self, said: str, *, on: bool) -> CameraRefused:
        """Why the camera does not do what it was told, by all that is known; else what it said."""
        return refusal(self.reading, said, on=on)


class NetworkDriver(Driver):
    """Speaks with one camera over a TCP connection."""

    keep_alive: ClassVar[bytes] = b""
    """The bytes that are sent every 2 s; empty if the camera decides how long the connection lasts."""

    def __init__(self) -> None:
        super().__init__()
        self.host = ""
        """The camera's address, as a Host field has it."""
        self._options_us = 0
        """When the options were last read, which are read every 10 s, also during a recording."""

    @property
    def hello(self) -> bytes:
        """The bytes that are sent first on each connection."""
        return b""

    @abstractmethod
    def parser(self) -> Parser:
        """For a new connection."""

    def pushed(self, push: Push, now_us: int) -> float | None:
        """Take what the camera has sent by itself, which is never an error; after how many seconds its state
        should be read, or None if it need not be."""
        del push, now_us
        return None

    def missed(self) -> None:
        """The camera has sent more by itself than is looked at: the next read reads all."""
        self._options_us = 0


def busy_recording() -> CameraBusy:
    """Why a clock is not set now."""
    return CameraBusy("the camera records, and its clock is not set meanwhile")


def unfinished() -> CameraBusy:
    """Why the files of a recording are not told now."""
    return CameraBusy("the camera has not finished the files of its recording")


def no_clock() -> NotSupported:
    """Why a clock cannot be set."""
    return NotSupported("the clock of this camera cannot be set over its network")
