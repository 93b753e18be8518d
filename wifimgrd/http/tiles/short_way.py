"""The short way of a connection to tiles and to parts of archives, before aiohttp."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from wifimgrd.http.front.door import Ended
from wifimgrd.http.tiles.fast import FastPath, Later
from wifimgrd.http.tiles.map.fast_ranges import FastRanges


class ShortWay:
    """Answers the requests of one connection as far as it can."""

    __slots__ = ("_clients", "_descriptor", "_fast", "_own", "_ranges", "_transport")

    def __init__(
        self, fast: FastPath | None, ranges: FastRanges | None, transport: asyncio.Transport
    ) -> None:
        self._fast = fast
        self._transport = transport
        self._own = transport.get_extra_info("sockname")
        """The shim's address of the connection."""
        self._clients = {} if fast is None else fast.clients_at(self._own)
        raw = transport.get_extra_info("socket")
        is_plain = raw is not None and transport.get_extra_info("sslcontext") is None
        self._descriptor = raw.fileno() if is_plain else -1
        self._ranges = ranges if is_plain else None
        """It writes to the socket itself."""

    def __call__(self, request: bytes) -> bool | Callable[[Ended], None]:
        """Answer a request, or return how its tile is read; False if the application has to answer."""
        ranges = self._ranges
        if ranges is not None and ranges.send(request, self._own, self._transport, self._descriptor):
            return True
        answer = None if self._fast is None else self._fast.answer(request, self._clients, self._own)
        if answer is None:
            return False
        if isinstance(answer, Later):
            return lambda ended: self._read(answer, ended)
        self._transport.write(answer)
        return True

    def _read(self, later: Later, ended: Ended) -> None:
        def take(answer: bytes | None) -> None:
            if answer is not None and not self._transport.is_closing():
                self._transport.write(answer)
            ended(answer is not None)

        if self._fast is not None:
            self._fast.read(later, take)
