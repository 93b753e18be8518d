"""A client of all hubs at one broker, for tests and measurements: a live copy of what they publish.

A broker drops what exceeds its limits for one client: of 10,000 records Mosquitto delivers 1,020 with its
default settings. So the list of hubs is read first, and then a few hubs at a time.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from tests.mqtt.observer import PATIENCE_S
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.mqtt._access import Access
from wifimgrd.mqtt._broker import RECONNECT, Broker
from wifimgrd.mqtt._connection import BrokerError, Connection, any_of
from wifimgrd.mqtt._library import Received
from wifimgrd.runtime.tasks import Tasks

PREFIX: Final = "wifimgrd"
_HUBS_AT_ONCE: Final = 16
_NOTHING: Final = f"{PREFIX}-view/nothing"
"""A filter that is never subscribed to."""

Listener = Callable[[str, str, Any], None]


@dataclass(slots=True)
class HubView:
    """A hub; its records are JSON, by topic below the hub's."""

    online: bool = False
    is_read: bool = False
    records: dict[str, Any] = field(default_factory=dict)

    def device(self, device_id: int) -> Any:
        """The record of a device; empty if there is none."""
        return self.records.get(f"devices/{device_id}", {})


class FleetView:
    """The hubs at a broker. `run` is one connection, which reads all anew."""

    def __init__(self, access: Access) -> None:
        self.hubs: dict[str, HubView] = {}
        self._broker = Broker(access)
        self._listeners: dict[object, Listener] = {}
        self._connection: Connection | None = None
        self._unread: dict[str, None] = {}
        self._found = asyncio.Event()
        self._answers: dict[str, asyncio.Future[Any]] = {}
        """By the topic where they arrive."""

    def is_online(self, hub: str) -> bool:
        """Whether a hub is there, complete and online."""
        found = self.hubs.get(hub)
        return found is not None and found.is_read and found.online

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each change of a hub that was read: hub, topic below it, and the record, None
        if that is gone; also with a hub alone once it is read. The returned function ends that."""
        key = object()
        self._listeners[key] = listener
        return lambda: self._listeners.pop(key, None) and None

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, which is checked after each change; no time limit."""
        changed = asyncio.Event()
        end = self.subscribe(lambda *_: changed.set())
        try:
            while not holds():
                changed.clear()
                await changed.wait()
        finally:
            end()

    async def command(self, hub: str, device_id: int, command: str, *, timeout_s: float) -> Any:
        """Send a command to a device, and wait for the answer; raises TimeoutError, BrokerError."""
        if self._connection is None:
            raise BrokerError("there is no connection to the broker")
        topic = f"{PREFIX}/{hub}/devices/{device_id}"
        answer = self._answers[f"{topic}/result"] = asyncio.get_running_loop().create_future()
        closed = self._connection.closed
        self._connection.publish(f"{topic}/command", json.dumps({"command": command}).encode())
        await any_of(answer, closed, timeout_s=timeout_s)
        if not answer.done():
            raise BrokerError(closed.result())
        return answer.result()

    async def run(self) -> None:
        """Connect, and keep the copy current until the connection is lost; always raises BrokerError."""
        for state in (self.hubs, self._unread, self._answers):
            state.clear()
        connection = await self._broker.connect(
            f"view-{secrets.token_hex(8)}", None, self._receive, lambda: None
        )
        self._connection = connection
        reading = asyncio.create_task(self._read(connection))
        try:
            await any_of(reading, connection.closed)
            if reading.done():
                reading.result()
            raise BrokerError(connection.closed.result())
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            self._connection = None
            connection.disconnect()

    async def _read(self, connection: Connection) -> None:
        await connection.subscribe([f"{PREFIX}/+/availability", f"{PREFIX}/+/devices/+/result"], qos=0)
        while True:
            while some := list(islice(self._unread, _HUBS_AT_ONCE)):
                for hub in some:
                    del self._unread[hub]
                below = ("devices/+", "interfaces/+", "hub")
                await connection.subscribe([f"{PREFIX}/{hub}/{one}" for hub in some for one in below], qos=0)
                await connection.unsubscribe([_NOTHING])  # its answer comes after what is retained
                for hub in some:
                    if hub in self.hubs:
                        self.hubs[hub].is_read = True
                        self._report(hub, "", None)
            self._found.clear()
            await self._found.wait()

    def _receive(self, message: Received) -> None:
        hub, _, below = message.topic.removeprefix(f"{PREFIX}/").partition("/")
        if below.endswith("/result"):
            answer = self._answers.pop(message.topic, None)
            if answer is not None and not answer.done():
                answer.set_result(json.loads(message.payload))
        elif below == "availability":
            self._set_availability(hub, message.payload)
        elif hub in self.hubs:
            self._set_record(self.hubs[hub], hub, below, message.payload)

    def _set_availability(self, hub: str, payload: bytes) -> None:
        if not payload:
            self.hubs.pop(hub, None)
        elif hub not in self.hubs:
            self.hubs[hub] = HubView(payload == b"online")
            self._unread[hub] = None
            self._found.set()
        else:
            self.hubs[hub].online = payload == b"online"
        self._report(hub, "availability", None)

    def _set_record(self, found: HubView, hub: str, below: str, payload: bytes) -> None:
        record = json.loads(payload) if payload else None
        if record is None:
            found.records.pop(below, None)
        else:
            found.records[below] = record
        if found.is_read:
            self._report(hub, below, record)

    def _report(self, hub: str, below: str, record: Any) -> None:
        for listener in tuple(self._listeners.values()):
            listener(hub, below, record)


def access(port: int) -> Access:
    """A broker on loopback."""
    return Access(BrokerAddress("127.0.0.1", port, tls=False))


@asynccontextmanager
async def fleet_view(port: int) -> AsyncIterator[FleetView]:
    """A view of a broker on loopback, which connects again."""
    view = FleetView(access(port))
    tasks = Tasks("view")
    tasks.keep("broker", view.run, RECONNECT, expected=(BrokerError,), quiet=True)
    try:
        yield view
    finally:
        await tasks.stop()


async def until(view: FleetView, holds: Callable[[], bool]) -> None:
    """Wait until something holds, checked after each change."""
    await asyncio.wait_for(view.until(holds), PATIENCE_S)
