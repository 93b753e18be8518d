"""The socket of a message bus: reads and writes, with flow control in both directions.

The library reads as long as there is data to read. So one client that floods the bus delays
all others, and one message of 32 MiB that consists of small values takes a gigabyte and half a
minute. Here a message that is too large is skipped without parsing, each sender's calls wait in a
bounded queue of their own, and the queues are served in turn. Reading pauses while much is unsent.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Final, Protocol

from wifimgrd.bus._framing import CALL, ERROR, REPLY, SIGNAL, Frame, Framing, StreamBroken

CALLS_WAITING: Final = 1024
"""Waiting calls of one sender; dbus-daemon itself allows 128 without reply on a system bus."""
_BYTES_WAITING: Final = 8 << 20
"""Of all waiting calls together."""
_TURN_S: Final = 0.005
"""How long calls are started without a pause for the other work of the event loop."""
_CHUNK: Final = 64 * 1024
_DESCRIPTORS: Final = 16
"""As many as a message may have (dbus-daemon(1), max_message_unix_fds); those to wifimgrd have one."""
_DESCRIPTORS_WAITING: Final = 64
"""Of all waiting calls together."""
_CHUNKS: Final = 16
"""Chunks read without a pause: a caller behind a flood waits until it is read, not until it is answered."""
_WRITTEN_AT_ONCE: Final = 64
"""Messages per write; every system allows more parts (IOV_MAX is 1,024 on Linux)."""
_TURNS: Final = 3
"""Iterations of the event loop before a write: as many as it takes from a change to the caller's reply."""
_MUCH_UNSENT: Final = 1 << 20
"""Bytes; above this, reading is paused until less than half of it is unsent."""


class CallQueue:
    """Waiting calls: those of each sender in their order, the senders in turn."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Frame]] = {}
        self._waiting_bytes = 0
        self._descriptors = 0

    def __bool__(self) -> bool:
        """Whether any call waits."""
        return bool(self._waiting)

    def add(self, call: Frame) -> bool:
        """Queue a call; False if too many are queued already."""
        waiting = self._waiting.setdefault(call.sender, deque())
        if (
            len(waiting) >= CALLS_WAITING
            or self._waiting_bytes + len(call.data) > _BYTES_WAITING
            or self._descriptors + len(call.descriptors) > _DESCRIPTORS_WAITING
        ):
            if not waiting:
                del self._waiting[call.sender]
            return False
        waiting.append(call)
        self._waiting_bytes += len(call.data)
        self._descriptors += len(call.descriptors)
        return True

    def next(self) -> Frame:
        """Remove and return the next call; raises StopIteration if none waits."""
        sender = next(iter(self._waiting))
        waiting = self._waiting.pop(sender)
        call = waiting.popleft()
        self._waiting_bytes -= len(call.data)
        self._descriptors -= len(call.descriptors)
        if waiting:
            self._waiting[sender] = waiting
        return call

    def close(self) -> None:
        """Drop all calls, and close their descriptors."""
        while self._waiting:
            close_descriptors(self.next().descriptors)


class Receiver(Protocol):
    """Receives the messages."""

    def is_expected(self, sender: str) -> bool:
        """Whether there is a subscription to a sender's signals; other signals are not even parsed."""

    def receive(self, frame: Frame) -> None:
        """Process a message."""

    def refuse(self, call: Frame) -> None:
        """Refuse a call: it is too large, or there are too many."""

    def lost(self, reason: str) -> None:
        """The connection has ended; no more messages will come."""


