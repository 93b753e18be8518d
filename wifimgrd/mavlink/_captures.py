"""Start and stop recording for those who ask over MAVLink, and answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from wifimgrd.client.command_rate import COMMANDS_AT_ONCE, CommandRate
from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.domain.rig import Everyone
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._requests import Command, Result
from wifimgrd.runtime.tasks import Tasks

PROGRESS_S: Final = 2.0
"""MAVSDK repeats a command that it has heard nothing of for 3 s."""
MOST_RUNNING: Final = 16
MOST_WAITING: Final = 48
"""Who waits for the outcome of one order: six cameras for eight stations."""
SAID_AGAIN_S: Final = 10.0
"""A sentence is not repeated within this time: a mission or a stick repeats its commands."""
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
_TOO_MANY: Final = f"At most {COMMANDS_AT_ONCE} commands a second are carried out."

Asker = tuple[int, int, int]
"""The component that answers; the system and the component that have asked."""
Send = Callable[[int, wire.Message, wire.Values], None]
Ended = Callable[["Order", Mapping[int, str | None]], None]


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Cameras that are to record, or to stop."""

    on: bool
    cameras: Mapping[int, int]
    """The devices by their components."""
    chosen: frozenset[int]
    """The devices that it is for, unless it is for `everyone`."""
    everyone: Everyone = Everyone.NOBODY
    askers: dict[Asker, tuple[Command, int]] = field(default_factory=dict)
    """Those who wait for it, which are more with each repetition: their command, and the component whose
    outcome it is."""

    def includes(self, other: Order) -> bool:
        """Whether who waits for the other one may wait for this one."""
        is_narrower = other.everyone in (self.everyone, Everyone.NOBODY) and other.chosen <= self.chosen
        return self.on is other.on and is_narrower and other.cameras.items() <= self.cameras.items()


