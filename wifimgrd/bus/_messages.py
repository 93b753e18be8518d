"""The messages of a message bus, and its errors."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class BusClosed(ConnectionError):
    """The connection to the message bus was closed, or could not be opened."""


class NameTaken(Exception):
    """Another connection owns the well-known name."""


class BusError(Exception):
    """An error reply: its D-Bus name, its message and its further arguments."""

    def __init__(self, name: str, message: str, body: Sequence[object] = ()) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.body = tuple(body)


@dataclass(frozen=True, slots=True)
class MethodCall:
    """A received method call; variants in its body are unpacked."""

    sender: str
    path: str
    interface: str
    """Empty where the caller named none."""
    member: str
    signature: str
    body: Sequence[object]
    serial: int
    expects_reply: bool
    interactive: bool
    """The caller allows interactive authorization."""
    passed: list[socket.socket] = field(default_factory=list, compare=False)
    """The sockets that came with it, if the connection serves such calls: whoever uses one removes it, and
    `close_passed` closes the rest."""

    def close_passed(self) -> None:
        """Close the sockets that came with it and that nobody uses."""
        for one in self.passed:
            one.close()
        self.passed.clear()


@dataclass(frozen=True, slots=True)
class Signal:
    """A received signal; variants in its body are unpacked."""

    sender: str
    """The sender's unique name."""
    path: str
    interface: str
    member: str
    body: Sequence[object]


class OwnerChange(NamedTuple):
    """The owner of a name changed, the arguments of
    https://dbus.freedesktop.org/doc/dbus-specification.html#bus-messages-name-owner-changed."""

    name: str
    before: str
    """The unique name of the owner until now; empty if it had none."""
    after: str
    """That of the owner from now on; empty if it has none."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A received reply; variants in its body are unpacked."""

    serial: int
    """The serial of the call."""
    error_name: str | None
    """Set where it is an error."""
    body: list[object]
