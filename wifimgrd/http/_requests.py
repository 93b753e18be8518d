"""Parsing of requests: device ids, numbers, times, waits, idempotency keys and JSON bodies."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from wifimgrd.client.json_text import loads
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._errors import (
    ACCEPT_PATCH,
    PATCH_TYPES,
    PAYLOAD_TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE,
    Problem,
)
from wifimgrd.http._operations import Parameter

BODY_LIMIT: Final = 64 * 1024
"""Bytes of a request body, after decompression."""
LONGEST_WAIT_S: Final = 180
KEY_LIMIT: Final = 255

_WINDOW_BITS: Final = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
"""By content coding, for zlib."""
_INTEGER: Final = re.compile(r"-?[0-9]+")
_NUMBER: Final = re.compile("[0-9]{1,19}")
_SECONDS: Final = re.compile(r"[0-9]{1,10}(\.[0-9]{1,30})?")
_SWITCH: Final = {"0": False, "1": True, "false": False, "true": True}
SwitchText = Annotated[str, Keywords(enum=list(_SWITCH), default="0")]
"""The type of a query parameter that is on or off."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_DEVICE: Final = 0
"""An id that is never assigned."""


def invalid(detail: str, members: Mapping[str, object] | None = None) -> Problem:
    """A request that violates the rules."""
    return Problem(ErrorCode.INVALID_REQUEST, detail, members=members)


def integer_id(text: str, name: str) -> int:
    """The id in a text of ASCII decimal digits. Any integer is a valid question, even if the answer is
    that there is no such device."""
    if not _INTEGER.fullmatch(text):
        raise invalid(f"{name} must be an integer")
    return int(text) if len(text) <= 20 else _NO_DEVICE


def query_number(request: web.Request, name: str, highest: int, *, least: int = 1) -> int | None:
    """A query parameter that is a whole number; None if it is not given."""
    values = request.query.getall(name, [])
    if not values:
        return None
    if len(values) > 1 or not _NUMBER.fullmatch(values[0]) or not least <= int(values[0]) <= highest:
        raise invalid(f"{name} must be given once, as a whole number from {least} to {highest}")
    return int(values[0])


