"""HTTP/1.1 to a server that is not trusted, a camera or a tile server. h11 parses (https://h11.readthedocs.io/);
the bounds of its answers are those of requests (`front/framing.py`)."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import SplitResult, unquote, urlsplit

import h11
from multidict import CIMultiDict

from wifimgrd.http.front.framing import FRAMING_BYTES, HEAD_BYTES, HEAD_FIELDS, PIECE_BYTES
from wifimgrd.runtime.http_answers import NotHttp, begin_of_answer
from wifimgrd.runtime.streams import open_stream

SILENCE_S: Final = 60.0
"""The longest time without data from the server, before or within an answer."""
HEAD_S: Final = 20.0
"""The time in which a head must be complete, from its first byte."""
_CHUNKS_AT_ONCE: Final = 64
"""Chunks that are parsed before others have their turn."""
_SWITCHING_PROTOCOLS: Final = 101
_PORTS: Final = {"http": 80, "https": 443}


class HttpBroken(Exception):
    """The server has closed the connection before the end, exceeds a bound, or does not speak HTTP."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The head of an answer."""

    status: int
    reason: str
    headers: CIMultiDict[str]


class HttpConnection:
    """A connection to a server, for one request after another. Close it at the end, whatever happened.

    Each method raises HttpBroken, OSError, and TimeoutError after `SILENCE_S` or `HEAD_S`.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self._received = 0
        """Bytes since the beginning of the head, then since that of the body."""
        self._sending: asyncio.Task[None] | None = None
        self._before: bytes | None = None
        """The bytes received until the answer begins; None afterwards."""

    @classmethod
    async def open(
        cls,
        host: str | None = None,
        port: int | None = None,
        *,
        sock: socket.socket | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> Self:
        """Connect as `open_stream` does."""
        return cls(*await open_stream(host, port, limit=PIECE_BYTES, sock=sock, tls=tls))

    @property
    def is_reusable(self) -> bool:
        """Whether the next request can be sent: the last answer is read, and the server has not closed."""
        return not self._reader.at_eof() and self._http.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}

    def close(self) -> None:
        """Close at once."""
        if self._sending is not None:
            self._sending.cancel()
        self._writer.transport.abort()

    async def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: AsyncIterator[bytes] | None = None,
    ) -> Answer:
        """Send a request, and return the head of its answer: 101 only if `headers` ask for another protocol.
        The rest of a body that has an early answer is sent until the connection is closed."""
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        fields = [(name.encode(), value.encode()) for name, value in headers.items()]
        if body is not None and "Content-Length" not in headers:
            fields.append((b"Transfer-Encoding", b"chunked"))
        with _broken():
            head = self._http.send(h11.Request(method=method, target=target, headers=fields))
            self._writer.write(head or b"")
            self._before = b""
            if body is None:
                self._writer.write(self._http.send(h11.EndOfMessage()) or b"")
            else:
                self._sending = asyncio.create_task(self._send_body(body))
        return await self._head()

    async def content(self) -> AsyncIterator[bytes]:
        """The body of the answer, in the pieces in which it is received, however small its chunks are."""
        content = 0
        chunks: list[bytes] = []
        with _broken():
            while True:
                event = self._http.next_event()
                if isinstance(event, h11.Data):
                    chunks.append(event.data)
                    if len(chunks) % _CHUNKS_AT_ONCE == 0:
                        await asyncio.sleep(0)
                    continue
                if chunks:
                    piece = b"".join(chunks)
                    chunks.clear()
                    content += len(piece)
                    yield piece
                if isinstance(event, h11.EndOfMessage):
                    return
                if self._received > FRAMING_BYTES + 2 * content:
                    raise HttpBroken("the framing of its body is larger than its content")
                async with asyncio.timeout(SILENCE_S):
                    await self._receive()

    def switched(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
        """After an answer 101: the streams of the other protocol, and what has been read of it."""
        return self._reader, self._writer, self._http.trailing_data[0]

    async def _head(self) -> Answer:
        self._received = len(self._http.trailing_data[0])
        with _broken():
            async with asyncio.timeout(SILENCE_S) as limit:
                while not isinstance(event := self._http.next_event(), h11.Response):
                    if isinstance(event, h11.InformationalResponse):
                        if event.status_code == _SWITCHING_PROTOCOLS:
                            break
                        continue
                    if self._received > HEAD_BYTES:
                        raise HttpBroken(f"its head is over {HEAD_BYTES // 1024} kB")
                    is_first = not self._received
                    await self._receive()
                    if is_first:
                        limit.reschedule(asyncio.get_running_loop().time() + HEAD_S)
        self._received = len(self._http.trailing_data[0])
        return _answer(event)

    async def _receive(self) -> None:
        raw = await self._reader.read(PIECE_BYTES)
        self._received += len(raw)
        if (taken := self._after_begin(raw)) is not None:
            self._http.receive_data(taken)
        await asyncio.sleep(0)  # what is there already is read without one, and others have their turn

    def _after_begin(self, raw: bytes) -> bytes | None:
        """The bytes received, without the lines before the answer; None while its beginning is not known."""
        if self._before is None:
            return raw
        received = self._before + raw
        try:
            begin = begin_of_answer(received)
        except NotHttp:  # h11 says what is wrong
            begin = 0
        if begin is None and raw:
            self._before = received
            return None
        self._before = None
        return received[begin or 0 :]

    async def _send_body(self, body: AsyncIterator[bytes]) -> None:
        try:
            async for piece in body:
                self._writer.write(self._http.send(h11.Data(data=piece)) or b"")
                await self._writer.drain()
            self._writer.write(self._http.send(h11.EndOfMessage()) or b"")
        except Exception:  # noqa: BLE001 - whoever it is from has gone, or the server: there is no answer then
            self._writer.transport.abort()


class Origin:
    """A server that is asked again and again, over connections that are kept. Close it at the end."""

    def __init__(self, url: str, at_once: int) -> None:
        """`url` is that of any of its resources, http or https."""
        parts = urlsplit(url)
        self._where = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._host = parts.netloc.rpartition("@")[2]
        self._credentials = _credentials(parts)
        self._places = asyncio.Semaphore(at_once)
        self._idle: list[HttpConnection] = []

    @asynccontextmanager
    async def get(
        self, target: str, headers: Mapping[str, str]
    ) -> AsyncIterator[tuple[Answer, AsyncIterator[bytes]]]:
        """The answer to a GET request, and its body; raises HttpBroken, OSError, TimeoutError."""
        asked = {"Host": self._host, **self._credentials, **headers}
        async with self._places:
            connection, answer = await self._answered(target, asked)
            try:
                content = connection.content()
                yield answer, content
                unread = 0  # an error's page, so that the connection can be kept
                async for piece in content:
                    unread += len(piece)
                    if unread > PIECE_BYTES:
                        break
            finally:
                if connection.is_reusable:
                    self._idle.append(connection)
                else:
                    connection.close()

    def close(self) -> None:
        """Close its connections."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _answered(self, target: str, headers: Mapping[str, str]) -> tuple[HttpConnection, Answer]:
        while self._idle:
            kept = self._idle.pop()
            try:
                if kept.is_reusable:
                    return kept, await kept.request("GET", target, headers)
            except (HttpBroken, ConnectionError):  # it has closed it meanwhile
                pass
            except BaseException:
                kept.close()
                raise
            kept.close()
        connection = await HttpConnection.open(*self._where, tls=self._tls)
        try:
            return connection, await connection.request("GET", target, headers)
        except BaseException:
            connection.close()
            raise


def _credentials(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def _answer(head: h11.Response | h11.InformationalResponse) -> Answer:
    fields = head.headers.raw_items()
    size = len(head.reason) + sum(len(name) + len(value) + 4 for name, value in fields)
    if size > HEAD_BYTES or len(fields) > HEAD_FIELDS:
        raise HttpBroken(f"its head is over {HEAD_BYTES // 1024} kB or {HEAD_FIELDS} fields")
    headers = CIMultiDict((_text(name), _text(value)) for name, value in fields)
    return Answer(head.status_code, _text(head.reason), headers)


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


@contextmanager
def _broken() -> Iterator[None]:
    try:
        yield
    except h11.ProtocolError as error:
        raise HttpBroken(str(error)) from None
