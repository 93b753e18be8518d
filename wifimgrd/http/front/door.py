"""What the connections of one server share, and how aiohttp says that it has answered."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.abc import AbstractAccessLogger

from wifimgrd.http.front.connection import FrontConnection
from wifimgrd.http.front.connection_limits import ConnectionLimits
from wifimgrd.http.front.head_budget import HeadBudget
from wifimgrd.http.front.transport import front_of

Ended = Callable[[bool], None]
"""Called with whether the short way has answered; if it has not, the application does."""
ShortWay = Callable[[bytes], "bool | Callable[[Ended], None]"]
"""Answers a request without a body at once (True), or later: then the result is to be called with `Ended`."""


@dataclass(slots=True)
class FrontDoor:
    """What the connections of one server share."""

    server: web.Server
    limits: ConnectionLimits
    tls: ssl.SSLContext | None = None
    short_ways: Callable[[asyncio.Transport], ShortWay] | None = None
    """The short way of a connection."""
    budget: HeadBudget = field(default_factory=HeadBudget)

    def __call__(self) -> FrontConnection:
        """A connection, for `loop.create_server`."""
        return FrontConnection(self)


class AnswerLog(AbstractAccessLogger):
    """Tells a connection that a request of it is answered: that is all an access log is used for here."""

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        """The whole answer is written."""
        del response, time
        if (front := front_of(request)) is not None:
            front.answered()
