"""The management channel: each client gets a snapshot, then every event, numbered."""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final, Protocol

from aiohttp import WSCloseCode, WSMsgType, web

from wifimgrd.client.changes import Change, DaemonAppeared, DaemonVanished
from wifimgrd.client.channel_messages import STATUS, ChannelMessages, Message
from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_records import connection_status_json, device_json, interface_json, service_json
from wifimgrd.client.json_text import dumps
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._requests import invalid
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.channel._commands import ClientCommands
from wifimgrd.http.channel._status_hold import StatusHold
from wifimgrd.http.channel.message_types import LoggedEvent, SnapshotJson
from wifimgrd.wire.kinds import time_text

REPLAYED: Final = 2048
"""Events that are kept, for clients that reconnect."""
QUEUE_LIMIT: Final = 4096
"""Messages that are queued for a client; the texts are shared by all clients."""
HEARTBEAT_S: Final = 30.0
INCOMING_LIMIT: Final = 64 * 1024
"""Bytes that a message of a client may have."""
_SEND_BUFFER: Final = 128 * 1024
"""Bytes that the kernel buffers for a client that does not read."""
_CLOSE_S: Final = 1.0


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


@Parameter("since", str, "EPOCH:SEQ, the last event that the client received.")
def query_since(request: web.Request) -> str:
    """The mark of the last event that a client received."""
    return request.query.get("since", "")


class Listener(Protocol):
    """A client, by WebSocket or by Server-Sent Events."""

    given_up: bool
    """It was disconnected because it did not read."""

    def offer(self, event: LoggedEvent) -> None:
        """Queue a message; never waits."""

    def end(self, code: int, reason: bytes) -> asyncio.Task[None]:
        """Disconnect the client; code and reason are those of a close frame (RFC 6455, 7.4)."""


class EventLog:
    """The last events as they were sent, by number. Pure: no clock, no I/O."""

    def __init__(self, epoch: str, capacity: int) -> None:
        self.epoch = epoch
        self.seq = 0
        """Number of the last event."""
        self._logged: deque[LoggedEvent] = deque(maxlen=capacity)

    def next_seq(self) -> int:
        """The number that `append` assigns next."""
        return self.seq + 1

    @property
    def mark(self) -> str:
        """The mark of a client that has received everything."""
        return f"{self.epoch}:{self.seq}"

    def append(self, kind: str, text: str) -> LoggedEvent:
        """Store the next event; the oldest is dropped if the log is full."""
        self.seq += 1
        event = LoggedEvent(kind, text, self.mark)
        self._logged.append(event)
        return event

    def forget(self) -> None:
        """Make all events so far too old to be replayed: only a snapshot has their effects now."""
        self._logged.clear()

    def since(self, mark: str) -> list[LoggedEvent] | None:
        """The events after `EPOCH:SEQ`, in order, none if that is current. None if only a snapshot
        helps: the mark has another epoch, is too old, was never reached, or is malformed."""
        epoch, _, number = mark.rpartition(":")
        if epoch != self.epoch or not (number.isascii() and number.isdecimal() and len(number) < 20):
            return None
        missed = self.seq - int(number)
        if not 0 <= missed <= len(self._logged):
            return None
        return list(islice(self._logged, len(self._logged) - missed, None))


