"""Requests to the kernel's network state: lists, which need no privilege, and changes, which need
CAP_NET_ADMIN: https://man7.org/linux/man-pages/man7/rtnetlink.7.html.

Each call has a socket of its own, or one with those that are made `together`. The kernel has replied by the
time that a request is sent; the time limit is for one that does not.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import Final, Protocol

from wifimgrd.kernel._messages import (
    ACKNOWLEDGE,
    DUMP,
    INTERRUPTED,
    REQUEST,
    Answer,
    Message,
    answer_in,
    limit_wait,
    messages,
    request,
)

_SOL_NETLINK: Final = 270
_CAP_ACKNOWLEDGEMENTS: Final = 10
_EXTENDED_ACKNOWLEDGEMENTS: Final = 11
_STRICT: Final = 12
"""linux/socket.h and linux/netlink.h; Python has no names for them."""
_BUFFER_BYTES: Final = 65536
_ANSWER_S: Final = 5
_LISTS: Final = 5
"""How often a list is read whose entries change meanwhile."""
_CHANGES_AT_ONCE: Final = 64
"""The acknowledgements of so many fit into the socket's buffer."""
_REPLACE, _EXCLUSIVE, _CREATE = 0x0100, 0x0200, 0x0400
_numbers: Final = count(1)
"""The sequence numbers of requests: no late answer is taken for that to another one."""


class _OfThread(threading.local):
    """The requests that a thread makes `together`."""

    shared: ExitStack | None = None
    """Closes their socket at the end."""
    netlink: socket.socket | None = None
    """Opened with the first request."""


_of_thread: Final = _OfThread()
_GONE: Final = (errno.ESRCH, errno.ENOENT, errno.ENODEV, errno.EADDRNOTAVAIL)
"""There is no such route, rule, interface or address."""


class KernelError(OSError):
    """The kernel refused a request, or did not answer; in its own words, where it has any."""

    def __str__(self) -> str:
        return str(self.strerror)


class Action(Enum):
    """The kind of a change; for all but DELETE, the flags of the request."""

    ADD = _CREATE | _EXCLUSIVE
    """An error where it exists."""
    REPLACE = _CREATE | _REPLACE
    SET = 0
    """Change one that exists."""
    DELETE = -1
    """One that is gone is not an error: others delete at the same time."""


class Entry(Protocol):
    """An entry of the kernel's tables."""

    def encode(self, action: Action) -> tuple[int, bytes]:
        """The type of the message that carries this out, and its body."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one entry."""

    action: Action
    entry: Entry

    def __str__(self) -> str:
        return f"{self.action.name.lower()} {self.entry}"


@contextmanager
def together() -> Iterator[None]:
    """Have the requests within it use one socket. Nothing is awaited there, and the network namespace stays
    the same."""
    if _of_thread.shared is not None:
        yield
        return
    with ExitStack() as shared:
        _of_thread.shared = shared
        try:
            yield
        finally:
            _of_thread.shared = _of_thread.netlink = None


def listed(kind: int, answer: int, wanted: bytes) -> list[bytes]:
    """The bodies of the entries of a kind that are as `wanted` says: a header and attributes, in which zero
    and what is missing stand for all. The kernel selects them. Raises KernelError."""
    for _ in range(_LISTS):
        found = list(_parts(kind, REQUEST | DUMP, wanted))
        if not any(one.flags & INTERRUPTED for one in found):
            return [one.body for one in found if one.kind == answer]
    raise KernelError(errno.EAGAIN, "the kernel's tables change while they are listed")


def looked_up(kind: int, answer: int, body: bytes) -> bytes:
    """The body of the one entry that a request asks for. Raises KernelError."""
    for message in _parts(kind, REQUEST, body):
        if message.kind == answer:
            return message.body
    raise KernelError(errno.ENOENT, "the kernel has no such entry")


def carry_out(changes: Iterable[Change]) -> None:
    """Make changes in order, also those after one that is refused; raises KernelError then."""
    pending = list(changes)
    refused: list[tuple[Change, Answer]] = []
    while pending:
        some, pending = pending[:_CHANGES_AT_ONCE], pending[_CHANGES_AT_ONCE:]
        with _connected() as netlink:
            numbered = {next(_numbers): change for change in some}
            last = max(numbered)
            netlink.send(b"".join(_encoded(*one, is_last=one[0] == last) for one in numbered.items()))
            for number, answer in _refusals(netlink, last):
                change = numbered.get(number)
                if change is not None and not (change.action is Action.DELETE and answer.code in _GONE):
                    refused.append((change, answer))
    if refused:
        raise KernelError(
            refused[0][1].code, "; ".join(f"{change}: {_words(answer)}" for change, answer in refused)
        )


def _encoded(number: int, change: Change, *, is_last: bool) -> bytes:
    """A request. The kernel answers one that it refuses in any case, and of the others only the last one."""
    kind, body = change.entry.encode(change.action)
    flags = 0 if change.action is Action.DELETE else change.action.value
    return request(kind, REQUEST | flags | (ACKNOWLEDGE if is_last else 0), body, number)


@contextmanager
def _connected() -> Iterator[socket.socket]:
    """The socket of the requests that are made together, or one for this request; whatever goes wrong with it
    is a KernelError."""
    try:
        if _of_thread.shared is None:
            with _opened() as netlink:
                yield netlink
            return
        if _of_thread.netlink is None:
            _of_thread.netlink = _of_thread.shared.enter_context(_opened())
        yield _of_thread.netlink
    except KernelError:
        raise
    except BlockingIOError:
        raise KernelError(errno.ETIMEDOUT, f"the kernel does not answer within {_ANSWER_S:g} s") from None
    except OSError as error:
        raise KernelError(error.errno, error.strerror) from None


def _opened() -> socket.socket:
    """A new socket; raises OSError."""
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    try:
        limit_wait(netlink, _ANSWER_S)
        for option in (_CAP_ACKNOWLEDGEMENTS, _EXTENDED_ACKNOWLEDGEMENTS, _STRICT):
            netlink.setsockopt(_SOL_NETLINK, option, 1)
    except OSError:
        netlink.close()
        raise
    return netlink


def _parts(kind: int, flags: int, body: bytes) -> Iterator[Message]:
    """The parts of the answer to one request, with its end."""
    number = next(_numbers)
    with _connected() as netlink:
        netlink.send(request(kind, flags, body, number))
        while True:
            for message in messages(netlink.recv(_BUFFER_BYTES)):
                if message.sequence != number:
                    continue
                answer = answer_in(message)
                if answer is not None and answer.code:
                    raise KernelError(answer.code, _words(answer))
                yield message
                if answer is not None:
                    return


def _refusals(netlink: socket.socket, last: int) -> Iterator[tuple[int, Answer]]:
    """The answers to requests that were refused, by their sequence numbers, up to this one."""
    while True:
        for message in messages(netlink.recv(_BUFFER_BYTES)):
            if (answer := answer_in(message)) is not None:
                if answer.code:
                    yield message.sequence, answer
                if message.sequence == last:
                    return


def _words(answer: Answer) -> str:
    words = os.strerror(answer.code)
    return f"{words} ({answer.explanation.rstrip('.')})" if answer.explanation else words
