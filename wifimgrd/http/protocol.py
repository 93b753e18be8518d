"""One connection of a client: answers data that is not HTTP, and closes connections that are not used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.connection_limits import ConnectionLimits
from wifimgrd.http.errors import Problem, internal_problem
from wifimgrd.http.head_limits import HEAD_BYTES, HEAD_FIELDS, is_paused
from wifimgrd.http.message_limits import PIECE_BYTES, MessageLimit

IDLE_S: Final = 75.0
"""The shortest time after which a connection without a request, or one whose client does not read, is closed;
the default of aiohttp 3.8 and of nginx."""
RECEIVE_S: Final = 20.0
"""The time within which a request has to be complete, once a part of it was received."""
_NEVER_S: Final = 1e9
_SOON_S: Final = 1.0
HEAD_TOO_LARGE: Final = 431
"""Request Header Fields Too Large (RFC 6585)."""
_THROWN_AWAY: Final = 1 << 20
"""Octets that are discarded after a head was refused, before the connection is reset."""
_AHEAD: Final = 256
"""Pipelined requests that are queued; newer versions of aiohttp have a lower limit themselves."""

_log = structlog.get_logger("wifimgrd.http")


class Connection(web.RequestHandler):
    """One connection.

    It has timeouts of its own: those of aiohttp differ between its versions, and do not cover the requests
    for tiles that are answered before aiohttp parses them.
    """

    __slots__ = (
        "_ended",
        "_incomplete_since",
        "_is_refused",
        "_last_payload",
        "_last_received",
        "_limits",
        "_on_gone",
        "_timer",
        "_unsent",
        "_without_content",
        "held_messages",
        "is_surplus",
    )

    def __init__(self, server: web.Server, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(server, keepalive_timeout=_NEVER_S, auto_decompress=False, **options)
        self._limits = limits
        self.held_messages = MessageLimit()
        self.is_surplus = False
        """There are too many connections: requests on this one are refused."""
        self._without_content = 0
        """Octets that were received since the last end of a head or the last content."""
        self._last_payload: object = None
        """The body of the last request."""
        self._is_refused = False
        self._last_received: float | None = None
        """When the last tile was requested; None = it is not known, since aiohttp has had other requests."""
        self._incomplete_since: float | None = None
        self._unsent = (0, 0.0)
        """The number of octets that the client has not read, and since when it is the same."""
        self._ended = False
        """The client has closed its sending side, and may still read answers."""
        self._timer: asyncio.TimerHandle | None = None
        self._on_gone: Callable[[], None] | None = None

    async def start(self) -> None:
        """Answer requests until the connection ends; older aiohttp fails if it is closed already."""
        try:
            await super().start()
        except AssertionError:
            if self.transport is not None:
                raise

    def call_when_closed(self, handler: Callable[[], None]) -> None:
        """For an answer without an end: call `handler` when the connection is closed, which it is as soon as
        the client closes its sending side."""
        self._on_gone = handler

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection, and start its timer."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        if not self._limits.add(self, str(peer[0]) if isinstance(peer, tuple) else ""):
            self.evict()
        self._last_received = self._loop.time()
        self._timer = self._loop.call_at(self._last_received + IDLE_S, self._check_idle)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the timer, and end an answer without an end."""
        self._limits.remove(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._on_gone is not None:
            self._on_gone()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass data to aiohttp, and limit the time for a request that is not complete."""
        self._limits.touch(self)
        for at in range(0, len(data) or 1, PIECE_BYTES):
            if self.held_messages.is_reached:
                self.held_messages.rest += data[at:]
                self.pause_reading()
                return
            self._feed(data[at : at + PIECE_BYTES])
        if self._is_refused:
            return
        self._last_received = None
        if len(self._messages) > _AHEAD and self.transport is not None:
            self.transport.pause_reading()
        if not self._is_incomplete:
            self._incomplete_since = None
        elif self._incomplete_since is None and self._timer is not None:
            self._incomplete_since = self._loop.time()
            self._timer.cancel()
            self._timer = self._loop.call_at(self._incomplete_since + RECEIVE_S, self._check_idle)

    def limit_messages(self, queue: object) -> None:
        """Limit how many messages are held in the queue of a WebSocket."""
        self.held_messages.queue = queue

    def resume_reading(self, **options: Any) -> None:  # type: ignore[override]
        """Read again, unless too many messages are held: aiohttp calls this after each that was taken."""
        if self.held_messages.is_reached:
            return
        super().resume_reading(**options)
        rest, self.held_messages.rest = self.held_messages.rest, b""
        if rest:
            self.data_received(rest)

    def _feed(self, data: bytes) -> None:
        """Parse a piece. A head that is too long, or a body of chunk headers without content, is refused."""
        if self._is_refused:
            self._without_content += len(data)
            if self._without_content > _THROWN_AWAY and self.transport is not None:
                self.transport.abort()
            return
        count, size = self._request_count, getattr(self._last_payload, "total_bytes", 0)
        super().data_received(data)
        if self._request_count != count and self._messages:
            self._last_payload = self._messages[-1][1]
            self._without_content = 0
        elif (
            self._payload_parser is not None  # messages of a WebSocket
            or getattr(self._last_payload, "total_bytes", 0) != size
            or is_paused(self)
        ):
            self._without_content = 0
        else:
            self._without_content += len(data)
            if self._without_content > HEAD_BYTES:
                self._refuse()

    def _refuse(self) -> None:
        """Answer that a head is too large, unless another answer is being written, and close."""
        self._is_refused = True
        if self.transport is None:
            return
        if not self._is_idle:
            self.force_close()
            return
        self.transport.write(_too_large_head())
        if self.transport.can_write_eof():
            self.transport.write_eof()
        if self._timer is not None:
            self._timer.cancel()
        # Further data is discarded for a while: a reset would discard the answer at the client.
        self._timer = self._loop.call_later(_SOON_S, self.transport.abort)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Complete the answers for a client that has closed its sending side; one without an end is ended."""
        if self._is_refused or self._is_tls:  # TLS closes both directions together
            return None
        requests = [message for message, _ in self._messages]
        if self._current_request is not None:
            requests.append(self._current_request._message)
        endless = self._on_gone is not None or any(getattr(message, "upgrade", False) for message in requests)
        if self._is_idle or endless or self._incomplete_since is not None or self._timer is None:
            return None
        self._ended = True
        self._timer.cancel()
        self._timer = self._loop.call_later(
            _SOON_S, self._check_idle
        )  # the last answer may have been written a moment ago
        return True

    async def finish_response(self, request: web.BaseRequest, *answer: Any) -> Any:
        """Resume reading; close after the last answer if the client has closed its sending side."""
        try:
            finished = await super().finish_response(request, *answer)
        except HttpProcessingError:
            # After a request for an upgrade that was declined the client sent data that is no request. Older
            # aiohttp parses it before it has written the answer.
            self._message_tail = b""
            response, *_ = answer
            response.force_close()
            finished = await super().finish_response(request, *answer)
        if len(self._messages) == _AHEAD and self.transport is not None:
            self.transport.resume_reading()
        if self._ended and not self._messages:
            self.close()
        return finished

    @property
    def is_evictable(self) -> bool:
        """Whether no request is being handled and all answers are written."""
        return self._is_idle and self.transport is not None and not self.transport.get_write_buffer_size()

    def evict(self) -> None:
        """Close the connection at once."""
        self.force_close()
        if self.transport is not None:
            self.transport.abort()

    @property
    def _is_tls(self) -> bool:
        return self.transport is not None and self.transport.get_extra_info("sslcontext") is not None

    @property
    def _is_idle(self) -> bool:
        """Whether aiohttp waits for a request. The attribute is private, but in every supported version;
        `_current_request` is set too late for this."""
        return self._waiter is not None and not self._waiter.done()

    @property
    def _is_incomplete(self) -> bool:
        """Whether the end of a request is missing, after data was passed to aiohttp."""
        if self._messages:
            return not self._messages[-1][1].is_eof()
        if self._current_request is not None:
            return not self._current_request.content.is_eof()
        return self._is_idle

    def _check_idle(self) -> None:
        """Close the connection if it is not used; otherwise set the timer for the next check."""
        if self._timer is None or self.transport is None:
            return
        now = self._loop.time()
        size = self.transport.get_write_buffer_size()
        if size != self._unsent[0]:
            self._unsent = (size, now)
        if not self._is_idle and not self._is_incomplete:
            self._incomplete_since = self._last_received = None
        if size and now - self._unsent[1] >= IDLE_S:
            self.transport.abort()
        elif self._is_overdue(now) or (self._is_idle and not size and self._is_stale(now)):
            self.force_close()
        else:
            self._timer = self._loop.call_at(self._next_check(now), self._check_idle)

    def _is_overdue(self, now: float) -> bool:
        return self._incomplete_since is not None and now - self._incomplete_since >= RECEIVE_S

    def _is_stale(self, now: float) -> bool:
        return self._ended or (self._last_received is not None and now - self._last_received >= IDLE_S)

    def _next_check(self, now: float) -> float:
        if self._incomplete_since is not None:
            return self._incomplete_since + RECEIVE_S
        if self._last_received is None or not self._is_idle or self._unsent[0]:
            self._last_received = now if self._is_idle else None
            return now + IDLE_S
        return self._last_received + IDLE_S

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that cannot be parsed, or a bug."""
        if request.writer.output_size > 0:
            raise ConnectionResetError("the answer had begun")
        if isinstance(exc, ConnectionError):
            raise ConnectionResetError("the client has gone") from exc
        if status < 500:
            problem = Problem(ErrorCode.INVALID_REQUEST, "this is not a request in HTTP", status=status)
        else:
            _log.error("request_failed", detail=message, exc_info=exc)
            problem = internal_problem()
        response = problem.response()
        response.headers["Server"] = "wifimgrd"
        response.force_close()
        return response


def head_problem() -> Problem:
    """The problem for a head that is over the limits."""
    detail = f"the head of a request has at most {HEAD_BYTES // 1024} kB and {HEAD_FIELDS} fields"
    return Problem(ErrorCode.INVALID_REQUEST, detail, status=HEAD_TOO_LARGE)


def _too_large_head() -> bytes:
    body = bytes(head_problem().response().body)  # type: ignore[arg-type]
    lines = (
        f"HTTP/1.1 {HEAD_TOO_LARGE} Request Header Fields Too Large",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode() + body
