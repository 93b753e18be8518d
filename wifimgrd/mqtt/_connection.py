"""An open connection to an MQTT broker, whose socket is watched by the event loop.

A lost connection ends the object; there is one for each connection, so nothing that the library queues
outlives its connection.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import Any, Final, Protocol

from wifimgrd.mqtt import _library as library
from wifimgrd.mqtt import _refusals as refusals
from wifimgrd.mqtt._library import KEEP_ALIVE_S, Client, Misbehaviour, Received

_CHECKS: Final = 4
"""How often in a keep-alive interval it is checked whether a ping is due or was not answered. The broker
waits for 1.5 times that interval (MQTT 5, 3.1.2.10)."""
_ANSWER_S: Final = 20.0
_ACCEPT_S: Final = 10.0
"""The same for the first one, without which another version of the protocol is tried."""
WINDOW: Final = 20
"""Messages on their way that the broker has not acknowledged, unless it wants less (MQTT 5, 3.2.2.3.3)."""
_REORDERED_S: Final = 2.0
"""How much later than the answer to a younger packet an acknowledgement may come. After that it will not:
where a client reads too slowly, Mosquitto drops acknowledgements, too (max_queued_messages)."""
_UNACKNOWLEDGED_S: Final = 60.0
"""After which time without any acknowledgement the connection is given up."""
_READS_AT_ONCE: Final = 100
_HEADERS: Final = 32
"""Bytes of a packet, at most, beside its topic, message and correlation data."""
_UNSUPPORTED: Final = frozenset({0x84, 1})
"""Codes of a refused protocol version, of MQTT 5 and 3.1.1."""


class _Watched(Protocol):
    """A socket, also one with TLS."""

    def fileno(self) -> int: ...


class BrokerError(Exception):
    """There is no connection to the broker, or no longer one."""


class SubscriptionRefused(BrokerError):
    """The broker refuses a subscription; the connection stays open."""


class Unsupported(BrokerError):
    """The broker seems not to support this version of the protocol."""

    def __init__(self, reason: str, *, is_answer: bool) -> None:
        """`is_answer`: it says so; otherwise it has not answered, or not in MQTT."""
        super().__init__(reason)
        self.is_answer = is_answer


class Connection:
    """An open connection; see `_broker.Broker`."""

    def __init__(
        self,
        client: Client,
        *,
        is_v5: bool,
        receive: Callable[[Received], None],
        room: Callable[[], None],
    ) -> None:
        """`receive` is called with each message, `room` when one of ours was acknowledged."""
        self._client = client
        self.is_v5 = is_v5
        self._receive = receive
        self._room = room
        self._loop = asyncio.get_running_loop()
        self._accepted: asyncio.Future[int] = self._loop.create_future()
        self.closed: asyncio.Future[str] = self._loop.create_future()
        """Done with the reason once the connection is lost."""
        self._answers: dict[int, asyncio.Future[int]] = {}
        """By packet id: subscriptions on their way."""
        self.on_way: dict[int, bytes | None] = {}
        """By packet id, in order: messages on their way, with what `publish` was given as `keep`."""
        self._acknowledged_at = 0.0
        """When the broker has acknowledged one, or nothing was on its way."""
        self._outcomes: dict[int, Callable[[int], None]] = {}
        """By packet id: of messages on their way, what `publish` was given as `outcome`."""
        self.refused: asyncio.Future[None] = self._loop.create_future()
        """Done once the broker has refused a message without an `outcome`."""
        self._window = WINDOW
        self._largest_packet: float = inf
        self._check_s = KEEP_ALIVE_S / _CHECKS
        self._socket: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._continuation: asyncio.Handle | None = None
        """Reads more of what is there already."""

    # -- used by sessions

    @property
    def has_room(self) -> bool:
        """Whether another message may be published now."""
        return not self.closed.done() and len(self.on_way) < self._window

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        correlation: bytes | None = None,
        keep: bytes | None = None,
        outcome: Callable[[int], None] | None = None,
    ) -> None:
        """Publish with QoS 1; never waits. `correlation` goes with it in MQTT 5. `keep` is in `on_way` until
        the broker acknowledges it. `outcome` is then called with its reason code (see `refusals`). A message
        that is larger than the broker accepts is not sent, and counts as refused."""
        if _HEADERS + len(topic.encode()) + len(payload) + len(correlation or b"") > self._largest_packet:
            if outcome is not None:
                self._loop.call_soon(outcome, refusals.PACKET_TOO_LARGE)
            return
        if not self.on_way:
            self._acknowledged_at = self._loop.time()
        packet_id = library.publish(
            self._client, topic, payload, correlation, retain=retain, is_v5=self.is_v5
        )
        self.on_way[packet_id] = keep
        if outcome is not None:
            self._outcomes[packet_id] = outcome

    async def subscribe(self, filters: Sequence[str], *, qos: int, live_only: bool = False) -> None:
        """Subscribe; raises SubscriptionRefused, also if only one is refused, and BrokerError. `live_only`:
        without what is retained, and with the flag of messages that are to be, as far as the protocol's
        version can do that."""
        sent = library.subscribe(self._client, filters, qos=qos, live_only=live_only, is_v5=self.is_v5)
        code = await self._answer(sent)
        if code >= refusals.FAILURE:
            raise SubscriptionRefused(f"the broker refuses the subscription to {', '.join(filters)}")

    async def unsubscribe(self, filters: Sequence[str]) -> None:
        """End subscriptions."""
        await self._answer(self._client.unsubscribe(list(filters))[1])

    def unsubscribe_at_once(self, filters: Sequence[str]) -> None:
        """End subscriptions without waiting for the broker, which may be slow to answer."""
        self._client.unsubscribe(list(filters))

    async def until_delivered(self, timeout_s: float) -> None:
        """Wait until nothing is on its way, at most for a time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.on_way and not self.closed.done():
                    changed: asyncio.Future[int] = self._loop.create_future()
                    self._answers[0] = changed  # no packet has the id 0
                    await any_of(changed, self.closed)

    def disconnect(self) -> None:
        """Close in order: the broker does not publish the will, if it reads."""
        opened: Any = self._client.socket()
        with suppress(OSError, ValueError):
            self._client.disconnect()
            self._client.loop_write()
        self._end("it was closed")
        if opened is not None and opened.fileno() >= 0:
            # The broker does not read, or has sent what it must not.
            self._unwatch(opened)
            opened.close()

    async def _answer(self, packet_id: int | None) -> int:
        if packet_id is None:
            known = self.closed.done()
            raise BrokerError(self.closed.result() if known else "the connection to the broker is lost")
        earlier = list(self.on_way)
        future = self._answers[packet_id] = self._loop.create_future()
        code = await self._until(future)
        self._expect(earlier)
        return code

    async def _until(self, future: asyncio.Future[int], timeout_s: float = _ANSWER_S) -> int:
        try:
            await any_of(future, self.closed, timeout_s=timeout_s)
        except TimeoutError:
            raise BrokerError("the broker does not answer") from None
        if not future.done():
            raise BrokerError(self.closed.result())
        return future.result()

    # -- the event loop

    async def open(self) -> None:
        """Watch the connected socket, and wait until the broker has accepted the connection."""
        client = self._client
        self._socket = client.socket()
        if self._socket is None:
            reason = refusals.connection_lost(0, client.failure, was_accepted=False)
            raise Unsupported(reason, is_answer=False)
        # Each packet is a write of its own, which would wait for the acknowledgement of the one before.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.receive = self._receive
        client.on_publish = self._on_publish
        client.on_subscribe = client.on_unsubscribe = self._on_answer
        client.on_socket_close = self._on_socket_close
        client.on_socket_register_write = self._on_write_wanted
        client.on_socket_unregister_write = self._on_write_done
        self._loop.add_reader(self._socket, self._read)
        if client.want_write():
            self._loop.add_writer(self._socket, self._write)
        self._check()
        try:
            code = await self._until(self._accepted, _ACCEPT_S)
        except BrokerError as error:
            raise Unsupported(str(error), is_answer=False) from None
        if code in _UNSUPPORTED:
            raise Unsupported("the broker refuses this version of MQTT", is_answer=True)
        if code != 0:
            raise BrokerError(refusals.connection_refused(code))

    def _read(self) -> None:
        if self._continuation is None and not self.closed.done():
            self._read_some()

    def _continue(self) -> None:
        self._continuation = None
        self._read()

    def _read_some(self) -> None:
        try:
            self._read_packets()
        except Exception as error:  # noqa: BLE001 - what paho raises for packets that are malformed is not defined
            self._end(self._reason(error))

    def _reason(self, error: Exception) -> str:
        if isinstance(error, Misbehaviour):
            return str(error)
        if isinstance(error, OSError):  # which paho 1.6 does not turn into a call of on_disconnect
            return refusals.connection_lost(0, error, was_accepted=self._accepted.done())
        return f"the broker sent something that is not MQTT ({type(error).__name__})"

    def _read_packets(self) -> None:
        for _ in range(_READS_AT_ONCE):
            self._client.loop_read()
            if self.closed.done():
                return
            if not self._client.has_more:  # otherwise the loop is not called again
                self._acknowledge()
                return
        # Once, whatever the socket has: what else the loop does has its turn after each part.
        self._continuation = self._loop.call_soon(self._continue)

    def _acknowledge(self) -> None:
        """Have the kernel acknowledge what was read now, and not up to 40 ms later (tcp(7), TCP_QUICKACK):
        until then a broker that does not set TCP_NODELAY sends no further packet, as Mosquitto by default."""
        if self._socket is not None:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def _write(self) -> None:
        self._client.loop_write()

    def _check(self) -> None:
        if self.closed.done():
            return
        if self.on_way and self._loop.time() - self._acknowledged_at > _UNACKNOWLEDGED_S:
            self._end(refusals.UNACKNOWLEDGED)
            return
        self._client.loop_misc()
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(self._check_s, self._check)

    def _end(self, reason: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._socket is not None and self._socket.fileno() >= 0:
            self._unwatch(self._socket)
        self._socket = None
        if not self.closed.done():
            self.closed.set_result(reason)

    def _unwatch(self, watched: _Watched) -> None:
        self._loop.remove_reader(watched)
        self._loop.remove_writer(watched)

    # -- called by paho; the versions differ in the number of arguments

    def _on_connect(self, _: object, __: object, ___: object, code: object, *more: object) -> None:
        limits = more[0] if more else None
        self._window = min(WINDOW, getattr(limits, "ReceiveMaximum", WINDOW))
        self._largest_packet = getattr(limits, "MaximumPacketSize", inf)
        keep_alive_s = getattr(limits, "ServerKeepAlive", 0)
        if 0 < keep_alive_s < KEEP_ALIVE_S:
            self._client.set_keep_alive(keep_alive_s)
            self._check_s = keep_alive_s / _CHECKS
            self._set_timer()
        if not self._accepted.done():
            self._accepted.set_result(library.number(code))

    def _on_disconnect(self, *arguments: object) -> None:
        code, failure = library.last_code(arguments[2:]), self._client.failure
        self._end(refusals.connection_lost(code, failure, was_accepted=self._accepted.done()))

    def _on_publish(self, _: object, __: object, packet_id: int, *___: object) -> None:
        self._acknowledged_at = self._loop.time()
        self._expect(list(itertools.takewhile(lambda one: one != packet_id, self.on_way)))
        self._settle(packet_id, self._client.code)
        self._make_room()

    def _expect(self, packet_ids: Sequence[int]) -> None:
        """The broker has answered what was sent after these messages, so it has them, too."""
        if packet_ids:
            self._loop.call_later(_REORDERED_S, self._give_up, packet_ids)

    def _give_up(self, packet_ids: Sequence[int]) -> None:
        if not self.closed.done():
            for packet_id in packet_ids:
                self._client.forget(packet_id)
                self._settle(packet_id, 0)
            self._make_room()

    def _make_room(self) -> None:
        waiting = None if self.on_way else self._answers.pop(0, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(0)
        self._room()

    def _settle(self, packet_id: int, code: int) -> None:
        """A message is no longer on its way."""
        self.on_way.pop(packet_id, None)
        outcome = self._outcomes.pop(packet_id, None)
        if outcome is not None:
            outcome(code)
        elif code >= refusals.FAILURE:
            self._refuse()

    def _refuse(self) -> None:
        if not self.refused.done():
            self.refused.set_result(None)

    def _on_answer(self, _: object, __: object, packet_id: int, *arguments: object) -> None:
        future = self._answers.pop(packet_id, None)
        if future is not None and not future.done():
            future.set_result(max(library.numbers(arguments), default=0))

    def _on_socket_close(self, _: object, __: object, closed: _Watched) -> None:
        if closed.fileno() >= 0:
            self._unwatch(closed)

    def _on_write_wanted(self, _: object, __: object, wanted: _Watched) -> None:
        self._loop.add_writer(wanted, self._write)

    def _on_write_done(self, _: object, __: object, done: _Watched) -> None:
        if done.fileno() >= 0:
            self._loop.remove_writer(done)


async def any_of(*futures: asyncio.Future[Any], timeout_s: float | None = None) -> None:
    """Wait until one of these is done; none is cancelled. Raises TimeoutError."""
    done, _ = await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    if not done:
        raise TimeoutError
