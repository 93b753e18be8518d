"""A connection that knows the short way to tiles."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiohttp import web

from wifimgrd.http.client_connection import Connection
from wifimgrd.http.tiles.fast import Clients, FastPath, Later, is_plain_head

_HELD: Final = 1 << 16
"""Octets of further requests that are kept while a tile is read; reading pauses there."""


class TileConnection(Connection):
    """A connection on which tiles take the short way, whenever nothing else is under way."""

    __slots__ = ("_clean", "_clients", "_fast", "_held", "_own", "_reading")

    def __init__(self, fast: FastPath, server: web.Server, **options: Any) -> None:
        super().__init__(server, **options)
        self._fast = fast
        self._clients: Clients = {}
        self._own: object = None
        self._clean = True
        """The parser holds no part of a request; it stays so while requests come whole."""
        self._reading = False
        """A tile is being read for the last request."""
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Learn which of our addresses it is."""
        super().connection_made(transport)
        self._own = transport.get_extra_info("sockname")
        self._clients = self._fast.clients_at(self._own)

    def data_received(self, data: bytes) -> None:
        """Answer, or leave it to the application."""
        if self._reading:
            self._hold(data)
            return
        if self._clean and data:
            if self._is_idle and not self._paused and self.transport is not None:
                answer = self._fast.answer(data, self._clients, self._own)
                if answer is not None:
                    self._heard = self._loop.time()
                    if isinstance(answer, Later):
                        self._read(answer, data)
                    else:
                        self.transport.write(answer)
                    return
            self._clean = is_plain_head(data)
        super().data_received(data)

    def _read(self, later: Later, request: bytes) -> None:
        """Answer a request once its tile was read; what comes meanwhile waits."""

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

        self._reading = True
        self._fast.read(later, take)

    def _hold(self, data: bytes) -> None:
        self._held += data
        if len(self._held) > _HELD and self.transport is not None:
            self.transport.pause_reading()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Answer who has said all and still listens."""
        if self._reading:
            self._ended = True
            return True
        return super().eof_received()
