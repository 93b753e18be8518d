"""Carries out the commands that arrive from the broker, and answers them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import structlog

from wifimgrd.dbus.client.command_rate import COMMANDS_AT_ONCE, CommandRate
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.json_records import search_json
from wifimgrd.domain.errors import BackendUnavailable, DeviceNotFound, ErrorCode, WifimgrdError
from wifimgrd.mqtt.broker import Received
from wifimgrd.mqtt.command_messages import (
    Action,
    Command,
    CommandMessage,
    CommandRefused,
    RecentCommands,
    answer,
    named_command,
    parse_command,
)
from wifimgrd.mqtt.session import Outbox
from wifimgrd.mqtt.settings import Settings
from wifimgrd.mqtt.topics import Target
from wifimgrd.runtime.tasks import Tasks

RUNNING_LIMIT: Final = 64
"""Commands that run or wait for another one of their device."""
_WAIT_S: Final = 120.0
"""The limit of `wait`; an attempt ends by itself earlier, as a rule."""

_log = structlog.get_logger("wifimgrd.mqtt")


class Commands:
    """The commands to this hub; those for one device run one after the other."""

    def __init__(self, hub: HubClient, settings: Settings, outbox: Outbox, tasks: Tasks) -> None:
        self._hub = hub
        self._settings = settings
        self._outbox = outbox
        self._tasks = tasks
        self._rate = CommandRate()
        self._recent = RecentCommands()
        self._running = 0
        self._last: dict[int | None, asyncio.Task[None]] = {}
        """The last command of each target with running commands."""

    def receive(self, received: Received) -> None:
        """Start the command in a message, or refuse it; never waits."""
        target = self._settings.topics.target(received.topic)
        if target is None:
            return
        now = asyncio.get_running_loop().time()
        expires_in_s = received.expires_in_s
        message = CommandMessage(
            target,
            received.payload,
            received.retained,
            received.is_repeat,
            received.response_topic,
            received.correlation,
            None if expires_in_s is None else now + expires_in_s,
        )
        try:
            command = self._admit(message, now)
        except CommandRefused as refused:
            self._refuse(message, refused)
            return
        if not self._recent.begin(message, now):
            known = self._recent.answer_to(message)
            if known is not None:
                self._send(message, known)
            return
        before = self._last.get(target.device_id)
        task = self._tasks.start("command", self._carry_out(message, command, before))
        self._running += 1
        self._last[target.device_id] = task
        task.add_done_callback(lambda done: self._finished(target, done))

    def _admit(self, message: CommandMessage, now: float) -> Command:
        """The command in a message; raises CommandRefused."""
        if not self._settings.commands:
            raise CommandRefused(ErrorCode.NOT_AUTHORIZED, "commands over MQTT are off: [mqtt] commands")
        if not self._rate.admits(now) or self._running >= RUNNING_LIMIT:
            limits = f"at most {COMMANDS_AT_ONCE} commands a second, and {RUNNING_LIMIT} at once"
            raise CommandRefused(ErrorCode.TOO_MANY_REQUESTS, f"{limits}, are carried out")
        command = parse_command(message)
        topic = message.response_topic
        if topic is not None and not self._settings.topics.may_answer_at(topic):
            root = self._settings.topics.root
            sentence = f"the response topic must be below {root}/response/, or not below any hub"
            raise CommandRefused(ErrorCode.INVALID_REQUEST, sentence)
        if command.options.get("password") and not self._settings.broker.tls:
            raise CommandRefused(ErrorCode.NOT_AUTHORIZED, "a password is accepted over TLS alone: mqtts://")
        return command

    def _finished(self, target: Target, task: asyncio.Task[None]) -> None:
        self._running -= 1
        if self._last.get(target.device_id) is task:
            del self._last[target.device_id]

    async def _carry_out(
        self, message: CommandMessage, command: Command, before: asyncio.Task[None] | None
    ) -> None:
        if before is not None:
            await asyncio.wait([before])
        code: str | None = None
        device_id, sentence = command.device_id, ""
        further: Mapping[str, Any] = {}
        try:
            _check_expiry(message)
            device_id, sentence, further = await self._call(command)
        except CommandRefused as refused:
            code, sentence = refused.code, refused.message
        except WifimgrdError as error:
            code, sentence = error.code, error.message
        except TimeoutError:
            code, sentence = ErrorCode.BACKEND_UNAVAILABLE, "wifimgrd did not answer in time"
        except Exception as error:  # noqa: BLE001 - a bug is logged and answered, too
            _log.error("command_failed", command=str(command.action), exc_info=error)
            code, sentence = ErrorCode.INTERNAL, "something went wrong inside the service; its log says what"
        payload = answer(command.action, device_id, code=code, message=sentence, further=further)
        self._recent.answered(message, payload)
        self._send(message, payload)

    async def _call(self, command: Command) -> tuple[int | None, str, Mapping[str, Any]]:
        """Call the daemon; the device, a sentence, and further members of the answer."""
        hub, options, device_id = self._hub, command.options, command.device_id
        if not hub.available:
            raise BackendUnavailable(hub.reason or "wifimgrd is not running")
        if command.action is Action.CREATE:
            created = await hub.create_device(options)
            return created, "created", {}
        if command.action is Action.SCAN:
            found = await hub.search_networks(options.get("interface"))
            return None, f"{len(found.networks)} networks", search_json(found)
        if device_id is None or device_id not in hub.devices:
            raise DeviceNotFound(f"there is no device {device_id}")
        if command.action is Action.CONNECT:
            wait = options.get("wait", False)
            await hub.connect_device(
                device_id, wait=wait, when_free=options.get("when_free", False), timeout_s=_WAIT_S
            )
            device = hub.devices.get(device_id)
            return device_id, "connecting" if device is None else device.state, {}
        try:
            await hub.disconnect_device(device_id, timeout_s=_WAIT_S if options.get("wait", True) else 0)
        except TimeoutError:
            if not hub.available:
                raise
            return device_id, "disconnecting", {}
        return device_id, "disconnected", {}

    def _refuse(self, message: CommandMessage, refused: CommandRefused) -> None:
        name = named_command(message.payload)
        payload = answer(name, message.target.device_id, code=refused.code, message=refused.message)
        self._send(message, payload)

    def _send(self, message: CommandMessage, payload: bytes) -> None:
        topics = self._settings.topics
        response = message.response_topic
        allowed = response is not None and topics.may_answer_at(response)
        topic = response if response is not None and allowed else topics.result(message.target)
        self._outbox.answer(topic, payload, message.correlation)


def _check_expiry(message: CommandMessage) -> None:
    """Raise CommandRefused if a command has expired, while it waited for the one before it or on its way."""
    if message.expires_at is not None and asyncio.get_running_loop().time() >= message.expires_at:
        raise CommandRefused(ErrorCode.INVALID_REQUEST, "the command has expired")
