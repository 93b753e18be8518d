"""The token that the configuration can require, as a bearer or as a cookie."""

from __future__ import annotations

import hmac
import math
from collections.abc import Callable, Mapping
from typing import Final, TypedDict, TypeVar

from aiohttp import web

from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._errors import PAYLOAD_TOO_LARGE, TOO_MANY_REQUESTS, UNAUTHORIZED, Handler, Problem
from wifimgrd.http._operations import Operation
from wifimgrd.http._requests import json_body
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.access.throttle import Throttle

HandlerT = TypeVar("HandlerT", bound=Callable[..., object])

COOKIE: Final = "wifimgrd_session"
_CHALLENGE: Final = 'Bearer realm="wifimgrd"'
_MARK: Final = "public"
_ATTEMPTS: Final = 10
_ATTEMPT_S: Final = 6.0
"""Sessions that an address may request at once, and the seconds until it may request another."""
_PURPOSE: Final = b"wifimgrd session cookie"


def public(handler: HandlerT) -> HandlerT:
    """Mark a handler that answers without a token."""
    setattr(handler, _MARK, True)
    return handler


class SessionInput(TypedDict):
    """The token, for a cookie."""

    token: str


class AccessToken:
    """Requires the token for all handlers that are not public, and returns a cookie for it."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._attempts = Throttle(_ATTEMPTS, _ATTEMPT_S)
        self._cookie = hmac.new(self._token, _PURPOSE, "sha256").hexdigest()
        """Derived from the token, so that it outlives a restart, becomes invalid with the token, and does not
        reveal it."""

    def add_to(self, routes: Routes) -> None:
        """Add the routes of sessions."""
        routes.add("POST", "/session", self.session)
        routes.add("DELETE", "/session", self.end_session)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse a request that has neither the token nor its cookie."""
        if not getattr(request.match_info.handler, _MARK, False) and not self.admits(request.headers):
            raise _unauthorized("a token is required: send it as Authorization: Bearer, or to POST /session")
        return await handler(request)

    @public
    @own_site_only
    @Operation(
        "create_session",
        "service",
        body=SessionInput,
        status=204,
        errors=(UNAUTHORIZED, PAYLOAD_TOO_LARGE, TOO_MANY_REQUESTS),
        headers={"Set-Cookie": "The session cookie, which replaces the token."},
        public=True,
    )
    async def session(self, request: web.Request) -> web.Response:
        """Get a cookie for the token in `{"token": ...}` or in Authorization."""
        wait_s = self._attempts.wait_s(request.remote or "")
        if wait_s:
            headers = {"Retry-After": str(math.ceil(wait_s))}
            raise Problem(
                TOO_MANY_REQUESTS, "too many sessions were requested from this address", headers=headers
            )
        if not self.has_bearer(request.headers):
            body = await json_body(request)
            token = body.get("token") if isinstance(body, dict) else None
            if not isinstance(token, str):
                raise Problem(ErrorCode.INVALID_REQUEST, "the body must be an object with a token")
            if not self._is_token(token):
                raise _unauthorized("the token is wrong")
        return self._with_cookie(request, self._cookie)

    @public
    @Operation(
        "end_session",
        "service",
        status=204,
        headers={"Set-Cookie": "The same cookie, expired."},
        public=True,
    )
    async def end_session(self, request: web.Request) -> web.Response:
        """Remove the cookie from the browser that has it.

        Needs no token, and may be repeated. No session is stored here: a copy of the cookie is valid until
        the token is changed, and channels that are open stay open until their clients close them.
        """
        return self._with_cookie(request, "", expires="Thu, 01 Jan 1970 00:00:00 GMT", max_age=0)

    @staticmethod
    def _with_cookie(
        request: web.Request, value: str, *, expires: str | None = None, max_age: int | None = None
    ) -> web.Response:
        """An answer that sets the cookie; a browser replaces one of the same name, path and host."""
        response = web.Response(status=204)
        response.set_cookie(
            COOKIE,
            value,
            expires=expires,
            max_age=max_age,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=request.secure,
        )
        return response

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Whether headers have the token or its cookie."""
        if self.has_bearer(headers):
            return True
        # Parsed here: http.cookies, and so older aiohttp, fails on malformed cookies of other services.
        for pair in headers.get("Cookie", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE and hmac.compare_digest(_encoded(value), self._cookie.encode()):
                return True
        return False

    def has_bearer(self, headers: Mapping[str, str]) -> bool:
        """Whether headers have the token itself."""
        scheme, _, credentials = headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(credentials.strip())

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(_encoded(text), self._token)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unauthorized(detail: str) -> Problem:
    return Problem(UNAUTHORIZED, detail, headers={"WWW-Authenticate": _CHALLENGE})
