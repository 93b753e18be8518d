"""The messages that a broker retains of a hub, read at the start of a connection."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection
from contextlib import suppress
from typing import Final

import structlog

from wifimgrd.mqtt._connection import BrokerError, Connection, SubscriptionRefused, any_of
from wifimgrd.mqtt._discovery import parse_prefix, retained_topics
from wifimgrd.mqtt._discovery_rights import DiscoveryRights
from wifimgrd.mqtt._library import Received
from wifimgrd.mqtt._records import RetainedRecords
from wifimgrd.mqtt._rediscovery import Rediscovery
from wifimgrd.mqtt._refusals import UNSUITABLE
from wifimgrd.mqtt._settings import Settings

MARK_S: Final = 2.0
_MARKERS: Final = 10
"""How often, and after which time, the marker is sent again: of many messages at once a broker may drop some
(Mosquitto's max_queued_messages). Times in which retained messages came do not count: the way may be slow."""
_READ_S: Final = 600.0
"""How long reading them may take."""
_FILTERS_AT_ONCE: Final = 50
"""In one packet, which a broker that limits their size accepts: at most 10 kB."""
_log = structlog.get_logger("wifimgrd.mqtt")


class RetainedReader:
    """Reads what is retained below the hub's topics, and of its discovery messages, into `records`."""

    def __init__(
        self,
        settings: Settings,
        records: RetainedRecords,
        rights: DiscoveryRights,
        rediscovery: Rediscovery,
        mark_s: float,
    ) -> None:
        self._topics = settings.topics
        self._prefix = settings.discovery_prefix
        self._records = records
        self._rights = rights
        self._rediscovery = rediscovery
        self._mark_s = mark_s
        self._marker = b""
        self._marked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._received = 0
        """Retained messages that were received since that was set to 0."""
        self._is_unsuitable = False
        """That the broker cannot be read was logged."""
        self._found_prefix: str | None = None
        """Below which an earlier run published discovery messages."""

    async def read(self, connection: Connection) -> None:
        """Read all of it: by their names first what two bridges with one id must know of each other, for
        brokers that send nothing for a filter with a wildcard. Raises BrokerError."""
        topics = self._topics
        self._found_prefix = None
        named = [topics.claim, topics.availability, topics.discovery_record, topics.marker]
        await connection.subscribe(named, qos=0)
        await self._until_marked(connection, retain=True)
        self._received = 0
        await connection.subscribe([topics.everything], qos=0)
        await self._until_marked(connection)
        if not self._received:
            await self._check_wildcards(connection)
        prefixes = {self._prefix, self._found_prefix or ""} - {""}
        if prefixes and not self._rights.given_up:
            await self._read_discovery(connection, prefixes)
        connection.publish(topics.marker, b"", retain=True)
        await connection.unsubscribe([topics.everything, *named])
        self._records.complete()
        if self._records.left_over:
            _log.warning("unexpected_retained", topics=self._records.left_over, below=topics.root)

    def count(self, message: Received) -> None:
        """A message was received, at whichever topic."""
        self._received += message.retained

    def found(self, message: Received) -> None:
        """A message at one of the hub's topics."""
        if message.retained:
            self._records.found(message.topic, message.payload)

    def found_discovery_record(self, message: Received) -> None:
        """The message that says below which prefix discovery messages were published."""
        if message.retained:
            self._found_prefix = parse_prefix(message.payload)
            self.found(message)

    def found_marker(self, message: Received) -> None:
        """A message at the topic of the marker."""
        if message.payload == self._marker and not self._marked.done():
            self._marked.set_result(None)

    async def _check_wildcards(self, connection: Connection) -> None:
        """Log if the broker retains the marker, which it has not sent for the filter of everything."""
        await connection.subscribe([self._topics.marker], qos=0)
        await self._until_marked(connection)
        if self._received and not self._is_unsuitable:
            self._is_unsuitable = True
            _log.warning("broker_unsuitable", reason=UNSUITABLE)

    async def _read_discovery(self, connection: Connection, prefixes: Collection[str]) -> None:
        """Read the retained discovery messages. What cannot be read is published or removed all the same."""
        topics = retained_topics(self._topics, prefixes, self._records.held)
        for topic in topics:
            self._records.assume(topic)
        parts = [
            topics[start : start + _FILTERS_AT_ONCE] for start in range(0, len(topics), _FILTERS_AT_ONCE)
        ]
        self._rights.is_asking = True
        for filters in parts:
            try:
                await connection.subscribe(filters, qos=0)
            except SubscriptionRefused:
                self._rights.answered(refused=True)
        await self._until_marked(connection)
        for filters in parts:
            await connection.unsubscribe(filters)
        self._rights.is_asking = False
        if not self._records.is_found(self._topics.discovery(self._prefix, None)):
            for topic in topics:
                if self._records.is_found(topic):
                    self._rediscovery.attach(topic)

    async def _until_marked(self, connection: Connection, *, retain: bool = False) -> None:
        """Wait until all that is retained has come: a message of our own has come back."""
        self._marker = secrets.token_hex(8).encode()
        loop = asyncio.get_running_loop()
        self._marked = loop.create_future()
        ends = (self._marked, connection.closed, connection.refused)
        silent, until = 0, loop.time() + _READ_S
        while silent < _MARKERS and loop.time() < until:
            received = self._received
            connection.publish(self._topics.marker, self._marker, retain=retain)
            with suppress(TimeoutError):
                await any_of(*ends, timeout_s=self._mark_s)
                break
            silent += self._received == received
        if connection.closed.done():
            raise BrokerError(connection.closed.result())
        if not self._marked.done():
            root = self._topics.root
            raise BrokerError(f"the broker does not pass on messages: may this user write below {root}/?")
