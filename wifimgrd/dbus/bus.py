"""One connection to a message bus.

What the library (`library.py`) does wrong is mended or left unused here: dbus-next's writer takes a full
socket for a dead one, its reader stops for nobody and gives the connection up for one message that it does
not understand, calls on a dead bus hang, calls have no time limit, sockets leak, proxies drop signals after
an error reply, and unexpected exceptions are sent to the caller.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

from wifimgrd.dbus import library
from wifimgrd.dbus.incoming import CALL, NO_REPLY_EXPECTED, Frame, Incoming, close_descriptors
from wifimgrd.dbus.library import Variant
from wifimgrd.dbus.pending import Pending
from wifimgrd.dbus.sending import Sender, close_all
from wifimgrd.dbus.traffic import BusClosed, BusError, MethodCall, NameTaken, Reply, Signal
from wifimgrd.dbus.watches import Watch, Watches

__all__ = (
    "BusClosed",
    "BusConnection",
    "BusError",
    "MethodCall",
    "NameTaken",
    "Signal",
    "Variant",
    "Watch",
)

_DAEMON: Final = "org.freedesktop.DBus"
_DAEMON_PATH: Final = "/org/freedesktop/DBus"
_DO_NOT_QUEUE: Final = 4
_PRIMARY_OWNER: Final = 1
_ALREADY_OWNER: Final = 4


class BusConnection:
    """A connection to a message bus, for calls, signals and one service."""

    def __init__(self, bus: Any) -> None:
        """Use `BusConnection.open`."""
        self._bus = bus
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket = bus._sock
        self._pending: dict[int, Pending] = {}
        self._watches = Watches(self)
        self._on_call: Callable[[MethodCall], None] | None = None
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._loop.remove_reader(self._socket.fileno())
        self._incoming = Incoming(self._socket, self, descriptors=bus._negotiate_unix_fd)
        self._sender = Sender(self._socket, self._incoming, self.lost)

    @classmethod
    async def open(cls, bus: str, timeout_s: float = 10.0, *, sockets: bool = False) -> BusConnection:
        """Connect to `system`, `session` or a D-Bus address; raises BusClosed.

        With `sockets` they can be passed, both ways.
        """
        return cls(await library.connect(bus, timeout_s, sockets=sockets))

    @property
    def unique_name(self) -> str:
        """The name that the bus gave to this connection, e.g. `:1.42`."""
        return str(self._bus.unique_name)

    @property
    def is_open(self) -> bool:
        """Whether the connection still stands."""
        return not self._closed.done()

    async def wait_closed(self) -> None:
        """Return once the connection is gone, by `close` or by itself."""
        await asyncio.shield(self._closed)

    async def close(self) -> None:
        """Close the connection, after what was queued to be sent is sent or a second has passed."""
        try:
            async with asyncio.timeout(1):
                await self._drained()
        except (TimeoutError, BusClosed):
            pass
        self._finish(BusClosed("the connection to the message bus was closed"))

    async def call(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
        timeout_s: float = 25.0,
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> list[Any]:
        """Call a method and return its reply's arguments, variants unpacked.

        `on_reply` gets them before any signal that comes after the reply is dispatched, which the
        caller itself, woken later, cannot promise. Raises BusError for an error reply, BusClosed,
        and TimeoutError after `timeout_s` seconds.
        """
        message = library.method_call(destination, path, interface, member, signature, body)
        return await self._answer_to(message, Pending(self._loop.create_future(), on_reply), timeout_s)

    async def call_for_socket(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
        timeout_s: float = 25.0,
    ) -> socket.socket:
        """Call a method whose answer is a socket, as `h`; raises as `call` does."""
        message = library.method_call(destination, path, interface, member, signature, body)
        pending = Pending(self._loop.create_future(), wants_socket=True)
        [passed] = await self._answer_to(message, pending, timeout_s)
        assert isinstance(passed, socket.socket)  # noqa: S101 - for the type checker
        return passed

    async def _answer_to(self, message: Any, pending: Pending, timeout_s: float) -> list[Any]:
        serial = self._send(message)
        self._pending[serial] = pending
        try:
            async with asyncio.timeout(timeout_s):
                return await pending.answer
        except BaseException:
            pending.give_up()
            raise
        finally:
            self._pending.pop(serial, None)

    async def get(self, destination: str, path: str, interface: str, name: str) -> Any:
        """Read one property; raises as `call` does."""
        return (await self.call(destination, path, _DAEMON + ".Properties", "Get", "ss", [interface, name]))[
            0
        ]

    async def get_all(self, destination: str, path: str, interface: str) -> dict[str, Any]:
        """Read every property of an interface; raises as `call` does."""
        properties: dict[str, Any] = (
            await self.call(destination, path, _DAEMON + ".Properties", "GetAll", "s", [interface])
        )[0]
        return properties

    async def name_owner(self, name: str) -> str | None:
        """The unique name of who owns `name`, or None where nobody does."""
        try:
            return str((await self.ask_bus("GetNameOwner", "s", [name]))[0])
        except BusError as error:
            if error.name == _DAEMON + ".Error.NameHasNoOwner":
                return None
            raise

    async def watch(
        self,
        handler: Callable[[Signal], None],
        *,
        sender: str | None = None,
        path: str | None = None,
        path_namespace: str | None = None,
        interface: str | None = None,
        member: str | None = None,
        arg0: str | None = None,
    ) -> Watch:
        """Call `handler` with each signal that fits, in the order of the bus.

        A well-known `sender` is followed from owner to owner.
        """
        given = {
            "sender": sender,
            "path": path,
            "path_namespace": path_namespace,
            "interface": interface,
            "member": member,
            "arg0": arg0,
        }
        conditions = {key: value for key, value in given.items() if value is not None}
        return await self._watches.add(handler, conditions)

    async def round_trip(self) -> None:
        """Call the message bus and wait for its answer; returns at once where the connection is gone."""
        if self.is_open:
            await self.ask_bus("GetId", "", [])

    async def request_name(self, name: str) -> None:
        """Own a well-known name; raises NameTaken where somebody has it already."""
        reply = (await self.ask_bus("RequestName", "su", [name, _DO_NOT_QUEUE]))[0]
        if reply not in (_PRIMARY_OWNER, _ALREADY_OWNER):
            raise NameTaken(f"{name} is already owned on this message bus")

    def serve(self, on_call: Callable[[MethodCall], None]) -> None:
        """Pass every incoming method call to `on_call`, which answers each by reply or reply_error."""
        self._on_call = on_call

    def reply(self, call: MethodCall, signature: str = "", body: Sequence[Any] = ()) -> None:
        """Answer a call, where an answer is wanted and the bus is there.

        A socket in the body, for `h`, is closed here once it is sent, or is not wanted.
        """
        passed = [one for one in body if isinstance(one, socket.socket)]
        if not (call.expects_reply and self.is_open):
            close_all(passed)
            return
        numbered = [passed.index(one) if isinstance(one, socket.socket) else one for one in body]
        descriptors = [one.fileno() for one in passed]
        self._send(library.method_return(call.sender, call.serial, signature, numbered, descriptors), passed)

    def reply_error(
        self, call: MethodCall, name: str, text: str, signature: str = "s", further: Sequence[Any] = ()
    ) -> None:
        """Answer a call with an error; `signature` covers the sentence and the further arguments."""
        if call.expects_reply and self.is_open:
            self._send(library.error(call.sender, call.serial, name, signature, [text, *further]))

    def emit(self, path: str, interface: str, member: str, signature: str, body: Sequence[Any]) -> None:
        """Send a signal, where the bus is there."""
        if self.is_open:
            self._send(library.signal(path, interface, member, signature, body))

    async def ask_bus(self, member: str, signature: str, body: Sequence[Any]) -> list[Any]:
        """Call a method of the message bus itself; raises as `call` does."""
        return await self.call(_DAEMON, _DAEMON_PATH, _DAEMON, member, signature, body)

    def tell_bus(self, member: str, signature: str, body: Sequence[Any]) -> None:
        """The same without waiting for what comes of it."""
        if self.is_open:
            self._send(
                library.method_call(
                    _DAEMON, _DAEMON_PATH, _DAEMON, member, signature, body, expects_reply=False
                )
            )

    # -- sending

    def _send(self, message: Any, passed: Sequence[socket.socket] = ()) -> int:
        if not self.is_open:
            raise BusClosed("the connection to the message bus is gone")
        if not message.serial:
            message.serial = self._bus.next_serial()
        self._sender.send(library.to_octets(message, sockets=bool(passed)), passed)
        return int(message.serial)

    async def _drained(self) -> None:
        """Wait until nothing is queued: a round trip, because the socket keeps the order."""
        if self._sender.busy:
            await self.round_trip()

    # -- receiving

    def hears(self, sender: str) -> bool:
        """Whether anybody listens to a sender's signals."""
        return self._watches.hear(sender)

    def take(self, frame: Frame) -> None:
        """Dispatch a message; one that the library does not understand is refused or passed over."""
        descriptors = list(frame.descriptors)
        try:
            if self.is_open:
                self._take(frame, descriptors)
        finally:
            close_descriptors(descriptors)

    def _take(self, frame: Frame, descriptors: list[int]) -> None:
        try:
            message = library.read(frame.octets)
        except ValueError as error:
            self._refuse(frame, "InvalidArgs", str(error))
            return
        match message:
            case Signal():
                self._watches.dispatch(message)
            case MethodCall():
                self._called(message)
            case Reply():
                self._replied(message, descriptors)

    def turn_away(self, call: Frame) -> None:
        """Refuse a call that is too large, or that comes after too many."""
        if call.octets:
            self._refuse(call, "LimitsExceeded", "too many calls of this client wait")
        else:
            self._refuse(call, "InvalidArgs", "the message is too large")

    def lost(self, reason: str) -> None:
        """The message bus has closed the connection, or what came over it makes no sense."""
        self._finish(BusClosed(f"the message bus went away: {reason}"))

    def _refuse(self, frame: Frame, error: str, text: str) -> None:
        if frame.kind == CALL and not frame.flags & NO_REPLY_EXPECTED and self.is_open:
            self._send(library.error(frame.sender, frame.serial, f"{_DAEMON}.Error.{error}", "s", [text]))

    def _called(self, call: MethodCall) -> None:
        if self._on_call is None:
            self.reply_error(call, _DAEMON + ".Error.UnknownObject", "nothing is served here")
        else:
            self._on_call(call)

    def _replied(self, reply: Reply, descriptors: list[int]) -> None:
        pending = self._pending.get(reply.serial)
        if pending is None or pending.answer.done():
            return
        if reply.error_name is not None:
            text = reply.body[0] if reply.body and isinstance(reply.body[0], str) else ""
            pending.answer.set_exception(BusError(reply.error_name, text, reply.body))
        else:
            pending.succeed(reply.body, descriptors)

    def _finish(self, error: BusClosed) -> None:
        if self._closed.done():
            return
        self._closed.set_result(None)
        self._incoming.close()
        self._sender.close()
        library.disconnect(self._bus)
        self._watches.clear()
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(error)
