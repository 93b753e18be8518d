"""Writes the HTTP answer to a command before the events of its failure are sent.

The platform's frontend sets a device's status when its request is answered, so an event before that is lost.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from typing import Protocol

from aiohttp import web

from wifimgrd.http._errors import Handler, problems_middleware


class CommandEvents(Protocol):
    """The part of the channel that commands need."""

    def command_begins(self, device_id: int) -> None:
        """Send what is held back for a device, since a command for it begins."""

    def awaiting_answer(
        self, device_id: int | None, *, when_free: bool = False
    ) -> AbstractContextManager[None]:
        """Hold back the events of a command's failure until the answer is written; None = it creates a
        device."""


async def answer_first(
    request: web.Request,
    events: CommandEvents,
    device_id: int | None,
    handler: Handler,
    *,
    when_free: bool = False,
) -> web.StreamResponse:
    """Run the handler of a command, and write its answer here, errors included.

    `device_id` is None for a command that creates a device. `when_free`: after it the device may wait for an
    adapter.
    """
    with events.awaiting_answer(device_id, when_free=when_free):
        response = await problems_middleware(request, handler)
        with suppress(ConnectionError):  # the client has disconnected; the server handles that
            await response.prepare(request)
            await response.write_eof()
    return response
