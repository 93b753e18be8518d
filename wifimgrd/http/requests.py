"""What a request says, read with care: ids, waits, keys and JSON bodies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from wifimgrd.dbus.client.json_types import Keywords
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.description.operations import parameter
from wifimgrd.http.problems import PAYLOAD_TOO_LARGE, Problem

BODY_LIMIT: Final = 64 * 1024
"""Octets of a request body, after it is unpacked."""
LONGEST_WAIT_S: Final = 120
KEY_LIMIT: Final = 255

_INTEGER: Final = re.compile(r"-?[0-9]+")
_SECONDS: Final = re.compile(r"[0-9]{1,10}(\.[0-9]{1,30})?")
_NO_DEVICE: Final = 0
"""An id that is never given."""


def invalid(detail: str, members: Mapping[str, Any] | None = None) -> Problem:
    """A request that breaks the rules."""
    return Problem(ErrorCode.INVALID_REQUEST, detail, members=members)


def integer_id(text: str, name: str) -> int:
    """The id that a text in ASCII decimal says; any integer is a question that has an answer,
    if only that there is no such device."""
    if not _INTEGER.fullmatch(text):
        raise invalid(f"{name} must be an integer")
    return int(text) if len(text) <= 20 else _NO_DEVICE


@parameter("id", int, "The device's id.", place="path", required=True)
def path_id(request: web.Request) -> int:
    """The device id in the path."""
    return integer_id(request.match_info["id"], "the device id in the path")


@parameter("device_id", int, "The device's id.", required=True)
def query_id(request: web.Request) -> int:
    """The query parameter `device_id`."""
    values = request.query.getall("device_id", [])
    if len(values) != 1:
        raise invalid("device_id must be given once" if values else "device_id is missing")
    return integer_id(values[0], "device_id")


@parameter(
    "wait",
    Annotated[float, Keywords(minimum=0, maximum=LONGEST_WAIT_S, multipleOf=0.001, default=0)],
    "Seconds to wait for the outcome, in decimal; where they run out the attempt goes on.",
)
def query_wait(request: web.Request) -> float:
    """The query parameter `wait`, in seconds; 0 where it is not given."""
    text, *again = request.query.getall("wait", ["0"])
    if again or not _SECONDS.fullmatch(text) or float(text) > LONGEST_WAIT_S:
        raise invalid(f"wait must be a number of seconds from 0 to {LONGEST_WAIT_S}")
    return float(text)


@parameter("interface", Annotated[str, Keywords(pattern="^[!-.0-~]{1,15}$")], "This interface alone.")
def query_interface(request: web.Request) -> str | None:
    """The query parameter `interface`, where it is given."""
    values = request.query.getall("interface", [])
    if len(values) > 1 or "" in values:
        raise invalid("interface must be given once, as a name")
    return values[0] if values else None


@parameter(
    "Idempotency-Key",
    Annotated[str, Keywords(pattern=f"^[ -~]{{1,{KEY_LIMIT}}}$")],
    "A repeat of the same key answers with the first result.",
    place="header",
)
def idempotency_key(request: web.Request) -> str | None:
    """The header `Idempotency-Key`, where it is there."""
    values = request.headers.getall("Idempotency-Key", [])
    if not values:
        return None
    key = values[0]
    if len(values) > 1 or not (key.isascii() and key.isprintable() and 1 <= len(key) <= KEY_LIMIT):
        raise invalid(f"Idempotency-Key must be given once, with 1 to {KEY_LIMIT} printable ASCII characters")
    return key


async def json_body(request: web.Request) -> Any:
    """The body as JSON, whatever its declared type: UTF-8 (RFC 8259), no key twice, no NaN."""
    octets = await _body(request)
    try:
        return json.loads(octets.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise invalid("the body is nested too deeply") from None
    except UnicodeDecodeError:
        raise invalid("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise invalid(f"the body is not JSON: {error.msg}, at character {error.pos}") from None
    except ValueError:
        raise invalid("the body holds a number out of bounds") from None


async def _body(request: web.Request) -> bytes:
    if request.content_length is not None and request.content_length > BODY_LIMIT:
        raise _too_large()
    octets = bytearray()
    try:
        async for chunk in request.content.iter_any():
            octets += chunk
            if len(octets) > BODY_LIMIT:
                raise _too_large()
    except (ClientPayloadError, HttpProcessingError, web.RequestPayloadError, ConnectionError):
        raise invalid("the body cannot be read as it was announced") from None
    return bytes(octets)


def _too_large() -> Problem:
    return Problem(PAYLOAD_TOO_LARGE, f"the body is over {BODY_LIMIT // 1024} kB")


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise invalid("the body names a member twice")
    return members


def _no_constant(_: str) -> Any:
    raise invalid("the body holds NaN or Infinity, which JSON does not have")
