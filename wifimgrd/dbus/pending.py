"""A call that waits for its reply, and the socket that may come with it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from wifimgrd.dbus.sending import close_all
from wifimgrd.dbus.traffic import BusError

_INVALID_SIGNATURE: Final = "org.freedesktop.DBus.Error.InvalidSignature"


@dataclass(frozen=True, slots=True)
class Pending:
    """One call's place in the order of things."""

    answer: asyncio.Future[list[Any]]
    on_reply: Callable[[list[Any]], None] | None = None
    wants_socket: bool = False

    def succeed(self, arguments: list[Any], descriptors: list[int]) -> None:
        """Take the reply in, and out of `descriptors` what the caller wants."""
        if self.wants_socket:
            try:
                [descriptor] = descriptors
                passed = socket.socket(fileno=descriptor)
            except (ValueError, OSError):
                self.answer.set_exception(BusError(_INVALID_SIGNATURE, "no socket was answered"))
                return
            descriptors.clear()
            passed.set_inheritable(False)
            arguments = [passed]
        if self.on_reply is not None:
            self.on_reply(arguments)
        self.answer.set_result(arguments)

    def give_up(self) -> None:
        """Nobody waits any more: close the socket that came at the last moment."""
        answer = self.answer
        if self.wants_socket and answer.done() and not answer.cancelled() and answer.exception() is None:
            close_all(answer.result())
