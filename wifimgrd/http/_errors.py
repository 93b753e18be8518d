"""All errors over HTTP, as problem details (RFC 9457)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

import structlog
from aiohttp import web

from wifimgrd.domain.errors import CLASSES, ErrorCode, InvalidRequest, WifimgrdError
from wifimgrd.http._json_text import json_response

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HandlerT = TypeVar("HandlerT", bound=Callable[..., object])

PAYLOAD_TOO_LARGE: Final = "payload-too-large"
UNSUPPORTED_MEDIA_TYPE: Final = "unsupported-media-type"
NOT_FOUND: Final = "not-found"
METHOD_NOT_ALLOWED: Final = "method-not-allowed"
UNAUTHORIZED: Final = "unauthorized"
TOO_MANY_REQUESTS: Final = ErrorCode.TOO_MANY_REQUESTS
TILE_NOT_FOUND: Final = "tile-not-found"
TILE_SOURCE_UNAVAILABLE: Final = "tile-source-unavailable"

PATCH_TYPES: Final = ("application/merge-patch+json", "application/json")
ACCEPT_PATCH: Final = ", ".join(PATCH_TYPES)
"""The media types that PATCH takes, as the header Accept-Patch (RFC 5789, 3.1)."""
RETRY_AFTER_S: Final = 2
"""Short, since systemd restarts a daemon that failed within seconds."""

_log = structlog.get_logger("wifimgrd.http")


@dataclass(frozen=True, slots=True)
class Status:
    """The status and the title of the problems of one code."""

    status: int
    title: str


STATUSES: Final[Mapping[str, Status]] = MappingProxyType(
    {
        **{code: Status(kind.status, kind.title) for code, kind in CLASSES.items()},
        PAYLOAD_TOO_LARGE: Status(413, "The request body is too large"),
        UNSUPPORTED_MEDIA_TYPE: Status(415, "The type of the body is not supported"),
        NOT_FOUND: Status(404, "No such resource"),
        METHOD_NOT_ALLOWED: Status(405, "The method is not allowed here"),
        UNAUTHORIZED: Status(401, "A token is required"),
        TILE_NOT_FOUND: Status(404, "No such tile"),
        TILE_SOURCE_UNAVAILABLE: Status(502, "The tileset cannot be read"),
    }
)
"""The codes of the hub, and those that only HTTP has."""
_CODE_OF_STATUS: Final[Mapping[int, str]] = MappingProxyType(
    {
        401: UNAUTHORIZED,
        403: ErrorCode.NOT_AUTHORIZED,
        404: NOT_FOUND,
        405: METHOD_NOT_ALLOWED,
        413: PAYLOAD_TOO_LARGE,
        415: UNSUPPORTED_MEDIA_TYPE,
        429: TOO_MANY_REQUESTS,
        503: ErrorCode.BACKEND_UNAVAILABLE,
    }
)
_NESTED: Final = frozenset({"ssid", "password", "bluetooth_address"})
"""Fields that are members of `connection_settings` in a request."""
_SETTINGS: Final = "connection_settings"
_ANY_FIELD: Final = "ssid"
"""The field of the form that gets the sentence of a problem without a field."""
_MARK: Final = "shows_problems_in_form"


class Problem(Exception):
    """An error for a client: its code, a sentence, and further members and headers."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        members: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.members = dict(members or {})
        self.headers = dict(headers or {})
        self.status = STATUSES[code].status if status is None else status

    def response(self) -> web.Response:
        """The problem as an HTTP answer."""
        headers = self.response_headers()
        body = self.members | {
            "type": f"urn:wifimgrd:error:{self.code}",
            "title": STATUSES[self.code].title,
            "status": self.status,
            "detail": self.detail,
            "code": str(self.code),
            "error": self.detail,
        }
        return json_response(
            body, status=self.status, content_type="application/problem+json", headers=headers
        )

    def response_headers(self) -> dict[str, str]:
        """The headers of that answer."""
        headers = dict(self.headers)
        if self.status in (429, 503):
            headers.setdefault("Retry-After", str(RETRY_AFTER_S))
        return headers


