"""Lines before the status line of an HTTP answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.runtime.http_answers import NotHttp, begin_of_answer

LOG = b"gpHttpServer: [04325594][INFO ] conn 0: /gopro/camera/state @civetweb.c:17872\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize("before", [b"", LOG, LOG * 4, b"one\r\n\ttwo\r\n"])
def test_a_few_printable_lines_are_passed_over(before: bytes) -> None:
    assert begin_of_answer(before + ANSWER) == len(before)


@pytest.mark.parametrize("received", [b"", b"H", b"HTTP", LOG, LOG[:10], LOG + b"HTT", LOG * 4 + b"H"])
def test_more_is_needed_until_the_status_line_begins(received: bytes) -> None:
    assert begin_of_answer(received) is None


@pytest.mark.parametrize(
    "received",
    [
        b"\x15\x03\x01\x00\x02",
        b"SSH-2.0-dropbear\r\n" * 40,
        LOG * 5 + ANSWER,
        b"x" * 1024,
        b"x" * 1500 + b"\n" + ANSWER,
        b"caf\xc3\xa9\n" + ANSWER,
        b"one\rtwo\n" + ANSWER,
        b"\x00\n" + ANSWER,
        b"\n" + ANSWER,
        b"ICY 200 OK\r\n\r\n",
        LOG + b"\x16\x03",
    ],
)
def test_other_protocols_are_not_http(received: bytes) -> None:
    with pytest.raises(NotHttp):
        begin_of_answer(received)


@given(
    st.binary(max_size=2000) | st.lists(st.sampled_from([LOG, b"H", b"HTTP/", b"\n", b"\xff"])).map(b"".join)
)
def test_what_is_found_stays_found_whatever_follows(received: bytes) -> None:
    try:
        begin = begin_of_answer(received)
    except NotHttp:
        with pytest.raises(NotHttp):
            begin_of_answer(received + ANSWER)
    else:
        if begin is not None:
            assert begin_of_answer(received + ANSWER) == begin
