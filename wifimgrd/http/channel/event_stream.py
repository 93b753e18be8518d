"""The management channel as Server-Sent Events, for clients that only receive.

https://html.spec.whatwg.org/multipage/server-sent-events.html. The numbers are those of the WebSocket
channel: an event's `id` is EPOCH:SEQ, and a browser sends the last one when it reconnects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from aiohttp import web

from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import changes_nothing, own_site_only
from wifimgrd.http.channel.channel import HEARTBEAT_S, QUEUE_LIMIT, Channel, bound_send_buffer, query_since
from wifimgrd.http.channel.message_types import LoggedEvent
from wifimgrd.http.front.transport import front_of

_MEDIA_TYPE: Final = "text/event-stream"
_LAST_EVENT_ID: Final = Parameter(
    "Last-Event-ID",
    str,
    "EPOCH:SEQ, the last event that the client received; it takes precedence over `since`.",
    "header",
)
_COMES_BACK_MS: Final = 1000
"""The time after which a browser reconnects."""


class StreamClient:
    """One client: its bounded queue, and its connection."""

    def __init__(self, response: web.StreamResponse, request: web.Request, limit: int) -> None:
        self._response = response
        self._transport = request.transport
        self._queue: asyncio.Queue[LoggedEvent | None] = asyncio.Queue(limit)
        """None = the client has disconnected."""
        self.given_up = False
        """It did not read."""
        bound_send_buffer(self._transport)
        if (front := front_of(request)) is not None:
            front.call_when_closed(self._gone)

    def offer(self, event: LoggedEvent) -> None:
        """Queue a message; a client with too many queued messages is disconnected."""
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self.given_up = True
            self._abort()

    def end(self, code: int, reason: bytes) -> asyncio.Task[None]:
        """Close the connection: this protocol has no close reason."""
        del code, reason
        self._abort()
        return asyncio.create_task(asyncio.sleep(0))

    async def run(self, greeting: Sequence[LoggedEvent]) -> None:
        """Send the greeting, then the queued messages, until the client disconnects or is too slow."""
        with suppress(ConnectionError):
            await self._response.write(f"retry: {_COMES_BACK_MS}\n\n".encode())
            for event in greeting:
                await self._response.write(block(event))
            while (data := await self._next()) is not None:
                await self._response.write(data)

    async def _next(self) -> bytes | None:
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                event = await self._queue.get()
        except TimeoutError:
            return b":\n\n"
        return None if event is None else block(event)

    def _gone(self) -> None:
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def block(event: LoggedEvent) -> bytes:
    """A message in the format of the stream. JSON has no raw line breaks."""
    mark = "" if event.mark is None else f"id: {event.mark}\n"
    return f"{mark}event: {event.type}\ndata: {event.text}\n\n".encode()


class EventStream:
    """The resource at `/events`."""

    def __init__(self, client: HubClient, channel: Channel, queue_limit: int = QUEUE_LIMIT) -> None:
        self._client = client
        self._channel = channel
        self._queue_limit = queue_limit

    def add_to(self, routes: Routes) -> None:
        """Add the route."""
        routes.add("GET", "/events/", self.follow)

    @own_site_only
    @changes_nothing
    @Operation(
        "follow_events",
        "events",
        reads=(query_since, _LAST_EVENT_ID),
        media_types=(_MEDIA_TYPE,),
        errors=(ErrorCode.BACKEND_UNAVAILABLE,),
    )
    async def follow(self, request: web.Request) -> web.StreamResponse:
        """Receive all changes, as Server-Sent Events.

        The events are those of the management channel, which `/asyncapi.json` describes.
        """
        available(self._client)
        response = web.StreamResponse(
            headers={"Content-Type": _MEDIA_TYPE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        await response.prepare(request)
        client = StreamClient(response, request, self._queue_limit)
        mark = request.headers.get(_LAST_EVENT_ID.name) or query_since(request)
        with self._channel.followed_by(client, mark) as greeting:
            await client.run(greeting)
        return response
