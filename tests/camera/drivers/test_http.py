"""HTTP answers: what is taken, what is refused, and that nothing else happens."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wifimgrd.camera.drivers._http import BODY_BYTES, HEAD_BYTES, HttpParser, get, post
from wifimgrd.camera.drivers.protocol import Answer, Nonsense

OK = b"HTTP/1.1 200 OK\r\n"
LOG = b"gpHttpServer: [04325594][INFO ] conn 0: /gopro/camera/state @civetweb.c:17872\n"
"""A HERO12 with firmware 1.30 writes that first."""
LONG = b"x" * (BODY_BYTES + 1)


def parse(data: bytes, *, ends: bool = False) -> tuple[HttpParser, Answer | None]:
    parser = HttpParser()
    parser.expect()
    found = list(parser.feed(data))
    if ends and not found:
        found = [last for last in [parser.end()] if last is not None]
    assert len(found) <= 1
    answer = found[0] if found else None
    assert answer is None or isinstance(answer, Answer)
    return parser, answer


def test_requests_are_those_of_http() -> None:
    assert get("10.5.5.9:8080", "/gopro/camera/state").data == (
        b"GET /gopro/camera/state HTTP/1.1\r\nHost: 10.5.5.9:8080\r\nAccept: application/json\r\n\r\n"
    )
    assert post("192.168.1.1", "/osc/state", {}, {"X-A": "1"}).data == (
        b"POST /osc/state HTTP/1.1\r\nHost: 192.168.1.1\r\nX-A: 1\r\nContent-Length: 0\r\n\r\n"
    )
    assert post("h", "/x", {"name": "é"}, {}).data.endswith(b'Content-Length: 17\r\n\r\n{"name":"\\u00e9"}')


@pytest.mark.parametrize(
    ("data", "code", "body", "is_reusable"),
    [
        (OK + b"Content-Length: 2\r\n\r\n{}", 200, b"{}", True),
        (OK + b"content-length:2, 2\r\n\r\n{}", 200, b"{}", True),
        (b"HTTP/1.1 200\nContent-Length: 2\n\n{}", 200, b"{}", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}", True),
        (OK + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}", False),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;a=b\r\n}\r\n0\r\n\r\n", 200, b"{}", True),
        (OK + b"Transfer-Encoding: Chunked\r\n\r\n02\r\n{}\r\n0\r\nTrailer: x\r\n\r\n", 200, b"{}", True),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n00000002\r\n{}\r\n00000000\r\n\r\n", 200, b"{}", True),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n%064x\r\n{}\r\n0\r\n\r\n" % 2, 200, b"{}", True),
        (LOG + OK + b"Content-Length: 2\r\n\r\n{}", 200, b"{}", True),
        (LOG * 4 + OK + b"Content-Length: 2\r\n\r\n{}", 200, b"{}", True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n", 200, b"", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 302 Found\r\nLocation: http://192.168.1.2/\r\nContent-Length: 0\r\n\r\n", 302, b"", True),
        (b"HTTP/1.1 500 X\r\nContent-Length: 1\r\n\r\nx", 500, b"x", True),
    ],
)
def test_answers_with_an_end(data: bytes, code: int, body: bytes, is_reusable: bool) -> None:
    for size in (1, 3, len(data)):
        parser = HttpParser()
        parser.expect()
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        *before, last = [list(parser.feed(piece)) for piece in pieces]
        assert not any(before)
        assert last == [Answer(code, body)]
        assert parser.is_reusable is is_reusable


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    parser, answer = parse(OK + b"\r\n{}")
    assert answer is None
    assert parser.end() == Answer(200, b"{}")
    assert not parser.is_reusable


@pytest.mark.parametrize(
    "data",
    [
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 O\x00K\r\n\r\n",
        b"HTTP/1.1 999 X\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 100 X\r\n\r\n" * 6,
        OK + b"No colon\r\n\r\n",
        OK + b"Folded: a\r\n b\r\n\r\n",
        OK + b"Space : a\r\n\r\n",
        OK + b"A: b\x01\r\n\r\n",
        OK + b"A: b\r\n" * 101 + b"\r\n",
        OK + b"A: " + b"x" * HEAD_BYTES,
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: 1e3\r\n\r\n",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
        OK + b"Content-Length: 262145\r\n\r\n",
        OK + b"Content-Length: 99999999999999999999\r\n\r\n",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n40001\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n00000040001\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 256 + b"\r\n",
        LOG * 5 + OK + b"Content-Length: 0\r\n\r\n",
        b"\x15\x03\x01\x00\x02",
        b"SSH-2.0-dropbear\r\n" * 5,
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 300,
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * 101,
        OK + b"\r\n" + LONG,
        OK + b"Content-Length: 2\r\n\r\n{}{",
    ],
)
def test_what_no_answer_looks_like_is_refused(data: bytes) -> None:
    with pytest.raises(Nonsense):
        parse(data, ends=True)


@pytest.mark.parametrize("filler", [b" ", b"\t", b"a", b",", b": "])
def test_a_long_head_takes_no_long_time(filler: bytes) -> None:
    began = time.process_time()
    for line in (b"Connection: %s\x01", b"Connection:%s,", b"%s", b"HTTP/1.1 200 %s\x01"):
        filled = line % (filler * (HEAD_BYTES // len(filler) - 50))
        with pytest.raises(Nonsense):
            parse((filled if line.startswith(b"HTTP") else OK + filled) + b"\r\n\x01\r\n\r\n")
    assert time.process_time() - began < 1


def test_bytes_that_nobody_has_asked_for_are_refused() -> None:
    with pytest.raises(Nonsense):
        HttpParser().feed(b"H")
    parser, answer = parse(OK + b"Content-Length: 2\r\n\r\n{}")
    assert answer is not None
    with pytest.raises(Nonsense):
        parser.feed(OK)


def test_one_request_at_a_time() -> None:
    parser, _ = parse(OK)
    with pytest.raises(Nonsense):
        parser.expect()


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: %d\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n%x\r\n", b"\r\n"],
    ids=["length", "chunks", "until closed"],
)
def test_a_request_may_allow_a_larger_answer_of_its_own(head: bytes) -> None:
    data = OK + (head % len(LONG) if b"%" in head else head) + LONG
    with pytest.raises(Nonsense, match="too large"):
        parse(data)
    parser = HttpParser()
    parser.expect(len(LONG))
    found = parser.feed(data + b"\r\n0\r\n\r\n" if b"chunked" in head else data)
    assert (found[0] if found else parser.end()) == Answer(200, LONG)
    if parser.is_reusable:
        parser.expect()
        with pytest.raises(Nonsense, match="too large"):
            parser.feed(data)


PIECES = st.sampled_from(
    [
        OK,
        b"\r\n",
        b"\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"3\r\n",
        b"0\r\n",
        b"abc",
    ]
)


@given(st.lists(PIECES | st.binary(max_size=20), max_size=12), st.booleans())
@example([OK, b"\r\n"], True)
def test_any_bytes_are_an_answer_or_nonsense(pieces: list[bytes], ends: bool) -> None:
    parser = HttpParser()
    parser.expect()
    try:
        for piece in pieces:
            for answer in parser.feed(piece):
                assert isinstance(answer, Answer)
                assert 200 <= answer.code <= 599
        if ends:
            parser.end()
    except Nonsense:
        pass


@given(st.binary(max_size=300), st.lists(st.integers(1, 40), max_size=20), st.integers(1, 30))
def test_any_body_in_any_chunks_and_pieces(body: bytes, sizes: list[int], piece: int) -> None:
    chunks, rest = b"", body
    for size in sizes:
        chunk, rest = rest[:size], rest[size:]
        if chunk:
            chunks += b"%x\r\n%s\r\n" % (len(chunk), chunk)
    chunks += (b"%X\r\n%s\r\n" % (len(rest), rest) if rest else b"") + b"0\r\n\r\n"
    data = OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
    parser = HttpParser()
    parser.expect()
    found = [one for at in range(0, len(data), piece) for one in parser.feed(data[at : at + piece])]
    assert found == [Answer(200, body)]
