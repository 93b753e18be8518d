"""The transport that aiohttp gets in place of the connection's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from wifimgrd.http.front.connection import FrontConnection


Written = bytes | bytearray | memoryview


class FrontTransport(asyncio.Transport):
    """Writes to the real transport. When the connection is read and closed is left to the front."""

    def __init__(self, front: FrontConnection, real: asyncio.Transport) -> None:
        super().__init__()
        self.front = front
        self.real = real

    def write(self, data: Written) -> None:
        """Write; the first bytes of an answer tell whether another protocol follows."""
        if self.front.is_taken(data):
            self.real.write(data)

    def writelines(self, list_of_data: Iterable[Written]) -> None:
        """Write several pieces."""
        pieces = list(list_of_data)
        if pieces and self.front.is_taken(pieces[0]):
            self.real.writelines(pieces)

    def close(self) -> None:
        """Close once everything is sent."""
        self.front.close()

    def abort(self) -> None:
        """Close at once."""
        self.front.evict()

    def is_closing(self) -> bool:
        """Whether it is closed, or is about to be."""
        return self.front.is_closing or self.real.is_closing()

    def get_extra_info(self, name: str, default: object = None) -> object:
        """As of the real one."""
        return self.real.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Pass nothing on."""
        self.front.hold(True)

    def resume_reading(self) -> None:
        """Pass on what has come, and more."""
        self.front.hold(False)

    def is_reading(self) -> bool:
        """Whether something is passed on."""
        return not self.front.is_held

    def get_write_buffer_size(self) -> int:
        """As of the real one."""
        return self.real.get_write_buffer_size()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """As of the real one."""
        return self.real.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """As of the real one."""
        self.real.set_write_buffer_limits(high, low)

    def can_write_eof(self) -> bool:
        """As of the real one."""
        return self.real.can_write_eof()

    def write_eof(self) -> None:
        """As of the real one."""
        self.real.write_eof()


def front_of(request: web.BaseRequest) -> FrontConnection | None:
    """The connection of a request; None where the client has gone."""
    transport = request.transport
    return transport.front if isinstance(transport, FrontTransport) else None
