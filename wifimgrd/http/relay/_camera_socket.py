"""The camera's side of a WebSocket (RFC 6455). wsproto has the frames: https://python-hyper.org/projects/wsproto/."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
from collections.abc import AsyncIterator, Sequence
from typing import Final, Self

from multidict import CIMultiDict
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage
from wsproto.frame_protocol import LOCAL_ONLY_CLOSE_REASONS, CloseReason
from wsproto.utilities import LocalProtocolError

from wifimgrd.http._client import HttpBroken, HttpConnection
from wifimgrd.http.front.framing import PIECE_BYTES

MESSAGE_BYTES: Final = 4 * 2**20
"""Bytes of a message, from the camera or to it."""
_EVENTS_AT_ONCE: Final = 64
"""Frames that are parsed before others have their turn."""
_ACCEPTED: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, 1.3."""


class CameraSocket:
    """An open WebSocket to a camera."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes, protocol: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = Connection(ConnectionType.CLIENT, trailing_data=first)
        self.protocol = protocol
        """The one of those offered that the camera has chosen; empty = none."""
        self.is_closed = False
        """Whether the camera has closed."""
        self.close_code: int | None = None
        """The code with which it has, or that of a message that is too long; None = neither, or no code."""

    @classmethod
    async def open(
        cls, connection: HttpConnection, target: str, headers: CIMultiDict[str], offered: Sequence[str]
    ) -> Self:
        """Change the protocol of a connection; raises as `HttpConnection.request`."""
        key = base64.b64encode(os.urandom(16))
        asked = CIMultiDict(headers)
        asked.update(
            {
                "Upgrade": "websocket",
                "Connection": "Upgrade",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": key.decode(),
            }
        )
        if offered:
            asked["Sec-WebSocket-Protocol"] = ", ".join(offered)
        answer = await connection.request("GET", target, asked)
        if answer.status != 101:
            raise HttpBroken(f"it does not open a WebSocket, but answers {answer.status}")
        accepted = base64.b64encode(hashlib.sha1(key + _ACCEPTED, usedforsecurity=False).digest())
        said = answer.headers.get("Sec-WebSocket-Accept", "").encode(errors="replace")
        protocol = answer.headers.get("Sec-WebSocket-Protocol", "")
        is_websocket = answer.headers.get("Upgrade", "").lower() == "websocket"
        if not is_websocket or not hmac.compare_digest(said, accepted):
            raise HttpBroken("its answer opens no WebSocket")
        if (protocol and protocol not in offered) or "Sec-WebSocket-Extensions" in answer.headers:
            raise HttpBroken("its WebSocket has a protocol or an extension that was not offered")
        return cls(*connection.switched(), protocol)

    async def messages(self) -> AsyncIterator[str | bytes]:
        """The messages until one side closes; one that is too long closes this side. Raises OSError."""
        held = bytearray()
        count = 0
        while True:
            for event in self._frames.events():
                count += 1
                if not count % _EVENTS_AT_ONCE:
                    await asyncio.sleep(0)
                match event:
                    case TextMessage() | BytesMessage():
                        held += event.data.encode() if isinstance(event.data, str) else event.data
                        if len(held) > MESSAGE_BYTES:
                            self.close_code = CloseReason.MESSAGE_TOO_BIG
                            await self._send(CloseConnection(code=self.close_code))
                            return
                        if event.message_finished:
                            yield held.decode() if isinstance(event, TextMessage) else bytes(held)
                            held.clear()
                    case Ping():
                        await self._send(event.response())
                    case CloseConnection():
                        self.is_closed = True
                        self.close_code = None if event.code in LOCAL_ONLY_CLOSE_REASONS else event.code
                        await self._send(event.response())
                        return
            raw = await self._reader.read(PIECE_BYTES)
            if not raw:
                self.is_closed = True
                return
            self._frames.receive_data(raw)
            await asyncio.sleep(0)  # what is there already is read without one, and others have their turn

    async def send(self, message: str | bytes) -> None:
        """Send a message; nothing once one side has closed. Raises OSError."""
        await self._send(TextMessage(message) if isinstance(message, str) else BytesMessage(message))

    async def close(self, code: int) -> None:
        """Close, and wait until the camera has; the caller limits the time. Raises OSError."""
        await self._send(CloseConnection(code=code))
        while not self.is_closed:
            async for _ in self.messages():
                pass

    async def _send(self, event: Event) -> None:
        try:
            self._writer.write(self._frames.send(event))
        except LocalProtocolError:  # it is closed
            return
        await self._writer.drain()