def query_time(request: web.Request, name: str, least: int) -> int:
    """A query parameter that is a time, microseconds since the epoch; 0 if it is not given.

    `least` stands for any time before it: a question about another century has an answer, an empty one.
    """
    values = request.query.getall(name, [])
    if not values:
        return 0
    try:
        [value] = values
        since_epoch = datetime.fromisoformat(value) - _EPOCH  # TypeError without a zone
    except (ValueError, TypeError):
        raise invalid(f"{name} must be given once, as a time in RFC 3339 with its zone") from None
    return max(least, since_epoch // timedelta(microseconds=1))


@Parameter("id", int, "The device's id.", place="path", required=True)
def path_id(request: web.Request) -> int:
    """The device id in the path."""
    return integer_id(request.match_info["id"], "the device id in the path")


@Parameter("device_id", int, "The device's id.", required=True)
def query_id(request: web.Request) -> int:
    """The query parameter `device_id`."""
    values = request.query.getall("device_id", [])
    if len(values) != 1:
        raise invalid("device_id must be given once" if values else "device_id is missing")
    return integer_id(values[0], "device_id")


@Parameter(
    "wait",
    Annotated[float, Keywords(minimum=0, maximum=LONGEST_WAIT_S, multipleOf=0.001, default=0)],
    "Seconds to wait for the result, in decimal; after that, the attempt continues.",
)
def query_wait(request: web.Request) -> float:
    """The query parameter `wait`, in seconds; 0 if it is not given."""
    text, *again = request.query.getall("wait", ["0"])
    if again or not _SECONDS.fullmatch(text) or float(text) > LONGEST_WAIT_S:
        raise invalid(f"wait must be a number of seconds from 0 to {LONGEST_WAIT_S}")
    return float(text)


@Parameter(
    "when_free",
    SwitchText,
    "`1`: if no adapter is free, let the device wait for one.",
)
def query_when_free(request: web.Request) -> bool:
    """The query parameter `when_free`; False if it is not given."""
    return query_switch(request, "when_free")


@Parameter("wake", SwitchText, "`1`: if its network is not seen, wake the camera within the same attempt.")
def query_wake(request: web.Request) -> bool:
    """The query parameter `wake`; False if it is not given."""
    return query_switch(request, "wake")


def query_switch(request: web.Request, name: str) -> bool:
    """A query parameter that is `1`, `0`, `true` or `false`; False if it is not given."""
    text, *again = request.query.getall(name, ["0"])
    if again or text not in _SWITCH:
        raise invalid(f"{name} must be 0, 1, true or false")
    return _SWITCH[text]


@Parameter("interface", Annotated[str, Keywords(pattern="^[!-.0-~]{1,15}$")], "Only this interface.")
def query_interface(request: web.Request) -> str | None:
    """The query parameter `interface`, if it is given."""
    values = request.query.getall("interface", [])
    if len(values) > 1 or "" in values:
        raise invalid("interface must be given once, as a name")
    return values[0] if values else None


@Parameter(
    "Idempotency-Key",
    Annotated[str, Keywords(pattern=f"^[ -~]{{1,{KEY_LIMIT}}}$")],
    "Repeating a key returns the first result.",
    place="header",
)
def idempotency_key(request: web.Request) -> str | None:
    """The header `Idempotency-Key`, if it is given."""
    values = request.headers.getall("Idempotency-Key", [])
    if not values:
        return None
    key = values[0]
    if len(values) > 1 or not (key.isascii() and key.isprintable() and 1 <= len(key) <= KEY_LIMIT):
        raise invalid(f"Idempotency-Key must be given once, with 1 to {KEY_LIMIT} printable ASCII characters")
    return key


async def json_body(request: web.Request) -> object:
    """The body as JSON, whatever its declared type: UTF-8 (RFC 8259), no duplicate keys, no NaN."""
    return loads(await _body(request), "the body")


async def merge_patch(request: web.Request) -> object:
    """The body of a PATCH as JSON (RFC 7396): of one of `PATCH_TYPES`, or of no declared type."""
    if "Content-Type" in request.headers and request.content_type not in PATCH_TYPES:
        raise Problem(
            UNSUPPORTED_MEDIA_TYPE,
            f"the body must be {' or '.join(PATCH_TYPES)}, and is {request.content_type}",
            headers={"Accept-Patch": ACCEPT_PATCH},
        )
    return await json_body(request)


async def _body(request: web.Request) -> bytes:
    if request.content_length is not None and request.content_length > BODY_LIMIT:
        raise _too_large()
    data = bytearray()
    try:
        async for chunk in request.content.iter_any():
            data += chunk
            if len(data) > BODY_LIMIT:
                raise _too_large()
    except (ClientPayloadError, HttpProcessingError, web.RequestPayloadError, ConnectionError):
        raise invalid("the body cannot be decoded as declared") from None
    return _unpacked(bytes(data), request.headers.get("Content-Encoding", "").strip().lower())


def _unpacked(data: bytes, coding: str) -> bytes:
    """A body without its content coding, at most up to the limit."""
    if coding in ("", "identity"):
        return data
    if coding not in _WINDOW_BITS:
        raise invalid("the body has a content coding that is neither gzip nor deflate")
    machine = zlib.decompressobj(_WINDOW_BITS[coding])
    try:
        plain = machine.decompress(data, BODY_LIMIT + 1)
    except zlib.error:
        raise invalid("the body cannot be decoded as declared") from None
    if len(plain) > BODY_LIMIT:
        raise _too_large()
    if not machine.eof:
        raise invalid("the body cannot be decoded as declared")
    return plain


def _too_large() -> Problem:
    return Problem(PAYLOAD_TOO_LARGE, f"the body is over {BODY_LIMIT // 1024} kB")
