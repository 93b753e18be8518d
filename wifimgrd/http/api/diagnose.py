"""The daemon's report of a fault, as a file to send."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._errors import Problem
from wifimgrd.http._operations import Operation
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.exposure import is_loopback
from wifimgrd.http.access.request_safety import LOOPBACK_NAMES, host_name, own_site_only

_FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")
"""Fields that a proxy adds, whose clients may be anywhere."""
_HEADERS: Final = {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Disposition": 'attachment; filename="wifimgrd-report.txt"',
    "Cache-Control": "no-store",
}


class Diagnose:
    """The resource at `/diagnose`."""

    def __init__(self, client: HubClient, *, with_token: bool) -> None:
        """`with_token`: every request is authorized by a token; without one, only this host is served."""
        self._client = client
        self._with_token = with_token

    def add_to(self, routes: Routes) -> None:
        """Add the route."""
        routes.add("GET HEAD", "/diagnose", self.diagnose)

    @own_site_only
    @Operation(
        "diagnose",
        "service",
        media_types=("text/plain",),
        answer=str,
        errors=(ErrorCode.BACKEND_UNAVAILABLE,),
        headers={"Content-Disposition": "The name of the file."},
    )
    async def diagnose(self, request: web.Request) -> web.Response:
        """Download a report of a fault, with aliases for names.

        Without a token it is for clients on this host only. `wifimgrctl diagnose` has more.
        """
        if not self._with_token and not _is_of_this_host(request):
            detail = "without a token, a report can be downloaded only on the hub itself"
            raise Problem(ErrorCode.NOT_AUTHORIZED, detail)
        return web.Response(text=await available(self._client).diagnose(), headers=_HEADERS)


def _is_of_this_host(request: web.Request) -> bool:
    """Whether a request is sent by a program on this host, and for none elsewhere as far as is known."""
    name = host_name(request.host)
    return (
        is_loopback(request.remote or "")
        and (name in LOOPBACK_NAMES or is_loopback(name))
        and not any(field in request.headers for field in _FORWARDED)
    )
