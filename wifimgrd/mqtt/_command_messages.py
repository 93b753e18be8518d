"""Commands in messages: parsing, duplicates, answers. Pure: time is passed in, in seconds."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from wifimgrd.client.commands import group_order, recording_order, registered_value
from wifimgrd.client.json_text import dumps, loads
from wifimgrd.domain.commands import CONNECT, DEVICE_COMMANDS
from wifimgrd.domain.errors import ErrorCode, InvalidRequest
from wifimgrd.mqtt._topics import Target

PAYLOAD_LIMIT: Final = 64 * 1024
"""Bytes of a command."""
CORRELATION_LIMIT: Final = 256
PAYLOAD_TOO_LARGE: Final = "payload-too-large"
REMEMBERED: Final = 256
"""Commands that are remembered, to recognise one that is delivered again."""
REMEMBERED_S: Final = 120.0
"""For how long."""
_LONGEST_ECHO: Final = 32


class CommandRefused(Exception):
    """A command that is not carried out: the code and the sentence for its sender."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


CREATE: Final = "create"
SCAN: Final = "scan"
RECORD: Final = "record"
CONNECT_GROUP: Final = CONNECT.name
"""To the hub it connects a group, to a device that device."""
OF_HUB: Final = (CREATE, SCAN, RECORD, CONNECT_GROUP)
"""The commands to the hub; those to a device are DEVICE_COMMANDS."""
OF_EVERYONE: Final = (RECORD,)
"""The commands to all cameras together, for who may use cameras, and not add any."""
_OF_CREATE: Final = frozenset(
    {
        "codename",
        "connection_type",
        "ssid",
        "password",
        "name",
        "auto_reconnect",
        "priority",
        "auto_wake",
        "pin",
        "connect",
        "when_free",
        "bluetooth_address",
        "idempotency_key",
    }
)
"""The options of create that the daemon has; others are ignored, as over HTTP."""


@dataclass(frozen=True, slots=True)
class CommandMessage:
    """A message at a command topic, as it was received."""

    target: Target
    payload: bytes = field(repr=False)
    retained: bool = False
    is_repeat: bool = False
    """The flag DUP: it may have been delivered before."""
    response_topic: str | None = None
    correlation: bytes | None = None
    has_expired: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A command, checked but for what the daemon checks."""

    name: str
    device_id: int | None
    options: Mapping[str, object] = field(repr=False)


def parse_command(message: CommandMessage) -> Command:
    """Read a command; raises CommandRefused."""
    if message.retained:
        raise _invalid("retained commands are not carried out")
    if message.has_expired:
        raise _invalid("the command has expired")
    if len(message.payload) > PAYLOAD_LIMIT:
        raise CommandRefused(PAYLOAD_TOO_LARGE, f"the command is over {PAYLOAD_LIMIT // 1024} kB")
    if len(message.correlation or b"") > CORRELATION_LIMIT:
        raise _invalid(f"the correlation data is over {CORRELATION_LIMIT} bytes")
    try:
        value = loads(message.payload, "the command")
    except InvalidRequest as error:
        raise _invalid(error.message) from None
    if not isinstance(value, dict):
        raise _invalid('a command is an object: {"command", "options"}')
    name, options = value.get("command"), value.get("options", {})
    of_device = message.target.device_id is not None
    known = tuple(DEVICE_COMMANDS) if of_device else OF_EVERYONE if message.target.everyone else OF_HUB
    if not isinstance(name, str) or name not in known:
        raise _invalid(f"command must be one of: {', '.join(known)}")
    if not isinstance(options, dict):
        raise _invalid("options must be an object")
    if name == CREATE:
        options = {key: registered_value(key, value) for key, value in options.items() if key in _OF_CREATE}
    _check_options(name, options, of_device=of_device)
    return Command(name, message.target.device_id, options)


def _check_options(name: str, options: Mapping[str, object], *, of_device: bool) -> None:
    if of_device:
        command = DEVICE_COMMANDS[name]
        known = {*command.options, *command.texts}
        if options.keys() - known:
            raise _invalid(f"the options of {name} are: {', '.join(sorted(known)) or 'none'}")
        if not all(isinstance(options.get(one, ""), str) for one in command.texts):
            raise _invalid(f"{', '.join(command.texts)} must be a text")
        if not all(isinstance(options.get(one, False), bool) for one in command.options):
            raise _invalid("an option must be true or false")
    if name == SCAN and (options.keys() - {"interface"} or not isinstance(options.get("interface", ""), str)):
        raise _invalid("the option of scan is interface, a name")
    try:
        if name == RECORD:
            recording_order(options, "options")
        if name == CONNECT_GROUP and not of_device:
            group_order(options, "options")
    except InvalidRequest as error:
        raise _invalid(error.message) from None


def _invalid(message: str) -> CommandRefused:
    return CommandRefused(ErrorCode.INVALID_REQUEST, message)


def answer(
    command: str | None,
    device_id: int | None,
    *,
    code: str | None = None,
    message: str = "",
    further: Mapping[str, object] | None = None,
) -> bytes:
    """The answer to a command as JSON; `code` None = it succeeded."""
    members = {
        "command": command,
        "device_id": device_id,
        "ok": code is None,
        "code": None if code is None else str(code),
        "message": message,
    }
    return dumps(members | dict(further or {})).encode()


def named_command(payload: bytes) -> str | None:
    """The name in a command that is refused, to repeat it in the answer; None where there is none."""
    if len(payload) > PAYLOAD_LIMIT:
        return None
    try:
        value = loads(payload, "the command")
    except InvalidRequest:
        return None
    name = value.get("command") if isinstance(value, dict) else None
    return name if isinstance(name, str) and len(name) <= _LONGEST_ECHO else None


class RecentCommands:
    """Recognises commands that are delivered again: with the same correlation data, or with the flag DUP."""

    def __init__(self) -> None:
        self._answers: OrderedDict[bytes, tuple[float, bytes | None]] = OrderedDict()
        """By key: the time of arrival, and the answer, None while the command runs."""

    def key(self, message: CommandMessage) -> bytes:
        """The key that identifies a command. The content is part of it: clients may use the same correlation
        data, and one client may use its own for every command."""
        client = [(message.response_topic or "").encode(), message.correlation] if message.correlation else []
        parts = [str(message.target).encode(), *client, message.payload]
        key = hashlib.blake2b(digest_size=16)
        for part in parts:
            key.update(len(part).to_bytes(4) + part)
        return key.digest()

    def begin(self, message: CommandMessage, now: float) -> bool:
        """Whether the command is carried out: it was not delivered before."""
        while self._answers and next(iter(self._answers.values()))[0] < now - REMEMBERED_S:
            self._answers.popitem(last=False)
        key = self.key(message)
        if key in self._answers and (message.correlation or message.is_repeat):
            return False
        self._answers.pop(key, None)
        if len(self._answers) >= REMEMBERED:
            self._answers.popitem(last=False)
        self._answers[key] = (now, None)
        return True

    def answered(self, message: CommandMessage, payload: bytes) -> None:
        """The command was answered."""
        key = self.key(message)
        if key in self._answers:
            self._answers[key] = (self._answers[key][0], payload)

    def answer_to(self, message: CommandMessage) -> bytes | None:
        """The answer to the first delivery of a command; None while that is carried out."""
        return self._answers.get(self.key(message), (0.0, None))[1]
