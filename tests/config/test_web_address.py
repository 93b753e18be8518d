"""Addresses of web servers as people write them."""

from __future__ import annotations

import pytest

from wifimgrd.config.web_address import (
    MavlinkAddress,
    listen_address,
    mavlink_address,
    origin_of,
    plain_origin,
    web_socket_address,
)


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


@pytest.mark.parametrize(
    ("text", "whole", "origin", "loopback"),
    [
        ("wss://Broker.example", "wss://broker.example/", "wss://broker.example", False),
        ("wss://10.0.0.2:8084/mqtt", "wss://10.0.0.2:8084/mqtt", "wss://10.0.0.2:8084", False),
        ("ws://localhost:9001/", "ws://localhost:9001/", "ws://localhost:9001", True),
        ("ws://127.0.0.2:9001", "ws://127.0.0.2:9001/", "ws://127.0.0.2:9001", True),
    ],
)
def test_a_broker_of_browsers_has_an_origin_and_a_path(
    text: str, whole: str, origin: str, loopback: bool
) -> None:
    address = web_socket_address(text)
    assert (str(address), address.origin, address.is_loopback) == (whole, origin, loopback)


@pytest.mark.parametrize(
    "text",
    [
        *("", "wss://", "broker.example", "https://broker.example", "mqtts://broker.example"),
        *("wss://a@b.example", "wss://a:b@c.example", "wss://a.example?x", "wss://a.example#x"),
        *("wss://a.example:0", "wss://a.example:65536", "wss://a.example:", "wss://[::1]", "wss://ü.example"),
        *(
            "wss://a b",
            "wss://a;b",
            "wss://a'",
            'wss://a/"',
            "wss://a/{root}",
            "wss://*.example",
            "wss://a.example\n",
        ),
    ],
)
def test_what_no_policy_can_name_is_no_broker_of_browsers(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        web_socket_address(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("udpout:127.0.0.1:14550", MavlinkAddress("127.0.0.1", 14550, is_listening=False)),
        ("udpin:[::1]:14560", MavlinkAddress("::1", 14560, is_listening=True)),
        ("udpout:localhost:1", MavlinkAddress("127.0.0.1", 1, is_listening=False)),
    ],
)
def test_an_end_of_a_mavlink_connection(text: str, found: MavlinkAddress) -> None:
    assert mavlink_address(text) == found
    assert found.is_loopback
    assert mavlink_address(str(found)) == found


@pytest.mark.parametrize(
    "text",
    ["", "udpout", "udpout:", "udpout::14550", "udp:127.0.0.1:1", "UDPOUT:127.0.0.1:1", "udpout:a:1",
     "udpout:127.0.0.1:x", "udpout:127.0.0.1:0", "udpin:::1:5", "udpin:127.0.0.1:14550 "],
)  # fmt: skip
def test_what_is_no_end_of_a_mavlink_connection(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        mavlink_address(text)
