"""The management channel in the dialect of the platform's newest frontend, at `/ws/squawk/`.

A translation of the management channel's messages, one by one: the queue, the commands and their
rules are the channel's own. Messages that this dialect does not have are left out, and so are numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Final, TypedDict

from aiohttp import web

from wifimgrd.client.channel_messages import STATUS
from wifimgrd.client.json_members import StatusUpdateJson
from wifimgrd.client.json_text import dumps
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._operations import Operation
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.channel.channel import Channel, ChannelClient
from wifimgrd.http.channel.message_types import ACTION_FAILED, COMMAND_FAILED, ActionFailedJson, LoggedEvent

ADDRESS: Final = "/ws/squawk/"
_SNAPSHOT: Final = "snapshot"
_ON_CONNECT: Final = "on_connect"
_STATUS: Final = "observation." + STATUS
_SHARED: Final = 16
"""Translations that clients share; an event is translated once, not once for each client."""


class OnConnectJson(TypedDict):
    """The client should fetch the list of devices."""

    type: Annotated[str, Keywords(const=_ON_CONNECT)]


class SquawkStatusJson(TypedDict):
    """A device's status changed, or a command requested it."""

    type: Annotated[str, Keywords(const=_STATUS)]
    data: StatusUpdateJson


MESSAGES: Final[Mapping[str, type]] = MappingProxyType(
    {_ON_CONNECT: OnConnectJson, _STATUS: SquawkStatusJson, ACTION_FAILED: ActionFailedJson}
)
"""Every type of message."""


@lru_cache(_SHARED)
def translated(event: LoggedEvent) -> LoggedEvent | None:
    """A message of the management channel in this dialect; None if the dialect does not have it."""
    message: OnConnectJson | SquawkStatusJson | ActionFailedJson
    match event.type:
        case kind if kind == _SNAPSHOT:
            message = {"type": _ON_CONNECT}
        case kind if kind == STATUS:
            message = {"type": _STATUS, "data": json.loads(event.text)["data"]}
        case kind if kind == COMMAND_FAILED:
            message = {"type": ACTION_FAILED, "data": {"message": json.loads(event.text)["message"]}}
        case _:
            return None
    return LoggedEvent(message["type"], dumps(message))


class SquawkClient(ChannelClient):
    """A client of the management channel whose messages are translated."""

    def offer(self, event: LoggedEvent) -> None:
        """Queue a message, if this dialect has it."""
        message = translated(event)
        if message is not None:
            super().offer(message)

    def refuse(self, refusal: LoggedEvent, has_failed: bool) -> None:
        """Have a refusal sent, but for one that the status `failed` reports: the frontend shows a message for
        each of the two."""
        if not has_failed:
            self.offer(refusal)

    async def run(self, greeting: Iterable[LoggedEvent], receive: Callable[[str], None]) -> None:
        """Send the greeting, then the queued messages."""
        messages = (translated(event) for event in greeting)
        await super().run([one for one in messages if one is not None], receive)


class Squawk:
    """The resource at `/ws/squawk/`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def add_to(self, routes: Routes) -> None:
        """Add the route."""
        routes.add("GET", ADDRESS, self.join)

    @own_site_only
    @Operation("join_squawk", "events", status=101, errors=(ErrorCode.BACKEND_UNAVAILABLE,))
    async def join(self, request: web.Request) -> web.StreamResponse:
        """Receive the devices' statuses, in the dialect of the platform's newest frontend.

        The messages are described by /asyncapi.json.
        """
        return await self._channel.serve(request, "", SquawkClient)
