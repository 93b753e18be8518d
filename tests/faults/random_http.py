"""Bytes that are HTTP/1.1 and WebSocket, nearly so, or not at all; the same for the same chance."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_ANSWERS: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n3\r\n to\r\n0\r\nX-T: 1\r\n\r\n",
    b"HTTP/1.0 206 Partial Content\r\nContent-Range: bytes 0-4/99\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://192.168.42.1/x/../y?a#b\r\nRefresh: 0; url=/z\r\n"
    b"Link: </a>; rel=next, <b>\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/x; Domain=y; HttpOnly\r\nSet-Cookie: b=2\r\n"
    b"Content-Encoding: gzip\r\nConnection: close, X-A\r\nX-A: 1\r\n\r\n\x1f\x8b\x08\x00",
    b"HTTP/1.1 304 Not Modified\r\nETag: W/\"b\"\r\nContent-Length: 500\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    b"Sec-WebSocket-Accept: x\r\n\r\n\x81\x02hi",
)  # fmt: skip
_NAMES: Final = (
    b"Content-Length", b"Transfer-Encoding", b"Connection", b"Content-Type", b"Set-Cookie", b"Location",
    b"Link", b"Refresh", b"Content-Encoding", b"Upgrade", b"Sec-WebSocket-Accept", b"Sec-WebSocket-Protocol",
    b"Sec-WebSocket-Extensions", b"Sec-WebSocket-Version", b"Date", b"Trailer", b"Keep-Alive", b"Expect",
    b"Host", b"Cookie", b"Range", b"Accept", b"Origin", b"Referer", b"X", b"", b" X", b"X ", b"\xff", b"X\0",
)  # fmt: skip
_VALUES: Final = (
    b"0", b"5", b"-1", b"+5", b"5, 5", b"5, 6", b"0x5", b"99999999999999999999999", b"chunked",
    b"gzip, chunked", b"chunked, chunked", b"identity", b"close", b"keep-alive", b"upgrade", b"websocket",
    b"br",     b"text/html; charset=\xff", b"a=b; Path=/; Expires=x", b"=; ;;", b"//x/..", b"http://[::1", b"http://\xff/",
    b"</a>; rel=\"x", b"0; url='", b"\x00", b"\x0b", b"a\rb", b"a\nb", b"", b" ", b"\t", b"bytes=0-,-1",
    b"permessage-deflate; server_max_window_bits=99", b"x" * 9000, b"\xc3\xa4" * 100, b"a;" * 500,
    b"," * 2000, b"100-continue",
)  # fmt: skip
_FIRST_LINES: Final = (
    b"HTTP/1.1 200 OK", b"HTTP/1.1 200", b"HTTP/1.1 204 No Content", b"HTTP/1.1 304 x", b"HTTP/1.0 200 OK",
    b"HTTP/1.1 100 Continue", b"HTTP/1.1 101 x", b"HTTP/1.1 199 x", b"HTTP/1.1 999 x", b"HTTP/1.1 099 x",
    b"HTTP/1.1 000 x", b"HTTP/1.1 20 x", b"HTTP/1.1 2000 x", b"HTTP/1.1 -20 x", b"HTTP/2.0 200 OK",
    b"HTTP/9.9 200 OK", b"HTTP/1.1  200 OK", b"HTTP/1.1\t200 OK", b"http/1.1 200 OK", b"ICY 200 OK",
    b"HTTP/1.1 200 \x00", b"HTTP/1.1 200 \xff\xfe", b"HTTP/1.1 200 a\rb", b"HTTP/1.1 \xb2\xb2\xb2 OK", b"",
    b"RTSP/1.0 200 OK", b"HTTP/1.1 401 " + b"x" * 8000, b"\x16\x03\x01\x02", b"PRI * HTTP/2.0",
)  # fmt: skip
_METHODS: Final = (
    b"GET",
    b"HEAD",
    b"POST",
    b"PUT",
    b"PATCH",
    b"DELETE",
    b"OPTIONS",
    b"TRACE",
    b"CONNECT",
    b"G\xff",
)
_PATHS: Final = (
    b"/", b"/a/../b", b"/%00", b"/%", b"/%2e%2e/x", b"//x/y", b"/?", b"/?a=%ff&b", b"/#a", b"/\\x",
    b"/" + b"a" * 9000, b"/\xff", b"/" + b"?" * 99, b"/;a=b", b"/:@[]", b"/%c3%28", b"/*",
)  # fmt: skip
_ENDLESS: Final = (
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    (b"", b"HTTP/1.1 199 x\r\nX: y\r\n\r\n"),
    (b"HTTP/1.1 200 ", b"x"),
    (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 4096),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"x" * 4096),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"HTTP/1.1 200 OK\r\n\r\n"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a=b;"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"0\r\n\r\n"),
    (b"HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", b"x" * 4096),
    (b"", b"\r\n"),
    (b"", b"\0"),
)  # fmt: skip
_ENDLESS_FRAMES: Final = (
    (b"", b"\x89\x04ping"),
    (b"", b"\x8a\x04pong"),
    (b"", b"\x81\x05hello"),
    (b"", b"\x82\x00"),
    (b"\x01\x01a", b"\x00\x01a"),
    (b"\x02\x00", b"\x00\x00"),
    (b"\x02\x00", b"\x00\x7e\x10\x00" + b"x" * 4096),
    (b"\x82\x7f\x00\x00\x00\x00\xff\xff\xff\xff", b"x" * 4096),
    (b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", b"x" * 4096),
    (b"\x88\x02\x03\xe8", b"\x88\x02\x03\xe8"),
)  # fmt: skip


def frame(opcode: int, payload: bytes, *, first: int = 0x80, masked: bool = False, claims: int = -1) -> bytes:
    """A frame of RFC 6455, or what looks like one: `claims` is the length that it pretends to have."""
    length = len(payload) if claims < 0 else claims
    mask = 0x80 if masked else 0
    if length < 126:
        head = bytes([first | opcode, mask | length])
    elif length < 1 << 16:
        head = bytes([first | opcode, mask | 126]) + struct.pack(">H", length)
    else:
        head = bytes([first | opcode, mask | 127]) + struct.pack(">Q", length)
    return head + (bytes(4) if masked else b"") + payload


@dataclass(frozen=True, slots=True)
class RandomHttp:
    """Makes bytes, and pieces of them."""

    chance: random.Random

    def answer(self) -> bytes:
        """An answer of a camera: right, mutated, put together at random, or noise."""
        match self.chance.choices(("right", "mutated", "made up", "noise"), (1, 4, 4, 1))[0]:
            case "right":
                return self.chance.choice(_ANSWERS)
            case "mutated":
                return self._mutated(self.chance.choice(_ANSWERS))
            case "made up":
                return self._message(self.chance.choice(_FIRST_LINES[: 1 if self._one_of(2) else None]))
        return self.chance.randbytes(self.chance.choice((1, 20, 5000)))

    def request(self, path: bytes, host: bytes) -> bytes:
        """A request of a client below `path`: right, mutated, or put together at random."""
        line = b"%s %s%s HTTP/1.1\r\nHost: %s" % (self.chance.choice(_METHODS), path, self._path(), host)
        match self.chance.choices(("plain", "body", "mutated", "made up"), (2, 2, 3, 4))[0]:
            case "plain":
                return line + b"\r\n\r\n"
            case "body" if self._one_of(2):
                return line + b"\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n"
            case "body":
                return line + b"\r\nContent-Length: 5\r\n\r\nhello"
            case "mutated":
                return self._mutated(line + b"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        return self._message(line)

    def frames(self, *, masked: bool) -> bytes:
        """Some frames: right ones, ones that break the rules, and noise between them."""
        made = bytearray()
        for _ in range(self.chance.randint(1, 8)):
            if self._one_of(2):
                made += frame(self.chance.choice((1, 2)), b"hello", masked=masked)
                continue
            payload = self.chance.randbytes(self.chance.choice((0, 1, 2, 125, 126, 5000, 70000)))
            made += frame(
                self.chance.choice((0, 0, 1, 1, 2, 2, 8, 9, 10, 3, 11, 15)),
                payload,
                first=self.chance.choice((0x80, 0x80, 0x80, 0, 0, 0xC0, 0xF0)),
                masked=masked ^ (self._one_of(10)),
                claims=self.chance.choice((-1,) * 9 + (0, 126, 1 << 16, 1 << 22, 1 << 40, (1 << 63) - 1)),
            )
            if self._one_of(8):
                made += self.chance.randbytes(self.chance.randint(1, 9))
        return bytes(made)

    def endless(self, *, in_frames: bool = False) -> tuple[bytes, bytes]:
        """How something without an end begins, and what repeats."""
        return self.chance.choice(_ENDLESS_FRAMES if in_frames else _ENDLESS)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """The bytes as they are sent: at once, or cut anywhere."""
        at = 0
        while at < len(data):
            size = len(data) if self._one_of(2) else self.chance.choice((1, 2, 7, 100, 4096))
            yield data[at : at + size]
            at += size

    def _one_of(self, count: int) -> bool:
        return self.chance.randrange(count) == 0

    def _path(self) -> bytes:
        return self.chance.choice(_PATHS) if self._one_of(2) else b"/"

    def _message(self, first_line: bytes) -> bytes:
        """A first line with any fields and any body."""
        ends = (b"\r\n",) * 12 + (b"\n", b"\r", b"\r\r\n", b"\r\n ")
        made = bytearray(first_line + b"\r\n")
        for _ in range(self.chance.choice((0, 1, 2, 3, 5, 8, 200))):
            made += self.chance.choice(_NAMES) + self.chance.choice((b": ", b": ", b": ", b":", b"", b" : "))
            made += self.chance.choice(_VALUES) + self.chance.choice(ends)
        return bytes(made + b"\r\n" + self._body())

    def _body(self) -> bytes:
        if self._one_of(2):
            return self.chance.randbytes(self.chance.choice((0, 5, 5, 3000)))
        sizes = (
            b"5",
            b"5;a",
            b"05",
            b"5 ",
            b" 5",
            b"0x5",
            b"-5",
            b"+5",
            b"",
            b"G",
            b"fffffffffffffffff",
            b"6",
            b"0",
        )
        chunks = (self.chance.choice(sizes) + b"\r\nhello\r\n" for _ in range(self.chance.randint(1, 4)))
        return b"".join(chunks) + self.chance.choice((b"0\r\n\r\n", b"0\r\n", b"", b"0\r\nX: y\r\n\r\n"))

    def _mutated(self, data: bytes) -> bytes:
        """Some bytes changed, lost, repeated or moved."""
        made = bytearray(data)
        for _ in range(self.chance.randint(1, 6)):
            at = self.chance.randrange(len(made) + 1)
            end = at + self.chance.choice((1, 1, 2, 8, 40))
            match self.chance.choice(("change", "special", "lose", "repeat", "many", "cut")):
                case "change" if at < len(made):
                    made[at] = self.chance.randrange(256)
                case "special":
                    special = (
                        b"\r",
                        b"\n",
                        b"\r\n",
                        b"\0",
                        b":",
                        b" ",
                        b"\t",
                        b";",
                        b",",
                        b"\x80",
                        b"\r\n\r\n",
                    )
                    made[at:at] = self.chance.choice(special)
                case "lose":
                    del made[at:end]
                case "repeat":
                    made[at:at] = made[at:end]
                case "many" if at < len(made):
                    made[at:at] = made[at:end] * self.chance.choice((10, 500, 3000))
                case "cut" if self._one_of(4):
                    del made[at:]
        return bytes(made)
