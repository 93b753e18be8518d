"""Addresses of web servers as people write them."""

from __future__ import annotations

import pytest

from wifimgrd.web_address import listen_address, origin_of, plain_origin


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_a_listen_address_is_host_and_port(text: str, address: tuple[str, int]) -> None:
    assert listen_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "8080", ":8080", "localhost", "::1:80", "[::1]", "a:", "a:-1", "a:65536", "a:８0", "a:00000080"],
)
def test_anything_else_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        listen_address(text)


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("http://Hub.example:80/page?x", "http://hub.example"),
        ("https://hub.example:8443", "https://hub.example:8443"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("null", None),
        ("", None),
        ("http://", None),
        ("http://hub:port", None),
        ("//hub", None),
    ],
)
def test_an_origin_is_scheme_host_and_port(address: str, origin: str | None) -> None:
    assert origin_of(address) == origin


def test_an_origin_that_is_admitted_is_normalised() -> None:
    assert plain_origin("HTTPS://Hub.example:443/") == "https://hub.example"


@pytest.mark.parametrize(
    "origin", ["*", "null", "hub.example", "http://", "http://hub.example/page", "http://a:b"]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(ValueError, match="is not scheme"):
        plain_origin(origin)
