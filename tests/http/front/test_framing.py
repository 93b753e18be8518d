"""Where requests end, in whatever pieces they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.http.front.framing import (
    FRAMING_BYTES,
    HEAD_BYTES,
    Body,
    Head,
    Refused,
    end_of_head,
    parse_head,
    without_upgrade,
)

CHUNKED = Head(is_chunked=True)


def head(line: bytes = b"GET / HTTP/1.1", *fields: bytes) -> bytes:
    return b"\r\n".join((line, b"Host: h", *fields, b"", b""))


def chunks(pieces: list[bytes]) -> bytes:
    parts = b"".join(b"%x;a=b\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return parts + b"0\r\n\r\n"


def taken(body: Body, data: bytes, cuts: list[int]) -> int:
    """How many bytes a body has, with these cuts between pieces."""
    at = 0
    for end in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        while at < end and not body.is_complete:
            at += body.take(data[at:end])
    return at


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (head(), Head()),
        (head(b"POST /a?b HTTP/1.0", b"Content-Length: 12"), Head(12, is_last=True)),
        (head(b"POST / HTTP/1.1", b"transfer-ENCODING: Chunked "), CHUNKED),
        (head(b"GET / HTTP/1.1", b"Connection: a", b"connection: x, Upgrade", b"Upgrade: websocket"),
         Head(is_upgrade=True)),
        (head(b"GET / HTTP/1.1", b"Connection: xupgrade", b"Upgrade: websocket"),
         Head(has_other_upgrade=True)),
        (head(b"GET / HTTP/1.1", b"Connection: Upgrade", b"Upgrade: h2c"), Head(has_other_upgrade=True)),
        (head(b"POST / HTTP/1.1", b"Content-Length: 2", b"Connection: Upgrade", b"Upgrade: websocket"),
         Head(2, has_other_upgrade=True)),
        (head(b"GET http://[::1]:80/ HTTP/1.1"), Head()),
        (b"GET / HTTP/1.0\r\n\r\n", Head(is_last=True)),
        (b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", Head()),
        (head(b"GET / HTTP/1.1", b"Connection: x, Close"), Head(is_last=True)),
        (head(b"GET http://h/ HTTP/1.1", b"X-A: \x80", b"X-B:\t"), Head()),
    ],
)  # fmt: skip
def test_what_a_head_says_of_the_end_of_its_request(data: bytes, expected: Head) -> None:
    assert end_of_head(bytearray(data + b"more"), 0) == len(data)
    assert parse_head(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        head(b"GET / HTTP/1.1", b"Host: other"),
        head(b"GET / HTTP/2.0"),
        head(b"GET  / HTTP/1.1"),
        head(b"GET /a b HTTP/1.1"),
        head(b"GET healthz HTTP/1.1"),
        head(b"GET http: HTTP/1.1"),
        head(b"GET http://h:99999/ HTTP/1.1"),
        head(b"GET http://[::1/ HTTP/1.1"),
        head(b"GET http://[:::::]/ HTTP/1.1"),
        head(b"GET /\xff\xfe HTTP/1.1"),
        head(b"CONNECT h:1 HTTP/1.1"),
        head(b"PRI * HTTP/1.1"),
        head(b"get / HTTP/1.1"),
        head(b"POST / HTTP/1.1", b"Content-Length:\t0\t"),
        head(b"G(T / HTTP/1.1"),
        head(b"\x16\x03\x01 / HTTP/1.1"),
        head(b"GET / HTTP/1.1", b"X : y"),
        head(b"GET / HTTP/1.1", b" folded"),
        head(b"GET / HTTP/1.1", b"X: a\rb"),
        head(b"GET / HTTP/1.1", b"X: a\nb"),
        head(b"GET / HTTP/1.1", b"X: a\0b"),
        head(b"GET / HTTP/1.1", b": a"),
        head(b"POST / HTTP/1.1", b"Content-Length: +1"),
        head(b"POST / HTTP/1.1", b"Content-Length: 1, 1"),
        head(b"POST / HTTP/1.1", b"Content-Length: 1", b"Content-Length: 1"),
        head(b"POST / HTTP/1.1", b"Content-Length: 1", b"Transfer-Encoding: chunked"),
        head(b"POST / HTTP/1.1", b"Transfer-Encoding: gzip, chunked"),
        head(b"POST / HTTP/1.1", b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
        head(b"POST / HTTP/1.0", b"Transfer-Encoding: chunked"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(data: bytes) -> None:
    with pytest.raises(Refused) as caught:
        parse_head(data)
    assert caught.value.status == 400


def test_the_wish_for_another_protocol_is_left_out() -> None:
    fields = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMA", b"X: y")
    assert without_upgrade(head(b"GET / HTTP/1.1", *fields)) == head(b"GET / HTTP/1.1", b"X: y")
    last = b"Connection: close"
    assert without_upgrade(head(b"GET / HTTP/1.1", b"Upgrade: h2c", last)) == head(b"GET / HTTP/1.1", last)


@pytest.mark.parametrize(
    "data",
    [
        head(b"GET / HTTP/1.1", *[b"X: y"] * 128),
        head(b"GET / HTTP/1.1", b"X: " + b"y" * 8190),
        head(b"GET /" + b"y" * 8190 + b" HTTP/1.1"),
    ],
)
def test_a_head_is_bounded_in_its_fields_and_lines(data: bytes) -> None:
    with pytest.raises(Refused) as caught:
        parse_head(data)
    assert caught.value.status == 431


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\n", b"GET / HTTP/1.1\r\nHost: h\n\n", b"\n", b"y" * 8193])
def test_no_end_is_waited_for_where_none_can_come(data: bytes) -> None:
    with pytest.raises(Refused):
        end_of_head(bytearray(data), 0)


def test_a_head_without_an_end_is_refused_at_its_limit() -> None:
    data = bytearray(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * (HEAD_BYTES // 6))
    with pytest.raises(Refused) as caught:
        end_of_head(data, 0)
    assert caught.value.status == 431


@given(st.lists(st.integers(0, 200)))
def test_the_end_of_a_head_is_found_in_any_pieces(cuts: list[int]) -> None:
    data = head(b"GET / HTTP/1.1", b"X: y") + b"GET / HT"
    end = data.index(b"\r\n\r\n") + 4
    seen = 0
    for cut in sorted(cut % len(data) for cut in cuts):
        found = end_of_head(bytearray(data[:cut]), seen)
        assert found == (end if cut >= end else 0)
        if not found:
            seen = cut


@given(st.lists(st.binary(min_size=8, max_size=40)), st.lists(st.integers(0, 2000)))
def test_the_end_of_a_chunked_body_is_found_in_any_pieces(pieces: list[bytes], cuts: list[int]) -> None:
    data = chunks(pieces)
    body = Body(CHUNKED)
    assert taken(body, data + b"GET /", cuts) == len(data)
    assert body.is_complete


@given(st.integers(1, 100), st.lists(st.integers(0, 200)))
def test_the_end_of_a_body_is_found_in_any_pieces(length: int, cuts: list[int]) -> None:
    body = Body(Head(length))
    assert taken(body, b"x" * length + b"GET /", cuts) == length
    assert body.is_complete


@pytest.mark.parametrize(
    "data",
    [
        b"x\r\n",
        b"\r\n",
        b"-1\r\n",
        b"5\n",
        b"1\r\nab\r\n",
        b"123456789\r\n",
        b"1 \r\n",
        b"0\r\n:\r\n",
        b"0\r\n x\r\n",
    ],
)
@given(st.lists(st.integers(0, 20)))
def test_what_is_no_chunk_is_refused(data: bytes, cuts: list[int]) -> None:
    with pytest.raises(Refused):
        taken(Body(CHUNKED), data, cuts)


@pytest.mark.parametrize("chunk", [b"1\r\nx\r\n", b"1;" + b"e" * 90 + b"\r\nx\r\n"])
def test_a_body_whose_framing_outweighs_it_is_refused(chunk: bytes) -> None:
    body = Body(CHUNKED)
    body.take(chunk * 4)
    with pytest.raises(Refused, match="framing"):
        body.take(chunk * FRAMING_BYTES)
