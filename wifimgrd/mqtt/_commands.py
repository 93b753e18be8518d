"""Carries out the commands that arrive from the broker, and answers them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from wifimgrd.client.command_rate import COMMANDS_AT_ONCE, CommandRate
from wifimgrd.client.commands import available, carry_out, connect_group, group_order, recording_order
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import OutcomeJson, ResultJson
from wifimgrd.client.json_records import search_json
from wifimgrd.domain.commands import DEVICE_COMMANDS, WAIT
from wifimgrd.domain.errors import DeviceNotFound, ErrorCode, WifimgrdError
from wifimgrd.domain.sentences import recorded_on_many
from wifimgrd.mqtt._command_messages import (
    CONNECT_GROUP,
    CREATE,
    RECORD,
    SCAN,
    Command,
    CommandMessage,
    CommandRefused,
    RecentCommands,
    answer,
    named_command,
    parse_command,
)
from wifimgrd.mqtt._library import Received
from wifimgrd.mqtt._session import Outbox
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import LONGEST_RESPONSE, RESPONSE_LEVELS, Target
from wifimgrd.runtime.tasks import Tasks

RUNNING_LIMIT: Final = 64
"""Commands that run, those that wait for their outcome among them."""
_DROPPED: Final = (
    f"at most {COMMANDS_AT_ONCE} commands a second are carried out; others are dropped, as this one"
)
_DROPPED_S: Final = 1.0
"""How often that is answered at most: an answer to each would take the hub's own messages their place."""
_WAIT_S: Final = 180.0
"""The limit of `wait`, after which the attempt goes on."""

_log = structlog.get_logger("wifimgrd.mqtt")


