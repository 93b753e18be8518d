"""The calls of a connection to a message bus, each with its reply."""

from __future__ import annotations

import asyncio
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from wifimgrd.bus import library, names
from wifimgrd.bus._messages import BusClosed, BusError, NameTaken, Reply
from wifimgrd.bus._transport import close_all, closed_on_error, take_sockets
from wifimgrd.bus.library import Outgoing, Variant
from wifimgrd.bus.values import typed

_DO_NOT_QUEUE: Final = 4
_PRIMARY_OWNER: Final = 1
_ALREADY_OWNER: Final = 4


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that waits for its reply, which may contain a socket."""

    answer: asyncio.Future[list[object]]
    on_reply: Callable[[list[object]], None] | None = None
    wants_socket: bool = False

    def succeed(self, arguments: list[object], descriptors: list[int]) -> None:
        """Set the reply; a socket that the caller expects is removed from `descriptors`."""
        if self.wants_socket:
            passed = take_sockets(descriptors)
            if len(passed) != 1:
                close_all(passed)
                self.answer.set_exception(BusError(names.INVALID_SIGNATURE, "no socket was answered"))
                return
            arguments = list(passed)
        if self.on_reply is not None:
            self.on_reply(arguments)
        self.answer.set_result(arguments)

    def give_up(self) -> None:
        """The caller has stopped waiting: close a socket that arrived at the last moment."""
        answer = self.answer
        if self.wants_socket and answer.done() and not answer.cancelled() and answer.exception() is None:
            close_all([one for one in answer.result() if isinstance(one, socket.socket)])


class Calls(ABC):
    """The base of a connection, which sends: calls of methods, also of the message bus itself."""

    def __init__(self) -> None:
        self._pending: dict[int, PendingCall] = {}
        """By serial."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether the connection is open."""

    @abstractmethod
    def _send(self, message: Outgoing, passed: Sequence[socket.socket] = ()) -> int:
        """Send a message with sockets, which are closed in any case, and return its serial; raises
        BusClosed."""

    async def call(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[object] = (),
        timeout_s: float = 25.0,
        on_reply: Callable[[list[object]], None] | None = None,
        *,
        interactive: bool = False,
        auto_start: bool = True,
    ) -> list[object]:
        """Call a method and return its reply's arguments, variants unpacked.

        `interactive`: the other side may have the user asked for a password. `on_reply` gets the arguments
        before any signal that follows the reply is dispatched; the caller itself is resumed later. Without
        `auto_start` a service that is not running is not started, which is a BusError, too. A socket in the
        body, for `h`, is closed here once it is sent, or if it cannot be sent. Raises BusError for an error
        reply, BusClosed, and TimeoutError after `timeout_s` seconds.
        """
        numbered, passed = separate_sockets(body)
        with closed_on_error(passed):
            message = library.method_call(
                destination,
                path,
                interface,
                member,
                signature,
                numbered,
                [one.fileno() for one in passed],
                interactive=interactive,
                auto_start=auto_start,
            )
        return await self._answer_to(
            message, PendingCall(asyncio.get_running_loop().create_future(), on_reply), timeout_s, passed
        )

    async def call_for_socket(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[object] = (),
        timeout_s: float = 25.0,
        *,
        auto_start: bool = True,
    ) -> socket.socket:
        """Call a method whose reply is a socket, as `h`; raises as `call` does."""
        message = library.method_call(
            destination, path, interface, member, signature, body, auto_start=auto_start
        )
        pending = PendingCall(asyncio.get_running_loop().create_future(), wants_socket=True)
        [passed] = await self._answer_to(message, pending, timeout_s)
        assert isinstance(passed, socket.socket)  # noqa: S101 - for the type checker
        return passed

    async def _answer_to(
        self,
        message: Outgoing,
        pending: PendingCall,
        timeout_s: float,
        passed: Sequence[socket.socket] = (),
    ) -> list[object]:
        serial = self._send(message, passed)
        self._pending[serial] = pending
        try:
            async with asyncio.timeout(timeout_s):
                return await pending.answer
        except BaseException:
            pending.give_up()
            raise
        finally:
            self._pending.pop(serial, None)

    async def get(
        self, destination: str, path: str, interface: str, name: str, timeout_s: float = 25.0
    ) -> object:
        """Read one property; raises as `call` does."""
        body = [interface, name]
        return (await self.call(destination, path, names.PROPERTIES, "Get", "ss", body, timeout_s))[0]

    async def get_all(
        self, destination: str, path: str, interface: str, timeout_s: float = 25.0
    ) -> dict[str, object]:
        """Read every property of an interface; raises as `call` does."""
        body = [interface]
        [properties] = await self.call(destination, path, names.PROPERTIES, "GetAll", "s", body, timeout_s)
        return typed(dict[str, object], properties)

    async def set(
        self,
        destination: str,
        path: str,
        interface: str,
        name: str,
        value: Variant,
        timeout_s: float = 25.0,
    ) -> None:
        """Write one property; raises as `call` does."""
        body = [interface, name, value]
        await self.call(destination, path, names.PROPERTIES, "Set", "ssv", body, timeout_s)

    async def name_owner(self, name: str) -> str | None:
        """The unique name of the owner of `name`, or None where it has no owner."""
        try:
            return typed(str, (await self.call_bus("GetNameOwner", "s", [name]))[0])
        except BusError as error:
            if error.name == names.NAME_HAS_NO_OWNER:
                return None
            raise

    async def call_bus(self, member: str, signature: str, body: Sequence[object]) -> list[object]:
        """Call a method of the message bus itself; raises as `call` does."""
        return await self.call(
            names.BUS_DAEMON, names.BUS_DAEMON_PATH, names.BUS_DAEMON, member, signature, body
        )

    async def bus_id(self) -> str:
        """The id of this run of the message bus; raises as `call` does."""
        return typed(str, (await self.call_bus("GetId", "", []))[0])

    def send_to_bus(self, member: str, signature: str, body: Sequence[object]) -> None:
        """Call a method of the message bus without requesting a reply."""
        if self.is_open:
            self._send(
                library.method_call(
                    names.BUS_DAEMON,
                    names.BUS_DAEMON_PATH,
                    names.BUS_DAEMON,
                    member,
                    signature,
                    body,
                    expects_reply=False,
                )
            )

    async def round_trip(self) -> None:
        """Call the message bus and wait for its reply; returns at once where the connection is closed."""
        if self.is_open:
            await self.bus_id()

    async def request_name(self, name: str) -> None:
        """Own a well-known name; raises NameTaken where it has an owner already."""
        reply = (await self.call_bus("RequestName", "su", [name, _DO_NOT_QUEUE]))[0]
        if reply not in (_PRIMARY_OWNER, _ALREADY_OWNER):
            raise NameTaken(f"{name} is already owned on this message bus")

    def _replied(self, reply: Reply, descriptors: list[int]) -> None:
        pending = self._pending.get(reply.serial)
        if pending is None or pending.answer.done():
            return
        if reply.error_name is not None:
            text = reply.body[0] if reply.body and isinstance(reply.body[0], str) else ""
            pending.answer.set_exception(BusError(reply.error_name, text, reply.body))
        else:
            pending.succeed(reply.body, descriptors)

    def _fail_pending(self, error: BusClosed) -> None:
        """The connection is closed."""
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(error)


def separate_sockets(body: Sequence[object]) -> tuple[list[object], list[socket.socket]]:
    """A body in which each socket is its number, as `h` has it, and the sockets."""
    passed = [one for one in body if isinstance(one, socket.socket)]
    return [passed.index(one) if isinstance(one, socket.socket) else one for one in body], passed
