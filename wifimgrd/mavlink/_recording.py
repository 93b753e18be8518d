"""Start and stop recording, for those who ask over MAVLink, and while the vehicle is armed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from wifimgrd.client.command_rate import COMMANDS_AT_ONCE, CommandRate
from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera import RecordingState
from wifimgrd.domain.camera_state import is_recording
from wifimgrd.domain.device_names import name_of
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.domain.rig import Everyone
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._link import Link
from wifimgrd.mavlink._requests import ALL, Result
from wifimgrd.runtime.tasks import Tasks

PROGRESS_S: Final = 2.0
"""MAVSDK repeats a command that it has heard nothing of for 3 s."""
MOST_RUNNING: Final = 16
MOST_WAITING: Final = 48
"""Who waits for the outcome of one order: six cameras for eight stations."""
SAID_AGAIN_S: Final = 10.0
"""A sentence is not repeated within this time: a mission or a stick repeats its commands."""
STOPS_AFTER_S: Final = 5.0
"""A vehicle that is armed again within this time goes on recording."""
_MOST_SAID: Final = 64
_WARNING: Final = 4
_CHUNK: Final = 50
_LONGEST: Final = 500
"""Characters of a sentence."""
_UNKNOWN_PROGRESS: Final = 255
_LATER: Final = ErrorCode.NOT_CONNECTED, ErrorCode.BUSY, ErrorCode.CAMERA_BUSY, ErrorCode.BACKEND_UNAVAILABLE
_RESULTS: Final[Mapping[str | None, Result]] = dict.fromkeys(_LATER, Result.TEMPORARILY_REJECTED) | {
    None: Result.ACCEPTED,
    ErrorCode.NOT_SUPPORTED: Result.UNSUPPORTED,
}
"""By the code of an error, None = done; FAILED for all others."""
_NOT_REACHED: Final = ErrorCode.BACKEND_UNAVAILABLE, ErrorCode.NOT_CONNECTED
_RECORDS: Final = {True: (None, ErrorCode.UNCONFIRMED), False: (*_NOT_REACHED, ErrorCode.UNCONFIRMED)}
"""The outcomes of a start, and of a stop, after which a camera that was idle, or recorded, may record."""
_TOO_MANY: Final = f"At most {COMMANDS_AT_ONCE} commands a second are carried out."
_NOT_EXPECTED: Final = "it is not expected, and only expected cameras are told"
_NOT_RUNNING: Final = "The vehicle is armed, but wifimgrd is not running: its cameras start once it is."

_log = structlog.get_logger("wifimgrd.mavlink")


Asked = tuple[int, int, int]
"""A command's number, and the system and the component that have sent it."""


class Flight:
    """The state of the vehicle as far as it is known. Pure.

    Tested for any order of events: a recording is due on the edge only, from a heartbeat that says "not
    armed" to one that says "armed". The first heartbeat after the start is none, and silence is none.
    """

    def __init__(self) -> None:
        self._is_armed: bool | None = None
        """None before the first heartbeat."""
        self._edge_s: float | None = None
        """When that has changed, until the cameras are started."""

    def heard(self, is_armed: bool, now_s: float) -> None:
        """The autopilot's heartbeat."""
        if self._is_armed is not None and self._is_armed is not is_armed:
            self._edge_s = now_s
        self._is_armed = is_armed

    def due(self, now_s: float) -> bool | None:
        """Whether cameras are to record, or its recordings to stop; None if neither is due."""
        after_s = 0.0 if self._is_armed else STOPS_AFTER_S
        return None if self._edge_s is None or now_s < self._edge_s + after_s else self._is_armed

    def began(self) -> None:
        """The cameras were started."""
        self._edge_s = None


