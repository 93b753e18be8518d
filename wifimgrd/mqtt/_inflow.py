"""The commands that a broker passes on: where too many come, the subscription ends until they have stopped.

A broker queues what a client reads too slowly. Behind commands that are dropped anyway the hub's own
messages would wait, or, with Mosquitto's full queue, their acknowledgements be lost; and a slow link would
carry nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

import structlog

from wifimgrd.mqtt.connection import Connection, any_of
from wifimgrd.mqtt.library import Received

MOST_DROPPED: Final = 200
"""Commands that are dropped before the subscription ends, with less than PAUSE_S between them."""
PAUSE_S: Final = 1.0
"""How long none may come before there is a subscription again."""
_REASON: Final = f"more than {MOST_DROPPED} too many; none is received until they stop"
_log = structlog.get_logger("wifimgrd.mqtt")


class CommandInflow:
    """The subscription to the commands."""

    def __init__(self, filters: Sequence[str]) -> None:
        self._filters = filters
        self._dropped = 0
        self._dropped_at = 0.0
        self.flooded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when too many have come; then `pause` is to be called."""
        self.receive: Callable[[Received], bool] = _ignore
        """False if it has dropped the command. A retained one then stays until the next connection, with
        which it is removed as all else that is not the hub's."""

    def begin(self) -> None:
        """A connection begins."""
        self._dropped = 0
        self.flooded = asyncio.get_running_loop().create_future()

    def accept(self, message: Received) -> bool:
        """Pass on a command; False if it was dropped."""
        if self.receive(message):
            return True
        now = asyncio.get_running_loop().time()
        self._dropped = self._dropped + 1 if now - self._dropped_at < PAUSE_S else 1
        self._dropped_at = now
        if self._dropped > MOST_DROPPED and not self.flooded.done():
            self.flooded.set_result(None)
        return False

    async def pause(self, connection: Connection, *ends: asyncio.Future[Any]) -> None:
        """Subscribe again once no command was dropped for PAUSE_S; returns early when one of `ends` is done.
        Raises BrokerError."""
        loop = asyncio.get_running_loop()
        _log.warning("commands_paused", reason=_REASON, topics=self._filters)
        connection.unsubscribe_at_once(self._filters)
        while (left_s := self._dropped_at + PAUSE_S - loop.time()) > 0:
            try:
                await any_of(*ends, timeout_s=left_s)
            except TimeoutError:
                continue
            return
        self.begin()
        await connection.subscribe(self._filters, qos=1, live_only=True)


def _ignore(_: Received) -> bool:
    return True
