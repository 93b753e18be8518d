"""Counts what passes over a message bus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from dbus_next.aio.message_bus import MessageBus
from dbus_next.message import Message

_BUS = "org.freedesktop.DBus"
_LAST_WORDS_S = 0.2


@dataclass(slots=True)
class Seen:
    """How many messages passed, those of the bus about itself aside."""

    count: int = 0

    def message(self, message: Any) -> bool:
        """Count one; a monitor that answered anything would be thrown off the bus."""
        if message.sender != _BUS:
            self.count += 1
        return True


@asynccontextmanager
async def watched(address: str) -> AsyncIterator[Seen]:
    """Watch a bus from beginning to end of the context."""
    bus = await MessageBus(bus_address=address).connect()
    seen = Seen()
    rules = Message(_BUS, "/org/freedesktop/DBus", f"{_BUS}.Monitoring", "BecomeMonitor", signature="asu")
    rules.body = [[], 0]
    await bus.call(rules)
    bus.add_message_handler(seen.message)
    try:
        yield seen
        await asyncio.sleep(_LAST_WORDS_S)
    finally:
        bus.disconnect()  # type: ignore[no-untyped-call]
