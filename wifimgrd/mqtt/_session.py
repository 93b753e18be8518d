"""One connection to the broker from start to end: read what it retains, claim the hub's id, publish.

The topics are read and claimed first, so that a second hub with the same id publishes nothing, and only
differences are published.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import structlog

from wifimgrd.mqtt._broker import Broker, Will
from wifimgrd.mqtt._connection import BrokerError, Connection, SubscriptionRefused, any_of
from wifimgrd.mqtt._discovery_rights import DiscoveryRights
from wifimgrd.mqtt._events import EventQueue
from wifimgrd.mqtt._hub_id import CHALLENGE_S, HubIdClaim, HubIdTaken
from wifimgrd.mqtt._inflow import CommandInflow
from wifimgrd.mqtt._library import Received
from wifimgrd.mqtt._pace import MessageRate
from wifimgrd.mqtt._records import RetainedRecords
from wifimgrd.mqtt._rediscovery import Rediscovery
from wifimgrd.mqtt._refusals import FAILURE, NOT_AUTHORIZED, message_refused
from wifimgrd.mqtt._retained import MARK_S, RetainedReader
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import OFFLINE, ONLINE

_ANSWERS_KEPT: Final = 256
_OFFLINE_S: Final = 2.0
_HOME_ASSISTANT_IS_THERE: Final = b"online"
"""Its birth message, where it was not changed."""
_RETRY_S: Final = 30.0
"""How long after a refusal the records that the broker did not accept are published again."""
_log = structlog.get_logger("wifimgrd.mqtt")


class Outbox(Protocol):
    """Where answers to commands are put."""

    def answer(self, topic: str, payload: bytes, correlation: bytes | None) -> None:
        """Publish an answer; never waits."""


@dataclass(frozen=True, slots=True)
class _Answer:
    topic: str
    payload: bytes
    correlation: bytes | None


class Session:
    """The bridge's side of the connection to the broker. What it publishes is in `records` and `events`."""

    def __init__(
        self,
        settings: Settings,
        records: RetainedRecords,
        events: EventQueue,
        *,
        while_serving: Callable[[], AbstractContextManager[None]] = nullcontext,
        challenge_s: float = CHALLENGE_S,
        retry_s: float = _RETRY_S,
        mark_s: float = MARK_S,
    ) -> None:
        """`while_serving` is entered while the broker has what the hub says, and gets what changes."""
        self._settings = settings
        self._while_serving = while_serving
        self._topics = settings.topics
        self._records = records
        self._events = events
        self._retry_s = retry_s
        self._refused: dict[str, None] = {}
        """The topics of records that the broker has not accepted."""
        self._retry: asyncio.TimerHandle | None = None
        self._rate = MessageRate()
        self._held: asyncio.TimerHandle | None = None
        """Publishes the records that were held back."""
        self._answers: deque[_Answer] = deque(maxlen=_ANSWERS_KEPT)
        self._is_answers_turn = False
        self._hub_id = HubIdClaim(settings.topics, challenge_s)
        self._broker = Broker(settings.access)
        self._client_id = f"wifimgrd-{settings.topics.hub}-{secrets.token_hex(8)}"
        """Nobody else may know it: who connects with it ends this hub's connection, and many brokers let any
        user do that. So it has a random number of its own, and is neither published nor logged."""
        self._connection: Connection | None = None
        self._is_serving = False
        self._rights = DiscoveryRights()
        self._hub_discovery = self._topics.discovery(settings.discovery_prefix, None)
        self._status = f"{settings.discovery_prefix}/status" if settings.discovery_prefix else ""
        """Where Home Assistant publishes that it is there; empty without discovery."""
        self._rediscovery = Rediscovery(records)
        self._reader = RetainedReader(settings, records, self._rights, self._rediscovery, mark_s)
        self.commands = CommandInflow(self._topics.commands)
        self._handlers: dict[str, Callable[[Received], None]] = {
            self._topics.marker: self._reader.found_marker,
            self._topics.claim: self._hub_id.receive,
            self._topics.discovery_record: self._on_discovery_record,
            self._topics.availability: self._on_availability,
            self._hub_discovery: self._on_hub_discovery,
            self._status: self._on_status,
        }
        """By topic. Messages at others are commands, of which there may be a flood."""
        records.on_removed = self._on_removed
        self._discovery_on_way = 0
        """Discovery messages that the broker has not acknowledged."""
        self._was_online = False
        """The broker retained `online` when it was read."""
        self._logged_reason = ""
        """The reason that was logged last: repeated ones are not."""
        self._logged_refusal = ""

    async def run(self) -> None:
        """Connect, and publish until the connection is lost; always raises BrokerError."""
        try:
            await self._run()
        except BrokerError as error:
            reason = str(error)
            if reason != self._logged_reason:
                self._logged_reason = reason
                taken = isinstance(error, HubIdTaken)
                log = _log.error if taken else _log.warning
                log("hub_id_taken" if taken else "broker_unavailable", reason=reason)
            raise

    async def stop(self) -> None:
        """Publish that the hub is offline."""
        connection = self._connection
        if connection is None or not self._is_serving or connection.closed.done():
            return
        self._is_serving = False
        connection.publish(self._topics.availability, OFFLINE, retain=True)
        self._hub_id.release()
        await connection.until_delivered(_OFFLINE_S)

    def answer(self, topic: str, payload: bytes, correlation: bytes | None) -> None:
        """Publish the answer to a command; never waits."""
        self._answers.append(_Answer(topic, payload, correlation))
        self.publish()

    def publish(self) -> None:
        """Publish what has changed, as far as the broker has acknowledged what was published before."""
        connection = self._connection
        while self._is_serving and connection is not None and connection.has_room:
            # In turns, so that a sender of many commands holds up no record for long.
            self._is_answers_turn = not self._is_answers_turn
            has_published = (
                self._publish_answer(connection) or self._publish_state(connection)
                if self._is_answers_turn
                else self._publish_state(connection) or self._publish_answer(connection)
            )
            if not has_published:
                self._publish_held_later()
                return

    def _admits(self, topic: str) -> bool:
        return self._rate.admits(topic, asyncio.get_running_loop().time())

    def _publish_held_later(self) -> None:
        """All is published but the records of which there were too many: the newest ones follow."""
        if self._held is not None:
            self._held.cancel()
            self._held = None
        if self._records.changed:
            due = min(map(self._rate.due, self._records.changed))
            self._held = asyncio.get_running_loop().call_at(due, self.publish)

    def _publish_answer(self, connection: Connection) -> bool:
        if not self._answers:
            return False
        answer = self._answers.popleft()
        outcome = partial(self._log_refusal, answer.topic, len(answer.payload))
        connection.publish(answer.topic, answer.payload, correlation=answer.correlation, outcome=outcome)
        return True

    def _publish_state(self, connection: Connection) -> bool:
        """Publish a record, or the next event if there is none."""
        if (record := self._records.take(self._admits)) is not None:
            self._publish_record(connection, *record)
            return True
        if not self._rights.given_up and (record := self._rediscovery.take()) is not None:
            connection.publish(*record, outcome=partial(self._log_refusal, record[0], len(record[1])))
            return True
        if (event := self._events.take()) is not None:
            outcome = partial(self._log_refusal, self._topics.events, len(event))
            connection.publish(self._topics.events, event, keep=event, outcome=outcome)
            return True
        return False

    def _publish_record(self, connection: Connection, topic: str, payload: bytes) -> None:
        if self._topics.is_own(topic):
            if topic == self._topics.availability and payload == ONLINE:
                self._rights.online_published()
            outcome = partial(self._on_outcome, connection, topic, len(payload))
            connection.publish(topic, payload, retain=True, outcome=outcome)
        elif not self._rights.given_up:
            if topic == self._hub_discovery and payload:
                self._rights.published()
            self._discovery_on_way += 1
            outcome = partial(self._on_discovery_outcome, connection, topic, len(payload))
            connection.publish(topic, payload, retain=True, outcome=outcome)

    def _on_outcome(self, connection: Connection, topic: str, size: int, code: int) -> None:
        """The broker has acknowledged a record."""
        if code < FAILURE or connection is not self._connection:
            return
        self._log_refusal(topic, size, code)
        self._refused[topic] = None
        if self._retry is None:
            self._retry = asyncio.get_running_loop().call_later(self._retry_s, self._publish_refused)

    def _on_discovery_outcome(self, connection: Connection, topic: str, size: int, code: int) -> None:
        """The broker has acknowledged a discovery message."""
        self._discovery_on_way -= 1
        self._rights.answered(refused=code == NOT_AUTHORIZED)
        if code != NOT_AUTHORIZED:
            if code >= FAILURE and topic == self._hub_discovery:
                self._rights.came_back()  # it will not, for a reason that is logged
            self._on_outcome(connection, topic, size, code)

    def _log_refusal(self, topic: str, size: int, code: int) -> None:
        """Log if the broker has not accepted a message; once for each reason."""
        reason = message_refused(code)
        if code >= FAILURE and reason != self._logged_refusal:
            self._logged_refusal = reason
            _log.warning("message_refused", topic=topic, bytes=size, reason=reason)

    def _publish_refused(self) -> None:
        self._retry = None
        refused, self._refused = self._refused, {}
        for topic in refused:
            self._records.refused(topic)
        self.publish()

    async def _run(self) -> None:
        will = Will(self._topics.availability, OFFLINE)
        self._begin()
        connection = await self._broker.connect(self._client_id, will, self._on_message, self.publish)
        self._connection = connection
        self._hub_id.begin(connection)
        try:
            await self._reader.read(connection)
            await self._hub_id.challenge(was_online=self._was_online)
            filters = [self._topics.availability, self._topics.claim, *self._topics.commands]
            await connection.subscribe(filters, qos=1, live_only=True)
            if self._settings.discovery_prefix and not self._rights.given_up:
                await self._watch_discovery(connection)
            self._hub_id.take()
            self._is_serving = True
            self._logged_reason = ""
            version = "5" if connection.is_v5 else "3.1.1"
            _log.info("broker_connected", broker=str(self._settings.broker), mqtt=version)
            self.publish()
            with self._while_serving():
                await self._until_lost(connection)
        finally:
            self._is_serving, self._connection = False, None
            self._hub_id.end()
            for timer in (self._retry, self._held):
                if timer is not None:
                    timer.cancel()
            self._retry = self._held = None
            if connection.closed.done():
                self._rights.lost(unanswered=self._discovery_on_way > 0)
            self._events.put_back([event for event in connection.on_way.values() if event is not None])
            connection.disconnect()

    def _begin(self) -> None:
        self._records.begin()
        self._rediscovery.begin()
        self.commands.begin()
        self._refused.clear()
        self._rate.clear()
        self._logged_refusal = ""
        self._was_online = False
        self._discovery_on_way = 0
        self._rights.begin()

    async def _until_lost(self, connection: Connection) -> None:
        ends = (connection.closed, self._hub_id.lost)
        while not any(end.done() for end in ends):
            await any_of(*ends, self.commands.flooded)
            if self.commands.flooded.done():
                await self.commands.pause(connection, *ends)
        if connection.closed.done():
            raise BrokerError(connection.closed.result())
        self._hub_id.require()

    # -- Home Assistant

    async def _watch_discovery(self, connection: Connection) -> None:
        """Receive the hub's discovery message when it is published, and when Home Assistant is there."""
        with suppress(SubscriptionRefused):  # known from reading
            await connection.subscribe([self._hub_discovery], qos=1, live_only=True)
        self._rights.is_asking = True
        with suppress(SubscriptionRefused):  # what is removed while Home Assistant is away stays there
            await connection.subscribe([self._status], qos=1, live_only=True)
        self._rights.is_asking = False

    def _on_removed(self, topic: str, payload: bytes) -> None:
        """A record is to be removed: an adapter's entity stays in Home Assistant, as unavailable."""
        if not self._status:
            return
        if self._topics.is_interface(topic):
            self._rediscovery.removed(topic, b"")
        elif not self._topics.is_own(topic):
            self._rediscovery.removed(topic, payload)

    # -- messages

    def _on_message(self, message: Received) -> None:
        topic = message.topic
        self._reader.count(message)
        if (handle := self._handlers.get(topic)) is not None:
            handle(message)
        elif not self._is_serving:
            self._reader.found(message)
        elif message.payload and self.commands.accept(message):  # an empty one is the echo of a removal
            if message.retained:  # refused, and removed
                self._records.found(topic, message.payload)
            self.publish()

    def _on_discovery_record(self, message: Received) -> None:
        if not self._is_serving:
            self._reader.found_discovery_record(message)

    def _on_availability(self, message: Received) -> None:
        if not self._is_serving:
            self._was_online |= message.retained and message.payload == ONLINE
            self._reader.found(message)
            return
        self._records.found(message.topic, message.payload)  # e.g. the will of a hub that had the same id
        if message.payload == ONLINE:
            self._rights.online_came_back()
        self.publish()

    def _on_hub_discovery(self, message: Received) -> None:
        if self._is_serving:
            self._rights.came_back()
        else:
            self._reader.found(message)

    def _on_status(self, message: Received) -> None:
        """Home Assistant is there, or not."""
        is_there = message.payload == _HOME_ASSISTANT_IS_THERE and not message.retained
        if self._is_serving and is_there:
            self._rediscovery.is_back()
            self.publish()
