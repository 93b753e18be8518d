"""A connection that knows the short way to tiles."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from wifimgrd.http.server import Connection
from wifimgrd.http.tiles.fast import Clients, FastPath, is_plain_head


class TileConnection(Connection):
    """A connection on which tiles take the short way, whenever nothing else is under way."""

    __slots__ = ("_clean", "_clients", "_fast", "_own")

    def __init__(self, fast: FastPath, server: web.Server, **options: Any) -> None:
        super().__init__(server, **options)
        self._fast = fast
        self._clients: Clients = {}
        self._own: object = None
        self._clean = True
        """The parser holds no part of a request; it stays so while requests come whole."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Learn which of our addresses it is."""
        super().connection_made(transport)
        self._own = transport.get_extra_info("sockname")
        self._clients = self._fast.clients_at(self._own)

    def data_received(self, data: bytes) -> None:
        """Answer, or leave it to the application."""
        if self._clean and data:
            # Both are private, and older than any aiohttp that is supported.
            idle = self._current_request is None and not self._messages and not self._paused
            if idle and self.transport is not None:
                answer = self._fast.answer(data, self._clients, self._own)
                if answer is not None:
                    self.transport.write(answer)
                    if self._keepalive_handle is not None:  # it is not idle
                        self._keepalive_handle.cancel()
                        self._keepalive_handle = None
                    return
            self._clean = is_plain_head(data)
        super().data_received(data)
