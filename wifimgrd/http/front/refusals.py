"""The answers to what is no request, or is over a limit before aiohttp sees it."""

from __future__ import annotations

from http import HTTPStatus

from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.errors import KINDS, METHOD_NOT_ALLOWED, Problem
from wifimgrd.http.front.framing import Refused


def answer_to(refusal: Refused) -> bytes:
    """A whole answer, which closes the connection."""
    is_method = refusal.status == KINDS[METHOD_NOT_ALLOWED].status
    code = METHOD_NOT_ALLOWED if is_method else ErrorCode.INVALID_REQUEST
    problem = Problem(code, refusal.detail, status=refusal.status)
    body = bytes(problem.response().body)  # type: ignore[arg-type]
    lines = (
        f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode() + body
