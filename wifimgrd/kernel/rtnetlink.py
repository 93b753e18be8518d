"""Requests to the kernel's network state: lists, which need no privilege, and changes, which need
CAP_NET_ADMIN: https://man7.org/linux/man-pages/man7/rtnetlink.7.html.

Each call has a socket of its own, so that no late answer is taken for that to another request. The kernel has
replied by the time that a request is sent; the time limit is for one that does not.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from wifimgrd.kernel._messages import (
    ACKNOWLEDGE,
    DUMP,
    INTERRUPTED,
    REQUEST,
    Answer,
    Message,
    answer_in,
    messages,
    request,
)

_SOL_NETLINK: Final = 270
_CAP_ACKNOWLEDGEMENTS: Final = 10
_EXTENDED_ACKNOWLEDGEMENTS: Final = 11
_STRICT: Final = 12
"""linux/socket.h and linux/netlink.h; Python has no names for them."""
_BUFFER_BYTES: Final = 65536
_ANSWER_S: Final = 5.0
_LISTS: Final = 5
"""How often a list is read whose entries change meanwhile."""
_CHANGES_AT_ONCE: Final = 64
"""The acknowledgements of so many fit into the socket's buffer."""
_REPLACE, _EXCLUSIVE, _CREATE = 0x0100, 0x0200, 0x0400
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


def listed(kind: int, answer: int, wanted: bytes) -> list[bytes]:
    """The bodies of the entries of a kind that are as `wanted` says: a header and attributes, in which zero
    and what is missing stand for all. The kernel selects them. Raises KernelError."""
    for _ in range(_LISTS):
        with _connected() as netlink:
            netlink.send(request(kind, REQUEST | DUMP, wanted))
            found = list(_parts(netlink))
        if not any(one.flags & INTERRUPTED for one in found):
            return [one.body for one in found if one.kind == answer]
    raise KernelError(errno.EAGAIN, "the kernel's tables change while they are listed")


def looked_up(kind: int, answer: int, body: bytes) -> bytes:
    """The body of the one entry that a request asks for. Raises KernelError."""
    with _connected() as netlink:
        netlink.send(request(kind, REQUEST, body))
        for message in _parts(netlink):
            if message.kind == answer:
                return message.body
    raise KernelError(errno.ENOENT, "the kernel has no such entry")


def carry_out(changes: Iterable[Change]) -> None:
    """Make changes in order, also those after one that is refused; raises KernelError then."""
    pending = list(enumerate(changes, 1))
    refused: list[tuple[Change, Answer]] = []
    while pending:
        some, pending = dict(pending[:_CHANGES_AT_ONCE]), pending[_CHANGES_AT_ONCE:]
        with _connected() as netlink:
            netlink.send(b"".join(_encoded(change, number) for number, change in some.items()))
            for number, answer in _answers(netlink, len(some)):
                if answer.code and not (some[number].action is Action.DELETE and answer.code in _GONE):
                    refused.append((some[number], answer))
    if refused:
        raise KernelError(
            refused[0][1].code, "; ".join(f"{change}: {_words(answer)}" for change, answer in refused)
        )


def _encoded(change: Change, number: int) -> bytes:
    kind, body = change.entry.encode(change.action)
    flags = 0 if change.action is Action.DELETE else change.action.value
    return request(kind, REQUEST | ACKNOWLEDGE | flags, body, number)


@contextmanager
def _connected() -> Iterator[socket.socket]:
    """A socket to the kernel; whatever goes wrong with it is a KernelError."""
    try:
        with socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
        ) as netlink:
            netlink.settimeout(_ANSWER_S)
            for option in (_CAP_ACKNOWLEDGEMENTS, _EXTENDED_ACKNOWLEDGEMENTS, _STRICT):
                netlink.setsockopt(_SOL_NETLINK, option, 1)
            yield netlink
    except KernelError:
        raise
    except TimeoutError:
        raise KernelError(errno.ETIMEDOUT, f"the kernel does not answer within {_ANSWER_S:g} s") from None
    except OSError as error:
        raise KernelError(error.errno, error.strerror) from None


def _parts(netlink: socket.socket) -> Iterator[Message]:
    """The parts of the answer to one request, with its end."""
    while True:
        for message in messages(netlink.recv(_BUFFER_BYTES)):
            answer = answer_in(message)
            if answer is not None and answer.code:
                raise KernelError(answer.code, _words(answer))
            yield message
            if answer is not None:
                return


def _answers(netlink: socket.socket, count: int) -> Iterator[tuple[int, Answer]]:
    """The acknowledgements of requests, by their sequence numbers."""
    while count:
        for message in messages(netlink.recv(_BUFFER_BYTES)):
            if (answer := answer_in(message)) is not None:
                count -= 1
                yield message.sequence, answer


def _words(answer: Answer) -> str:
    words = os.strerror(answer.code)
    return f"{words} ({answer.explanation.rstrip('.')})" if answer.explanation else words
