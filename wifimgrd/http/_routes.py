"""Registration of routes: each path but those of the documents is served with and without its trailing slash,
without a redirect."""

from __future__ import annotations

from contextlib import suppress

from aiohttp import web

from wifimgrd.http._errors import Handler
from wifimgrd.http._requests import BODY_LIMIT


class Routes:
    """Adds handlers to an application."""

    def __init__(self, app: web.Application) -> None:
        self._app = app

    def add(self, methods: str, path: str, handler: Handler) -> None:
        """Serve `methods`, e.g. `GET HEAD`, at `path`, whose form is the one that is described."""
        for form in (path, path[:-1] if path.endswith("/") else path + "/"):
            self.add_exactly(methods, form, handler)

    def add_exactly(self, methods: str, path: str, handler: Handler) -> None:
        """Serve `methods` at `path` only: with a slash at its end, or without, it is something else."""
        for method in methods.split():
            self._app.router.add_route(method, path, handler, expect_handler=_go_on)


async def _go_on(request: web.Request) -> None:
    """Let a client send the body that it announced with Expect, if it is not too large; other
    expectations are not an error (RFC 9110, 10.1.1)."""
    waits = request.headers.get("Expect", "").lower() == "100-continue" and request.version >= (1, 1)
    if waits and (request.content_length or 0) <= BODY_LIMIT:
        with suppress(ConnectionError):  # the client has gone, which the handler's middleware handles
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not started
