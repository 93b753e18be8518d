"""What goes over a message bus, and what goes wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class BusClosed(ConnectionError):
    """The connection to the message bus is gone, or could not be made."""


class NameTaken(Exception):
    """Somebody else owns the well-known name."""


class BusError(Exception):
    """An error reply: its D-Bus name, its sentence and its further arguments."""

    def __init__(self, name: str, message: str, body: Sequence[Any] = ()) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.body = tuple(body)


@dataclass(frozen=True, slots=True)
class MethodCall:
    """A method call that arrived; variants in its body are unpacked."""

    sender: str
    path: str
    interface: str
    """Empty where the caller named none."""
    member: str
    signature: str
    body: list[Any]
    serial: int
    expects_reply: bool
    interactive: bool
    """The caller agrees to a dialogue of the authorization system."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that arrived; variants in its body are unpacked."""

    sender: str
    """Unique name of who sent it."""
    path: str
    interface: str
    member: str
    body: list[Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that arrived; variants in its body are unpacked."""

    serial: int
    """Of the call that it answers."""
    error_name: str | None
    """Where it is an error."""
    body: list[Any]