@dataclass(slots=True, eq=False)
class Camera:
    """A component, and what is known of its camera."""

    component: int
    device: DeviceRecord
    """The last known record, also while the daemon is away; without a name before it is there."""
    orders: list[Order] = field(default_factory=list)
    """Those that run for it; the newest one counts."""
    is_of_flight: bool = False
    """Whether arming has started it, and disarming is to stop it. It has recorded since, and nobody has asked
    for it over MAVLink meanwhile."""
    intervals: dict[wire.Message, int] = field(default_factory=dict)
    """After how many steps it sends a message again; 0 = never."""
    rate: int = 0
    """The same of CAMERA_CAPTURE_STATUS, in addition, until its recording ends."""

    @property
    def is_told(self) -> bool:
        """Whether it is told to record, or else does."""
        return self.orders[-1].on if self.orders else is_recording(self.device)

    @property
    def is_idle(self) -> bool:
        """Whether it is known not to record."""
        return self.said.recording_state == RecordingState.IDLE

    @property
    def has_ended(self) -> bool:
        """Whether it is known not to record, and not told to."""
        return self.is_idle and not self.is_told

    @property
    def may_record(self) -> bool:
        """Whether it records, or the hub has told it to, and not to stop since."""
        return is_recording(self.device) or self.said.recording_requested

    @property
    def said(self) -> CameraRecord:
        """Its own report, empty if there is none."""
        return self.device.camera or CameraRecord()

    @property
    def repeated(self) -> Sequence[tuple[wire.Message, int]]:
        """The messages that it sends again now, and after how many steps; 0 = never."""
        rate = self.rate if is_recording(self.device) else 0
        return (*self.intervals.items(), (wire.CAMERA_CAPTURE_STATUS, rate))

    def is_meant_by_flight(self, *, on: bool) -> bool:
        """Whether arming starts it, or disarming stops it."""
        if on:
            return self.device.expected and not self.is_told
        may_record = self.may_record and not self.orders  # as it may not say whether it does
        return self.is_of_flight and self.device.is_connected and (self.is_told or may_record)

    def is_of_rig(self, *, on: bool) -> bool:
        """Whether an order to all is for it: one that may record is told to stop in any case."""
        return self.device.expected or (self.may_record and not on)


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Cameras that are to record, or to stop."""

    on: bool
    cameras: frozenset[Camera]
    """Those that it is for. Of an order to all also one for those that have no component."""
    speaker: int
    """The component that says what concerns all of them."""
    askers: set[tuple[int, Camera, Asked]] = field(default_factory=set)
    """Those who wait for it, which are more with each repetition: the component that answers, the camera
    whose outcome it tells, and who has asked."""


class Recording:
    """The orders that run, at most MOST_RUNNING."""

    def __init__(
        self, hub: HubClient, link: Link, cameras: Mapping[int, Camera], tasks: Tasks, *, is_listed: bool
    ) -> None:
        """`cameras` by component, as they are now; `is_listed`: the configuration has chosen them."""
        self.flight = Flight()
        self._hub = hub
        self._link = link
        self._cameras = cameras
        self._others = None if is_listed else Camera(ALL, DeviceRecord(0))
        """Stands in orders to all for the cameras without a component, which they are for, too."""
        self._tasks = tasks
        self._rate, self._answers = CommandRate(), CommandRate()
        """The orders, and the answers to those that only repeat one, or are too many."""
        self._running = 0
        self._said: set[str] = set()
        self._texts = 0

    def command(self, asked: Asked, meant: Mapping[int, Camera], *, on: bool, is_for_all: bool) -> None:
        """Carry out a command for those cameras that are `meant` by the components that answer it."""
        cameras = {one for one in meant.values() if not is_for_all or one.is_of_rig(on=on)}
        for one in meant.values():
            one.is_of_flight = False
            if self._others is None and one not in cameras and one.device.is_connected:
                self.say(one.component, f"{one.device.name}: {_NOT_EXPECTED}")
        if is_for_all and self._others is not None:
            cameras.add(self._others)
        askers = {(component, one, asked) for component, one in meant.items()}
        self._carry_out(Order(on, frozenset(cameras), min(meant), askers))

    def fly(self) -> None:
        """Start the cameras since the vehicle was armed, or stop its recordings, if that is due. Nobody waits
        for an answer, but a refusal is said."""
        on = self.flight.due(asyncio.get_running_loop().time())
        if on and self._cameras and not self._hub.available:
            self.say(min(self._cameras), _NOT_RUNNING)
        if on is None or not self._hub.available:
            return
        chosen = [one for one in self._cameras.values() if one.is_meant_by_flight(on=on)]
        # what was idle for certain: a recording that may be another's is not stopped
        idle = [one for one in chosen if one.orders or (one.is_idle and not one.said.recording_requested)]
        if chosen:
            _log.info("armed" if on else "disarmed", devices=sorted(one.device.id for one in chosen))
            if not self._carry_out(Order(on, frozenset(chosen), chosen[0].component)):
                return
        if on:
            self.flight.began()
            for one in idle:
                one.is_of_flight = True

    def _carry_out(self, order: Order) -> bool:
        """Begin an order, or join the newest one for its cameras; False if there are too many."""
        now, answer = asyncio.get_running_loop().time(), Result.TEMPORARILY_REJECTED
        newest = {one.orders[-1] if one.orders else None for one in order.cameras}
        running = newest.pop() if len(newest) == 1 else None
        if running and running.on is order.on:
            if len(running.askers | order.askers) <= MOST_WAITING:
                running.askers.update(order.askers)
                answer = Result.IN_PROGRESS
        elif self._running < MOST_RUNNING and self._rate.admits(now):
            self._running += 1
            for one in order.cameras:
                one.orders.append(order)
            self._tasks.start("capture", self._run(order))
            return True
        else:
            running = None
            self.say(order.speaker, _TOO_MANY)
        if self._answers.admits(now):
            self._answer(order, {}, answer)
        return running is not None

    async def _run(self, order: Order) -> None:
        work = self._tasks.start("record", self._record(order))
        try:
            while not work.done():
                self._answer(order, {}, Result.IN_PROGRESS)
                await asyncio.wait({work}, timeout=PROGRESS_S)
        finally:  # before the outcome is told, which who joins later would miss
            self._running -= 1
            for one in order.cameras:
                one.orders.remove(order)
        codes = work.result()
        results = {device: _RESULTS.get(code, Result.FAILED) for device, code in codes.items()}
        self._answer(order, results, Result.TEMPORARILY_REJECTED)  # the others are not expected
        for one in order.cameras:
            code = codes.get(one.device.id)
            is_over = code not in _RECORDS[order.on] or (code is None and one.is_idle)
            if is_over and not one.orders:
                one.is_of_flight = False

    async def _record(self, order: Order) -> Mapping[int, str | None]:
        """Carry it out, and tell people why a camera has refused. Returns the error's code of each device
        that was told, None for none."""
        was_there, is_for_all = self._hub.available, self._others in order.cameras
        ids = () if is_for_all else [one.device.id for one in order.cameras]
        everyone = Everyone.RIG if is_for_all else Everyone.NOBODY
        try:
            hub = available(self._hub)
            rows = await hub.record(ids, on=order.on, everyone=everyone) if order.cameras else ()
        except WifimgrdError as error:
            self.say(order.speaker, error.message)
            # without a reply nobody knows what the cameras have done
            is_lost = was_there and error.code == ErrorCode.BACKEND_UNAVAILABLE
            code = ErrorCode.UNCONFIRMED if is_lost else error.code
            return {one.device.id: code for one in self._cameras.values()}
        components = {one.device.id: component for component, one in self._cameras.items()}
        for row in rows:
            if row.code is not None:
                name = name_of(row.device_id, self._hub.devices)
                self.say(components.get(row.device_id, order.speaker), f"{name}: {row.message}")
        return {row.device_id: row.code for row in rows}

    def _answer(self, order: Order, results: Mapping[int, Result], other: Result) -> None:
        """Answer all who wait: with the results by device, and otherwise the `other` one."""
        for component, camera, asked in order.askers:
            self.answer(component, asked, results.get(camera.device.id, other))

    def answer(self, component: int, asked: Asked, result: Result) -> None:
        """Send a component's answer to a command."""
        number, system, sender = asked
        progress = _UNKNOWN_PROGRESS if result is Result.IN_PROGRESS else 0
        values = {"command": number, "result": result, "progress": progress}
        target = {"target_system": system, "target_component": sender}
        self._link.send(component, wire.COMMAND_ACK, values | target)

    def say(self, component: int, sentence: str) -> None:
        """Send a sentence for people, unless it was sent just now."""
        if sentence in self._said or len(self._said) >= _MOST_SAID:
            return
        self._said.add(sentence)
        asyncio.get_running_loop().call_later(SAID_AGAIN_S, self._said.discard, sentence)
        chunks = list(_chunks(sentence[:_LONGEST]))
        self._texts = self._texts % 0xFFFF + 1
        for number, chunk in enumerate(chunks):
            of_many = {"id": self._texts, "chunk_seq": number} if len(chunks) > 1 else {}
            self._link.send(component, wire.STATUSTEXT, {"severity": _WARNING, "text": chunk, **of_many})


def _chunks(sentence: str) -> Iterator[bytes]:
    """The parts of a text. A zero byte ends it, so only the last part has one: blanks stand where the next
    letter does not fit, and a last part that is full is followed by an empty one."""
    rest = wire.text(sentence, len(sentence) * 4)
    while len(rest) >= _CHUNK:
        chunk = wire.text(rest.decode(), _CHUNK)
        yield chunk.ljust(_CHUNK)
        rest = rest[len(chunk) :]
    yield rest
