"""How addresses are wired: each answers with and without its trailing slash, without a redirect."""

from __future__ import annotations

from aiohttp import web

from wifimgrd.http.problems import Handler


class Routes:
    """Adds handlers to an application."""

    def __init__(self, app: web.Application) -> None:
        self._app = app

    def add(self, methods: str, path: str, handler: Handler) -> None:
        """Answer `methods`, e.g. `GET HEAD`, at `path`."""
        bare = path.rstrip("/")
        for form in (bare, bare + "/"):
            for method in methods.split():
                self._app.router.add_route(method, form, handler)
