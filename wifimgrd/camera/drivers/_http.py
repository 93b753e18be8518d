"""HTTP/1.1 to cameras (RFC 9112): requests, and a strict parser of answers with bounds.

No redirect is followed, no other encoding than chunked is taken, and a byte that nobody has asked for ends
the connection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from wifimgrd.camera.drivers.protocol import Answer, Nonsense, Parser, Push, Request
from wifimgrd.runtime.http_answers import NotHttp, begin_of_answer

HEAD_BYTES: Final = 16 * 1024
BODY_BYTES: Final = 256 * 1024
"""The largest answer, if the request does not allow a larger one: a GoPro's whole state has some 6 kB."""
_FIELDS: Final = 100
_CHUNK_LINE: Final = 256
"""Bytes of the line before a chunk."""
_INTERIM: Final = 4
"""Answers with 1xx before the final one."""
_WITHOUT_BODY: Final = (204, 304)
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\x00-\x08\x0a-\x1f\x7f]*)?")
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")
_LENGTH: Final = re.compile(rb"[0-9]{1,9}")
_CHUNK: Final = re.compile(rb"0*([0-9A-Fa-f]{1,6})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?")


def get(host: str, target: str, most_bytes: int = 0) -> Request:
    """A GET; `most_bytes` as Request has them."""
    head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n\r\n"
    return Request(head.encode(), most_bytes=most_bytes)


