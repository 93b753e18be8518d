"""The bounds of requests (`front/`) for answers of cameras and tile servers, on every supported version of
aiohttp, whose own limits differ."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from http.cookies import SimpleCookie
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler

from wifimgrd.http.front.framing import HEAD_BYTES, HEAD_FIELDS, PIECE_BYTES
from wifimgrd.http.message_limits import MessageLimit

HEAD_S: Final = 20.0
"""The time in which a head must be complete, from its first octet."""
_EARLY_BYTES: Final = 1 << 20
"""Octets after a change of the protocol that are buffered for its reader."""


def is_within_limits(first_line: str, fields: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether a parsed head is within the limits."""
    size = len(first_line) + 4 + sum(len(name) + len(value) + 4 for name, value in fields)
    return size <= HEAD_BYTES and len(fields) <= HEAD_FIELDS


def bound_heads(connector: aiohttp.BaseConnector) -> None:
    """Have a connector limit the heads of the answers on its connections."""
    factory: Any = partial(BoundedResponseHandler, loop=asyncio.get_running_loop())
    connector._factory = factory


def is_paused(protocol: object) -> bool:
    """Whether a protocol of aiohttp has paused reading: newer parsers keep the rest for later then."""
    return any(getattr(protocol, name, False) for name in ("_reading_paused", "_buffer_paused"))


class BoundedResponseHandler(ResponseHandler):
    """Parses answers, and fails if a head, or data without content after it, has no end."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._in_head = True
        self._without_content = 0
        """Octets since the last that were content."""
        self._head_timer: asyncio.TimerHandle | None = None
        self.held_messages = MessageLimit()

    def set_parser(self, parser: Any, payload: Any, **options: Any) -> None:  # type: ignore[override]
        """Expect messages of a WebSocket, which go to `payload`."""
        self.held_messages.queue = payload
        super().set_parser(parser, payload, **options)

    def set_response_params(self, **options: Any) -> None:
        """Expect the next answer."""
        self._in_head = True
        self._without_content = 0
        super().set_response_params(**options)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take the head of an answer from the parser; informational ones count towards the one after them."""
        code = data[0].code
        if code >= 200 or code == 101:
            self._in_head = False
            self._stop_timer()
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        """Parse octets, in pieces, and no further while too many messages are held."""
        for at in range(0, len(data) or 1, PIECE_BYTES):
            if self.held_messages.is_reached:
                self.held_messages.rest += data[at:]
                self.pause_reading()
                return
            self._receive(data[at : at + PIECE_BYTES])

    def resume_reading(self, **options: Any) -> None:  # type: ignore[override]
        """Read again, unless too many messages are held: aiohttp calls this after each that was taken."""
        if self.held_messages.is_reached:
            return
        super().resume_reading(**options)
        rest, self.held_messages.rest = self.held_messages.rest, b""
        if rest:
            self.data_received(rest)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End, and with it a body that is not complete.

        After octets in a body that are not HTTP aiohttp leaves its reader waiting, without a time limit.
        """
        self._stop_timer()
        payload = self._payload
        super().connection_lost(exc)
        if payload is not None and not payload.is_eof() and payload.exception() is None:
            payload.set_exception(aiohttp.ClientPayloadError("the body is not complete"))

    def _receive(self, data: bytes) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        if self._payload_parser is not None:  # messages of a WebSocket
            super().data_received(data)
            return
        was_in_head, before = self._in_head, getattr(self._payload, "total_bytes", 0)
        if self._in_head and data and self._head_timer is None:
            self._head_timer = self._loop.call_later(HEAD_S, self._end_late_head)
        super().data_received(data)
        payload = self._payload
        is_content = not self._in_head and getattr(payload, "total_bytes", 0) != before
        if was_in_head != self._in_head or is_content or is_paused(self):
            self._without_content = 0
            return
        self._without_content += len(data)
        if self._without_content > (_EARLY_BYTES if self._upgraded else HEAD_BYTES):
            self._break_off(aiohttp.ClientConnectionError(f"its head is over {HEAD_BYTES // 1024} kB"))

    def _end_late_head(self) -> None:
        self._head_timer = None
        self._break_off(aiohttp.ServerTimeoutError(f"its head took over {HEAD_S:g} s"))

    def _break_off(self, error: Exception) -> None:
        self._stop_timer()
        if self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(error)
        self.set_exception(error)
        if self.transport is not None:
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class PlainResponse(aiohttp.ClientResponse):
    """An answer with unparsed cookies: older versions of aiohttp parse them at once, in quadratic time."""

    @property
    def cookies(self) -> SimpleCookie:
        """None of them."""
        return SimpleCookie()

    @cookies.setter
    def cookies(self, cookies: SimpleCookie) -> None:
        pass
