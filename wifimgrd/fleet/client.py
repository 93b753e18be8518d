"""A client of all hubs at one broker: a live copy of what they publish, and commands to their cameras.

A broker sends what it retains at once, and drops what exceeds its limits for one client without a word: of
10,000 records Mosquitto delivers 1,020 with its default settings. So the list of hubs is read first, in one
short message each, and then a few hubs at a time. The connection begins anew each time, so nothing is lost by
QoS 0, which is not limited by the round trip.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from wifimgrd.client.json_text import dumps
from wifimgrd.domain.commands import DeviceCommand
from wifimgrd.fleet.fleet import BrokerAppeared, BrokerVanished, Fleet, FleetChange, Limits
from wifimgrd.fleet.records import CommandAnswer, parse_answer
from wifimgrd.mqtt._library import Received, Request
from wifimgrd.mqtt._refusals import FAILURE, UNSUITABLE, message_refused
from wifimgrd.mqtt._topics import Target, Topics
from wifimgrd.mqtt.access import Access
from wifimgrd.mqtt.broker import Broker
from wifimgrd.mqtt.connection import BrokerError, Connection, SubscriptionRefused, any_of
from wifimgrd.wire.kinds import RecordError

_HUBS_AT_ONCE: Final = 16
"""Hubs whose records are read at once, in one packet with their filters."""
_RECORDS_AT_ONCE: Final = 800
"""Records that are expected at once at most; Mosquitto queues 1,000 for a client (max_queued_messages)."""
_RECORDS_EXPECTED: Final = 200
"""Of a hub, before one was read."""
_QUIET_S: Final = 0.3
"""The list of hubs is complete if no other was found for so long: a broker that is a cluster may send what it
retains later than the answers which follow."""
_READ_S: Final = 60.0
"""The time limit of reading everything, for a client that waits for that."""
_MARKER_EXPIRES_S: Final = 10
_COMMAND_EXPIRES_S: Final = 10
"""A command that has not reached its hub by then is discarded."""
_NOTHING: Final = "wifimgrd-fleet/nothing"
"""A filter that is never subscribed to."""

Listener = Callable[[FleetChange], None]


@dataclass(frozen=True, slots=True)
class _SentCommand:
    """A command that was not answered yet."""

    topic: str
    """Where its answer arrives."""
    correlation: bytes | None
    command: str
    device_id: int | None
    answer: asyncio.Future[CommandAnswer]

    def takes(self, message: Received, answer: CommandAnswer) -> bool:
        """Whether that is its answer. MQTT 3.1.1 has no correlation data: that of another client to the same
        command is taken, too."""
        if self.correlation is not None:
            return message.correlation == self.correlation
        return (answer.command, answer.device_id) == (self.command, self.device_id)


class FleetClient:
    """One client at one broker, made in a running event loop. `run` is one connection; the copy remains."""

    def __init__(
        self, access: Access, prefix: str, *, only: str | None = None, limits: Limits | None = None
    ) -> None:
        """`prefix` is that of the hubs' topics. With `only`, all hubs are listed, and one of them is read."""
        self.fleet = Fleet(prefix, limits or Limits())
        self.refused: set[str] = set()
        """Hubs whose records this user may not read."""
        self._broker = Broker(access)
        self._prefix = prefix
        self._only = only
        self._listeners: dict[object, Listener] = {}
        self._client_id = f"wifimgrd-fleet-{secrets.token_hex(8)}"
        """Nobody else may know it, as that of a hub (`_session.py`)."""
        self._id = f"wifimgrd-fleet-{secrets.token_hex(8)}"
        """The level of topics that is this client's own."""
        self._connection: Connection | None = None
        self._current = asyncio.Event()
        self._unread: dict[str, None] = {}
        """Hubs that were found, and are to be read."""
        self._subscribed: set[str] = set()
        """Hubs to whose topics this client has subscribed."""
        self._gone: set[str] = set()
        """Vanished ones, whose topics are to be left."""
        self._found: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when there is something in `_unread` or `_gone`."""
        self._largest = 0
        """Of the hubs that were read, the largest number of records; 0 = none was read."""
        self._retained_found = 0
        """Retained messages that were received since that was set to 0."""
        self._answer_topics: set[str] = set()
        self._sent: list[_SentCommand] = []

    @property
    def is_current(self) -> bool:
        """Whether the copy is complete and current: the client is connected, and has read everything."""
        return self._current.is_set()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each change, in order; the returned function ends that."""
        key = object()
        self._listeners[key] = listener
        return lambda: self._listeners.pop(key, None) and None

    async def run(self) -> None:
        """Connect, and keep the copy current until the connection is lost; always raises BrokerError."""
        try:
            await self._run()
        except BrokerError as error:
            self._report([FleetChange("", BrokerVanished(str(error)))])
            raise

    async def until_current(self) -> None:
        """Wait until the copy is complete and current; no time limit."""
        await self._current.wait()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, which is checked after each change; no time limit."""
        changed = asyncio.Event()
        end = self.subscribe(lambda _: changed.set())
        try:
            while not holds():
                changed.clear()
                await changed.wait()
        finally:
            end()

    async def command(
        self,
        hub: str,
        device_id: int,
        command: DeviceCommand,
        options: Mapping[str, object],
        *,
        timeout_s: float,
    ) -> CommandAnswer:
        """Send a command to a device of a hub, and wait for the answer; raises TimeoutError, BrokerError."""
        return await self._send(hub, Target(device_id), command.name, options, timeout_s)

    async def command_everyone(
        self, hub: str, command: str, options: Mapping[str, object], *, timeout_s: float
    ) -> CommandAnswer:
        """Send a command to the cameras of a hub together; as `command`."""
        return await self._send(hub, Target(None, everyone=True), command, options, timeout_s)

    async def _send(
        self, hub: str, target: Target, command: str, options: Mapping[str, object], timeout_s: float
    ) -> CommandAnswer:
        connection = self._connection
        if connection is None:
            raise BrokerError("there is no connection to the broker")
        topics = Topics(self._prefix, hub)
        command_topic = topics.command(target)
        answers, request = topics.result(target), Request()
        if connection.is_v5:
            answers = f"{topics.root}/response/{self._id}"
            request = Request(answers, secrets.token_bytes(8), _COMMAND_EXPIRES_S)
        answer: asyncio.Future[CommandAnswer] = asyncio.get_running_loop().create_future()
        sent = _SentCommand(answers, request.correlation, command, target.device_id, answer)

        def accepted(code: int) -> None:
            if code >= FAILURE and not answer.done():
                answer.set_exception(
                    BrokerError(f"the broker refuses the command at {command_topic}: {message_refused(code)}")
                )

        self._sent.append(sent)
        try:
            async with asyncio.timeout(timeout_s):
                if answers not in self._answer_topics:
                    await connection.subscribe([answers], qos=1, live_only=True)
                    self._answer_topics.add(answers)
                payload = dumps({"command": command, "options": dict(options)}).encode()
                connection.publish(command_topic, payload, request=request, outcome=accepted)
                await any_of(answer, connection.closed)
        finally:
            self._sent.remove(sent)
            if not answer.done():
                answer.cancel()
        if answer.cancelled():
            raise BrokerError(connection.closed.result())
        return answer.result()

    async def _run(self) -> None:
        self._begin()
        connection = await self._broker.connect(self._client_id, None, self._on_message, _nothing)
        self._connection = connection
        try:
            await self._read(connection)
        finally:
            self._current.clear()
            self._connection = None
            connection.disconnect()

    def _begin(self) -> None:
        self.fleet.begin_listing()
        self._retained_found = 0
        self._found = asyncio.get_running_loop().create_future()
        for state in (self._unread, self._subscribed, self._gone, self._answer_topics, self.refused):
            state.clear()

    # -- reading

    async def _read(self, connection: Connection) -> None:
        """Read what the broker retains, then each hub that is new; ends with BrokerError."""
        await connection.subscribe([f"{self._prefix}/+/availability"], qos=0)
        await self._until_delivered(connection)
        if not self._retained_found:
            await self._check_wildcards(connection)
        is_quiet = False
        while not is_quiet:
            await self._read_hubs(connection)
            is_quiet = not await self._until_found(connection, _QUIET_S)
        self._report(self.fleet.complete_listing())
        self._current.set()
        self._report([FleetChange("", BrokerAppeared())])
        while True:
            await self._until_found(connection, None)
            await self._read_hubs(connection)

    async def _check_wildcards(self, connection: Connection) -> None:
        """Raises BrokerError if the broker sends for its name alone what it retains. What this client may not
        write or read there says nothing."""
        root = f"{self._prefix}/{self._id}"
        marker = f"{root}/marker"
        request = Request(expires_in_s=_MARKER_EXPIRES_S)
        connection.publish(marker, b"marker", retain=True, request=request, outcome=_ignore)
        await connection.until_delivered(_MARKER_EXPIRES_S)
        found = []
        for one in (f"{root}/+", marker):
            self._retained_found = 0
            with suppress(SubscriptionRefused):
                await connection.subscribe([one], qos=0)
            await connection.unsubscribe([one])
            found.append(self._retained_found > 0)
        connection.publish(marker, b"", retain=True, outcome=_ignore)
        await connection.until_delivered(_MARKER_EXPIRES_S)
        if found == [False, True]:
            raise BrokerError(UNSUITABLE)

    async def _read_hubs(self, connection: Connection) -> None:
        while self._gone or self._unread:
            if gone := list(islice(self._gone, _HUBS_AT_ONCE)):
                self._gone.difference_update(gone)
                await connection.unsubscribe(self._filters(gone))
            expected = self._largest or _RECORDS_EXPECTED
            at_once = max(1, min(_HUBS_AT_ONCE, _RECORDS_AT_ONCE // expected))
            if hubs := list(islice(self._unread, at_once)):
                await self._read_some(connection, hubs)

    async def _read_some(self, connection: Connection, hubs: Sequence[str]) -> None:
        for hub in hubs:
            del self._unread[hub]
            self._subscribed.add(hub)
            self.fleet.begin_reading(hub)
        try:
            await connection.subscribe(self._filters(hubs), qos=0)
        except SubscriptionRefused:
            if len(hubs) > 1:
                for hub in hubs:  # which of them
                    self._unread[hub] = None
                    await self._read_some(connection, [hub])
                return
            self.refused.add(hubs[0])
        await self._until_delivered(connection)
        for hub in hubs:
            found = self.fleet.hubs.get(hub)
            if found is not None:
                self._largest = max(self._largest, len(found.octets))
            self._report(self.fleet.complete(hub))

    def _filters(self, hubs: Sequence[str]) -> list[str]:
        below = ("devices/+", "interfaces/+", "hub")
        return [f"{self._prefix}/{hub}/{one}" for hub in hubs for one in below]

    @staticmethod
    async def _until_delivered(connection: Connection) -> None:
        """Wait until what the broker has put on its way has arrived: until it has answered another packet."""
        await connection.unsubscribe([_NOTHING])

    async def _until_found(self, connection: Connection, timeout_s: float | None) -> bool:
        """Whether there is something to read, or to leave, within a time; raises BrokerError."""
        try:
            await any_of(self._found, connection.closed, timeout_s=timeout_s)
        except TimeoutError:
            return False
        if connection.closed.done():
            raise BrokerError(connection.closed.result())
        self._found = asyncio.get_running_loop().create_future()
        return True

    # -- messages

    def _on_message(self, message: Received) -> None:
        topic = message.topic
        self._retained_found += message.retained
        if topic in self._answer_topics:
            self._on_answer(message)
            return
        now_us = time.time_ns() // 1000
        changes = self.fleet.receive(topic, message.payload, retained=message.retained, now_us=now_us)
        if topic.endswith("/availability"):
            self._note(topic.removeprefix(f"{self._prefix}/").removesuffix("/availability"))
        self._report(changes)

    def _note(self, hub: str) -> None:
        """Have a hub read that has appeared, and its topics left if it has vanished."""
        if hub in self.fleet.hubs:
            self._gone.discard(hub)
            if hub in self._subscribed or self._only not in (None, hub):
                return
            self._unread[hub] = None
        else:
            self._unread.pop(hub, None)
            if hub not in self._subscribed:
                return
            self._subscribed.discard(hub)
            self._gone.add(hub)
        if not self._found.done():
            self._found.set_result(None)

    def _on_answer(self, message: Received) -> None:
        if message.retained:
            return
        try:
            answer = parse_answer(message.payload)
        except RecordError:
            return
        for sent in self._sent:
            if sent.topic == message.topic and sent.takes(message, answer):
                if not sent.answer.done():
                    sent.answer.set_result(answer)
                return

    def _report(self, changes: Sequence[FleetChange]) -> None:
        for change in changes:
            for listener in tuple(self._listeners.values()):
                listener(change)


@asynccontextmanager
async def connected(access: Access, prefix: str, *, only: str | None = None) -> AsyncIterator[FleetClient]:
    """A client with a complete copy, for one connection; raises BrokerError."""
    client = FleetClient(access, prefix, only=only)
    running = asyncio.create_task(client.run())
    reading = asyncio.create_task(client.until_current())
    try:
        try:
            await any_of(running, reading, timeout_s=_READ_S)
        except TimeoutError:
            raise BrokerError(f"{access.broker} does not finish sending its retained messages") from None
        if running.done():
            running.result()
        yield client
    finally:
        running.cancel()
        reading.cancel()
        await asyncio.gather(running, reading, return_exceptions=True)


def _nothing() -> None:
    pass


def _ignore(_: int) -> None:
    pass
