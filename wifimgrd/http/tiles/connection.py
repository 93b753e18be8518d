"""A connection with the short ways to tiles and to parts of archives."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiohttp import web

from wifimgrd.http.connection_limits import ConnectionLimits
from wifimgrd.http.map.fast_ranges import FastRanges
from wifimgrd.http.protocol import Connection
from wifimgrd.http.tiles.fast import Clients, FastPath, Later, is_plain_head

_HELD: Final = 1 << 16
"""Octets of further requests that are buffered while a tile is read; reading pauses at this limit."""


class TileConnection(Connection):
    """A connection on which tiles take the short way, if no other request is in progress."""

    __slots__ = ("_clean", "_clients", "_fast", "_held", "_own", "_plain_socket", "_ranges", "_reading")

    def __init__(
        self,
        fast: FastPath | None,
        ranges: FastRanges | None,
        server: web.Server,
        limits: ConnectionLimits,
        **options: Any,
    ) -> None:
        super().__init__(server, limits, **options)
        self._fast = fast
        self._ranges = ranges
        self._plain_socket = -1
        """The socket's descriptor; -1 if it does not carry plain text."""
        self._clients: Clients = {}
        self._own: object = None
        self._clean = True
        """The parser holds no part of a request; this stays so while requests arrive complete."""
        self._reading = False
        """A tile is being read for the last request."""
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the shim's own address of the connection."""
        super().connection_made(transport)
        self._own = transport.get_extra_info("sockname")
        if self._fast is not None:
            self._clients = self._fast.clients_at(self._own)
        raw = transport.get_extra_info("socket")
        if raw is not None and transport.get_extra_info("sslcontext") is None:
            self._plain_socket = raw.fileno()

    def data_received(self, data: bytes) -> None:
        """Answer, or leave it to the application."""
        if self._reading:
            self._hold(data)
            return
        if self._clean and data:
            if self._is_idle and not self.is_surplus and not self._paused and self.transport is not None:
                if self._sends_part(data, self.transport):
                    self._last_received = self._loop.time()
                    self._limits.touch(self)
                    return
                fast = self._fast
                answer = None if fast is None else fast.answer(data, self._clients, self._own)
                if answer is not None:
                    self._last_received = self._loop.time()
                    self._limits.touch(self)
                    if isinstance(answer, Later):
                        self._read(answer, data)
                    else:
                        self.transport.write(answer)
                    return
            self._clean = is_plain_head(data)
        super().data_received(data)

    @property
    def is_evictable(self) -> bool:
        """Whether it is idle, and no tile is being read for it, either."""
        return not self._reading and super().is_evictable

    def _sends_part(self, data: bytes, transport: asyncio.Transport) -> bool:
        ranges, descriptor = self._ranges, self._plain_socket
        return ranges is not None and descriptor >= 0 and ranges.send(data, self._own, transport, descriptor)

    def _read(self, later: Later, request: bytes) -> None:
        """Answer a request after its tile was read; octets that arrive meanwhile wait."""

        def take(answer: bytes | None) -> None:
            self._reading = False
            if self.transport is None or self.transport.is_closing():
                return
            if answer is None:
                self._clean = is_plain_head(request)
                super(TileConnection, self).data_received(request)
            else:
                self.transport.write(answer)
            held, self._held = self._held, b""
            if held:
                if len(held) > _HELD:
                    self.transport.resume_reading()
                self.data_received(held)
            if self._ended and not self._reading and self._is_idle:
                self.force_close()

        if self._fast is not None:
            self._reading = True
            self._fast.read(later, take)

    def _hold(self, data: bytes) -> None:
        self._held += data
        if len(self._held) > _HELD and self.transport is not None:
            self.transport.pause_reading()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Answer a client that has closed its sending side."""
        if self._reading and not self._is_tls:
            self._ended = True
            return True
        return super().eof_received()
