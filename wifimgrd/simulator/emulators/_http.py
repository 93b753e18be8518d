"""Emulated cameras over HTTP: a small HTTP/1.1 server on one stream, and what faulty cameras answer."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, unquote

from wifimgrd.simulator.emulators._camera import EmulatedCamera
from wifimgrd.simulator.emulators._garbage import garbage_over_http

_BODY_LIMIT: Final = 65_536
_HEADERS_LIMIT: Final = 64
_QUERY_LIMIT: Final = 64
_REQUEST_S: Final = 30.0
"""How long a connection may take for its next request."""
_END_OF_HEAD: Final = b"\r\n\r\n"
_FILE_TYPE: Final = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"
_PIECE: Final = bytes(8_192)


@dataclass(frozen=True, slots=True)
class Request:
    """A request, its body whole."""

    method: str
    path: str
    """Decoded, without the query."""
    raw_query: str
    query: Mapping[str, str]
    """Of a key that is repeated, the last value."""
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """An answer in JSON, or in XML as it is sent."""

    content: object = field(default_factory=dict)
    """A text is XML."""
    status: int = HTTPStatus.OK


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer without a length: pieces in a steady pace, until there are no more or the client leaves."""

    content_type: str
    piece: Callable[[], bytes]
    """The next piece; empty: the stream has ended."""
    interval_s: float


@dataclass(frozen=True, slots=True)
class Video:
    """The file of a recording: it begins as an MP4 does, and is empty from there on."""

    size: int
    """Bytes."""

    def pieces(self) -> Iterator[bytes]:
        """All of it, piece by piece."""
        media = b"\0\0\0\x01mdat" + max(0, self.size - len(_FILE_TYPE)).to_bytes(8, "big")
        head = (_FILE_TYPE + media)[: self.size]
        yield head
        for sent in range(len(head), self.size, len(_PIECE)):
            yield _PIECE[: self.size - sent]


class _BadRequest(Exception):
    def __init__(self, status: HTTPStatus) -> None:
        self.status = status
        super().__init__(status.phrase)


_Answer = Callable[[Request], Response | Stream | Video | bytes | None]


class HttpEmulator(ABC):
    """Serves a camera over HTTP, at each of its ports alike."""

    def __init__(self, camera: EmulatedCamera) -> None:
        self._camera = camera
        self._garbage = garbage_over_http()

    async def serve(
        self,
        port: int,  # noqa: ARG002 - all answer alike
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Serve one connection until it ends."""
        await _serve(reader, writer, self._answer_or_fault)

    @property
    def answers(self) -> bool:
        """Whether the camera answers at all."""
        return self._camera.answers

    def _answer_or_fault(self, request: Request) -> Response | Stream | Video | bytes | None:
        if not self.answers:
            return None
        if self._camera.garbage:
            return next(self._garbage)
        answer = self._answer(request)
        return answer if self.answers else None

    @abstractmethod
    def _answer(self, request: Request) -> Response | Stream | Video:
        """The camera's answer to a request."""


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: _Answer) -> None:
    """Answer the requests of one connection, one after the other, until it ends: bytes are sent as they are,
    None is not answered. Bytes that are not a request are answered with a status, which ends the
    connection."""
    try:
        while True:
            async with asyncio.timeout(_REQUEST_S):
                request = await _read(reader)
            if request is None:
                return
            answered = answer(request)
            if answered is None:
                continue
            if isinstance(answered, Stream):
                await _send(writer, answered)
                continue
            if isinstance(answered, Video):
                await _send_video(writer, answered)
                continue
            writer.write(answered if isinstance(answered, bytes) else _encoded(answered))
            async with asyncio.timeout(_REQUEST_S):
                await writer.drain()
            if request.headers.get("connection", "").lower() == "close":
                return
    except _BadRequest as bad:
        writer.write(_encoded(Response({"error": bad.status.phrase}, bad.status), closes=True))
    except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
        return


async def _send(writer: asyncio.StreamWriter, stream: Stream) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {stream.content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    is_open = True
    while is_open:
        piece = stream.piece()
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))  # an empty one is the end
        async with asyncio.timeout(_REQUEST_S):
            await writer.drain()
        if is_open := bool(piece):
            await asyncio.sleep(stream.interval_s)


async def _send_video(writer: asyncio.StreamWriter, video: Video) -> None:
    writer.write(
        f"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: {video.size}\r\n\r\n".encode()
    )
    for piece in video.pieces():
        writer.write(piece)
        async with asyncio.timeout(_REQUEST_S):
            await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """The next request; None where the connection has ended between two."""
    try:
        head = await reader.readuntil(_END_OF_HEAD)
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise _BadRequest(HTTPStatus.BAD_REQUEST) from None
        return None
    except asyncio.LimitOverrunError:
        raise _BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.partition(" ")
    if not method.isalpha() or not target.startswith("/") or version not in {"HTTP/1.0", "HTTP/1.1"}:
        raise _BadRequest(HTTPStatus.BAD_REQUEST)
    if len(lines) > _HEADERS_LIMIT:
        raise _BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    headers = dict(_headers(lines))
    if "transfer-encoding" in headers:
        raise _BadRequest(HTTPStatus.NOT_IMPLEMENTED)
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise _BadRequest(HTTPStatus.BAD_REQUEST)
    if len(length) > len(str(_BODY_LIMIT)) or int(length) > _BODY_LIMIT:
        raise _BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    body = await reader.readexactly(int(length))
    path, _, raw_query = target.partition("?")
    try:
        query = dict(parse_qsl(raw_query, keep_blank_values=True, max_num_fields=_QUERY_LIMIT))
    except ValueError:
        raise _BadRequest(HTTPStatus.BAD_REQUEST) from None
    return Request(method, unquote(path, errors="replace"), raw_query, query, headers, body)


def _headers(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise _BadRequest(HTTPStatus.BAD_REQUEST)
        yield name.lower(), value.strip()


def _encoded(response: Response, *, closes: bool = False) -> bytes:
    is_xml = isinstance(response.content, str)
    body = str(response.content).encode() if is_xml else json.dumps(response.content).encode()
    if response.status == HTTPStatus.NO_CONTENT:
        body = b""
    head = [
        f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
        "Content-Type: text/xml" if is_xml else "Content-Type: application/json;charset=utf-8",
        f"Content-Length: {len(body)}",
        *(["Connection: close"] if closes else []),
    ]
    return "\r\n".join([*head, "", ""]).encode() + body
