"""Whose requests are answered: the Host must be ours, and no other site may change anything."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from aiohttp import web

from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.problems import Handler, Problem
from wifimgrd.http.requests import invalid
from wifimgrd.web_address import origin_of

HandlerT = TypeVar("HandlerT", bound=Callable[..., object])

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST: Final = re.compile(
    r"(?:\[(?P<bracketed>[^\[\]]*)\]|(?P<name>[^:\[\]@/\\?#\s]*))(?::[0-9]*)?|(?P<bare>[0-9A-Fa-f:.]+(?:%\w+)?)"
)
_MARK: Final = "own_site_only"
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OURS: Final = frozenset({"same-origin", "none"})
_FETCHED_AHEAD: Final = {
    "Sec-Purpose": "prefetch",
    "Purpose": "prefetch",
    "X-Moz": "prefetch",
    "X-Purpose": "preview",
}


def own_site_only(handler: HandlerT) -> HandlerT:
    """Mark a handler that no other site may reach, whatever its method: it changes state, or tells all."""
    setattr(handler, _MARK, True)
    return handler


def host_name(host: str) -> str:
    """The name in a Host header, without port, brackets and the root's dot, in lower case; empty
    where it is not a Host. An address is written in one way only."""
    found = _HOST.fullmatch(host.strip())
    if found is None:
        return ""
    name = (found["bracketed"] or found["name"] or found["bare"] or "").lower().removesuffix(".")
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name
    return str(getattr(address, "ipv4_mapped", None) or address)


def is_foreign(headers: Mapping[str, str], origins: frozenset[str]) -> bool:
    """Whether a request comes from another site, by what a browser says of it.

    A browser says it by Sec-Fetch-Site to trustworthy addresses, by Origin for most requests that
    are not GET, and by Referer else; what is no browser says nothing and is no other site.
    """
    said = headers.get("Origin")
    if said is not None and origin_of(said) in origins:
        return False
    site = headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in _OURS
    if said is None:
        said = headers.get("Referer")
    if said is None:
        return False
    origin = origin_of(said)
    if origin is None:
        return True
    scheme = origin.partition(":")[0]
    return origin not in origins and origin != origin_of(f"{scheme}://{headers.get('Host', '')}")


def is_fetched_ahead(headers: Mapping[str, str]) -> bool:
    """Whether a browser asks before anybody has clicked."""
    return any(word in headers.get(name, "").lower() for name, word in _FETCHED_AHEAD.items())


class RequestSafety:
    """The middlewares that refuse what does not come from here."""

    def __init__(self, hosts: frozenset[str], origins: frozenset[str]) -> None:
        self._hosts = hosts
        self._origins = origins

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
                "this service does not answer to that Host; [http] allowed_hosts names more",
            )
        return await handler(request)

    @web.middleware
    async def site(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what another site, or a browser ahead of its user, wants to change."""
        if request.method not in _SAFE_METHODS or getattr(request.match_info.handler, _MARK, False):
            if is_foreign(request.headers, self._origins):
                raise Problem(
                    ErrorCode.NOT_AUTHORIZED,
                    "another site asked for this; [http] allowed_origins admits some",
                )
            if is_fetched_ahead(request.headers):
                raise Problem(ErrorCode.NOT_AUTHORIZED, "this is not done ahead of a click")
        return await handler(request)

    def allows(self, host: str, own: object) -> bool:
        """Whether a Host header is allowed on a connection to our address `own`."""
        name = host_name(host)
        return name in self._hosts or (isinstance(own, tuple) and name == host_name(str(own[0])))
