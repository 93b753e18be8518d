"""The header fields of a request that a camera gets, and those of its answer that the client gets: those
that its use needs, with references to the camera changed to point below its prefix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from multidict import CIMultiDict

from wifimgrd.http.relay._references import CameraPage

_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""RFC 9110, 7.6.1."""
_OURS: Final = frozenset(
    {
        "host", "expect", "cookie", "origin", "referer", "forwarded", "authorization", "x-csrftoken",
        "x-csrf-token", "x-xsrf-token", "x-api-key", "via",
    }
)  # fmt: skip
"""Of a request: fields only for this service."""
_OUR_PREFIXES: Final = ("sec-", "x-forwarded-", "cf-", "x-real-")
_PASSED_ON: Final = frozenset(
    {
        "accept-ranges", "age", "allow", "cache-control", "content-disposition", "content-encoding",
        "content-language", "content-length", "content-range", "content-type", "date", "etag", "expires",
        "last-modified", "pragma", "retry-after", "vary",
    }
)  # fmt: skip
"""Of an answer: all other fields would affect this service's address, or a proxy in front of it."""
_SANDBOX: Final = "sandbox"
"""A camera's page has the address of this service, and must not have its permissions."""
_TOKEN: Final = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def to_camera(headers: Mapping[str, str], address: str, device_id: int) -> CIMultiDict[str]:
    """The fields of a request that the camera gets: no credentials, and no cookies but its own."""
    dropped = _HOP_BY_HOP | _OURS | _named_by_connection(headers)
    kept = CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if name.lower() not in dropped and not name.lower().startswith(_OUR_PREFIXES) and _is_plain(value)
    )
    if cookies := "; ".join(_own_cookies(headers, device_id)):
        kept["Cookie"] = cookies
    kept["Host"] = address
    return kept


def from_camera(headers: Mapping[str, str], page: CameraPage, device_id: int) -> CIMultiDict[str]:
    """The fields of a camera's answer that the client gets; a reference that leads elsewhere is left out."""
    dropped = _named_by_connection(headers)
    if "Transfer-Encoding" in headers:  # it overrides the length: RFC 9112, 6.3
        dropped.add("content-length")
    kept: CIMultiDict[str] = CIMultiDict()
    for name, value in headers.items():
        lower = name.lower()
        passed: str | None = None
        if lower in dropped or not _is_plain(value):
            continue
        match lower:
            case "location" | "content-location":
                passed = page.location(value)
            case "link":
                passed = page.links(value)
            case "set-cookie":
                passed = _cookie_within(value, page, device_id)
            case _ if lower in _PASSED_ON:
                passed = value
        if passed:
            kept.add(name, passed)
    kept["Content-Security-Policy"] = _SANDBOX
    kept["Referrer-Policy"] = "no-referrer"
    return kept


def reason_of(text: str | None) -> str | None:
    """The reason phrase of a camera's status, if it can be sent on; None = the standard phrase."""
    return text if text and text.isascii() and text.isprintable() else None


def cookie_prefix(device_id: int) -> str:
    """The prefix of the names of a camera's cookies at the client."""
    return f"wifimgrd_camera_{device_id}_"


def _is_plain(value: str) -> bool:
    """Whether a value can be sent: no control characters, valid text."""
    return value.replace("\t", " ").isprintable()


def _named_by_connection(headers: Mapping[str, str]) -> set[str]:
    return {name.strip().lower() for name in _split(headers, "Connection", ",")}


def _own_cookies(headers: Mapping[str, str], device_id: int) -> Iterator[str]:
    prefix = cookie_prefix(device_id)
    for cookie in _split(headers, "Cookie", ";"):
        name, equals, value = cookie.strip().partition("=")
        own = name.removeprefix(prefix)
        if equals and own and own != name and _is_plain(value):
            yield f"{own}={value}"


def _split(headers: Mapping[str, str], name: str, sign: str) -> Iterable[str]:
    return (one for field in CIMultiDict(headers.items()).getall(name, []) for one in field.split(sign))


def _cookie_within(cookie: str, page: CameraPage, device_id: int) -> str | None:
    """A cookie only for this camera's prefix, under a name of its own; None if it is invalid."""
    pair, *attributes = (part.strip() for part in cookie.split(";"))
    own, equals, content = (part.strip() for part in pair.partition("="))
    if not equals or not own or not set(own) <= _TOKEN:
        return None
    path = "/"
    kept = []
    for attribute in attributes:
        name, _, value = attribute.partition("=")
        match name.strip().lower():
            case "path":
                path = value.strip() if value.strip().startswith("/") else "/"
            case "domain" | "secure":
                continue
            case _:
                kept.append(attribute)
    if page.secure:
        kept.append("Secure")
    return "; ".join([f"{cookie_prefix(device_id)}{own}={content}", f"Path={page.prefix}{path}", *kept])
