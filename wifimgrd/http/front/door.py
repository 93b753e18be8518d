"""The parts that the connections of one server share, and how aiohttp says that it has answered."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from aiohttp.abc import AbstractAccessLogger

from wifimgrd.http.front.connection_limits import ConnectionLimits
from wifimgrd.http.front.transport import front_of

HELD_BYTES: Final = 32 << 20
"""Bytes in all. Beyond it the connection that holds something for longest is closed."""
Ended = Callable[[bool], None]
"""Called with whether the short way has answered; if it has not, the application does."""
ShortWay = Callable[[bytes], "bool | Callable[[Ended], None]"]
"""Answers a request without a body at once (True), or later: then the result is to be called with `Ended`."""


class HeadBudget:
    """The bytes held in total by requests that nobody works on yet: heads without an end, and bytes that
    follow a request that is being answered. It knows who holds how many; who began first is at the front."""

    def __init__(self, limit: int = HELD_BYTES) -> None:
        self._limit = limit
        self._held: dict[object, tuple[int, Callable[[], None]]] = {}
        self._in_all = 0

    def hold(self, who: object, data: int, close: Callable[[], None]) -> None:
        """`who` holds so many bytes now; 0 = none. `close` is called, perhaps at once, if the budget needs
        them."""
        if not data and who not in self._held:
            return
        before, _ = self._held.get(who, (0, close))
        self._in_all += data - before
        if data:
            self._held[who] = data, close
        else:
            self._held.pop(who, None)
        while self._in_all > self._limit:
            oldest = next(iter(self._held))
            size, close_oldest = self._held.pop(oldest)
            self._in_all -= size
            close_oldest()


@dataclass(slots=True)
class FrontDoor:
    """The parts that the connections of one server share."""

    server: web.Server
    limits: ConnectionLimits
    tls: ssl.SSLContext | None = None
    short_ways: Callable[[asyncio.Transport], ShortWay] | None = None
    """The short way of a connection."""
    budget: HeadBudget = field(default_factory=HeadBudget)


class AnswerLog(AbstractAccessLogger):
    """Tells a connection that a request of it is answered: that is all an access log is used for here."""

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        """The whole answer is written."""
        del response, time
        if (front := front_of(request)) is not None:
            front.answered()