class Reader:
    """Reads a socket: replies and signals are processed as they come, calls in turn."""

    def __init__(self, source: socket.socket, receiver: Receiver, *, descriptors: bool) -> None:
        """Without `descriptors` the kernel drops file descriptors that come."""
        self.takes_calls_with_sockets = False
        """Whether one may come with a call; else only with replies."""
        self._source = source
        self._largest_pass = _DESCRIPTORS if descriptors else 0
        self._early: tuple[int, ...] = ()
        """Descriptors of a message that is not complete yet."""
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._framing = Framing()
        self._turns = CallQueue()
        self._turn: asyncio.Handle | None = None
        self._reading = False
        self.resume()

    def pause(self) -> None:
        """Stop reading for now, so that the message bus holds further messages."""
        if self._reading:
            self._loop.remove_reader(self._source.fileno())
        if self._turn is not None:
            self._turn.cancel()
        self._reading, self._turn = False, None

    def close(self) -> None:
        """Stop reading for good."""
        self.pause()
        self._turns.close()
        close_descriptors(self._early)
        self._early = ()

    def resume(self) -> None:
        """Continue reading."""
        if not self._reading:
            self._loop.add_reader(self._source.fileno(), self._read)
        self._reading = True
        self._schedule_calls()

    def _read(self) -> None:
        try:
            for _ in range(_CHUNKS):
                data, descriptors = self._receive()
                if not data:
                    self._receiver.lost("closed")
                    return
                frames = self._framing.feed(data)
                for frame in (
                    self._with_descriptors(frames, descriptors) if descriptors or self._early else frames
                ):
                    self._deliver(frame)
        except (BlockingIOError, InterruptedError):
            return
        except (OSError, StreamBroken) as error:
            self._receiver.lost(str(error))
        except Exception as error:  # noqa: BLE001 - where the next message begins is not known then
            self._loop.call_exception_handler({"message": "bytes of D-Bus were not read", "exception": error})
            self._receiver.lost("its messages cannot be read")

    def _receive(self) -> tuple[bytes, list[int]]:
        if not self._largest_pass:
            return self._source.recv(_CHUNK), []
        data, descriptors, _, _ = socket.recv_fds(self._source, _CHUNK, self._largest_pass)
        return data, descriptors

    def _with_descriptors(self, frames: Iterator[Frame], descriptors: Sequence[int]) -> Iterator[Frame]:
        """Assign file descriptors to their messages.

        Descriptors come with the first bytes of their message, and a read stops there (unix(7), SCM_RIGHTS):
        they belong to the same message as the last byte that was read.
        """
        whole = list(frames)
        if self._early and whole:
            whole[0] = replace(whole[0], descriptors=self._early)
            self._early = ()
        if descriptors and not self._framing.between_messages:
            self._early = tuple(descriptors)
        elif descriptors and whole:
            whole[-1] = replace(whole[-1], descriptors=tuple(descriptors))
        else:
            close_descriptors(descriptors)
        return iter(whole)

    def _deliver(self, frame: Frame) -> None:
        """Process a message; an error does not affect the other messages."""
        try:
            self._sort(frame)
        except Exception as error:  # noqa: BLE001 - whatever a message does, the connection goes on
            _report(self._loop, frame, error)

    def _sort(self, frame: Frame) -> None:
        if frame.descriptors and frame.kind != REPLY and not self._is_call_with_socket(frame):
            close_descriptors(frame.descriptors)
            frame = replace(frame, descriptors=())
        if frame.kind == CALL:
            if frame.data and self._turns.add(frame):
                self._schedule_calls()
            else:
                close_descriptors(frame.descriptors)
                self._receiver.refuse(frame)
        elif frame.data and (
            frame.kind in (REPLY, ERROR)
            or (frame.kind == SIGNAL and self._receiver.is_expected(frame.sender))
        ):
            self._receiver.receive(frame)

    def _is_call_with_socket(self, frame: Frame) -> bool:
        return self.takes_calls_with_sockets and frame.kind == CALL and len(frame.descriptors) == 1

    def _schedule_calls(self) -> None:
        if self._turn is None and self._turns and self._reading:
            self._turn = self._loop.call_soon(self._start_calls)

    def _start_calls(self) -> None:
        self._turn = None
        end = self._loop.time() + _TURN_S
        while self._reading and self._turns and self._loop.time() < end:
            call = self._turns.next()
            try:
                self._receiver.receive(call)
            except Exception as error:  # noqa: BLE001 - nor does a call
                _report(self._loop, call, error)
        self._schedule_calls()


