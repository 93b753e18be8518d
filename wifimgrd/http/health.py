"""Liveness: whether this process serves, and whether the daemon behind it is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.http.access_token import AccessToken, public
from wifimgrd.http.json_text import json_response
from wifimgrd.http.routes import Routes


class Health:
    """The resource at `/healthz`."""

    def __init__(self, client: HubClient, token: AccessToken | None = None) -> None:
        self._client = client
        self._token = token
        self.tiles: Callable[[], list[dict[str, Any]]] | None = None
        """How each tileset is."""

    def add_to(self, routes: Routes) -> None:
        """Wire the address."""
        routes.add("GET HEAD", "/healthz", self.health)

    @public
    async def health(self, request: web.Request) -> web.Response:
        """Always 200; the body says what else there is to say: with `?verbose`, who may ask for
        everything is told of the tilesets, too."""
        available = self._client.available
        told: dict[str, Any] = {
            "status": "ok",
            "daemon": "available" if available else "unavailable",
            "reason": self._client.reason or None,
        }
        admitted = self._token is None or self._token.admits(request.headers)
        if "verbose" in request.query and admitted:
            told["tiles"] = [] if self.tiles is None else self.tiles()
        return json_response(told)
