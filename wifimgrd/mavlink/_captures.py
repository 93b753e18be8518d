"""Start and stop recording for those who ask over MAVLink, and answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from wifimgrd.client.command_rate import COMMANDS_AT_ONCE, CommandRate
from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
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
_LATER: Final = (
    ErrorCode.NOT_CONNECTED,
    ErrorCode.BUSY,
    ErrorCode.CAMERA_BUSY,
    ErrorCode.BACKEND_UNAVAILABLE,
)
_RESULTS: Final[Mapping[str | None, Result]] = {
    None: Result.ACCEPTED,
    ErrorCode.NOT_SUPPORTED: Result.UNSUPPORTED,
    **dict.fromkeys(_LATER, Result.TEMPORARILY_REJECTED),
}
"""By the code of an error, None = done; FAILED for all others."""
_TOO_MANY: Final = f"At most {COMMANDS_AT_ONCE} commands a second are carried out."

Asker = tuple[int, int, int]
"""The component that answers; the system and the component that have asked."""
Send = Callable[[int, wire.Message, wire.Values], None]


@dataclass(frozen=True, slots=True)
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

    def __init__(
        self, hub: HubClient, send: Send, refused: Callable[[Iterable[int]], None], tasks: Tasks
    ) -> None:
        """`refused` is called with the devices that have not done what they were told."""
        self._hub = hub
        self._send = send
        self._refused = refused
        self._tasks = tasks
        self._rate, self._answers = CommandRate(), CommandRate()
        """The orders, and the answers to those that only repeat one, or are too many."""
        self._running: list[Order] = []
        self._said: dict[tuple[int, str], float] = {}
        self._texts = 0

    @property
    def starting(self) -> set[int]:
        """The devices that are being started."""
        return {device for one in self._running if one.on for device in one.chosen}

    def carry_out(self, order: Order) -> bool:
        """Begin an order, or join one that runs; False if there are too many."""
        now = asyncio.get_running_loop().time()
        running = next((one for one in self._running if one.includes(order)), None)
        if running is not None:
            places = max(0, MOST_WAITING - len(running.askers))
            running.askers.update(list(order.askers.items())[:places])
        elif len(self._running) < MOST_RUNNING and self._rate.admits(now):
            self._running.append(order)
            task = self._tasks.start("capture", self._carry_out(order))
            task.add_done_callback(lambda _: self._running.remove(order))
            return True
        if self._answers.admits(now):
            self._answer_all(order, Result.IN_PROGRESS if running else Result.TEMPORARILY_REJECTED)
            if running is None:
                self._say(min(order.cameras), _TOO_MANY)
        return running is not None

    async def _carry_out(self, order: Order) -> None:
        work = self._tasks.start("record", self._record(order))
        while not work.done():
            self._answer_all(order, Result.IN_PROGRESS)
            await asyncio.wait({work}, timeout=PROGRESS_S)
        outcomes, components = work.result(), {device: one for one, device in order.cameras.items()}
        for (answering, *_), (command, component) in order.askers.items():
            code, _ = outcomes[order.cameras[component]]
            self.answer(answering, command, _RESULTS.get(code, Result.FAILED))
        for device, (code, sentence) in outcomes.items():
            if code is not None and sentence:
                self._say(components.get(device, min(order.cameras)), sentence)
        self._refused(one for one, (code, _) in outcomes.items() if code not in (None, ErrorCode.UNCONFIRMED))

    async def _record(self, order: Order) -> dict[int, tuple[str | None, str]]:
        """The error's code of each device, None where there is none, and the sentence for people, which a
        camera that is none of the rig has not."""
        ids = order.chosen if order.everyone is Everyone.NOBODY else ()
        nothing: tuple[str | None, str] = ErrorCode.NOT_CONNECTED, ""
        outcomes = dict.fromkeys(order.cameras.values(), nothing)
        try:
            for row in await available(self._hub).record(ids, on=order.on, everyone=order.everyone):
                device = self._hub.devices.get(row.device_id)
                name = f"device {row.device_id}" if device is None else device.name
                outcomes[row.device_id] = row.code, f"{name}: {row.message}"
        except WifimgrdError as error:
            return dict.fromkeys(outcomes, (error.code, error.message))
        except TimeoutError:
            return dict.fromkeys(outcomes, (ErrorCode.UNCONFIRMED, "wifimgrd did not answer in time"))
        return outcomes

    def _answer_all(self, order: Order, result: Result) -> None:
        for (answering, *_), (command, _) in order.askers.items():
            self.answer(answering, command, result)

    def answer(self, component: int, command: Command, result: Result) -> None:
        """Send a component's answer to a command."""
        progress = _UNKNOWN_PROGRESS if result is Result.IN_PROGRESS else 0
        values = {"command": command.number, "result": result, "progress": progress}
        target = {"target_system": command.system, "target_component": command.component}
        self._send(component, wire.COMMAND_ACK, values | target)

    def _say(self, component: int, sentence: str) -> None:
        """Send a sentence for people, unless it was sent just now."""
        now = asyncio.get_running_loop().time()
        self._said = {one: until for one, until in self._said.items() if until > now}
        if (component, sentence) in self._said or len(self._said) >= _MOST_SAID:
            return
        self._said[component, sentence] = now + SAID_AGAIN_S
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
