"""The addresses of the API's description."""

from __future__ import annotations

import json
import re
from functools import cached_property
from importlib import resources
from typing import Final

from aiohttp import web

from wifimgrd.client.json_text import dumps
from wifimgrd.http._operations import Operation
from wifimgrd.http._routes import Routes
from wifimgrd.http.page.files import File, Files
from wifimgrd.http.page.sending import KNOWN, sent

PLATFORM: Final = "{platform}"
"""In a file: the host platform's name."""
SCRIPT: Final = "{script}"
"""In a file: the page's script, whose name has a hash in it once it is built."""
OPENAPI: Final = "openapi.json"
OPENAPI_OF_TOKEN: Final = "openapi-with-token.json"  # noqa: S105 - a file's name
"""Where a token is required: with sessions, and what is answered without one."""
ASYNCAPI: Final = "asyncapi.json"
_HEADERS: Final = {"Cache-Control": "no-cache"}


class Description:
    """The resources at `/openapi.json` and `/asyncapi.json`, read at the first request."""

    def __init__(self, platform: str, *, with_token: bool) -> None:
        self._platform = platform
        self._file = OPENAPI_OF_TOKEN if with_token else OPENAPI

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add("GET HEAD", "/openapi.json", self.openapi)
        routes.add("GET HEAD", "/asyncapi.json", self.asyncapi)

    @Operation("openapi", "page", answer=dict[str, object], further=KNOWN)
    async def openapi(self, request: web.Request) -> web.Response:
        """Describe the HTTP API, as OpenAPI 3.1."""
        return sent(request, self._openapi, _HEADERS)

    @Operation("asyncapi", "page", answer=dict[str, object], further=KNOWN)
    async def asyncapi(self, request: web.Request) -> web.Response:
        """Describe the management channel, as AsyncAPI 3.0."""
        return sent(request, self._asyncapi, _HEADERS)

    @cached_property
    def _openapi(self) -> File:
        text = _text(self._file).replace(PLATFORM, self._platform).replace(SCRIPT, _script())
        return _compact(text)

    @cached_property
    def _asyncapi(self) -> File:
        return _compact(_text(ASYNCAPI))


def _text(file: str) -> str:
    return (resources.files(__package__) / file).read_text("utf-8")


def _script() -> str:
    found = re.search(r'assets/([^"/]+\.js)"', Files().document("index.html") or "")
    return found[1] if found else "page.js"


def _compact(text: str) -> File:
    return File(dumps(json.loads(text)).encode(), "json")
