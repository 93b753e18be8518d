"""A TCP connection to a camera: one request at a time, and what the camera sends by itself, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wifimgrd.camera.conversations import Clock
from wifimgrd.camera.drivers.protocol import MICROSECONDS, Answer, Nonsense, Parser, Push, Request

_BUFFER_BYTES: Final = 8 * 1024
"""Read at once; without it asyncio reads 256 kB."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How much a camera may send, and how long everything may take, in seconds; tests have shorter times."""

    idle_s: float = 10.0
    """From one read of the state to the next."""
    recording_s: float = 2.0
    """The same while it records."""
    clock_s: float = 600.0
    """From one series of questions for the time to the next."""
    clock_questions: int = 30
    """The most of a series, of a camera that answers late, or whose clock is set meanwhile."""
    shortest_s: float = 1.0
    """The shortest time between two reads, whatever the camera pushes."""
    first_pause_s: float = 1.0
    """After a read that failed; the pauses double."""
    longest_pause_s: float = 30.0
    open_s: float = 10.0
    answer_s: float = 5.0
    prepare_s: float = 4.0
    """How long the others wait for a camera that answers before a command is sent to all."""
    silent_s: float = 1.5
    """How long those that are ready wait for one that does not answer."""
    keep_alive_s: float = 2.0
    margin_s: float = 0.5
    """By how much a command ends before its caller's limit."""
    bytes_per_s: int = 64 * 1024
    """That are read from one camera; the rest waits. The largest answer still comes in time, also one whose
    request allows more."""
    pushes_per_s: int = 10
    """That are looked at."""
    unsent_bytes: int = 16 * 1024
    """That a camera may leave unread."""


class ConnectionEnded(Exception):
    """The camera has ended the connection without an answer; `heard` if it had begun one."""

    def __init__(self, *, heard: bool) -> None:
        super().__init__("the camera closed the connection")
        self.heard = heard


class Connection(asyncio.BufferedProtocol):
    """Used once it is connected: `send`, then `answer`."""

    def __init__(
        self,
        parser: Parser,
        clock: Clock,
        steady: Clock,
        limits: SessionLimits,
        on_push: Callable[[Push | None], None],
        on_end: Callable[[], None],
    ) -> None:
        """`on_push` is called with None for those that are not looked at; `on_end` when the camera has ended
        the connection, or has sent nonsense, while nobody waits for an answer."""
        self._parser = parser
        self._clock = clock
        self._steady = steady
        self._limits = limits
        self._on_push = on_push
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._number = 0
        self._sent_s = 0.0
        self._heard = False
        self.has_answered = False
        """Whether the camera has answered a request here."""
        self._is_over = False
        self._buffer = bytearray(_BUFFER_BYTES)
        self._second_s = 0.0
        """The begin of the second in which these are counted."""
        self._bytes = 0
        self._bytes_per_s = limits.bytes_per_s
        self._pushes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._resuming: asyncio.TimerHandle | None = None

    @property
    def is_usable(self) -> bool:
        """Whether a request can be sent."""
        return self._transport is not None and not self._is_over and self._parser.is_reusable

    def open(self, hello: bytes, keep_alive: bytes) -> None:
        """Send the first bytes, and the keep-alive again and again."""
        self._write(hello)
        if keep_alive:
            self._timer = self._loop.call_later(self._limits.keep_alive_s, self._keep_alive, keep_alive)

    def _keep_alive(self, data: bytes) -> None:
        self._write(data)
        if not self._is_over:
            self._timer = self._loop.call_later(self._limits.keep_alive_s, self._keep_alive, data)

    def _write(self, data: bytes) -> None:
        if self._transport is None or self._is_over:
            return
        if self._transport.get_write_buffer_size() > self._limits.unsent_bytes:
            self._finish(ConnectionEnded(heard=False))
        elif data:
            self._transport.write(data)

    def send(self, request: Request) -> None:
        """Send a request at once; raises Nonsense if the last one is not answered."""
        self._waiter = self._loop.create_future()
        if self._is_over:
            self._fail_waiter(ConnectionEnded(heard=False))
            return
        self._parser.expect(request.most_bytes)
        self._bytes_per_s = max(self._limits.bytes_per_s, request.most_bytes)
        self._number = request.number
        self._heard = False
        self._sent_s = self._loop.time()
        self._write(request.data)

    async def answer(self) -> Answer:
        """The answer to the last request; raises ConnectionEnded, Nonsense, TimeoutError."""
        if self._waiter is None:
            raise ConnectionEnded(heard=False)
        async with asyncio.timeout_at(self._sent_s + self._limits.answer_s):
            return await self._waiter

    def close(self) -> None:
        """End it."""
        self._is_over = True
        for timer in (self._timer, self._resuming):
            if timer is not None:
                timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        if self._waiter is not None:
            self._waiter.cancel()

    # -- what comes in

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The transport is there."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - as documented for TCP
        self._transport = transport

    def get_buffer(self, sizehint: int) -> bytearray:
        """Where the next bytes go."""
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse, and read no faster than the limit."""
        if self._is_over:
            return
        self._heard = True
        self._count(nbytes)
        try:
            for one in self._parser.feed(bytes(memoryview(self._buffer)[:nbytes])):
                self._take(one)
        except Nonsense as error:
            self._finish(error)

    def _count(self, size: int) -> None:
        now_s = self._loop.time()
        if now_s - self._second_s >= 1:
            self._second_s, self._bytes, self._pushes = now_s, 0, 0
        self._bytes += size
        if self._bytes > self._bytes_per_s and self._transport is not None:
            self._transport.pause_reading()
            self._resuming = self._loop.call_at(self._second_s + 1, self._transport.resume_reading)

    def _take(self, one: Answer | Push) -> None:
        if isinstance(one, Push):
            self._pushes += 1
            self._on_push(one if self._pushes <= self._limits.pushes_per_s else None)
        elif self._waiter is not None and not self._waiter.done() and one.number == self._number:
            took_us = round((self._loop.time() - self._sent_s) * MICROSECONDS)
            self._waiter.set_result(one.timed(self._clock(), took_us, self._steady()))

    def eof_received(self) -> bool:
        """The camera sends no more."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The camera has ended the connection, or this side has."""
        if self._is_over:
            return
        try:
            last = None if exc is not None else self._parser.end()
        except Nonsense as error:
            self._finish(error)
            return
        if last is not None:
            self._take(last)
        self._finish(ConnectionEnded(heard=self._heard))

    def _finish(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        self.close()
        self._waiter = waiter
        if waiter is None or waiter.done():
            self._on_end()
        else:
            self._fail_waiter(error)

    def _fail_waiter(self, error: Exception) -> None:
        if self._waiter is not None:
            self._waiter.set_exception(error)
            self._waiter.exception()  # who waits may be gone: then it is nobody's
