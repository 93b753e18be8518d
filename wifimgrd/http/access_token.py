"""The token that the configuration can ask for, as a bearer or as a cookie."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from aiohttp import web

from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.body_types import SessionInput
from wifimgrd.http.description.operations import operation
from wifimgrd.http.problems import PAYLOAD_TOO_LARGE, UNAUTHORIZED, Handler, Problem
from wifimgrd.http.request_safety import own_site_only
from wifimgrd.http.requests import json_body
from wifimgrd.http.routes import Routes

HandlerT = TypeVar("HandlerT", bound=Callable[..., object])

COOKIE: Final = "wifimgrd_session"
_CHALLENGE: Final = 'Bearer realm="wifimgrd"'
_MARK: Final = "public"
_PURPOSE: Final = b"wifimgrd session cookie"


def public(handler: HandlerT) -> HandlerT:
    """Mark a handler that answers without a token."""
    setattr(handler, _MARK, True)
    return handler


class AccessToken:
    """Asks for the token everywhere but at what is public, and gives a cookie for it."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._cookie = hmac.new(self._token, _PURPOSE, "sha256").hexdigest()
        """Made of the token, so that it outlives a restart, ends with the token, and does not
        give the token away."""

    def add_to(self, routes: Routes) -> None:
        """Wire the address of sessions."""
        routes.add("POST", "/session", self.session)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse a request that carries neither the token nor its cookie."""
        if not getattr(request.match_info.handler, _MARK, False) and not self.admits(request.headers):
            raise _unauthorized("a token is needed: as Authorization: Bearer, or by POST /session")
        return await handler(request)

    @public
    @own_site_only
    @operation(
        "create_session",
        "service",
        body=SessionInput,
        status=204,
        errors=(UNAUTHORIZED, PAYLOAD_TOO_LARGE),
        headers={"Set-Cookie": "The cookie that stands for the token."},
        public=True,
    )
    async def session(self, request: web.Request) -> web.Response:
        """Give a cookie for the token, from `{"token": ...}` or from Authorization."""
        if not self._has_bearer(request.headers):
            body = await json_body(request)
            token = body.get("token") if isinstance(body, dict) else None
            if not isinstance(token, str):
                raise Problem(ErrorCode.INVALID_REQUEST, "the body must be an object with a token")
            if not self._is_token(token):
                raise _unauthorized("the token is wrong")
        response = web.Response(status=204)
        response.set_cookie(COOKIE, self._cookie, path="/", httponly=True, samesite="Strict")
        return response

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Whether headers carry the token or its cookie."""
        if self._has_bearer(headers):
            return True
        # Read by hand: http.cookies, and so older aiohttp, chokes on other people's odd cookies.
        for pair in headers.get("Cookie", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE and hmac.compare_digest(_octets(value), self._cookie.encode()):
                return True
        return False

    def _has_bearer(self, headers: Mapping[str, str]) -> bool:
        scheme, _, credentials = headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(credentials.strip())

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(_octets(text), self._token)


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unauthorized(detail: str) -> Problem:
    return Problem(UNAUTHORIZED, detail, headers={"WWW-Authenticate": _CHALLENGE})
