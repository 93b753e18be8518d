"""The way out of a message bus connection: octets and sockets in order, and a full pipe is waited for."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final, Protocol

_WRITTEN_AT_ONCE: Final = 64
"""Messages; no system takes fewer parts in one write (IOV_MAX is at least 1,024 on Linux)."""
_TURNS: Final = 3
"""Of the event loop: as many as a change takes to become an answer to whoever waited for it."""
_MUCH_UNSENT: Final = 1 << 20
"""Octets; from there on nothing is read, until less than half of it is left."""


@dataclass(slots=True)
class _Part:
    """A message, or what is left of it, and the sockets that go with its first octet."""

    octets: memoryview
    passed: Sequence[socket.socket]


class Intake(Protocol):
    """What makes for something to send."""

    def pause(self) -> None:
        """Take nothing for now."""

    def resume(self) -> None:
        """Go on."""


class Sender:
    """Every octet after the handshake goes through here, not through the library's writer."""

    def __init__(self, pipe: socket.socket, intake: Intake, lost: Callable[[str], None]) -> None:
        """`intake` pauses while much is unsent; `lost` is told, later, why nothing goes out any more."""
        self._pipe = pipe
        self._intake = intake
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[_Part] = deque()
        self._unsent_octets = 0

    @property
    def busy(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._unsent)

    def send(self, octets: bytes, passed: Sequence[socket.socket] = ()) -> None:
        """Send a message, and with it sockets, which are closed here once they are sent or cannot be."""
        if not self._unsent:
            # What a few turns of the loop say goes in one write, which wakes up everybody else once.
            self._write_after(_TURNS)
        self._unsent.append(_Part(memoryview(octets), passed))
        self._unsent_octets += len(octets)
        if self._unsent_octets > _MUCH_UNSENT:
            self._intake.pause()

    def close(self) -> None:
        """Forget what is unsent."""
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
                self._took(self._send_some())
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
            return self._pipe.sendmsg([part.octets for part in plain])
        sent = socket.send_fds(self._pipe, [first.octets], [one.fileno() for one in first.passed])
        close_all(first.passed)
        first.passed = ()
        return sent

    def _took(self, sent: int) -> None:
        """The pipe has so many octets more."""
        self._unsent_octets -= sent
        if self._unsent_octets < _MUCH_UNSENT // 2:
            self._intake.resume()
        while sent:
            first = self._unsent[0]
            if sent < len(first.octets):
                first.octets = first.octets[sent:]
                return
            sent -= len(first.octets)
            self._unsent.popleft()


def close_all(sockets: Sequence[socket.socket]) -> None:
    """Close sockets."""
    for one in sockets:
        one.close()
