"""Connect, disconnect and connection status of a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from aiohttp import web

from wifimgrd.client.commands import Outcome, available, carry_out, known_device
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import StatusJson
from wifimgrd.client.json_records import status_json
from wifimgrd.domain.commands import (
    CONNECT,
    DEVICE_COMMANDS,
    DISCONNECT,
    OPTIONAL_INTERFACES,
    WAIT,
    WHEN_FREE,
    WITH_WAKE,
    DeviceCommand,
)
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http._errors import Handler
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation
from wifimgrd.http._requests import query_id, query_wait, query_wake, query_when_free
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.api.body_types import CommandAnswer, ConnectAnswer, DisconnectAnswer, WaitingAnswer
from wifimgrd.http.api.device_commands import WITH_RESOURCE
from wifimgrd.http.platform.answer_first import CommandEvents, answer_first

_OF_ALL: Final = (ErrorCode.DEVICE_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE)
_WAIT_S: Final = 25.0
"""How long the answer waits for the end of a command that by default is waited for."""
_WAITS: Final = "With `when_free`: no adapter is free, and the device waits for one."
_READERS: Final[Mapping[str, Callable[..., object]]] = MappingProxyType(
    {"device_id": query_id, WAIT: query_wait, WHEN_FREE: query_when_free, WITH_WAKE: query_wake}
)
_SWITCHES: Final = (WHEN_FREE, WITH_WAKE)
_ANSWERS: Final[Mapping[str, object]] = MappingProxyType(
    {CONNECT.name: ConnectAnswer, DISCONNECT.name: DisconnectAnswer}
)
"""The types of the answers that have more than CommandAnswer, or known states."""
_TEXTS: Final = MappingProxyType(
    {
        CONNECT.name: """Connect a device.

        Answers when an interface is assigned and the attempt runs; with `wait`, when the attempt has
        ended, with success or with an error. Connecting a connected device changes nothing.
        The events of a failure on the channel follow the answer.
        With `when_free` a device for which no adapter is free waits for one, and is connected then: 202, with
        `status` `waiting`; `wait` is the limit for both.
        With `wake` a camera whose network is not seen is woken over Bluetooth within the same attempt.
        """,
        DISCONNECT.name: """Disconnect a device.

        Answers when that is done, or takes too long. Disconnecting a disconnected device changes nothing.
        """,
    }
)


def _reads(command: DeviceCommand) -> tuple[Callable[..., object], ...]:
    """The readers of its route's parameters. A command that waits by default always waits, and has no
    parameter for that."""
    return tuple(
        _READERS[name]
        for name, default in {"device_id": False, **command.options}.items()
        if name != WAIT or not default
    )


class Connect:
    """The resource at `P/wifi/`."""

    def __init__(self, client: HubClient, prefix: str, events: CommandEvents) -> None:
        self._client = client
        self._events = events
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes; a GET that changes state has no HEAD."""
        for command in DEVICE_COMMANDS.values():
            if command.interface in OPTIONAL_INTERFACES or command.name in WITH_RESOURCE:
                continue  # at P/{id}/, see device_commands.py
            routes.add("GET POST", f"{self._prefix}/wifi/{command.name}", self._handler(command))
        routes.add("GET HEAD", self._prefix + "/wifi/status", self.status)

    def _handler(self, command: DeviceCommand) -> Handler:
        """The handler of a command's route."""
        reads, can_wait = _reads(command), WHEN_FREE in command.options

        @own_site_only
        @Operation(
            command.name,
            "connection",
            reads=reads,
            text=_TEXTS.get(command.name, command.summary),
            answer=_ANSWERS.get(command.name, CommandAnswer),
            further={202: _WAITS} if can_wait else {},
            further_types={202: WaitingAnswer} if can_wait else {},
            errors=tuple(dict.fromkeys((*_OF_ALL, *command.errors))),
        )
        async def handle(request: web.Request) -> web.StreamResponse:
            client = available(self._client)
            device_id = query_id(request)
            wait_s = query_wait(request) if query_wait in reads else _WAIT_S
            switches = {name: bool(_READERS[name](request)) for name in _SWITCHES if name in command.options}
            when_free = switches.get(WHEN_FREE, False)
            known = known_device(client, device_id)
            given = {name: value for name, value in switches.items() if value}
            carry = partial(self._carry_out, command, known, wait_s, given)
            if command.reaches is DeviceState.CONNECTED:
                return await answer_first(request, self._events, device_id, carry, when_free=when_free)
            self._events.command_begins(device_id)
            return await carry(request)

        return handle

    async def _carry_out(
        self,
        command: DeviceCommand,
        known: DeviceRecord,
        wait_s: float,
        switches: Mapping[str, bool],
        _: web.Request,
    ) -> web.Response:
        outcome = await carry_out(self._client, command, known.id, switches, wait_s=wait_s)
        answer: dict[str, object] = {
            "message": _sentence(outcome, known.name),
            "status": outcome.state,
            "device_connection_id": known.id,
        }
        if command is CONNECT and not outcome.is_waiting:
            answer["interface"] = known_device(self._client, known.id).interface
        return json_response(answer, status=202 if outcome.is_waiting else 200)

    @Operation("connection_status", "connection", reads=(query_id,), answer=StatusJson, errors=_OF_ALL)
    async def status(self, request: web.Request) -> web.Response:
        """The state of a device's connection."""
        client = available(self._client)
        return json_response(status_json(known_device(client, query_id(request))))


def _sentence(outcome: Outcome, name: str) -> str:
    if outcome.is_waiting:
        return f"{name} waits for an adapter"
    if outcome.command.reaches is None:
        return f"{outcome.command.name} {name}: {outcome.state}"
    return f"{name} is {outcome.state}" if outcome.is_done else f"{outcome.state} {name}"
