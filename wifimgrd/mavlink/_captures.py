"""Start and stop recording for those who ask over MAVLink, and answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
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
_RESULTS: Final[Mapping[str | None, Result]] = {
    **dict.fromkeys(
        (ErrorCode.NOT_CONNECTED, ErrorCode.BUSY, ErrorCode.CAMERA_BUSY, ErrorCode.BACKEND_UNAVAILABLE),
        Result.TEMPORARILY_REJECTED,
    ),
    ErrorCode.NOT_SUPPORTED: Result.UNSUPPORTED,
    None: Result.ACCEPTED,
}
"""By the code of an error, None = done; FAILED for all others."""
_TOO_MANY: Final = f"At most {COMMANDS_AT_ONCE} commands a second are carried out."

Send = Callable[[int, wire.Message, wire.Values], None]


@dataclass(frozen=True, slots=True)
class Asker:
    """Somebody who waits for an answer."""

    component: int
    """The one that answers."""
    command: Command
    camera: int
    """The component whose outcome it is."""

    @property
    def key(self) -> tuple[int, int, int]:
        """The same for a repetition."""
        return self.component, self.command.system, self.command.component


@dataclass(frozen=True, slots=True)
class Order:
    """Cameras that are to record, or to stop."""

    on: bool
    cameras: Mapping[int, int]
    """The devices by their components, which answer."""
    chosen: Collection[int] = ()
    """The devices that it is for, unless it is for `everyone`."""
    everyone: Everyone = Everyone.NOBODY
    askers: dict[tuple[int, int, int], Asker] = field(default_factory=dict)
    """Those who wait for it, which are more with each repetition."""


class Captures:
    """The orders that run, at most MOST_RUNNING."""

    def __init__(self, hub: HubClient, send: Send, tasks: Tasks) -> None:
        self._hub = hub
        self._send = send
        self._tasks = tasks
        self._rate = CommandRate()
        self._running: list[Order] = []
        self._said: dict[tuple[int, str], float] = {}
        self._texts = 0

    def carry_out(self, order: Order) -> bool:
        """Begin an order; whether it is one: a repetition joins the one that runs."""
        for one in self._running:
            if one.on is order.on and order.cameras.items() <= one.cameras.items():
                one.askers.update(list(order.askers.items())[: MOST_WAITING - len(one.askers)])
                self._answer_all(order, Result.IN_PROGRESS)
                return False
        if len(self._running) >= MOST_RUNNING or not self._rate.admits(asyncio.get_running_loop().time()):
            self._answer_all(order, Result.TEMPORARILY_REJECTED)
            self.say(min(order.cameras), _TOO_MANY)
            return False
        self._running.append(order)
        task = self._tasks.start("capture", self._carry_out(order))
        task.add_done_callback(lambda _: self._running.remove(order))
        return True

    async def _carry_out(self, order: Order) -> None:
        work = self._tasks.start("record", self._record(order))
        while not work.done():
            self._answer_all(order, Result.IN_PROGRESS)
            await asyncio.wait({work}, timeout=PROGRESS_S)
        outcomes = work.result()
        for asker in order.askers.values():
            code, _ = outcomes[asker.camera]
            self.answer(asker, _RESULTS.get(code, Result.FAILED))
        for component, (code, sentence) in outcomes.items():
            if code is not None:
                self.say(component, sentence)

    async def _record(self, order: Order) -> dict[int, tuple[ErrorCode | str | None, str]]:
        """The error's code, None where there is none, and the sentence of each component."""
        found: dict[int, tuple[ErrorCode | str | None, str]] = {}
        failed: tuple[str, str] = (ErrorCode.NOT_CONNECTED, "it is not connected")
        names = {
            one: self._hub.devices[one].name for one in order.cameras.values() if one in self._hub.devices
        }
        ids = order.chosen if order.everyone is Everyone.NOBODY else ()
        try:
            for result in await available(self._hub).record(ids, on=order.on, everyone=order.everyone):
                found[result.device_id] = result.code, result.message or ""
        except WifimgrdError as error:
            failed = error.code, error.message
        except TimeoutError:
            failed = ErrorCode.UNCONFIRMED, "wifimgrd did not answer in time"
        told = {component: found.get(device, failed) for component, device in order.cameras.items()}
        return {
            one: (code, f"{names.get(order.cameras[one], 'wifimgrd')}: {why}")
            for one, (code, why) in told.items()
        }

    def _answer_all(self, order: Order, result: Result) -> None:
        for asker in order.askers.values():
            self.answer(asker, result)

    def answer(self, asker: Asker, result: Result) -> None:
        """Send the answer to a command."""
        command = asker.command
        target = {"target_system": command.system, "target_component": command.component}
        self._send(asker.component, wire.COMMAND_ACK, {"command": command.number, "result": result, **target})

    def say(self, component: int, sentence: str) -> None:
        """Send a sentence for people, unless it was sent just now."""
        now = asyncio.get_running_loop().time()
        self._said = {one: until for one, until in self._said.items() if until > now}
        if (component, sentence) in self._said or len(self._said) >= _MOST_SAID:
            return
        self._said[component, sentence] = now + SAID_AGAIN_S
        chunks = list(_chunks(sentence))
        self._texts = self._texts % 0xFFFF + 1
        for number, chunk in enumerate(chunks):
            of_many = {"id": self._texts, "chunk_seq": number} if len(chunks) > 1 else {}
            self._send(component, wire.STATUSTEXT, {"severity": _WARNING, "text": chunk, **of_many})


def _chunks(sentence: str) -> Iterator[bytes]:
    rest = sentence.replace("\0", "")
    while rest:
        chunk = wire.text(rest, _CHUNK)
        yield chunk
        rest = rest[len(chunk.decode()) :]
