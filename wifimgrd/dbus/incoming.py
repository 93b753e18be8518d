"""What comes over a message bus: octets into messages, and nobody's calls before another's turn.

The library reads as long as there is something to read, so that one client who floods the bus has
everybody else wait, and one message of 32 MiB that is all small values takes a gigabyte and half a
minute. Here a message that is too large is passed over unparsed, each sender's calls wait in a
queue of their own with a bound, and the queues take turns.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

LARGEST: Final = 256 * 1024
"""Octets of a call or signal; none of ours, nor of those that we listen to, comes near."""
CALLS_WAITING: Final = 1024
"""Calls of one sender that wait; dbus-daemon itself bears 128 without reply on a system bus."""
_OCTETS_WAITING: Final = 8 << 20
"""Of all calls together."""
_TURN_S: Final = 0.005
"""How long calls are begun at a stretch before everything else has its turn."""
_CHUNK: Final = 64 * 1024
_DESCRIPTORS: Final = 16
"""As many as a message may have (dbus-daemon(1), max_message_unix_fds); ours have one."""
_CHUNKS: Final = 16
"""Read at a stretch: who waits behind a flood waits for it to be read, not for it to be answered."""

# https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-messages
CALL: Final = 1
REPLY: Final = 2
ERROR: Final = 3
SIGNAL: Final = 4
NO_REPLY_EXPECTED: Final = 1
_FIXED: Final = 16
_ENDIAN: Final = {ord("l"): "<", ord("B"): ">"}
_LARGEST_OF_ALL: Final = 128 << 20
_SENDER_FIELD: Final = b"\x07\x01s\x00"
"""The field's code and its type; the names that are the other fields' values have no such octets."""


class StreamBroken(Exception):
    """What came is no D-Bus message, and where the next one begins is not known."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A message that was not looked into yet."""

    kind: int
    flags: int
    serial: int
    sender: str
    octets: bytes
    """Empty where it was too large."""
    descriptors: tuple[int, ...] = ()
    """What came with it; whoever gets the message closes them."""


class Framing:
    """Cuts a stream of octets into messages."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._held = bytearray()
        self._begin = 0
        """Of what was not given yet."""
        self._to_skip = 0

    @property
    def between_messages(self) -> bool:
        """Whether the last octet was a message's last, or is of one that is passed over."""
        return len(self._held) == self._begin

    def feed(self, octets: bytes) -> Iterator[Frame]:
        """Give the messages that are whole now, each of them once, whatever becomes of those before it;
        raises StreamBroken."""
        skipped = min(self._to_skip, len(octets))
        self._to_skip -= skipped
        self._held += octets[skipped:]
        try:
            while (cut := self._cut()) is not None:
                frame, size = cut
                held = len(self._held) - self._begin
                self._to_skip = max(0, size - held)
                self._begin += min(size, held)
                yield frame
        finally:
            del self._held[: self._begin]
            self._begin = 0

    def _cut(self) -> tuple[Frame, int] | None:
        """The next message and its size; None where it is not whole."""
        begin = self._begin
        held = len(self._held) - begin
        if held < _FIXED:
            return None
        order, kind = self._held[begin], self._held[begin + 1]
        if order not in _ENDIAN:
            raise StreamBroken("a message of no known byte order came")
        fixed = struct.unpack_from(_ENDIAN[order] + "xxBxIII", self._held, begin)
        flags, body, serial, fields = fixed
        head = _FIXED + fields + -fields % 8
        size = head + body
        if size > _LARGEST_OF_ALL:
            raise StreamBroken("a message came that is larger than any may be")
        too_large = size > self._largest and kind not in (REPLY, ERROR)
        if held < (head if too_large else size):
            return None
        sender = _sender(bytes(self._held[begin : begin + head]), _ENDIAN[order])
        whole = b"" if too_large else bytes(self._held[begin : begin + size])
        return Frame(kind, flags, serial, sender, whole), size


def _sender(head: bytes, endian: str) -> str:
    """Who sent it, as the message bus says; empty where it does not."""
    at = head.find(_SENDER_FIELD, _FIXED)
    if at < 0:
        return ""
    begin = at + len(_SENDER_FIELD) + 4
    [length] = struct.unpack_from(endian + "I", head, begin - 4)
    return head[begin : begin + length].decode("ascii", "replace")


