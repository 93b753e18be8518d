"""The addresses of the API's description."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from aiohttp import web

from wifimgrd.http.description.operations import operation
from wifimgrd.http.json_text import json_response
from wifimgrd.http.routes import Routes


class Description:
    """The resources at `/openapi.json` and `/asyncapi.json`, made at the first request."""

    def __init__(self, routes: Routes, *, with_token: bool) -> None:
        self._routes = routes
        self._with_token = with_token

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add("GET HEAD", "/openapi.json", self.openapi)
        routes.add("GET HEAD", "/asyncapi.json", self.asyncapi)

    @operation("openapi", "service", answer=dict[str, Any])
    async def openapi(self, _: web.Request) -> web.Response:
        """Describe the HTTP API, as OpenAPI 3.1."""
        return _answer(self._openapi)

    @operation("asyncapi", "service", answer=dict[str, Any])
    async def asyncapi(self, _: web.Request) -> web.Response:
        """Describe the management channel, as AsyncAPI 3.0."""
        return _answer(self._asyncapi)

    # The modules that make the documents are imported at the first request.

    @cached_property
    def _openapi(self) -> dict[str, Any]:
        from wifimgrd.http.description.openapi import openapi  # noqa: PLC0415

        return openapi(self._routes.wired, with_token=self._with_token)

    @cached_property
    def _asyncapi(self) -> dict[str, Any]:
        from wifimgrd.http.description.asyncapi import asyncapi  # noqa: PLC0415

        return asyncapi()


def _answer(document: dict[str, Any]) -> web.Response:
    return json_response(document, headers={"Cache-Control": "no-cache"})
