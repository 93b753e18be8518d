"""One connection of a client: what is no HTTP is answered here, and who keeps it for nothing loses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import structlog
from aiohttp import web

from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.problems import Problem, internal_problem

IDLE_S: Final = 75.0
"""How long a connection may lie idle, and a client take nothing of its answer, at least; what
aiohttp 3.8 and nginx have."""
RECEIVE_S: Final = 20.0
"""How long a request may take to come whole, from when it is seen to be in pieces."""
_NEVER_S: Final = 1e9
_SOON_S: Final = 1.0
_AHEAD: Final = 256
"""Requests that may wait for the answers before theirs; newer aiohttp has a limit of its own below."""

_log = structlog.get_logger("wifimgrd.http")


class Connection(web.RequestHandler):
    """One connection. aiohttp's versions differ in which silence they bear, and none of them knows of
    the short way to tiles, so that time is kept here for all."""

    __slots__ = ("_ended", "_heard", "_incomplete_since", "_on_gone", "_timer", "_unsent")

    def __init__(self, server: web.Server, **options: Any) -> None:
        super().__init__(server, keepalive_timeout=_NEVER_S, **options)
        self._heard: float | None = None
        """When a tile was asked for last; None = the application had it since, and it is not known."""
        self._incomplete_since: float | None = None
        self._unsent = (0, 0.0)
        """Octets that the client has not taken, and since when they are that many."""
        self._ended = False
        """The client has said all, and may still listen."""
        self._timer: asyncio.TimerHandle | None = None
        self._on_gone: Callable[[], None] | None = None

    def tell_when_gone(self, tell: Callable[[], None]) -> None:
        """For an answer without an end: it ends where the client has said all, and `tell` is called."""
        self._on_gone = tell

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to keep time."""
        super().connection_made(transport)
        self._heard = self._loop.time()
        self._timer = self._loop.call_at(self._heard + IDLE_S, self._look)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._on_gone is not None:
            self._on_gone()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the application; a request that is not whole yet has its time from now on."""
        super().data_received(data)
        self._heard = None
        if len(self._messages) > _AHEAD and self.transport is not None:
            self.transport.pause_reading()
        if not self._is_incomplete:
            self._incomplete_since = None
        elif self._incomplete_since is None and self._timer is not None:
            self._incomplete_since = self._loop.time()
            self._timer.cancel()
            self._timer = self._loop.call_at(self._incomplete_since + RECEIVE_S, self._look)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Answer who has said all and still listens. A channel ends where its client does."""
        asked = [message for message, _ in self._messages]
        if self._current_request is not None:
            asked.append(self._current_request._message)
        endless = self._on_gone is not None or any(getattr(message, "upgrade", False) for message in asked)
        if self._is_idle or endless or self._incomplete_since is not None or self._timer is None:
            return None
        self._ended = True
        self._timer.cancel()
        self._timer = self._loop.call_later(_SOON_S, self._look)  # the last answer may just have gone
        return True

    async def finish_response(self, request: web.BaseRequest, *answer: Any) -> Any:
        """Read on, and close behind the last answer to who has said all."""
        finished = await super().finish_response(request, *answer)
        if len(self._messages) == _AHEAD and self.transport is not None:
            self.transport.resume_reading()
        if self._ended and not self._messages:
            self.close()
        return finished

    @property
    def _is_idle(self) -> bool:
        """Whether the application waits for a request. The future is private, and older than any
        aiohttp that is supported; the current request is set too late to tell."""
        return self._waiter is not None and not self._waiter.done()

    @property
    def _is_incomplete(self) -> bool:
        """Whether, after octets were fed, a request lacks its end."""
        if self._messages:
            return not self._messages[-1][1].is_eof()
        if self._current_request is not None:
            return not self._current_request.content.is_eof()
        return self._is_idle

    def _look(self) -> None:
        """Close what nobody uses, or look again when that may be."""
        if self._timer is None or self.transport is None:
            return
        now = self._loop.time()
        size = self.transport.get_write_buffer_size()
        if size != self._unsent[0]:
            self._unsent = (size, now)
        if not self._is_idle and not self._is_incomplete:
            self._incomplete_since = self._heard = None
        if size and now - self._unsent[1] >= IDLE_S:
            self.transport.abort()
        elif self._is_overdue(now) or (self._is_idle and not size and self._is_stale(now)):
            self.force_close()
        else:
            self._timer = self._loop.call_at(self._next_look(now), self._look)

    def _is_overdue(self, now: float) -> bool:
        return self._incomplete_since is not None and now - self._incomplete_since >= RECEIVE_S

    def _is_stale(self, now: float) -> bool:
        return self._ended or (self._heard is not None and now - self._heard >= IDLE_S)

    def _next_look(self, now: float) -> float:
        if self._incomplete_since is not None:
            return self._incomplete_since + RECEIVE_S
        if self._heard is None or not self._is_idle or self._unsent[0]:
            self._heard = now if self._is_idle else None
            return now + IDLE_S
        return self._heard + IDLE_S

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is wrong with the request itself, or with us."""
        if request.writer.output_size > 0:
            raise ConnectionResetError("the answer had begun")
        if status < 500:
            problem = Problem(ErrorCode.INVALID_REQUEST, "this is not a request in HTTP", status=status)
        else:
            _log.error("request_failed", detail=message, exc_info=exc)
            problem = internal_problem()
        response = problem.response()
        response.headers["Server"] = "wifimgrd"
        response.force_close()
        return response
