"""Liveness: whether this process serves, and whether the daemon behind it is there."""

from __future__ import annotations

from aiohttp import web

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.http.access_token import public
from wifimgrd.http.json_text import json_response
from wifimgrd.http.routes import Routes


class Health:
    """The resource at `/healthz`."""

    def __init__(self, client: HubClient) -> None:
        self._client = client

    def add_to(self, routes: Routes) -> None:
        """Wire the address."""
        routes.add("GET HEAD", "/healthz", self.health)

    @public
    async def health(self, _: web.Request) -> web.Response:
        """Always 200; the body says what else there is to say."""
        available = self._client.available
        return json_response(
            {
                "status": "ok",
                "daemon": "available" if available else "unavailable",
                "reason": self._client.reason or None,
            }
        )