def _report(loop: asyncio.AbstractEventLoop, frame: Frame, error: Exception) -> None:
    text = f"a D-Bus message of kind {frame.kind} from {frame.sender or 'nobody'} could not be used"
    loop.call_exception_handler({"message": text, "exception": error})


def close_descriptors(descriptors: Sequence[int]) -> None:
    """Close descriptors that nothing uses."""
    for one in descriptors:
        os.close(one)


def take_sockets(descriptors: list[int]) -> list[socket.socket]:
    """The descriptors that are sockets, which are removed from the list."""
    taken = []
    for one in list(descriptors):
        try:
            passed = socket.socket(fileno=one)
        except OSError:
            continue
        descriptors.remove(one)
        passed.set_inheritable(False)
        taken.append(passed)
    return taken


@dataclass(slots=True)
class _Part:
    """A message, or its unsent rest, and the sockets that are sent with its first byte."""

    data: memoryview
    passed: Sequence[socket.socket]


class Writer:
    """Sends every byte after the handshake; the library's writer is not used."""

    def __init__(self, pipe: socket.socket, reader: Reader, lost: Callable[[str], None]) -> None:
        """`reader` is paused while much is unsent; `lost` is called, later, with the reason of a failure."""
        self._pipe = pipe
        self._reader = reader
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[_Part] = deque()
        self._unsent_bytes = 0

    @property
    def busy(self) -> bool:
        """Whether there are unsent messages."""
        return bool(self._unsent)

    def send(self, data: bytes, passed: Sequence[socket.socket] = ()) -> None:
        """Send a message with sockets, which are closed here once they are sent or cannot be sent."""
        if not self._unsent:
            # The messages of a few loop iterations go out in one write, which wakes up each receiver once.
            self._write_after(_TURNS)
        self._unsent.append(_Part(memoryview(data), passed))
        self._unsent_bytes += len(data)
        if self._unsent_bytes > _MUCH_UNSENT:
            self._reader.pause()

    def close(self) -> None:
        """Drop the unsent messages."""
        if self._pipe.fileno() >= 0:
            self._loop.remove_writer(self._pipe.fileno())
        for part in self._unsent:
            close_all(part.passed)
        self._unsent.clear()

    def _write_after(self, turns: int) -> None:
        if turns:
            self._loop.call_soon(self._write_after, turns - 1)
        else:
            self._write()

    def _write(self) -> None:
        if self._pipe.fileno() < 0:
            return
        try:
            while self._unsent:
                self._advance(self._send_some())
        except (BlockingIOError, InterruptedError):
            self._loop.add_writer(self._pipe.fileno(), self._write)
            return
        except OSError as error:
            self._loop.call_soon(self._lost, str(error))
            return
        self._loop.remove_writer(self._pipe.fileno())

    def _send_some(self) -> int:
        first = self._unsent[0]
        if not first.passed:
            plain = takewhile(lambda part: not part.passed, islice(self._unsent, _WRITTEN_AT_ONCE))
            return self._pipe.sendmsg([part.data for part in plain])
        sent = socket.send_fds(self._pipe, [first.data], [one.fileno() for one in first.passed])
        close_all(first.passed)
        first.passed = ()
        return sent

    def _advance(self, sent: int) -> None:
        """Remove `sent` bytes from the queue."""
        self._unsent_bytes -= sent
        if self._unsent_bytes < _MUCH_UNSENT // 2:
            self._reader.resume()
        while sent:
            first = self._unsent[0]
            if sent < len(first.data):
                first.data = first.data[sent:]
                return
            sent -= len(first.data)
            self._unsent.popleft()


@contextmanager
def closed_on_error(sockets: Sequence[socket.socket]) -> Iterator[None]:
    """Sockets that are to be sent are closed if that does not come about."""
    try:
        yield
    except BaseException:
        close_all(sockets)
        raise


def close_all(sockets: Sequence[socket.socket]) -> None:
    """Close sockets."""
    for one in sockets:
        one.close()