class Captures:
    """The orders that run, at most MOST_RUNNING."""

    def __init__(self, hub: HubClient, send: Send, ended: Ended, tasks: Tasks) -> None:
        """`ended` is called with each order, and the error's code of each of its devices, None for none."""
        self._hub = hub
        self._send = send
        self._ended = ended
        self._tasks = tasks
        self._rate, self._answers = CommandRate(), CommandRate()
        """The orders, and the answers to those that only repeat one, or are too many."""
        self._running: list[Order] = []
        self._said: dict[str, float] = {}
        self._texts = 0

    @property
    def told(self) -> dict[int, bool]:
        """The devices whose orders run: whether the newest one is to record."""
        return {device: one.on for one in self._running for device in one.chosen}

    def carry_out(self, order: Order) -> bool:
        """Begin an order, or join one that runs; False if there are too many."""
        now, answer = asyncio.get_running_loop().time(), Result.TEMPORARILY_REJECTED
        running = self._joined(order)
        if running is not None:
            if len(running.askers.keys() | order.askers.keys()) <= MOST_WAITING:
                running.askers.update(order.askers)
                answer = Result.IN_PROGRESS
        elif len(self._running) < MOST_RUNNING and self._rate.admits(now):
            self._running.append(order)
            self._tasks.start("capture", self._carry_out(order))
            return True
        if self._answers.admits(now):
            self._answer_all(order, answer)
            if running is None:
                self.say(min(order.cameras), _TOO_MANY)
        return running is not None

    def _joined(self, order: Order) -> Order | None:
        """The newest order that includes it; none that another one for one of its devices contradicts."""
        for one in reversed(self._running):
            if one.includes(order):
                return one
            if one.on is not order.on and not set(one.cameras.values()).isdisjoint(order.cameras.values()):
                return None
        return None

    async def _carry_out(self, order: Order) -> None:
        work = self._tasks.start("record", self._record(order))
        try:
            while not work.done():
                self._answer_all(order, Result.IN_PROGRESS)
                await asyncio.wait({work}, timeout=PROGRESS_S)
        finally:  # before the outcome is told, which who joins later would miss
            self._running.remove(order)
        outcomes, components = work.result(), {device: one for one, device in order.cameras.items()}
        for (answering, *_), (command, component) in order.askers.items():
            code, _ = outcomes[order.cameras[component]]
            self.answer(answering, command, _RESULTS.get(code, Result.FAILED))
        for device, (code, sentence) in outcomes.items():
            if code is not None and sentence:
                self.say(components.get(device, min(order.cameras)), sentence)
        self._ended(order, {device: code for device, (code, _) in outcomes.items()})

    async def _record(self, order: Order) -> dict[int, tuple[str | None, str]]:
        """The error's code of each device, None for none, and the sentence for people, which may be empty."""
        outcomes = {one: self._of_none(one, order) for one in order.cameras.values()}
        is_listed, is_told = order.everyone is Everyone.NOBODY, False
        ids = order.chosen if is_listed else ()
        try:
            hub, is_told = available(self._hub), True
            rows = await hub.record(ids, on=order.on, everyone=order.everyone) if ids or not is_listed else ()
        except WifimgrdError as error:
            # without a reply nobody knows what the cameras have done
            is_lost = is_told and error.code == ErrorCode.BACKEND_UNAVAILABLE
            self.say(min(order.cameras), error.message)
            return dict.fromkeys(outcomes, (ErrorCode.UNCONFIRMED if is_lost else error.code, ""))
        for row in rows:
            outcomes[row.device_id] = row.code, f"{self._name(row.device_id)}: {row.message}"
        return outcomes

    def _of_none(self, device_id: int, order: Order) -> tuple[str | None, str]:
        """The outcome of a camera that was addressed, and that the order is not for."""
        device = self._hub.devices.get(device_id)
        is_said = device is not None and device.state == DeviceState.CONNECTED
        sentence = f"{self._name(device_id)}: it is not expected, and only expected cameras are told"
        return ErrorCode.NOT_CONNECTED, sentence if is_said and order.everyone is Everyone.NOBODY else ""

    def _name(self, device_id: int) -> str:
        device = self._hub.devices.get(device_id)
        return f"camera {device_id}" if device is None else device.name

    def _answer_all(self, order: Order, result: Result) -> None:
        for (answering, *_), (command, _) in order.askers.items():
            self.answer(answering, command, result)

    def answer(self, component: int, command: Command, result: Result) -> None:
        """Send a component's answer to a command."""
        progress = _UNKNOWN_PROGRESS if result is Result.IN_PROGRESS else 0
        values = {"command": command.number, "result": result, "progress": progress}
        target = {"target_system": command.system, "target_component": command.component}
        self._send(component, wire.COMMAND_ACK, values | target)

    def say(self, component: int, sentence: str) -> None:
        """Send a sentence for people, unless it was sent just now."""
        now = asyncio.get_running_loop().time()
        self._said = {one: until for one, until in self._said.items() if until > now}
        if sentence in self._said or len(self._said) >= _MOST_SAID:
            return
        self._said[sentence] = now + SAID_AGAIN_S
        chunks = list(_chunks(sentence[:_LONGEST]))
        self._texts = self._texts % 0xFFFF + 1
        for number, chunk in enumerate(chunks):
            of_many = {"id": self._texts, "chunk_seq": number} if len(chunks) > 1 else {}
            self._send(component, wire.STATUSTEXT, {"severity": _WARNING, "text": chunk, **of_many})


def _chunks(sentence: str) -> Iterator[bytes]:
    """The parts of a text. A zero byte ends it, so only the last part has one: blanks stand where the next
    letter does not fit, and a last part that is full is followed by an empty one."""
    rest = wire.text(sentence, len(sentence) * 4)
    while len(rest) >= _CHUNK:
        chunk = wire.text(rest.decode(), _CHUNK)
        yield chunk.ljust(_CHUNK)
        rest = rest[len(chunk) :]
    yield rest