def is_for_picture(headers: Mapping[str, str]) -> bool:
    """Whether a request is made by a browser for `<img>`.

    An error is answered without a body then. It would not be shown, and a browser blocks JSON that another
    site requests as an image (opaque response blocking), its status included.
    """
    return headers.get("Accept", "").startswith("image/")


def field_members(fields: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    """The sentences of each invalid field, nested as in a request."""
    members: dict[str, object] = {}
    nested: dict[str, object] = {}
    for name, sentences in fields.items():
        if name in _NESTED:
            members[_SETTINGS] = nested
            nested[name] = list(sentences)
        else:
            members[name] = list(sentences)
    return members


def shows_problems_in_form(handler: HandlerT) -> HandlerT:
    """Mark a handler whose problems all have the member `connection_settings`, which the platform's frontend
    reads whatever the status is."""
    setattr(handler, _MARK, True)
    return handler


def in_form(problem: Problem) -> Problem:
    """The problem with `connection_settings`: without a field of it and with a status of 4xx, its sentences
    are under `ssid`; with a status of 5xx it is empty, since no field is invalid."""
    settings = problem.members.get(_SETTINGS)
    if problem.status >= 500:
        settings = {}
    elif not settings:
        lists = [sentences for sentences in problem.members.values() if isinstance(sentences, list)]
        settings = {_ANY_FIELD: [one for sentences in lists for one in sentences] or [problem.detail]}
    problem.members[_SETTINGS] = settings
    return problem


def problem_of(error: WifimgrdError) -> Problem:
    """An error of the hub as a problem."""
    if isinstance(error, InvalidRequest):
        return Problem(error.code, error.message, members=field_members(error.fields))
    if error.code is ErrorCode.INTERNAL:
        _log.error("internal_error", detail=error.message)
        return internal_problem()
    return Problem(error.code, error.message)


def internal_problem() -> Problem:
    """The problem for a bug; only the log has the details."""
    return Problem(ErrorCode.INTERNAL, "internal error; see the service's log")


def problem_of_http(error: web.HTTPException, request: web.Request) -> Problem:
    """An error of aiohttp as a problem."""
    headers = {name: error.headers[name] for name in ("Allow", "WWW-Authenticate") if name in error.headers}
    code = _CODE_OF_STATUS.get(error.status)
    match error.status:
        case 404:
            detail = f"{request.path} does not exist"
        case 405:
            allowed = headers.get("Allow", "nothing").replace(",", ", ")
            detail = f"{request.method} is not allowed here; allowed: {allowed}"
        case _:
            detail = error.reason
    if code is None:
        code = ErrorCode.INVALID_REQUEST if error.status < 500 else ErrorCode.INTERNAL
    return Problem(code, detail, headers=headers, status=error.status)


def problem_of_failure(error: Exception, **about: str) -> Problem:
    """Any exception as a problem; one that is a bug is logged, with `about` as further fields."""
    match error:
        case Problem():
            return error
        case WifimgrdError():
            return problem_of(error)
        case TimeoutError():
            return Problem(ErrorCode.BACKEND_UNAVAILABLE, "wifimgrd did not answer in time")
    _log.error("request_failed", exc_info=error, **about)
    return internal_problem()


@web.middleware
async def problems_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer the exceptions of a handler as problems."""
    try:
        return await handler(request)
    except ConnectionError:
        # The client has disconnected, or cannot get the rest of its answer: there is nothing to answer. To
        # aiohttp it would be a bug of ours.
        if request.transport is not None:
            request.transport.abort()
        return web.Response()
    except Exception as error:  # a bug is logged and answered, too
        if isinstance(error, web.HTTPException) and error.status < 400:
            raise
        if isinstance(error, web.HTTPMethodNotAllowed) and request.method == "OPTIONS":
            headers = {"Allow": ", ".join(sorted(error.allowed_methods))}
            if "PATCH" in error.allowed_methods:
                headers["Accept-Patch"] = ACCEPT_PATCH
            return web.Response(status=204, headers=headers)
        if isinstance(error, web.HTTPException):
            problem = problem_of_http(error, request)
        else:
            problem = problem_of_failure(error, method=request.method, path=request.path)
    if getattr(request.match_info.handler, _MARK, False):
        problem = in_form(problem)
    if is_for_picture(request.headers):
        return web.Response(status=problem.status, headers=problem.response_headers())
    return problem.response()