def post(host: str, target: str, content: Mapping[str, object], fields: Mapping[str, str]) -> Request:
    """A POST of a JSON object."""
    body = json.dumps(content, separators=(",", ":")).encode() if content else b""
    head = {"Host": host, **fields, "Content-Length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return Request(f"POST {target} HTTP/1.1\r\n{lines}\r\n".encode() + body)


_Step = Callable[[], bool]


class HttpParser(Parser):
    """Parses answers, one for each `expect`."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._body = bytearray()
        self._step: _Step | None = None
        """The next step of the parser, which returns false if it needs more bytes; None between answers."""
        self._status = 0
        self._left = 0
        """Of the body or the chunk."""
        self._interim = 0
        self._is_complete = False
        self._most = BODY_BYTES

    def expect(self, most_bytes: int = 0) -> None:
        """A request was sent; raises Nonsense if an answer is due already."""
        if self._step is not None or not self.is_reusable:
            raise Nonsense("the last answer is not over")
        self._most = most_bytes or BODY_BYTES
        self._step = self._before_head
        self._interim = 0

    def feed(self, data: bytes) -> Sequence[Answer | Push]:
        """Add bytes; raises Nonsense."""
        self._buffer += data
        while self._step is not None and self._step():
            if self._is_complete:
                return [self._answer()]
        if self._step is None and self._buffer:
            raise Nonsense("the camera sent an answer that nobody has asked for")
        return ()

    def end(self) -> Answer | None:
        """The connection has ended: the answer whose end that is."""
        self.is_reusable = False
        return self._answer() if self._step == self._until_closed else None

    def _answer(self) -> Answer:
        answer = Answer(self._status, bytes(self._body))
        self._body.clear()
        self._step, self._is_complete = None, False
        if self._buffer:
            raise Nonsense("the camera sent more than its answer")
        return answer

    def _line(self, limit: int) -> bytes | None:
        """The next line without its end."""
        end = self._buffer.find(b"\n", 0, limit)
        if end < 0:
            if len(self._buffer) >= limit:
                raise Nonsense("the camera sent a line without an end")
            return None
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        return line

    def _before_head(self) -> bool:
        try:
            begin = begin_of_answer(bytes(self._buffer[:HEAD_BYTES]))
        except NotHttp:
            raise Nonsense("what the camera sent is not an HTTP answer") from None
        if begin is None:
            return False
        del self._buffer[:begin]
        self._step = self._head
        return True

    def _head(self) -> bool:
        window = self._buffer[:HEAD_BYTES]
        ends = [at + len(end) for end in (b"\r\n\r\n", b"\n\n") if (at := window.find(end)) >= 0]
        if not ends:
            if len(window) == HEAD_BYTES:
                raise Nonsense("the head of the camera's answer is too large")
            return False
        first, *lines = bytes(window[: min(ends)]).replace(b"\r\n", b"\n").removesuffix(b"\n\n").split(b"\n")
        del self._buffer[: min(ends)]
        status = _STATUS_LINE.fullmatch(first)
        if status is None or len(lines) > _FIELDS:
            raise Nonsense("what the camera sent is not an HTTP answer")
        self._take_head(int(status[2]), _fields(lines), is_newer=status[1] == b"1")
        return True

    def _take_head(self, status: int, fields: Mapping[bytes, Sequence[bytes]], *, is_newer: bool) -> None:
        if status < 200:
            self._interim += 1
            if status == 101 or self._interim > _INTERIM:
                raise Nonsense("the camera does not come to an answer")
            return
        self._status = status
        options = _tokens(fields, b"connection")
        self.is_reusable = b"close" not in options and (is_newer or b"keep-alive" in options)
        encodings = _tokens(fields, b"transfer-encoding")
        lengths = _tokens(fields, b"content-length")
        if status in _WITHOUT_BODY:
            self._is_complete = True
        elif encodings:
            if encodings != [b"chunked"] or lengths:
                raise Nonsense("the camera's answer has a length that is not clear")
            self._step = self._chunk_line
        elif lengths:
            self._left = _length(lengths)
            if self._left > self._most:
                raise Nonsense("the camera's answer is too large")
            self._step = self._content
            self._is_complete = self._left == 0
        else:
            self.is_reusable = False
            self._step = self._until_closed

    def _content(self) -> bool:
        self._take(self._left)
        self._is_complete = self._left == 0
        return self._is_complete

    def _until_closed(self) -> bool:
        self._take(len(self._buffer))
        return False

    def _take(self, size: int) -> None:
        piece = self._buffer[:size]
        if len(self._body) + len(piece) > self._most:
            raise Nonsense("the camera's answer is too large")
        self._body += piece
        self._left = max(0, self._left - len(piece))
        del self._buffer[: len(piece)]

    def _chunk_line(self) -> bool:
        line = self._line(_CHUNK_LINE)
        if line is None:
            return False
        size = _CHUNK.fullmatch(line)
        if size is None:
            raise Nonsense("the camera's answer has a chunk without a length")
        self._left = int(size[1], 16)
        if len(self._body) + self._left > self._most:
            raise Nonsense("the camera's answer is too large")
        self._step = self._chunk if self._left else self._trailer
        self._interim = 0
        return True

    def _chunk(self) -> bool:
        self._take(self._left)
        if self._left:
            return False
        self._step = self._chunk_end
        return True

    def _chunk_end(self) -> bool:
        line = self._line(2)
        if line:
            raise Nonsense("the camera's answer has a chunk of another length")
        if line is not None:
            self._step = self._chunk_line
        return line is not None

    def _trailer(self) -> bool:
        line = self._line(HEAD_BYTES)
        if line is None:
            return False
        self._interim += 1
        if self._interim > _FIELDS:
            raise Nonsense("the camera's answer has too many fields")
        self._is_complete = not line
        return True


def _fields(lines: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]:
    found: dict[bytes, list[bytes]] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Nonsense("the head of the camera's answer is malformed")
        found.setdefault(name.lower(), []).append(value)
    return found


def _tokens(fields: Mapping[bytes, Sequence[bytes]], name: bytes) -> list[bytes]:
    """The elements of the lists under a name, in lower case."""
    joined = b",".join(fields.get(name, ()))
    return [token.strip().lower() for token in joined.split(b",") if token.strip()]


def _length(lengths: Sequence[bytes]) -> int:
    if len(set(lengths)) != 1 or not _LENGTH.fullmatch(lengths[0]):
        raise Nonsense("the camera's answer has a length that is not clear")
    return int(lengths[0])
