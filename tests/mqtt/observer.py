"""A client of the broker, for tests: what is retained, what arrives, and commands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.mqtt.private_host import PrivateHost, network_of
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.mqtt._broker import Broker
from wifimgrd.mqtt._connection import Connection
from wifimgrd.mqtt._library import Received
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import Topics

PATIENCE_S = 30.0


@dataclass(slots=True)
class Observer:
    """Everything at the broker, from the subscription on."""

    connection: Connection
    retained: dict[str, bytes] = field(default_factory=dict)
    """The last message of each topic; an empty one removes it."""
    messages: list[Received] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def receive(self, message: Received) -> None:
        self.messages.append(message)
        if message.payload:
            self.retained[message.topic] = message.payload
        else:
            self.retained.pop(message.topic, None)
        self.changed.set()

    async def until(self, holds: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
        """Wait until something holds, checked with each message; raises ConnectionError if the broker ends
        the connection meanwhile."""
        async with asyncio.timeout(timeout_s):
            while not holds():
                if self.connection.closed.done():
                    raise ConnectionError(self.connection.closed.result())
                self.changed.clear()
                await self.changed.wait()

    def record(self, topic: str) -> Any:
        """The JSON at a topic; None if there is none."""
        payload = self.retained.get(topic)
        return None if payload is None else json.loads(payload)

    def seen(self, topic: str) -> list[Received]:
        """The messages of a topic that were published while this was connected, in order."""
        return [one for one in self.messages if one.topic == topic and not one.retained]

    async def command(self, topic: str, payload: Any, reply: str, **options: Any) -> Any:
        """Send a command, and return the next answer at `reply`."""
        before = len(self.seen(reply))
        self.send(topic, payload, **options)
        await self.until(lambda: len(self.seen(reply)) > before)
        return json.loads(self.seen(reply)[before].payload)

    def send(self, topic: str, payload: Any, *, retain: bool = False, **properties: Any) -> None:
        """Publish JSON, or bytes as they are, with properties of MQTT 5."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        given: Any = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        for name, value in properties.items():
            setattr(given, name, value)
        sent = self.connection._client.publish(topic, data, qos=1, retain=retain, properties=given)
        self.connection.on_way[sent.mid] = None


@asynccontextmanager
async def observer(
    port: int, settings: Settings | None = None, host: PrivateHost | None = None
) -> AsyncIterator[Observer]:
    """An observer of all topics that hubs use, once it has received what is retained; `host` is where the
    broker listens on loopback."""
    plain = Settings(BrokerAddress("127.0.0.1", port, tls=False), Topics("x", "x"))
    if settings is not None:
        plain = replace(settings, broker=replace(settings.broker, port=port))
    received: list[Received] = []
    seen: list[Observer] = []
    with network_of(host):
        connection = await Broker(plain.access).connect(
            f"observer-{id(received)}",
            None,
            lambda message: seen[0].receive(message) if seen else received.append(message),
            lambda: None,
        )
    one = Observer(connection)
    seen.append(one)
    connection.closed.add_done_callback(lambda _: one.changed.set())
    try:
        await connection.subscribe(["wifimgrd/#", "answers/#", "homeassistant/#"], qos=1)
        connection.publish("answers/marker", b"marker")
        await one.until(lambda: "answers/marker" in one.retained)
        yield one
    finally:
        connection.disconnect()