class Turns:
    """Calls that wait: each sender's in their order, the senders in turn."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Frame]] = {}
        self._octets = 0

    def __bool__(self) -> bool:
        """Whether any call waits."""
        return bool(self._waiting)

    def add(self, call: Frame) -> bool:
        """Have a call wait; False where too many do already."""
        waiting = self._waiting.setdefault(call.sender, deque())
        if len(waiting) >= CALLS_WAITING or self._octets + len(call.octets) > _OCTETS_WAITING:
            if not waiting:
                del self._waiting[call.sender]
            return False
        waiting.append(call)
        self._octets += len(call.octets)
        return True

    def next(self) -> Frame:
        """Take the call whose turn it is; raises StopIteration where none waits."""
        sender = next(iter(self._waiting))
        waiting = self._waiting.pop(sender)
        call = waiting.popleft()
        self._octets -= len(call.octets)
        if waiting:
            self._waiting[sender] = waiting
        return call


class Receiver(Protocol):
    """Who gets what came."""

    def hears(self, sender: str) -> bool:
        """Whether anybody listens to a sender's signals; the others' are not even parsed."""

    def take(self, frame: Frame) -> None:
        """Use a message."""

    def turn_away(self, call: Frame) -> None:
        """Refuse a call: it is too large, or there are too many."""

    def lost(self, reason: str) -> None:
        """There will be no more."""


class Incoming:
    """Reads a socket: replies and signals are taken as they come, calls in turn."""

    def __init__(self, source: socket.socket, receiver: Receiver, *, descriptors: bool) -> None:
        """Without `descriptors` the kernel drops those that come."""
        self._source = source
        self._largest_pass = _DESCRIPTORS if descriptors else 0
        self._early: tuple[int, ...] = ()
        """Descriptors of a message that is not whole yet."""
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._framing = Framing()
        self._turns = Turns()
        self._turn: asyncio.Handle | None = None
        self._reading = False
        self.resume()

    def pause(self) -> None:
        """Take nothing for now, and leave it to the message bus to hold what comes."""
        if self._reading:
            self._loop.remove_reader(self._source.fileno())
        if self._turn is not None:
            self._turn.cancel()
        self._reading, self._turn = False, None

    def close(self) -> None:
        """Take nothing any more."""
        self.pause()
        close_descriptors(self._early)
        self._early = ()

    def resume(self) -> None:
        """Go on."""
        if not self._reading:
            self._loop.add_reader(self._source.fileno(), self._read)
        self._reading = True
        self._have_a_turn()

    def _read(self) -> None:
        try:
            for _ in range(_CHUNKS):
                octets, descriptors = self._receive()
                if not octets:
                    self._receiver.lost("closed")
                    return
                frames = self._framing.feed(octets)
                for frame in self._endowed(frames, descriptors) if descriptors or self._early else frames:
                    self._give(frame)
        except (BlockingIOError, InterruptedError):
            return
        except (OSError, StreamBroken) as error:
            self._receiver.lost(str(error))

    def _receive(self) -> tuple[bytes, list[int]]:
        if not self._largest_pass:
            return self._source.recv(_CHUNK), []
        octets, descriptors, _, _ = socket.recv_fds(self._source, _CHUNK, self._largest_pass)
        return octets, descriptors

    def _endowed(self, frames: Iterator[Frame], descriptors: Sequence[int]) -> Iterator[Frame]:
        """Give each message what came with it.

        Descriptors come with the first octets of their message, and the kernel reads no further then
        (unix(7), SCM_RIGHTS): they belong to the message that the last octet read belongs to.
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

    def _give(self, frame: Frame) -> None:
        """Use a message; one that cannot be used harms no other."""
        try:
            self._sort(frame)
        except Exception as error:  # noqa: BLE001 - whatever a message does, the connection goes on
            _report(self._loop, frame, error)

    def _sort(self, frame: Frame) -> None:
        if frame.descriptors and frame.kind != REPLY:
            close_descriptors(frame.descriptors)  # no call or signal of ours has any
            frame = replace(frame, descriptors=())
        if frame.kind == CALL:
            if frame.octets and self._turns.add(frame):
                self._have_a_turn()
            else:
                self._receiver.turn_away(frame)
        elif frame.octets and (
            frame.kind in (REPLY, ERROR) or (frame.kind == SIGNAL and self._receiver.hears(frame.sender))
        ):
            self._receiver.take(frame)

    def _have_a_turn(self) -> None:
        if self._turn is None and self._turns and self._reading:
            self._turn = self._loop.call_soon(self._begin_calls)

    def _begin_calls(self) -> None:
        self._turn = None
        end = self._loop.time() + _TURN_S
        while self._reading and self._turns and self._loop.time() < end:
            call = self._turns.next()
            try:
                self._receiver.take(call)
            except Exception as error:  # noqa: BLE001 - nor does a call
                _report(self._loop, call, error)
        self._have_a_turn()


def _report(loop: asyncio.AbstractEventLoop, frame: Frame, error: Exception) -> None:
    text = f"a D-Bus message of kind {frame.kind} from {frame.sender or 'nobody'} could not be used"
    loop.call_exception_handler({"message": text, "exception": error})


def close_descriptors(descriptors: Sequence[int]) -> None:
    """Close what nobody asked for."""
    for one in descriptors:
        os.close(one)
