"""The data that a camera that has gone mad sends, in turn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Final


def _json(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


_OVER_HTTP: Final = (
    _json(b"{}"),
    _json(b"[]"),
    _json(b'{"status": {"70": "many", "10": [], "54": 1e999}, "state": {"batteryLevel": "full"}}'),
    _json(b'{"status": NaN, "state": NaN}'),
    _json(b"[" * 10_000),
    _json(b"\xff\xfe\x00"),
    _json(b"no json at all"),
    b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
    b"\x00" * 1000,
    b"220 mail server ready\r\n",
)
_IN_FRAMES: Final = (
    b"\x04\x00\x00\xc8\x00\x02",
    b"\x04\x00\x00\xc8\x00\x02\xff\xff\xff\x80\x00\x00" + b"\xff" * 200,
    b"\x04\x00\x00\xff\xff\x02\x00\x00\x00\x80\x00\x00\x0a\xff\xff\xff\xff\x0f",
    b"\x04\x00\x00\x09\x20\x02\xff\xff\xff\x80\x00\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x09" * 40,
    b"",
)
_FRAMES: Final = (
    *((len(frame) + 4).to_bytes(4, "little") + frame for frame in _IN_FRAMES),
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
)


def garbage_over_http() -> Iterator[bytes]:
    """Answers that make no sense, without an end."""
    return cycle(_OVER_HTTP)


def garbage_in_frames() -> Iterator[bytes]:
    """The same at Insta360's port 6666."""
    return cycle(_FRAMES)
