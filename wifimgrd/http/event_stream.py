"""The management channel as Server-Sent Events, for clients that only listen.

https://html.spec.whatwg.org/multipage/server-sent-events.html. The numbers are those of the WebSocket
channel: an event's `id` is EPOCH:SEQ, and a browser comes back with the last one by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from aiohttp import web

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.channel import HEARTBEAT_S, Channel, query_since
from wifimgrd.http.channel_client import QUEUE_LIMIT, bound_send_buffer
from wifimgrd.http.client_connection import Connection
from wifimgrd.http.description.operations import Parameter, operation
from wifimgrd.http.event_log import Telling
from wifimgrd.http.live import live
from wifimgrd.http.request_safety import own_site_only
from wifimgrd.http.routes import Routes

_MEDIA_TYPE: Final = "text/event-stream"
_LAST_EVENT_ID: Final = Parameter(
    "Last-Event-ID", "header", "EPOCH:SEQ, the last event that the client saw; goes before `since`.", str
)
_COMES_BACK_MS: Final = 1000
"""After so long a browser tries again."""


class StreamClient:
    """One client: its bounded queue, and its connection."""

    def __init__(self, response: web.StreamResponse, request: web.Request, limit: int) -> None:
        self._response = response
        self._transport = request.transport
        self._queue: asyncio.Queue[Telling | None] = asyncio.Queue(limit)
        """None = the client has gone."""
        self.given_up = False
        """It did not read."""
        bound_send_buffer(self._transport)
        if isinstance(request.protocol, Connection):
            request.protocol.tell_when_gone(self._gone)

    def offer(self, told: Telling) -> None:
        """Have a message sent; a client with too many before it is given up."""
        try:
            self._queue.put_nowait(told)
        except asyncio.QueueFull:
            self.given_up = True
            self._abort()

    def end(self, code: int, reason: bytes) -> asyncio.Task[None]:
        """Close the connection: this protocol has no word for why."""
        del code, reason
        self._abort()
        return asyncio.create_task(asyncio.sleep(0))

    async def run(self, greeting: Sequence[Telling]) -> None:
        """Send the greeting, then what is offered, until the client goes or is given up."""
        with suppress(ConnectionError):
            await self._response.write(f"retry: {_COMES_BACK_MS}\n\n".encode())
            for told in greeting:
                await self._response.write(block(told))
            while (octets := await self._next()) is not None:
                await self._response.write(octets)

    async def _next(self) -> bytes | None:
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                told = await self._queue.get()
        except TimeoutError:
            return b":\n\n"
        return None if told is None else block(told)

    def _gone(self) -> None:
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def block(told: Telling) -> bytes:
    """A message as it stands in the stream. JSON has no raw line breaks."""
    mark = "" if told.mark is None else f"id: {told.mark}\n"
    return f"{mark}event: {told.type}\ndata: {told.text}\n\n".encode()


class EventStream:
    """The resource at `/events`."""

    def __init__(self, client: HubClient, channel: Channel, queue_limit: int = QUEUE_LIMIT) -> None:
        self._client = client
        self._channel = channel
        self._queue_limit = queue_limit

    def add_to(self, routes: Routes) -> None:
        """Wire the address."""
        routes.add("GET", "/events/", self.follow)

    @own_site_only
    @operation(
        "follow_events",
        "service",
        reads=(query_since, _LAST_EVENT_ID),
        media_types=(_MEDIA_TYPE,),
        errors=(ErrorCode.BACKEND_UNAVAILABLE,),
    )
    async def follow(self, request: web.Request) -> web.StreamResponse:
        """Follow everything that happens, as Server-Sent Events.

        The events are those of the management channel, which `/asyncapi.json` describes.
        """
        live(self._client)
        response = web.StreamResponse(
            headers={"Content-Type": _MEDIA_TYPE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        await response.prepare(request)
        client = StreamClient(response, request, self._queue_limit)
        mark = request.headers.get(_LAST_EVENT_ID.name) or query_since(request)
        with self._channel.followed_by(client, mark) as greeting:
            await client.run(greeting)
        return response
