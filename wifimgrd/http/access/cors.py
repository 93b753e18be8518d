"""Cross-origin requests of the origins that the configuration admits, on every path."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from aiohttp import web

from wifimgrd.config.web_address import origin_of
from wifimgrd.http._errors import Handler
from wifimgrd.http._operations import operation_of

_METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE"
_HEADERS: Final = (
    "Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Modified-Since, Range, If-Range"
)
_OF_HOSTS: Final = "X-CSRFToken, X-Requested-With"
"""Headers that the HTTP client of a page may add to every request, though they have no meaning here: a
preflight whose answer leaves one out would block them all."""
_EXPOSED: Final = (
    "Location, Retry-After, WWW-Authenticate, ETag, Content-Length, Content-Range, Accept-Ranges"
)
_PREFLIGHT_AGE_S: Final = 600
EMBEDDED: Final[Mapping[str, str]] = MappingProxyType({"Cross-Origin-Resource-Policy": "cross-origin"})
"""On images, found or not, if other origins are admitted: their pages may show them without CORS."""


class Cors:
    """Answers preflights, and adds admitted origins to every answer."""

    def __init__(self, origins: frozenset[str]) -> None:
        self._origins = origins

    @web.middleware
    async def preflight(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer the preflight that a browser sends before a request that is not simple."""
        method = request.headers.get("Access-Control-Request-Method")
        if request.method != "OPTIONS" or method is None or self._admitted(request) is None:
            return await handler(request)
        headers = {
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Allow-Headers": f"{_HEADERS}, {_OF_HOSTS}",
            "Access-Control-Max-Age": str(_PREFLIGHT_AGE_S),
        }
        if request.headers.get("Access-Control-Request-Private-Network") == "true":
            headers["Access-Control-Allow-Private-Network"] = "true"
        return web.Response(status=204, headers=headers)

    async def name_origin(self, request: web.Request, response: web.StreamResponse) -> None:
        """Allow the origin to read an answer, also an error."""
        if not self._origins:
            return
        vary = response.headers.get("Vary")
        response.headers["Vary"] = f"{vary}, Origin" if vary else "Origin"
        response.headers.update(self.named(request.headers.get("Origin")))
        operation = operation_of(request.match_info.handler)
        if operation is not None and any(one.startswith("image/") for one in operation.media_types):
            response.headers.update(EMBEDDED)

    def named(self, origin: str | None) -> dict[str, str]:
        """The headers for an origin, if it is admitted."""
        if origin is None or origin_of(origin) not in self._origins:
            return {}
        return {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Credentials": "true",
            "Access-Control-Expose-Headers": _EXPOSED,
        }

    @property
    def is_used(self) -> bool:
        """Whether answers differ by origin."""
        return bool(self._origins)

    def _admitted(self, request: web.BaseRequest) -> str | None:
        origin = request.headers.get("Origin")
        return origin if origin is not None and origin_of(origin) in self._origins else None
