"""Commands that a client of the channel sends as messages: connect and disconnect, also a group.

They do the same as the routes. Their results are events for every client. A refusal is `command.failed` only
for that client, and `observation.device.action.failed` if no status `failed` reports it: the platform's
frontend shows a message for each of these two, and ignores `command.failed`.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from wifimgrd.client.changes import AttemptFailed, Change, DeviceChanged
from wifimgrd.client.command_rate import COMMANDS_AT_ONCE, CommandRate
from wifimgrd.client.commands import (
    GROUP,
    GroupOrder,
    carry_out,
    connect_group,
    group_order,
    known_device,
)
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_text import dumps
from wifimgrd.domain.commands import CONNECT, WAIT
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._errors import TOO_MANY_REQUESTS, Problem, problem_of_failure
from wifimgrd.http._requests import integer_id, invalid
from wifimgrd.http.channel.message_types import (
    ACTION_FAILED,
    COMMAND_FAILED,
    COMMANDS,
    ActionFailedJson,
    CommandFailedJson,
    LoggedEvent,
)

MOST_UNFINISHED: Final = 64
"""Commands for one device that a client may have waiting and running, and the same of commands to groups."""
_ALONE: Final = frozenset({ErrorCode.DEVICE_NOT_FOUND, ErrorCode.NOT_AUTHORIZED})
"""The codes of refusals after which nothing more is sent."""
_LONGEST_ECHO: Final = 20
"""Characters of an id that is repeated in a refusal."""
_LONGEST_GROUP: Final = 64
"""The same of a group's name."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a client; its values are not checked yet."""

    kind: str
    device_connection_id: object
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_for_group(self) -> bool:
        """Whether it connects a group, not a device."""
        return COMMANDS[self.kind] is CONNECT and GROUP in self.options

    @property
    def switches(self) -> dict[str, bool | str]:
        """Its options; raises Problem if one is not of its type. Nobody waits here: events tell the
        outcome."""
        switches: dict[str, bool | str] = {}
        for name in COMMANDS[self.kind].texts:
            text = self.options.get(name, "")
            if not isinstance(text, str):
                raise invalid(f"{name} must be a text")
            if text:
                switches[name] = text
        for name in COMMANDS[self.kind].options.keys() - {WAIT}:
            value = self.options.get(name, False)
            if not isinstance(value, bool):
                raise invalid(f"{name} must be true or false")
            if value:
                switches[name] = value
        return switches

    @property
    def device_id(self) -> int:
        """The id of the device; raises Problem if the value is not an id."""
        match self.device_connection_id:
            case bool():
                pass
            case int(number):
                return number
            case float(number) if number.is_integer():  # JSON has one type for all numbers
                return int(number)
            case str(text) if text.isascii() and text.isdecimal():
                return integer_id(text, "device_connection_id")
        raise invalid("device_connection_id must be the device's id, a number or a text of digits")


def parse_command(text: str) -> Command | None:
    """The command in a message; None for every other message, which is ignored."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(kind, str) or kind not in COMMANDS:
        return None
    return Command(kind, message.get("device_connection_id"), message)


class CommandEvents(Protocol):
    """The part of the channel that commands need."""

    def command_begins(self, device_id: int) -> None:
        """Send what is held back for a device, since a command for it begins."""

    def send_status(self, device_id: int) -> None:
        """Send a device's status to every client."""


