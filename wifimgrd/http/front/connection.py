"""One connection of a client, from its first byte on: what aiohttp gets of it, and when it is closed."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import BinaryIO, Final, cast

from aiohttp import web

from wifimgrd.http.front._frames import FrameRate
from wifimgrd.http.front._refusals import answer_to
from wifimgrd.http.front.door import FrontDoor, ShortWay
from wifimgrd.http.front.framing import (
    HEAD_BYTES,
    PIECE_BYTES,
    Body,
    Head,
    Refused,
    end_of_head,
    parse_head,
    without_upgrade,
)
from wifimgrd.http.front.transport import FrontTransport, Written

IDLE_S: Final = 75.0
"""The shortest time after which a connection without a request, or one whose client does not read, is closed;
the default of nginx."""
RECEIVE_S: Final = 20.0
"""The time within which a request has to be complete, once a part of it was received."""
HANDSHAKE_S: Final = 10.0
"""The time limit of a TLS handshake."""
UNSENT_BYTES: Final = 1 << 16
"""Bytes that wait for a client, beyond which no more are written: with TLS the same as without it, where
asyncio would allow eight times as many."""
_SOON_S: Final = 1.0
_THROWN_AWAY: Final = 1 << 20
"""Bytes that are discarded before a connection that is about to be closed is reset."""
_TO_BEGIN: Final = 3
"""Runs of the loop until aiohttp's task has begun, and in it that of the first request, which is earlier no
state in which it can lose its connection."""
_ENDED_S: Final = 900.0
"""The longest time for an answer to a client that has closed its sending side: that it has gone shows only
when something is sent to it."""
_POLICY_VIOLATION: Final = b"\x88\x02\x03\xf0"
"""The close frame with the code 1008 (RFC 6455, 7.4.1)."""
_CR: Final = 13
_CONTINUE, _SWITCHING = b" 100 ", b" 101 "
"""Bytes 8 to 13 of answers."""

_read = memoryview(bytearray(PIECE_BYTES))
"""Where the loop puts what it reads, of one connection after the other."""


class _State(Enum):
    HANDSHAKE = "TLS is not up yet"
    HEAD = "waiting for a request, or for the end of its head"
    BODY = "the end of a body is missing"
    ANSWER = "a complete request is being answered"
    UPGRADE = "another protocol was requested"
    FRAMES = "a WebSocket"
    ENDING = "what is received is discarded, until the client has read all"


class FrontConnection(asyncio.BufferedProtocol):
    """One connection."""

    __slots__ = (
        "_app", "_begun", "_body", "_discarded_body", "_door", "_ended", "_frames", "_handshake",
        "_has_answer", "_input", "_is_last", "_is_writing_paused", "_last_used", "_loop", "_on_gone", "_raw",
        "_seen", "_short_way", "_state", "_thrown_away", "_timer", "_transport", "_unsent",
        "is_closing", "is_held", "is_sending_file", "is_surplus",
    )  # fmt: skip

    def __init__(self, door: FrontDoor) -> None:
        self._door = door
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._raw: asyncio.Transport
        """The same without TLS."""
        self._app: web.RequestHandler | None = None
        """aiohttp's part, from the first request on that is for it."""
        self._short_way: ShortWay | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._state = _State.HEAD
        self._input = bytearray()
        """The bytes received and not passed on."""
        self._seen = 0
        """Bytes of it in which there is no end of a head."""
        self._body = Body(Head())
        self._is_last = False
        """The client wants no answer after the next one."""
        self._frames: FrameRate | None = None
        self._begun: float | None = None
        """Since when a request is incomplete."""
        self._last_used = 0.0
        self._unsent = (0, 0.0)
        """The number of bytes that the client has not read, and since when it is the same."""
        self._thrown_away = 0
        self._discarded_body: Body | None = None
        self._has_answer = False
        """aiohttp has begun to answer the last request."""
        self._ended = False
        """The client has closed its sending side, and may still read answers."""
        self._is_writing_paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._on_gone: Callable[[], None] | None = None
        self.is_held = False
        """aiohttp wants nothing more for now."""
        self.is_closing = False
        self.is_sending_file = False
        """By sendfile(2), on the transport."""
        self.is_surplus = False
        """There are too many connections: requests on this one are refused."""

    # -- what the loop reports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection; with TLS begin the handshake only then."""
        self._transport = self._raw = cast("asyncio.Transport", transport)
        self._last_used = self._loop.time()
        peer = transport.get_extra_info("peername")
        if not self._door.limits.add(self, str(peer[0]) if isinstance(peer, tuple) else ""):
            self.evict()
            return
        if self._door.tls is None:
            self._begin()
        else:
            self._state = _State.HANDSHAKE
            self._transport.pause_reading()
            self._handshake = self._loop.create_task(self._start_tls(self._door.tls))

    async def _start_tls(self, tls: ssl.SSLContext) -> None:
        try:
            upgraded = await self._loop.start_tls(
                self._raw,
                self,
                tls,
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_S,
                ssl_shutdown_timeout=RECEIVE_S,
            )
            if upgraded is None:
                raise ConnectionResetError("the client has gone")
            upgraded.set_write_buffer_limits(UNSENT_BYTES)
            self._transport = upgraded
        except (OSError, asyncio.CancelledError):  # ssl.SSLError and TimeoutError are OSErrors
            self._raw.abort()
            self._forget()
            return
        if self.is_closing:  # meanwhile
            self._transport.abort()
        else:
            self._begin()

    def _begin(self) -> None:
        self._state = _State.HEAD
        if self._door.short_ways is not None:
            self._short_way = self._door.short_ways(self._transport)
        self._timer = self._loop.call_at(self._last_used + IDLE_S, self._check)
        if self._input:  # it came with the end of the handshake
            self._go_on()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the connection, and end what is being done for it."""
        self._forget()
        # asyncio's TLS keeps methods of this object. With the way back, its buffers would stay until Python
        # looks for cycles, and connections come faster than that.
        self._transport, self._short_way = self._raw, None
        if self._on_gone is not None:
            self._on_gone()
        self._end_app(exc)

    def _forget(self) -> None:
        self.is_closing = True
        self._door.limits.remove(self)
        self._door.budget.hold(self, 0, self.evict)
        self._input.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_app(self, error: BaseException | None) -> None:
        app, self._app = self._app, None
        if app is not None:
            self._end_app_after(_TO_BEGIN, app, error)

    def _end_app_after(self, runs: int, app: web.RequestHandler, error: BaseException | None) -> None:
        if runs:
            self._loop.call_soon(self._end_app_after, runs - 1, app, error)
        else:
            app.connection_lost(error)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the loop puts the next piece."""
        del sizehint
        return _read

    def buffer_updated(self, nbytes: int) -> None:
        """A piece has come."""
        self._door.limits.touch(self)
        data = bytes(_read[:nbytes])
        state = self._state
        is_whole = data.find(b"\r\n\r\n") == nbytes - 4 > 0
        if is_whole and state is _State.HEAD and not self._input and data[0] != _CR:
            if not self._goes_short_way(data):
                self._take_alone(data)
        elif state is _State.ENDING:
            self._discard(data)
        else:
            self._input += data
            self._go_on()

    def eof_received(self) -> bool | None:
        """Complete the answers for a client that has closed its sending side; one without an end is ended."""
        is_next = self._state is _State.HEAD and self._seen < len(self._input)
        is_busy = is_next or (self._state is _State.ANSWER and self._on_gone is None)
        if not is_busy or self._is_tls:  # TLS closes both directions together
            return None
        self._ended = True
        self._last_used = self._loop.time()
        return True

    def pause_writing(self) -> None:
        """The client does not read."""
        self._is_writing_paused = True
        if self._app is not None:
            self._app.pause_writing()

    def resume_writing(self) -> None:
        """It does."""
        self._is_writing_paused = False
        if self._app is not None:
            self._app.resume_writing()

    # -- requests

    def _take_alone(self, head: bytes) -> None:
        """Take a head that nothing has followed yet, for the application."""
        try:
            self._take_request(head)
        except Refused as refusal:
            self._refuse(refusal)
        if self._input or self._state is _State.BODY:
            self._account()

    def _goes_short_way(self, head: bytes) -> bool:
        if self._short_way is None or self.is_surplus or self._is_writing_paused or self.is_closing:
            return False
        answer = self._short_way(head)
        if answer is False:
            return False
        self._last_used = self._loop.time()
        if answer is not True:
            self._state = _State.ANSWER

            def ended(has_answered: bool) -> None:
                if self.is_closing:
                    return
                if has_answered:
                    self.answered()
                else:
                    self._take_alone(head)

            answer(ended)
        return True

    def _go_on(self) -> None:
        """Pass on what aiohttp takes now, one piece at a time."""
        if self.is_closing:
            return
        try:
            if self._state is _State.HEAD:
                self._take_head()
            if self._input and not self.is_held:
                if self._state is _State.BODY:
                    self._take_body()
                elif self._state is _State.FRAMES:
                    self._take_frames()
        except Refused as refusal:
            self._refuse(refusal)
        self._account()

    def _take_head(self) -> None:
        while self._input.startswith(b"\r\n"):  # RFC 9112, 2.2
            del self._input[:2]
            self._seen = 0
        end = end_of_head(self._input, self._seen)
        if not end:
            self._seen = len(self._input)
            if self._ended:
                self.close()
            return
        head = bytes(self._input[:end])
        del self._input[:end]
        self._seen = 0
        self._begun = None
        if not self._goes_short_way(head):
            self._take_request(head)
        elif self._state is _State.HEAD and (self._input or self._ended):
            self._loop.call_soon(self._go_on)

    def _take_request(self, data: bytes) -> None:
        head = parse_head(data)
        self._body = Body(head)
        self._is_last = head.is_last
        self._has_answer = False
        if head.has_other_upgrade:
            data = without_upgrade(data)
        if head.is_upgrade:
            self._state = _State.UPGRADE
        else:
            self._state = _State.ANSWER if self._body.is_complete else _State.BODY
        self._pass_on(data)

    def _take_body(self) -> None:
        body = self._body
        piece = bytes(self._input[:PIECE_BYTES])
        taken = body.take(piece)
        del self._input[:taken]
        if body.is_complete:
            self._state = _State.ANSWER
        elif self._input:
            self._loop.call_soon(self._go_on)
        self._pass_on(piece[:taken])

    def _pass_on(self, data: bytes) -> None:
        if self._app is None:
            self._app = self._door.server()
            self._app.connection_made(FrontTransport(self, self._transport))
            if self._is_writing_paused:
                self._app.pause_writing()
        self._app.data_received(data)

    def _account(self) -> None:
        """Read more or not, and since when something is missing."""
        if self.is_closing or self._state is _State.HANDSHAKE:
            return
        size = len(self._input)
        waits = self._state not in (_State.HEAD, _State.BODY) or self.is_held
        if (waits and size >= PIECE_BYTES) or size > HEAD_BYTES:
            if self._transport.is_reading():
                self._transport.pause_reading()
        elif not self._transport.is_reading():
            self._transport.resume_reading()
        self._door.budget.hold(self, size, self.evict)
        if self._state is _State.BODY or (self._state is _State.HEAD and size):
            if self._begun is None:
                self._begun = self._loop.time()
                self._set_timer(self._begun + RECEIVE_S)
        else:
            self._begun = None

    # -- what aiohttp says

    def answered(self) -> None:
        """The last request is answered."""
        self._last_used = self._loop.time()
        if self.is_closing:
            return
        if self._is_last or self._state is _State.BODY or self.is_held:  # none of the rest is wanted
            self.close()
        elif self._state in (_State.ANSWER, _State.UPGRADE):
            self._state = _State.HEAD
            self._has_answer = False
            if self._input or self._ended:
                self._loop.call_soon(self._go_on)  # aiohttp may close the connection before
            else:
                self._begun = None

    def is_taken(self, data: Written) -> bool:
        """Whether something that aiohttp writes can still be written."""
        if self.is_closing:
            return False
        if not self._has_answer:
            code = bytes(data[8:13])
            self._has_answer = code != _CONTINUE
            if self._state is _State.UPGRADE and code == _SWITCHING:
                self._state = _State.FRAMES
                self._frames = FrameRate(self._loop.time())
                self._loop.call_soon(self._go_on)
        return True

    def hold(self, is_held: bool) -> None:
        """Aiohttp wants nothing more for now, or does again."""
        if is_held == self.is_held:
            return
        self.is_held = is_held
        if is_held:
            self._account()
        else:
            self._loop.call_soon(self._go_on)

    def call_when_closed(self, handler: Callable[[], None]) -> None:
        """For an answer without an end: call `handler` when the connection is closed, which it is as soon as
        the client closes its sending side."""
        self._on_gone = handler
        if self._ended:
            self._loop.call_soon(self.evict)

    async def send_file(self, file: BinaryIO, offset: int, count: int) -> int:
        """Send a part of a file by sendfile(2), and return how many bytes. Raises as `loop.sendfile`."""
        self.is_sending_file = True
        try:
            return await self._loop.sendfile(self._transport, file, offset, count)
        finally:
            self.is_sending_file = False

    # -- a WebSocket

    def _take_frames(self) -> None:
        data = bytes(self._input)
        self._input.clear()
        if self._frames is not None and not self._frames.is_kept(data, self._loop.time()):
            self._transport.write(_POLICY_VIOLATION)
            self._end_discarding(None)
        elif self._app is not None:
            self._app.data_received(data)

    # -- the end

    def _refuse(self, refusal: Refused) -> None:
        """Answer that the bytes are not a request, unless another answer is being written, and close."""
        if not self._has_answer:
            self._transport.write(answer_to(refusal))
        self._end_discarding(None)

    def close(self) -> None:
        """Close once everything is sent."""
        if self.is_closing:
            return
        if self.is_sending_file:
            self.evict()
        elif self._state is _State.BODY:
            self._end_discarding(self._body)
        else:
            self._end()
            self._transport.close()

    def _end(self) -> None:
        self.is_closing = True
        self._state = _State.ENDING
        self._input.clear()
        self._end_app(None)

    def _end_discarding(self, body: Body | None) -> None:
        """Close when the client has sent the rest of a body, or after a moment: it may read the answer only
        then, and a reset would discard that."""
        rest = bytes(self._input)
        self._end()
        self._discarded_body = body
        try:
            if body is None and self._transport.can_write_eof():
                self._transport.write_eof()
        except OSError:  # the client has gone
            self._transport.abort()
            return
        if not self._transport.is_reading():
            self._transport.resume_reading()
        self._set_timer(self._loop.time() + _SOON_S)
        self._discard(rest)

    def _discard(self, data: bytes) -> None:
        self._thrown_away += len(data)
        if self._thrown_away > _THROWN_AWAY:
            self._transport.abort()
        elif (body := self._discarded_body) is not None:
            with suppress(Refused):
                body.take(data)
                if body.is_complete:
                    self._discarded_body = None
                    self._transport.close()

    def evict(self) -> None:
        """Close the connection at once."""
        self.is_closing = True
        if self._handshake is not None:
            self._handshake.cancel()
        if self.is_sending_file:
            # The loop waits for its socket, and would go on with that of the next connection.
            with suppress(OSError):
                self._transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        else:
            self._transport.abort()

    @property
    def is_receiving(self) -> bool:
        """Whether the end of the body of the last request is missing."""
        return self._state is _State.BODY

    @property
    def is_evictable(self) -> bool:
        """Whether no complete request is being handled, and all answers are written."""
        if self._state is _State.HANDSHAKE:
            return True
        is_idle = self._state in (_State.HEAD, _State.BODY, _State.ENDING)
        return is_idle and not self._unsent_bytes

    @property
    def _unsent_bytes(self) -> int:
        size = self._transport.get_write_buffer_size()
        return size if self._raw is self._transport else size + self._raw.get_write_buffer_size()

    @property
    def _is_tls(self) -> bool:
        return self._door.tls is not None

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = self._loop.call_at(when, self._check)

    def _check(self) -> None:
        """Close the connection if it is not used; otherwise set the timer for the next check."""
        if self._timer is None:
            return
        now = self._loop.time()
        size = self._unsent_bytes
        if size != self._unsent[0]:
            self._unsent = (size, now)
        is_idle = self._state is _State.HEAD and not size
        if (
            (size and now - self._unsent[1] >= IDLE_S)
            or (self._begun is not None and now - self._begun >= RECEIVE_S)
            or (self._state is _State.ENDING and not size)
            or (is_idle and now - self._last_used >= IDLE_S)
            or (self._ended and now - self._last_used >= _ENDED_S)
        ):
            self.evict()
            return
        if self._state is _State.ENDING:
            due = now + _SOON_S
        elif self._begun is not None:
            due = self._begun + RECEIVE_S
        else:
            due = self._last_used + IDLE_S if is_idle else now + IDLE_S
        self._timer = self._loop.call_at(due, self._check)
