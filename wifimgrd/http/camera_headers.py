"""Which header fields of a request a camera gets, and which of its answer come back: all that concern the two
ends, with what points at the camera made to point below its prefix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from multidict import CIMultiDict

from wifimgrd.http.access_token import COOKIE

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
_OURS: Final = frozenset({"host", "expect", "cookie", "origin", "referer", "forwarded"})
_OUR_PREFIXES: Final = ("sec-", "x-forwarded-")
_SANDBOX: Final = "sandbox"
"""A camera's page has the address of this service, and must not have its rights."""


def to_camera(headers: Mapping[str, str], address: str, *, with_token: bool) -> CIMultiDict[str]:
    """The fields of a request that the camera gets; nobody's token is among them."""
    dropped = _HOP_BY_HOP | _OURS | _named_by_connection(headers)
    kept = CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if name.lower() not in dropped and not name.lower().startswith(_OUR_PREFIXES)
    )
    if with_token:
        kept.popall("Authorization", None)
    cookies = [
        cookie
        for field in CIMultiDict(headers.items()).getall("Cookie", [])
        for cookie in (one.strip() for one in field.split(";"))
        if cookie and cookie.partition("=")[0].strip() != COOKIE
    ]
    if cookies:
        kept["Cookie"] = "; ".join(cookies)
    kept["Host"] = address
    return kept


def from_camera(headers: Mapping[str, str], address: str, prefix: str) -> CIMultiDict[str]:
    """The fields of a camera's answer that the client gets. A `Location` elsewhere is left out."""
    dropped = _HOP_BY_HOP | {"content-security-policy"} | _named_by_connection(headers)
    kept: CIMultiDict[str] = CIMultiDict()
    for name, value in headers.items():
        match name.lower():
            case lower if lower in dropped or lower.startswith("access-control-"):
                continue
            case "location" | "content-location":
                if (place := _within(value, address, prefix)) is not None:
                    kept.add(name, place)
            case "set-cookie":
                kept.add(name, _cookie_within(value, prefix))
            case _:
                kept.add(name, value)
    kept["Content-Security-Policy"] = _SANDBOX
    return kept


def _named_by_connection(headers: Mapping[str, str]) -> set[str]:
    return {
        name.strip().lower()
        for field in CIMultiDict(headers.items()).getall("Connection", [])
        for name in field.split(",")
    }


def _within(location: str, address: str, prefix: str) -> str | None:
    """Where a camera's own address is found here; None of another's."""
    try:
        parts = urlsplit(location)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme or parts.netloc:
        if parts.hostname != address or port not in (None, 80) or parts.scheme not in ("", "http"):
            return None
        path = parts.path or "/"
    elif not location.startswith("/"):
        return location  # beside the address that was asked for
    else:
        path = parts.path
    query = f"?{parts.query}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{prefix}{path}{query}{fragment}"


def _cookie_within(cookie: str, prefix: str) -> str:
    """A cookie for this camera's prefix alone."""
    pair, *attributes = (part.strip() for part in cookie.split(";"))
    path = "/"
    kept = []
    for attribute in attributes:
        name, _, value = attribute.partition("=")
        match name.strip().lower():
            case "path":
                path = value.strip() if value.strip().startswith("/") else "/"
            case "domain":
                continue
            case _:
                kept.append(attribute)
    return "; ".join([pair, f"Path={prefix}{path}", *kept])