class ChannelClient:
    """A WebSocket with a queue: messages are written in order, and a slow client delays no other."""

    def __init__(self, socket_: web.WebSocketResponse, request: web.Request, limit: int) -> None:
        self._socket = socket_
        self._transport = request.transport
        self._queue: asyncio.Queue[str] = asyncio.Queue(limit)
        self._closing: asyncio.Task[None] | None = None
        self.given_up = False
        """It did not read."""
        bound_send_buffer(self._transport)

    def offer(self, event: LoggedEvent) -> None:
        """Queue a message; a client with too many queued messages is disconnected."""
        if self._closing is not None:
            return
        try:
            self._queue.put_nowait(event.text)
        except asyncio.QueueFull:
            self.given_up = True
            self.end(WSCloseCode.TRY_AGAIN_LATER, b"too slow; come back with since=")

    def refuse(self, refusal: LoggedEvent, has_failed: bool) -> None:
        """Have the refusal of a command sent. `has_failed`: the device's status `failed` reports it, too."""
        del has_failed
        self.offer(refusal)

    async def run(self, greeting: Iterable[LoggedEvent], receive: Callable[[str], None]) -> None:
        """Send the greeting, then the queued messages, until the client disconnects or is too slow; `receive`
        is called with each text that it sends."""
        writer = asyncio.create_task(self._write(greeting))
        try:
            async for message in self._socket:
                if message.type is WSMsgType.TEXT and self._closing is None:
                    receive(message.data)
        finally:
            writer.cancel()
            with suppress(asyncio.CancelledError):
                await writer
            if self._closing is not None:
                await self._closing

    def end(self, code: int, reason: bytes) -> asyncio.Task[None]:
        """Close, with a close frame if that is possible at once; `run` returns then."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._end(code, reason))
        return self._closing

    async def _write(self, greeting: Iterable[LoggedEvent]) -> None:
        with suppress(ConnectionError, RuntimeError):  # the connection is lost; the reader reports that too
            for event in greeting:
                await self._socket.send_str(event.text)
            while self._closing is None:
                await self._socket.send_str(await self._queue.get())

    async def _end(self, code: int, reason: bytes) -> None:
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(_CLOSE_S):
                await self._socket.close(code=code, message=reason)
        if self._transport is not None:
            self._transport.abort()


class Channel:
    """The resource at `/ws/management/`."""

    def __init__(
        self,
        client: HubClient,
        *,
        clock: Callable[[], int] = now_us,
        replayed: int = REPLAYED,
        queue_limit: int = QUEUE_LIMIT,
        authorize: Callable[[web.Request], None] = lambda _: None,
    ) -> None:
        """`authorize` raises Problem if the client that joined by a request may receive events but not send
        commands."""
        self._authorize = authorize
        self._commands: set[asyncio.Task[None]] = set()
        """The commands that are running, also of clients that have disconnected."""
        self._client = client
        self._clock = clock
        self._log = EventLog(secrets.token_hex(8), replayed)
        self._translator = ChannelMessages()
        self._hold = StatusHold()
        self._timer: asyncio.TimerHandle | None = None
        """Sends the next message that is held back."""
        self._clients: set[Listener] = set()
        self._queue_limit = queue_limit
        self.dropped = 0
        """The number of clients that were disconnected because they did not read."""
        self._unsubscribe = client.subscribe(self._on_change)

    @property
    def listeners(self) -> int:
        """The number of connected clients."""
        return len(self._clients)

    def add_to(self, routes: Routes) -> None:
        """Add the route."""
        routes.add("GET", "/ws/management/", self.join)

    def announce(self, kind: str, data: dict[str, object]) -> None:
        """Send every client an event that is not a change of the hub."""
        self._send(Message(kind, data))

    def send_status(self, device_id: int) -> None:
        """Send every client the present status of a device."""
        self._send(Message(STATUS, connection_status_json(self._client.devices[device_id])))

    def commands_of(self, request: web.Request, reply: Callable[[LoggedEvent, bool], None]) -> ClientCommands:
        """An object that runs the commands of the client that joined by `request`."""
        return ClientCommands(self._client, lambda: self._authorize(request), self, reply, self._commands)

    def command_begins(self, device_id: int) -> None:
        """A command for a device begins, so a status that is held back behind `failed` is sent now."""
        self._send_now(self._hold.command(device_id))

    @contextmanager
    def awaiting_answer(self, device_id: int | None, *, when_free: bool = False) -> Iterator[None]:
        """Entered while a command over HTTP runs, until its answer is written; the events of its failure are
        sent a moment later. None = it creates a device. `when_free`: the device may wait for an adapter."""
        if device_id is not None:
            self.command_begins(device_id)
        answer = self._hold.expect_answer(device_id, when_free=when_free)
        try:
            yield
        finally:
            self._send_now(self._hold.written(answer, time.monotonic()))

    async def close(self) -> None:
        """Disconnect every client."""
        for command in self._commands:
            command.cancel()
        self._unsubscribe()
        self._unsubscribe = _nothing
        self._send_now(self._hold.give_up())
        ends = [client.end(WSCloseCode.GOING_AWAY, b"the service stops") for client in self._clients]
        await asyncio.gather(*ends)

    @own_site_only
    @Operation(
        "join_channel",
        "events",
        reads=(query_since,),
        status=101,
        errors=(ErrorCode.BACKEND_UNAVAILABLE,),
    )
    async def join(self, request: web.Request) -> web.StreamResponse:
        """Receive all events, over WebSocket.

        The messages are described by /asyncapi.json.

        While the daemon is unavailable a new client is refused with 503, as by every other route, so that it
        repeats the request as it does elsewhere. Connected clients stay, and get `service.updated`, then a
        snapshot once the daemon is available.
        """
        return await self.serve(request, query_since(request), ChannelClient)

    async def serve(self, request: web.Request, since: str, kind: type[ChannelClient]) -> web.StreamResponse:
        """Serve one client over WebSocket; `kind` defines the form of its messages."""
        available(self._client)
        channel = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, compress=False, max_msg_size=INCOMING_LIMIT + 1, timeout=1.0
        )
        if not channel.can_prepare(request):
            raise invalid("this address accepts only WebSocket connections")
        await channel.prepare(request)
        if not self._client.available:
            await channel.close(code=WSCloseCode.TRY_AGAIN_LATER, message=b"the daemon went away")
            return channel
        client = kind(channel, request, self._queue_limit)
        with self.followed_by(client, since) as greeting:
            await client.run(greeting, self.commands_of(request, client.refuse).receive)
        return channel

    @contextmanager
    def followed_by(self, listener: Listener, since: str) -> Iterator[Sequence[LoggedEvent]]:
        """Send a client all events meanwhile; while there is any client, the daemon is pinged. The value is
        what the caller has to send it first: a snapshot, or the events since its mark."""
        greeting = self._log.since(since)
        self._clients.add(listener)
        try:
            with self._client.pinging():
                yield [self._snapshot()] if greeting is None else greeting
        finally:
            self._clients.discard(listener)
            self.dropped += listener.given_up

    def _on_change(self, change: Change) -> None:
        if isinstance(change, DaemonAppeared | DaemonVanished):
            self._send_now(self._hold.give_up())
        if isinstance(change, DaemonAppeared):
            self._send_snapshot()
            return
        for message in self._translator.messages(change):
            self._send(message)

    def _send_snapshot(self) -> None:
        """Send a snapshot, since changes were missed while the daemon was away, then the status of each
        device: the platform's frontend to 0.1.33 acts on nothing else, and its toggles would stay locked.
        The log is cleared, so that a mark from before gets a snapshot, too."""
        messages = self._translator.resynchronise(self._client.service, self._client.devices.values())
        if self._clients:
            self._broadcast(self._snapshot())
        for message in messages:
            self._send(message)
        for device_id in self._client.devices:
            self.send_status(device_id)
        self._log.forget()

    def _send(self, message: Message) -> None:
        """Send a message after the earlier messages of its device, which may be held back."""
        self._send_now(self._hold.offer(message, time.monotonic()))

    def _send_due(self) -> None:
        self._send_now(self._hold.due(time.monotonic()))

    def _send_now(self, messages: Iterable[Message]) -> None:
        """Send messages, and set the timer for the next one that is held back."""
        for message in messages:
            self._number(message)
        due = self._hold.next_due()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            delay = max(0.0, due - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(delay, self._send_due)

    def _number(self, message: Message) -> None:
        """Give a message its number, and send it to every client."""
        envelope: dict[str, object] = {"type": message.type}
        if message.numbered:
            envelope["seq"] = self._log.next_seq()
        envelope |= {"time": time_text(self._clock()), "data": message.data}
        text = dumps(envelope)
        kind = message.type
        self._broadcast(self._log.append(kind, text) if message.numbered else LoggedEvent(kind, text))

    def _broadcast(self, event: LoggedEvent) -> None:
        for client in self._clients:
            client.offer(event)

    def _snapshot(self) -> LoggedEvent:
        client = self._client
        snapshot: SnapshotJson = {
            "type": "snapshot",
            "epoch": self._log.epoch,
            "seq": self._log.seq,
            "service": service_json(client.service),
            "devices": [device_json(device) for device in client.devices.values()],
            "interfaces": [interface_json(one) for one in client.interfaces.values()],
        }
        return LoggedEvent("snapshot", dumps(snapshot), self._log.mark)


def bound_send_buffer(transport: asyncio.BaseTransport | None) -> None:
    """Have the kernel buffer little for a client that may not read."""
    raw = None if transport is None else transport.get_extra_info("socket")
    if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6):
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)


def _nothing() -> None:
    """Replaces the function that ends the subscription, once it has ended."""
