"""The management channel: a snapshot, then every event, numbered, to every client."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from aiohttp import WSCloseCode, web

from wifimgrd.dbus.client.changes import Change, DaemonAppeared
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.json_records import device_json, interface_json, service_json, time_text
from wifimgrd.dbus.client.messages import Message, Translator
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.channel_client import QUEUE_LIMIT, ChannelClient
from wifimgrd.http.channel_types import SnapshotJson
from wifimgrd.http.description.operations import operation, parameter
from wifimgrd.http.event_log import EventLog, Telling
from wifimgrd.http.json_text import dumps
from wifimgrd.http.live import live
from wifimgrd.http.request_safety import own_site_only
from wifimgrd.http.requests import invalid
from wifimgrd.http.routes import Routes

REPLAYED: Final = 2048
"""Events that a client can have missed and still catch up on."""
HEARTBEAT_S: Final = 30.0
_INCOMING_LIMIT: Final = 4096
"""Octets; nothing is expected."""


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


@parameter("since", str, "EPOCH:SEQ, the last event that the client saw.")
def query_since(request: web.Request) -> str:
    """Where a client left off."""
    return request.query.get("since", "")


class Listener(Protocol):
    """A client, however it is written to."""

    given_up: bool
    """It did not read."""

    def offer(self, told: Telling) -> None:
        """Have a message sent; never waits."""

    def end(self, code: int, reason: bytes) -> asyncio.Task[None]:
        """Send it away; the code and the reason are those of RFC 6455."""


class Channel:
    """The resource at `/ws/management/`."""

    def __init__(
        self,
        client: HubClient,
        *,
        clock: Callable[[], int] = now_us,
        replayed: int = REPLAYED,
        queue_limit: int = QUEUE_LIMIT,
    ) -> None:
        self._client = client
        self._clock = clock
        self._log = EventLog(secrets.token_hex(8), replayed)
        self._translator = Translator()
        self._clients: set[Listener] = set()
        self._queue_limit = queue_limit
        self.dropped = 0
        """Clients that were given up because they did not read."""
        self._unsubscribe = client.subscribe(self._tell)

    @property
    def listeners(self) -> int:
        """How many clients listen now."""
        return len(self._clients)

    def add_to(self, routes: Routes) -> None:
        """Wire the address."""
        routes.add("GET", "/ws/management/", self.join)

    def announce(self, kind: str, data: dict[str, Any]) -> None:
        """Tell everybody of something that is no change of the hub."""
        self._send(Message(kind, data))

    async def close(self) -> None:
        """Send every client away."""
        self._unsubscribe()
        self._unsubscribe = _nothing
        ends = [client.end(WSCloseCode.GOING_AWAY, b"the service stops") for client in self._clients]
        await asyncio.gather(*ends)

    @own_site_only
    @operation(
        "join_channel",
        "service",
        reads=(query_since,),
        status=101,
        errors=(ErrorCode.BACKEND_UNAVAILABLE,),
    )
    async def join(self, request: web.Request) -> web.StreamResponse:
        """Follow everything that happens, over WebSocket.

        What is said there is described by /asyncapi.json.

        While the daemon is away a client is refused as at every other address, so that it comes
        again by its own rules; who has joined before stays, and is told when the daemon is back.
        """
        live(self._client)
        channel = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, compress=False, max_msg_size=_INCOMING_LIMIT, timeout=1.0
        )
        if not channel.can_prepare(request):
            raise invalid("this address speaks WebSocket alone")
        await channel.prepare(request)
        if not self._client.available:
            await channel.close(code=WSCloseCode.TRY_AGAIN_LATER, message=b"the daemon went away")
            return channel
        client = ChannelClient(channel, request, self._queue_limit)
        with self.followed_by(client, query_since(request)) as greeting:
            await client.run(greeting)
        return channel

    @contextmanager
    def followed_by(self, listener: Listener, since: str) -> Iterator[Sequence[Telling]]:
        """Tell a client everything meanwhile; gives what it has to be told first, and is to do so."""
        greeting = self._log.since(since)
        self._clients.add(listener)
        try:
            yield [self._snapshot()] if greeting is None else greeting
        finally:
            self._clients.discard(listener)
            self.dropped += listener.given_up

    def _tell(self, change: Change) -> None:
        if isinstance(change, DaemonAppeared):
            self._tell_again()
            return
        for message in self._translator.messages(change):
            self._send(message)

    def _tell_again(self) -> None:
        """What happened meanwhile is not known, so that everybody needs a snapshot; the event
        after it makes every number before it too old to go on from."""
        messages = self._translator.resynchronise(self._client.service, self._client.devices.values())
        if self._clients:
            self._broadcast(self._snapshot())
        for message in messages:
            self._send(message)
        self._log.forget()

    def _send(self, message: Message) -> None:
        envelope: dict[str, Any] = {"type": message.type}
        if message.numbered:
            envelope["seq"] = self._log.next_seq()
        envelope |= {"time": time_text(self._clock()), "data": message.data}
        text = dumps(envelope)
        kind = message.type
        self._broadcast(self._log.append(kind, text) if message.numbered else Telling(kind, text))

    def _broadcast(self, told: Telling) -> None:
        for client in self._clients:
            client.offer(told)

    def _snapshot(self) -> Telling:
        client = self._client
        snapshot: SnapshotJson = {
            "type": "snapshot",
            "epoch": self._log.epoch,
            "seq": self._log.seq,
            "service": service_json(client.service),
            "devices": [device_json(device) for device in client.devices.values()],
            "interfaces": [interface_json(one) for one in client.interfaces.values()],
        }
        return Telling("snapshot", dumps(snapshot), self._log.mark)


def _nothing() -> None:
    """There is no subscription to end."""