class Commands:
    """The commands to this hub."""

    def __init__(self, hub: HubClient, settings: Settings, outbox: Outbox, tasks: Tasks) -> None:
        self._hub = hub
        self._settings = settings
        self._outbox = outbox
        self._tasks = tasks
        self._rate = CommandRate()
        self._answered_dropped_s = -_DROPPED_S
        self._recent = RecentCommands()
        self._running = 0

    def receive(self, received: Received) -> bool:
        """Start the command in a message, or refuse it; never waits. False if the message was dropped, since
        there are too many: nothing else is done for it."""
        now = asyncio.get_running_loop().time()
        is_dropped = not self._rate.admits(now)
        if is_dropped and now < self._answered_dropped_s + _DROPPED_S:
            return False
        if not self._settings.topics.is_command(received.topic):
            return True
        target = self._settings.topics.target(received.topic)
        message = CommandMessage(
            target or Target(None),
            received.payload,
            received.retained,
            received.is_repeat,
            received.response_topic,
            received.correlation,
            has_expired=received.expires_in_s == 0,
        )
        if is_dropped:
            self._answered_dropped_s = now
            self._refuse(message, CommandRefused(ErrorCode.TOO_MANY_REQUESTS, _DROPPED))
            return False
        try:
            command = self._admit(target, message)
        except CommandRefused as refused:
            self._refuse(message, refused, named_command(message.payload))
            return True
        if not self._recent.begin(message, now):
            known = self._recent.answer_to(message)
            if known is not None:
                self._send(message, known)
            return True
        # The calls to the daemon are in the order of the commands, and one that waits for its outcome does
        # not hold up the next: a disconnect ends a running attempt.
        task = self._tasks.start("command", self._carry_out(message, command))
        self._running += 1
        task.add_done_callback(self._finished)
        return True

    def _admit(self, target: Target | None, message: CommandMessage) -> Command:
        """The command in a message; raises CommandRefused."""
        if not self._settings.commands:
            raise CommandRefused(
                ErrorCode.NOT_AUTHORIZED,
                "commands over MQTT are disabled; [mqtt] commands = true enables them",
            )
        if self._running >= RUNNING_LIMIT:
            limit = f"at most {RUNNING_LIMIT} commands are carried out at once"
            raise CommandRefused(ErrorCode.TOO_MANY_REQUESTS, limit)
        if target is None:
            raise CommandRefused(ErrorCode.DEVICE_NOT_FOUND, "the id of a device is a positive integer")
        command = parse_command(message)
        topic = message.response_topic
        if topic is not None and not self._settings.topics.may_answer_at(topic):
            root = self._settings.topics.root
            where = f"the response topic must be below {root}/response/, or outside the topics of all hubs"
            size = f"of at most {LONGEST_RESPONSE} characters and {RESPONSE_LEVELS} levels"
            raise CommandRefused(ErrorCode.INVALID_REQUEST, f"{where}, and {size}")
        if command.options.get("password") and not self._settings.broker.tls:
            raise CommandRefused(ErrorCode.NOT_AUTHORIZED, "a password is accepted only over TLS (mqtts://)")
        return command

    def _finished(self, _: asyncio.Task[None]) -> None:
        self._running -= 1

    async def _carry_out(self, message: CommandMessage, command: Command) -> None:
        code: str | None = None
        device_id, sentence = command.device_id, ""
        further: Mapping[str, object] = {}
        try:
            device_id, sentence, further = await self._call(command)
        except WifimgrdError as error:
            code, sentence = error.code, error.message
        except TimeoutError:
            code, sentence = ErrorCode.BACKEND_UNAVAILABLE, "wifimgrd did not answer in time"
        except Exception as error:  # noqa: BLE001 - a bug is logged and answered, too
            _log.error("command_failed", command=command.name, exc_info=error)
            code, sentence = ErrorCode.INTERNAL, "internal error; see the service's log"
        payload = answer(command.name, device_id, code=code, message=sentence, further=further)
        self._recent.answered(message, payload)
        self._send(message, payload)

    async def _call(self, command: Command) -> tuple[int | None, str, Mapping[str, object]]:
        """Call the daemon; the device, a sentence, and further members of the answer."""
        hub, options, device_id = self._hub, command.options, command.device_id
        if command.name == CREATE:
            created = await available(hub).create_device(options)
            return created, "created", {}
        if command.name == SCAN:
            interface = options.get("interface")
            found = await available(hub).search_networks(interface if isinstance(interface, str) else None)
            return None, f"{len(found.networks)} networks", search_json(found)
        if command.name == RECORD:
            order = recording_order(options, "options")
            results = await available(hub).record(order.device_ids, on=order.on, everyone=order.everyone)
            names = {one: device.name for one, device in hub.devices.items()}
            named = [(names.get(one.device_id, f"camera {one.device_id}"), one.code) for one in results]
            sentence = " ".join(recorded_on_many(named, on=order.on))
            return None, sentence, {"results": list(map(ResultJson.of, results))}
        if command.name == CONNECT_GROUP and device_id is None:
            outcomes = await connect_group(hub, group_order(options, "options"))
            sentence = f"{sum(one.done for one in outcomes)} of {len(outcomes)} done"
            return None, sentence, {"results": list(map(OutcomeJson.of, outcomes))}
        if device_id is None:
            raise DeviceNotFound("a command to a device names one")
        wanted = DEVICE_COMMANDS[command.name]
        given = {name: value for name, value in options.items() if isinstance(value, bool | str)}
        switches: dict[str, bool | str] = {**wanted.options, **given}
        wait_s = _WAIT_S if switches.pop(WAIT, False) else 0
        outcome = await carry_out(hub, wanted, device_id, switches, wait_s=wait_s)
        return device_id, outcome.state, {}

    def _refuse(self, message: CommandMessage, refused: CommandRefused, name: str | None = None) -> None:
        payload = answer(name, message.target.device_id, code=refused.code, message=refused.message)
        self._send(message, payload)

    def _send(self, message: CommandMessage, payload: bytes) -> None:
        topics = self._settings.topics
        response = message.response_topic
        allowed = response is not None and topics.may_answer_at(response)
        topic = response if response is not None and allowed else topics.result(message.target)
        self._outbox.answer(topic, payload, message.correlation)