class ClientCommands:
    """Runs the commands of one client; those for the same device one after the other."""

    def __init__(
        self,
        hub: HubClient,
        authorize: Callable[[], None],
        events: CommandEvents,
        reply: Callable[[LoggedEvent, bool], None],
        running: set[asyncio.Task[None]],
    ) -> None:
        """`authorize` raises Problem if the client may not send commands. `reply` sends it a refusal; its
        second argument is whether a status `failed` reports it, too. `running` holds the tasks, which
        continue after the client has disconnected."""
        self._hub = hub
        self._authorize = authorize
        self._events = events
        self._reply = reply
        self._running = running
        self._last: dict[int, asyncio.Task[None]] = {}
        """The last command of each device with running commands."""
        self._unfinished: Counter[int | None] = Counter()
        """Those for each device; None = those to groups."""
        self._rate = CommandRate()

    def receive(self, text: str) -> None:
        """Start the command in a message; never waits."""
        command = parse_command(text)
        if command is None:
            return
        try:
            task = self._start(command)
        except Exception as error:  # noqa: BLE001 - each failure is reported
            problem = problem_of_failure(error)
            self._refuse(command, problem)
            if problem.code == ErrorCode.BACKEND_UNAVAILABLE:
                self._explain(problem)
            return
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _start(self, command: Command) -> asyncio.Task[None]:
        """Start a command; raises the error with which it is refused."""
        if not self._rate.admits(time.monotonic()):
            raise Problem(TOO_MANY_REQUESTS, f"at most {COMMANDS_AT_ONCE} commands a second are carried out")
        self._authorize()
        if command.is_for_group:
            order = _group_of(command)
            self._require_few(None)
            task = asyncio.create_task(self._connect_group(command, order))
            task.add_done_callback(lambda _: self._count_down(None))
            return task
        device_id, switches = known_device(self._hub, command.device_id).id, command.switches
        self._require_few(device_id)
        command = replace(command, options={})  # which may be large
        task = asyncio.create_task(self._carry_out(command, device_id, switches, self._last.get(device_id)))
        self._last[device_id] = task
        task.add_done_callback(lambda done: self._finished(device_id, done))
        return task

    def _require_few(self, device_id: int | None) -> None:
        """Count one more; raises Problem if the last ones are not carried out as fast as they come."""
        if self._unfinished[device_id] >= MOST_UNFINISHED:
            raise Problem(TOO_MANY_REQUESTS, f"{MOST_UNFINISHED} commands before this one are not finished")
        self._unfinished[device_id] += 1

    def _count_down(self, device_id: int | None) -> None:
        self._unfinished[device_id] -= 1
        if not self._unfinished[device_id]:
            del self._unfinished[device_id]

    async def _connect_group(self, command: Command, order: GroupOrder) -> None:
        """The members' states are events; what is none is a refusal for each member that it is of."""
        failures: set[int] = set()

        def watch(change: Change) -> None:
            if isinstance(change, AttemptFailed):
                failures.add(change.device_id)

        unsubscribe = self._hub.subscribe(watch)
        try:
            outcomes = await connect_group(self._hub, order)
        except Exception as error:  # noqa: BLE001 - each failure is reported
            problem = problem_of_failure(error)
            self._refuse(command, problem)
            self._explain(problem)
            return
        finally:
            unsubscribe()
        for one in outcomes:
            if one.code is not None and one.device_id not in failures:
                problem = Problem(ErrorCode(one.code), one.message or "")
                self._refuse(replace(command, device_connection_id=one.device_id), problem)
                self._explain(problem)

    def _finished(self, device_id: int, task: asyncio.Task[None]) -> None:
        self._count_down(device_id)
        if self._last.get(device_id) is task:
            del self._last[device_id]

    async def _carry_out(
        self,
        command: Command,
        device_id: int,
        switches: Mapping[str, bool | str],
        before: asyncio.Task[None] | None,
    ) -> None:
        if before is not None:
            await asyncio.wait([before])
        self._events.command_begins(device_id)
        has_status = False
        failures: set[str] = set()
        unreported: Problem | None = None

        def watch(change: Change) -> None:
            nonlocal has_status
            match change:
                case AttemptFailed(failed_id, code) if failed_id == device_id:
                    failures.add(code)
                case DeviceChanged(after=device, is_step=True) if device.id == device_id:
                    has_status = True

        unsubscribe = self._hub.subscribe(watch)
        try:
            await carry_out(self._hub, COMMANDS[command.kind], device_id, switches)
        except Exception as error:  # noqa: BLE001 - each failure is reported
            problem = problem_of_failure(error)
            has_failed = problem.code in failures
            self._refuse(command, problem, has_failed=has_failed)
            if problem.code in _ALONE:
                return
            unreported = None if has_failed else problem
        finally:
            unsubscribe()
        if not has_status and device_id in self._hub.devices:
            self._events.send_status(device_id)
        if unreported is not None:
            self._explain(unreported)

    def _refuse(self, command: Command, problem: Problem, *, has_failed: bool = False) -> None:
        answer: CommandFailedJson = {
            "type": COMMAND_FAILED,
            "command": command.kind,
            "device_connection_id": _echo(command.device_connection_id),
            "code": str(problem.code),
            "message": problem.detail,
        }
        if isinstance(group := command.options.get(GROUP), str) and command.is_for_group:
            answer["group"] = group[:_LONGEST_GROUP]
        self._reply(LoggedEvent(COMMAND_FAILED, dumps(answer)), has_failed)

    def _explain(self, problem: Problem) -> None:
        answer: ActionFailedJson = {"type": ACTION_FAILED, "data": {"message": problem.detail}}
        self._reply(LoggedEvent(ACTION_FAILED, dumps(answer)), False)


def _group_of(command: Command) -> GroupOrder:
    """The group of a command; raises InvalidRequest."""
    members = {name: value for name, value in command.options.items() if name != "type"}
    return group_order(members, "a command to a group")


def _echo(value: object) -> str | float | None:
    """An id as the client sent it; None for a value that cannot be one, or is too long to repeat."""
    match value:
        case str() if len(value) <= _LONGEST_ECHO:
            return value
        case float() if math.isfinite(value):
            return value
        case int() if abs(value) < 10**_LONGEST_ECHO:
            return value
    return None
