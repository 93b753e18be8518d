"""The answers to bytes that are not a request, or are over a limit before aiohttp sees them."""

from __future__ import annotations

from http import HTTPStatus

from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._errors import Problem
from wifimgrd.http.front.framing import Refused


def answer_to(refusal: Refused) -> bytes:
    """A whole answer, which closes the connection."""
    problem = Problem(ErrorCode.INVALID_REQUEST, refusal.detail, status=refusal.status)
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
