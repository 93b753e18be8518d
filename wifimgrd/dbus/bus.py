"""One connection to a message bus: the only module that knows which D-Bus library is used.

dbus-next 0.2.3 does the wire format and the authentication. What it does wrong is mended or
left unused here: its writer takes a full socket for a dead one, calls on a dead bus hang, calls
have no time limit, sockets leak, proxies drop signals after an error reply, and unexpected
exceptions are sent to the caller. Set WIFIMGRD_DBUS_LIBRARY=dbus_fast for its maintained fork.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from wifimgrd.dbus.traffic import BusClosed, BusError, MethodCall, NameTaken, Signal
from wifimgrd.dbus.watches import Watch, Watches

__all__ = (
    "LIBRARY",
    "BusClosed",
    "BusConnection",
    "BusError",
    "MethodCall",
    "NameTaken",
    "Signal",
    "Variant",
    "Watch",
    "introspection",
    "unpack",
)

LIBRARY: Final = os.environ.get("WIFIMGRD_DBUS_LIBRARY", "dbus_next")
_library: Any = importlib.import_module(LIBRARY)
_aio: Any = importlib.import_module(LIBRARY + ".aio")
introspection: Any = importlib.import_module(LIBRARY + ".introspection")
_constants: Any = importlib.import_module(LIBRARY + ".constants")
_Message: Any = _library.Message
_MessageType: Any = _constants.MessageType
_MessageFlag: Any = _constants.MessageFlag
Variant: Any = _library.Variant
"""`Variant(signature, value)`: a value for `v` in an outgoing body."""

_DAEMON: Final = "org.freedesktop.DBus"
_DAEMON_PATH: Final = "/org/freedesktop/DBus"
_DO_NOT_QUEUE: Final = 4
_WRITTEN_AT_ONCE: Final = 64
"""Messages; no system takes fewer parts in one write (IOV_MAX is at least 1,024 on Linux)."""
_PRIMARY_OWNER: Final = 1
_ALREADY_OWNER: Final = 4


@dataclass(frozen=True, slots=True)
class _Pending:
    """A call that waits for its reply."""

    answer: asyncio.Future[list[Any]]
    on_reply: Callable[[list[Any]], None] | None

    def resolve(self, reply: Any) -> None:
        arguments = [unpack(argument) for argument in reply.body]
        if reply.message_type is _MessageType.ERROR:
            text = arguments[0] if arguments and isinstance(arguments[0], str) else ""
            self.answer.set_exception(BusError(reply.error_name, text, arguments))
            return
        if self.on_reply is not None:
            self.on_reply(arguments)
        self.answer.set_result(arguments)


def unpack(value: Any) -> Any:
    """Take every variant out of a value, at any depth."""
    if isinstance(value, Variant):
        return unpack(value.value)
    if isinstance(value, list | tuple):
        return [unpack(item) for item in value]
    if isinstance(value, dict):
        return {unpack(key): unpack(item) for key, item in value.items()}
    return value


class BusConnection:
    """A connection to a message bus, for calls, signals and one service."""

    def __init__(self, bus: Any) -> None:
        """Use `BusConnection.open`."""
        self._bus = bus
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket = bus._sock
        self._stream: Any = bus._stream
        self._unsent: deque[memoryview] = deque()
        self._pending: dict[int, _Pending] = {}
        self._watches = Watches(self)
        self._on_call: Callable[[MethodCall], None] | None = None
        self._closed: asyncio.Future[None] = self._loop.create_future()
        bus.add_message_handler(self._receive)
        bus._disconnect_future.add_done_callback(self._lost)

    @classmethod
    async def open(cls, bus: str, timeout_s: float = 10.0) -> BusConnection:
        """Connect to `system`, `session` or a D-Bus address; raises BusClosed."""
        library_bus = _aio.MessageBus.__new__(_aio.MessageBus)
        try:
            # Two steps, because the library connects in the constructor and leaks there.
            if bus in ("system", "session"):
                kind = _constants.BusType.SYSTEM if bus == "system" else _constants.BusType.SESSION
                library_bus.__init__(bus_type=kind)
            else:
                library_bus.__init__(bus_address=bus)
            async with asyncio.timeout(timeout_s):
                await library_bus.connect()
        except asyncio.CancelledError:
            _close_sockets(library_bus)
            raise
        except Exception as error:  # noqa: BLE001 - the library raises whatever came to it
            _close_sockets(library_bus)
            raise BusClosed(f"cannot connect to the message bus {bus}: {error}") from None
        return cls(library_bus)

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
        message = _Message(
            destination=destination,
            path=path,
            interface=interface,
            member=member,
            signature=signature,
            body=list(body),
        )
        serial = self._send(message)
        pending = self._pending[serial] = _Pending(self._loop.create_future(), on_reply)
        try:
            async with asyncio.timeout(timeout_s):
                return await pending.answer
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

    async def request_name(self, name: str) -> None:
        """Own a well-known name; raises NameTaken where somebody has it already."""
        reply = (await self.ask_bus("RequestName", "su", [name, _DO_NOT_QUEUE]))[0]
        if reply not in (_PRIMARY_OWNER, _ALREADY_OWNER):
            raise NameTaken(f"{name} is already owned on this message bus")

    def serve(self, on_call: Callable[[MethodCall], None]) -> None:
        """Pass every incoming method call to `on_call`, which answers each by reply or reply_error."""
        self._on_call = on_call

    def reply(self, call: MethodCall, signature: str = "", body: Sequence[Any] = ()) -> None:
        """Answer a call, where an answer is wanted and the bus is there."""
        self._answer(
            call,
            _Message(
                destination=call.sender,
                message_type=_MessageType.METHOD_RETURN,
                reply_serial=call.serial,
                signature=signature,
                body=list(body),
            ),
        )

    def reply_error(
        self, call: MethodCall, name: str, text: str, signature: str = "s", further: Sequence[Any] = ()
    ) -> None:
        """Answer a call with an error; `signature` covers the sentence and the further arguments."""
        self._answer(
            call,
            _Message(
                destination=call.sender,
                message_type=_MessageType.ERROR,
                reply_serial=call.serial,
                error_name=name,
                signature=signature,
                body=[text, *further],
            ),
        )

    def emit(self, path: str, interface: str, member: str, signature: str, body: Sequence[Any]) -> None:
        """Send a signal, where the bus is there."""
        message = _Message(
            path=path,
            interface=interface,
            member=member,
            message_type=_MessageType.SIGNAL,
            signature=signature,
            body=list(body),
        )
        if self.is_open:
            self._send(message)

    def _answer(self, call: MethodCall, message: Any) -> None:
        if call.expects_reply and self.is_open:
            self._send(message)

    async def ask_bus(self, member: str, signature: str, body: Sequence[Any]) -> list[Any]:
        """Call a method of the message bus itself; raises as `call` does."""
        return await self.call(_DAEMON, _DAEMON_PATH, _DAEMON, member, signature, body)

    # -- sending: every byte after the handshake goes through here, not through the library's writer

    def _send(self, message: Any) -> int:
        if not self.is_open:
            raise BusClosed("the connection to the message bus is gone")
        if not message.serial:
            message.serial = self._bus.next_serial()
        if not self._unsent:
            # What one turn of the loop says goes in one write, which wakes up everybody else once.
            self._loop.call_soon(self._write)
        self._unsent.append(memoryview(bytes(message._marshall(False))))
        return int(message.serial)

    def _write(self) -> None:
        if not self.is_open:
            return
        try:
            while self._unsent:
                self._took(self._socket.sendmsg(islice(self._unsent, _WRITTEN_AT_ONCE)))
        except (BlockingIOError, InterruptedError):
            self._loop.add_writer(self._socket.fileno(), self._write)
            return
        except OSError as error:
            self._loop.call_soon(self._finish, BusClosed(f"the message bus went away: {error}"))
            return
        self._loop.remove_writer(self._socket.fileno())

    def _took(self, sent: int) -> None:
        """The socket has so many octets more."""
        while sent:
            first = self._unsent[0]
            if sent < len(first):
                self._unsent[0] = first[sent:]
                return
            sent -= len(first)
            self._unsent.popleft()

    async def _drained(self) -> None:
        """Wait until nothing is queued: a round trip, because the socket keeps the order."""
        if self._unsent:
            await self.ask_bus("GetId", "", [])

    # -- receiving

    def _receive(self, message: Any) -> bool:
        kind = message.message_type
        if kind is _MessageType.SIGNAL:
            self._watches.dispatch(
                Signal(
                    message.sender or "",
                    message.path,
                    message.interface,
                    message.member,
                    [unpack(argument) for argument in message.body],
                )
            )
        elif kind is _MessageType.METHOD_CALL:
            self._called(message)
        else:
            pending = self._pending.get(message.reply_serial)
            if pending is not None and not pending.answer.done():
                pending.resolve(message)
        return True

    def _called(self, message: Any) -> None:
        call = MethodCall(
            message.sender or "",
            message.path,
            message.interface or "",
            message.member,
            message.signature,
            [unpack(argument) for argument in message.body],
            message.serial,
            not message.flags & _MessageFlag.NO_REPLY_EXPECTED,
            bool(message.flags & _MessageFlag.ALLOW_INTERACTIVE_AUTHORIZATION),
        )
        if self._on_call is None:
            self.reply_error(call, _DAEMON + ".Error.UnknownObject", "nothing is served here")
        else:
            self._on_call(call)

    def _lost(self, outcome: asyncio.Future[Any]) -> None:
        cause = None if outcome.cancelled() else outcome.exception()
        self._finish(BusClosed(f"the message bus went away: {cause or 'closed'}"))

    def _finish(self, error: BusClosed) -> None:
        if self._closed.done():
            return
        self._closed.set_result(None)
        if self._socket.fileno() >= 0:
            self._loop.remove_writer(self._socket.fileno())
            self._loop.remove_reader(self._socket.fileno())
        if not self._bus._disconnect_future.done():
            self._bus._disconnect_future.remove_done_callback(self._lost)
            self._bus._user_disconnect = True
            self._bus._finalize(None)
        _close_sockets(self._bus)
        self._unsent.clear()
        self._watches.clear()
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(error)


def _close_sockets(library_bus: Any) -> None:
    for name in ("_stream", "_sock"):
        closable = getattr(library_bus, name, None)
        if closable is not None:
            try:
                closable.close()
            except OSError:
                continue
