"""Every error that HTTP answers, as RFC 9457 problem details, from one table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import structlog
from aiohttp import web

from wifimgrd.domain.errors import ErrorCode, InvalidRequest, WifimgrdError
from wifimgrd.http.json_text import json_response

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

PAYLOAD_TOO_LARGE: Final = "payload-too-large"
NOT_FOUND: Final = "not-found"
METHOD_NOT_ALLOWED: Final = "method-not-allowed"
UNAUTHORIZED: Final = "unauthorized"
TILE_NOT_FOUND: Final = "tile-not-found"
TILE_SOURCE_UNAVAILABLE: Final = "tile-source-unavailable"

RETRY_AFTER_S: Final = 2
"""The daemon comes back within seconds where it is restarted, so clients may ask again soon."""

_log = structlog.get_logger("wifimgrd.http")


@dataclass(frozen=True, slots=True)
class Kind:
    """What all problems of one code have in common."""

    status: int
    title: str


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        ErrorCode.INVALID_REQUEST: Kind(400, "The request is not valid"),
        PAYLOAD_TOO_LARGE: Kind(413, "The request body is too large"),
        NOT_FOUND: Kind(404, "There is nothing at this address"),
        METHOD_NOT_ALLOWED: Kind(405, "The method is not allowed here"),
        UNAUTHORIZED: Kind(401, "A token is needed"),
        TILE_NOT_FOUND: Kind(404, "There is no such tile"),
        TILE_SOURCE_UNAVAILABLE: Kind(502, "The tile server cannot be asked"),
        ErrorCode.CANCELLED: Kind(409, "The attempt was ended"),
        ErrorCode.DEVICE_NOT_FOUND: Kind(404, "There is no such device"),
        ErrorCode.INTERFACE_NOT_FOUND: Kind(404, "There is no such interface"),
        ErrorCode.NO_INTERFACE_AVAILABLE: Kind(409, "No Wi-Fi interface is available"),
        ErrorCode.BUSY: Kind(409, "The device is busy"),
        ErrorCode.DEVICE_NOT_REACHABLE: Kind(504, "The camera was not reached"),
        ErrorCode.AUTHENTICATION_FAILED: Kind(502, "The camera refused the password"),
        ErrorCode.ASSOCIATION_REFUSED: Kind(502, "The camera refused the connection"),
        ErrorCode.ADDRESS_FAILED: Kind(504, "The camera gave no address"),
        ErrorCode.INTERFACE_LOST: Kind(502, "The Wi-Fi adapter went away"),
        ErrorCode.CONNECTION_LOST: Kind(502, "The connection was lost"),
        ErrorCode.BACKEND_UNAVAILABLE: Kind(503, "The service is not available"),
        ErrorCode.NOT_AUTHORIZED: Kind(403, "That is not allowed"),
        ErrorCode.INTERNAL: Kind(500, "Internal error"),
    }
)
_CODE_OF_STATUS: Final[Mapping[int, str]] = MappingProxyType(
    {
        401: UNAUTHORIZED,
        403: ErrorCode.NOT_AUTHORIZED,
        404: NOT_FOUND,
        405: METHOD_NOT_ALLOWED,
        413: PAYLOAD_TOO_LARGE,
        503: ErrorCode.BACKEND_UNAVAILABLE,
    }
)
_NESTED: Final = frozenset({"ssid", "password"})
"""Fields that a request carries under `connection_settings`."""


class Problem(Exception):
    """An error on its way to the client: its code, a sentence, and further members and headers."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        members: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.members = dict(members or {})
        self.headers = dict(headers or {})
        self.status = KINDS[code].status if status is None else status

    def response(self) -> web.Response:
        """The answer that says it."""
        headers = dict(self.headers)
        if self.code == ErrorCode.BACKEND_UNAVAILABLE:
            headers.setdefault("Retry-After", str(RETRY_AFTER_S))
        body = self.members | {
            "type": f"urn:wifimgrd:error:{self.code}",
            "title": KINDS[self.code].title,
            "status": self.status,
            "detail": self.detail,
            "code": str(self.code),
            "error": self.detail,
        }
        return json_response(
            body, status=self.status, content_type="application/problem+json", headers=headers
        )


def field_members(fields: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The sentences of each field at fault, nested as the fields of a request are."""
    members: dict[str, Any] = {}
    for name, sentences in fields.items():
        place = members.setdefault("connection_settings", {}) if name in _NESTED else members
        place[name] = list(sentences)
    return members


def problem_of(error: WifimgrdError) -> Problem:
    """The problem that an error of the hub is over HTTP."""
    if isinstance(error, InvalidRequest):
        return Problem(error.code, error.message, members=field_members(error.fields))
    if error.code is ErrorCode.INTERNAL:
        _log.error("internal_error", detail=error.message)
        return internal_problem()
    return Problem(error.code, error.message)


def internal_problem() -> Problem:
    """What a client is told of a bug."""
    return Problem(ErrorCode.INTERNAL, "something went wrong inside the service; its log says what")


def problem_of_http(error: web.HTTPException, request: web.Request) -> Problem:
    """The problem that an error of aiohttp's own is."""
    headers = {name: error.headers[name] for name in ("Allow", "WWW-Authenticate") if name in error.headers}
    code = _CODE_OF_STATUS.get(error.status)
    match error.status:
        case 404:
            detail = f"there is nothing at {request.path}"
        case 405:
            allowed = headers.get("Allow", "nothing").replace(",", ", ")
            detail = f"{request.method} is not allowed here; allowed: {allowed}"
        case _:
            detail = error.reason
    if code is None:
        code = ErrorCode.INVALID_REQUEST if error.status < 500 else ErrorCode.INTERNAL
    return Problem(code, detail, headers=headers, status=error.status)


@web.middleware
async def problems_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn whatever goes wrong in a handler into a problem."""
    try:
        return await handler(request)
    except Problem as problem:
        return problem.response()
    except WifimgrdError as error:
        return problem_of(error).response()
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return problem_of_http(error, request).response()
    except TimeoutError:
        detail = "wifimgrd did not answer in time"
        return Problem(ErrorCode.BACKEND_UNAVAILABLE, detail).response()
    except ConnectionResetError:
        raise  # the client has gone; nobody is there to be answered
    except Exception:  # noqa: BLE001 - the last line of defence, logged once
        _log.error("request_failed", method=request.method, path=request.path, exc_info=True)
        return internal_problem().response()
