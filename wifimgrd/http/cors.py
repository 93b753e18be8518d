"""Cross-origin requests of the origins that the configuration admits, on every address."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from wifimgrd.http.problems import Handler
from wifimgrd.web_address import origin_of

_METHODS: Final = "GET, HEAD, POST, PATCH, DELETE"
_HEADERS: Final = "Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Modified-Since, Range"
_EXPOSED: Final = "Location, Retry-After, WWW-Authenticate, ETag"
_PREFLIGHT_AGE_S: Final = 600


class Cors:
    """Answers preflights, and names admitted origins on every answer."""

    def __init__(self, origins: frozenset[str]) -> None:
        self._origins = origins

    @web.middleware
    async def preflight(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer the question that a browser asks before it sends a request that is not simple."""
        asked = request.headers.get("Access-Control-Request-Method")
        if request.method != "OPTIONS" or asked is None or self._admitted(request) is None:
            return await handler(request)
        headers = {
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Allow-Headers": _HEADERS,
            "Access-Control-Max-Age": str(_PREFLIGHT_AGE_S),
        }
        if request.headers.get("Access-Control-Request-Private-Network") == "true":
            headers["Access-Control-Allow-Private-Network"] = "true"
        return web.Response(status=204, headers=headers)

    async def name_origin(self, request: web.Request, response: web.StreamResponse) -> None:
        """Say on an answer, also on an error, that the origin may read it."""
        if not self._origins:
            return
        vary = response.headers.get("Vary")
        response.headers["Vary"] = f"{vary}, Origin" if vary else "Origin"
        response.headers.update(self.named(request.headers.get("Origin")))

    def named(self, said: str | None) -> dict[str, str]:
        """The headers that name an origin, where it is admitted."""
        if said is None or origin_of(said) not in self._origins:
            return {}
        return {
            "Access-Control-Allow-Origin": said,
            "Access-Control-Allow-Credentials": "true",
            "Access-Control-Expose-Headers": _EXPOSED,
        }

    @property
    def is_used(self) -> bool:
        """Whether answers differ by origin."""
        return bool(self._origins)

    def _admitted(self, request: web.BaseRequest) -> str | None:
        said = request.headers.get("Origin")
        return said if said is not None and origin_of(said) in self._origins else None
