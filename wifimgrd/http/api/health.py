"""Liveness: whether this process serves, and whether the daemon is available."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from wifimgrd.client.hub import HubClient
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.token import AccessToken, public
from wifimgrd.http.api.body_types import HealthJson


@Parameter("verbose", str, "Given with any value: more details.")
def query_verbose(request: web.Request) -> bool:
    """Whether the answer has further details."""
    return "verbose" in request.query


class Health:
    """The resource at `/healthz`."""

    def __init__(self, client: HubClient, token: AccessToken | None = None) -> None:
        self._client = client
        self._token = token
        self.tiles: Callable[[], list[dict[str, object]]] | None = None
        """The state of each tileset."""

    def add_to(self, routes: Routes) -> None:
        """Add the route."""
        routes.add("GET HEAD", "/healthz", self.health)

    @public
    @Operation("health", "service", reads=(query_verbose,), answer=HealthJson, public=True)
    async def health(self, request: web.Request) -> web.Response:
        """The state of this service, the daemon and its backend.

        The status is always 200; the body has the state. The daemon is asked for it: one that hangs is
        unavailable after at most 8 s. With `verbose`, an authorized client also gets
        the state of the tilesets.
        """
        client = self._client
        await client.confirm()
        service = client.service
        answer: HealthJson = {
            "status": "ok",
            "daemon": "available" if client.available else "unavailable",
            "reason": client.reason or None,
            "version": service.version or None,
            "backend": service.backend or None,
            "backend_state": service.backend_state,
            "backend_reason": service.backend_reason or None,
        }
        admitted = self._token is None or self._token.admits(request.headers)
        if query_verbose(request) and admitted:
            answer["tiles"] = [] if self.tiles is None else self.tiles()
        return json_response(answer)
