"""Which requests are answered: the Host must be allowed, and no other site may change anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from typing import Final, TypeVar

from aiohttp import web

from wifimgrd.config.web_address import ip_address_of, origin_of
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._errors import Handler, Problem
from wifimgrd.http._requests import invalid
from wifimgrd.http.access.exposure import is_loopback

HandlerT = TypeVar("HandlerT", bound=Callable[..., object])

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST: Final = re.compile(
    r"(?:\[(?P<bracketed>[^\[\]]*)\]|(?P<name>[^:\[\]@/\\?#\s]*))(?::[0-9]*)?|(?P<bare>[0-9A-Fa-f:.]+(?:%\w+)?)"
)
_MARK: Final = "own_site_only"
_READS_MARK: Final = "changes_nothing"
_EVIDENCE: Final = ("Sec-Fetch-Site", "Origin", "Referer", "X-Requested-With")
"""Fields that name the page of a request; a page of another site cannot send the last one without a
preflight."""
_CAMERAS: Final = "/cameras/"
"""The pages below it are those of the cameras."""
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OURS: Final = frozenset({"same-origin", "none"})
_FETCHED_AHEAD: Final = {
    "Sec-Purpose": "prefetch",
    "Purpose": "prefetch",
    "X-Moz": "prefetch",
    "X-Purpose": "preview",
}


def own_site_only(handler: HandlerT) -> HandlerT:
    """Mark a handler that no other site may use, by any method: it changes state, or returns all data."""
    setattr(handler, _MARK, True)
    return handler


def changes_nothing(handler: HandlerT) -> HandlerT:
    """Mark a handler that no other site may use, but requests without evidence of their page may."""
    setattr(handler, _READS_MARK, True)
    return handler


def host_name(host: str) -> str:
    """The name in a Host header, without port, brackets and the root's dot, in lower case; empty
    if it is not a valid Host. Each address has one form only."""
    found = _HOST.fullmatch(host.strip())
    if found is None:
        return ""
    name = (found["bracketed"] or found["name"] or found["bare"] or "").lower().removesuffix(".")
    address = ip_address_of(name)
    return name if address is None else str(address)


def is_foreign(headers: Mapping[str, str], origins: frozenset[str], *, secure: bool = False) -> bool:
    """Whether a request comes from another site, by the headers of browsers.

    A browser sends Sec-Fetch-Site to trustworthy addresses, Origin with most requests that
    are not GET, and else Referer; other programs send none of them and are not another site.
    `secure`: the request came over TLS, so that a page that was not loaded by TLS is another site's.
    """
    source = headers.get("Origin")
    if source is not None and origin_of(source) in origins:
        return False
    site = headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in _OURS
    if source is None:
        source = headers.get("Referer")
        if source is not None and _CAMERAS in source:
            return True
    if source is None:
        return False
    origin = origin_of(source)
    if origin is None:
        return True
    scheme = "https" if secure else origin.partition(":")[0]
    return origin not in origins and origin != origin_of(f"{scheme}://{headers.get('Host', '')}")


def is_fetched_ahead(headers: Mapping[str, str]) -> bool:
    """Whether a browser requests this before a user has clicked."""
    return any(word in headers.get(name, "").lower() for name, word in _FETCHED_AHEAD.items())


class RequestSafety:
    """The middlewares that refuse requests of other sites."""

    def __init__(
        self,
        hosts: frozenset[str],
        origins: frozenset[str],
        *,
        with_token: bool = False,
        never: Container[str] = frozenset(),
    ) -> None:
        """`with_token`: a token is required, so that requests need no evidence of their page; `never`:
        names that are never allowed."""
        self._hosts = hosts
        self._origins = origins
        self._with_token = with_token
        self._never = never

    @web.middleware
    async def host(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse a Host that is not allowed: a name that was rebound to this host's address."""
        hosts = request.headers.getall("Host", [])
        if len(hosts) > 1 or (not hosts and request.version >= (1, 1)):
            raise invalid("a request has one Host header")
        own = request.transport.get_extra_info("sockname") if request.transport is not None else None
        if hosts and not self.allows(hosts[0], own):
            raise Problem(
                ErrorCode.NOT_AUTHORIZED,
                "this Host is not allowed; [http] allowed_hosts can allow it",
            )
        return await handler(request)

    @web.middleware
    async def site(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse changes by another site, or by a browser that prefetches."""
        if request.method not in _SAFE_METHODS or getattr(request.match_info.handler, _MARK, False):
            if is_foreign(request.headers, self._origins, secure=request.secure):
                raise Problem(
                    ErrorCode.NOT_AUTHORIZED,
                    "requests from other sites are refused; [http] allowed_origins lists exceptions",
                )
            if is_fetched_ahead(request.headers):
                raise Problem(ErrorCode.NOT_AUTHORIZED, "this is not allowed as a prefetch")
            if not self._with_token and self._lacks_evidence(request):
                raise _unknown_page()
        return await handler(request)

    @staticmethod
    def _lacks_evidence(request: web.Request) -> bool:
        """Whether a request may be that of a page of another site that hides its origin.

        To loopback names browsers always send evidence, and for a WebSocket always the origin.
        """
        if getattr(request.match_info.handler, _READS_MARK, False):
            return False
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return False
        return _is_of_unknown_page(request)

    def authorize_command(self, request: web.Request) -> None:
        """Refuse a command over a WebSocket if a route would refuse it to the request that opened that;
        raises Problem. A client without evidence of its page may still receive."""
        if not self._with_token and _is_of_unknown_page(request):
            raise _unknown_page()

    def allows(self, host: str, own: object) -> bool:
        """Whether a Host header is allowed on a connection to the shim's address `own`."""
        name = host_name(host)
        if name in self._never and not is_loopback(name):
            return False
        return name in self._hosts or (isinstance(own, tuple) and name == host_name(str(own[0])))


def _is_of_unknown_page(request: web.Request) -> bool:
    """Whether no header names the page of a request, on a name that is not a loopback name."""
    if any(name in request.headers for name in _EVIDENCE):
        return False
    own = request.transport.get_extra_info("sockname") if request.transport is not None else None
    name = host_name(request.headers.get("Host", str(own[0]) if isinstance(own, tuple) else ""))
    return name not in LOOPBACK_NAMES and not is_loopback(name)


def _unknown_page() -> Problem:
    return Problem(
        ErrorCode.NOT_AUTHORIZED,
        "the origin of this request is unknown: without a token, and under any name but "
        "localhost, a request that changes something needs Origin, Referer or X-Requested-With",
    )
