"""One connection to a message bus: what it sends, and the dispatch of what it receives.

The faults of the library (`library.py`) are worked around here, or its code is not used: dbus-next's writer
treats a full socket as a closed one, its reader has no flow control and closes the connection after one
message that it cannot parse, calls on a closed connection hang, calls have no time limit, sockets leak,
proxies drop signals after an error reply, and unexpected exceptions are sent to the caller.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from wifimgrd.bus import library, names
from wifimgrd.bus._calls import Calls, separate_sockets
from wifimgrd.bus._framing import CALL, NO_REPLY_EXPECTED, Frame
from wifimgrd.bus._messages import BusClosed, BusError, MethodCall, NameTaken, OwnerChange, Reply, Signal
from wifimgrd.bus._transport import (
    Reader,
    Writer,
    close_all,
    close_descriptors,
    closed_on_error,
    take_sockets,
)
from wifimgrd.bus.library import LibraryConnection, Outgoing, Variant
from wifimgrd.bus.packing import PackedBody
from wifimgrd.bus.values import typed

__all__ = (
    "BusClosed",
    "BusConnection",
    "BusError",
    "MethodCall",
    "NameTaken",
    "OwnerChange",
    "Signal",
    "Variant",
    "Watch",
)

_LIMITS_EXCEEDED: Final = names.BUS_DAEMON + ".Error.LimitsExceeded"
_INVALID_ARGUMENTS: Final = names.BUS_DAEMON + ".Error.InvalidArgs"


@dataclass(eq=False, slots=True)
class Watch:
    """A subscription to signals; `drop` ends it."""

    watches: Watches
    handler: Callable[[Signal], None]
    conditions: Mapping[str, str] = field(default_factory=dict)
    rule: str = field(init=False)
    """The match rule: https://dbus.freedesktop.org/doc/dbus-specification.html."""
    holds_rule: bool = field(default=False, init=False)
    """The bus has the rule for this subscription; others with the same rule need it not."""

    def __post_init__(self) -> None:
        conditions = (f"{key}='{value}'" for key, value in self.conditions.items())
        self.rule = ",".join(["type='signal'", *conditions])

    def applies_to(self, signal: Signal, owners: Mapping[str, str | None]) -> bool:
        """Whether the signal matches the conditions; a well-known sender by its current owner."""
        for key, wanted in self.conditions.items():
            match key:
                case "sender":
                    matches = signal.sender == owners.get(wanted, wanted)
                case "path_namespace":
                    matches = signal.path == wanted or signal.path.startswith(wanted.rstrip("/") + "/")
                case "arg0":
                    matches = bool(signal.body) and signal.body[0] == wanted
                case _:
                    matches = getattr(signal, key) == wanted
            if not matches:
                return False
        return True

    def drop(self) -> None:
        """End the subscription, without waiting for the bus; does nothing on a closed connection."""
        self.watches.drop(self)


class Watches:
    """The subscriptions of one connection."""

    def __init__(self, bus: BusConnection) -> None:
        self._bus = bus
        self._watches: list[Watch] = []
        self._owners: dict[str, str | None] = {}
        """The current owners of the well-known names that are watched."""
        self._found: dict[str, asyncio.Task[None]] = {}
        """Tasks that subscribe to the owner of a name, each of which ends once the owner is known."""

    async def add(self, handler: Callable[[Signal], None], conditions: Mapping[str, str]) -> Watch:
        """Subscribe; raises as a call does."""
        sender = conditions.get("sender", "")
        if sender and not sender.startswith(":") and sender != names.BUS_DAEMON:
            await self._follow_owner(sender)
        watch = Watch(self, handler, conditions)
        holder = self._holder(watch.rule)
        self._watches.append(watch)
        if holder is None:
            await self._add_rule(watch)
        return watch

    def _holder(self, rule: str) -> Watch | None:
        """The subscription for which the bus has a match rule."""
        return next((one for one in self._watches if one.holds_rule and one.rule == rule), None)

    async def _add_rule(self, watch: Watch) -> None:
        """Have the bus send what matches. Where two add the same rule at once, it has it twice, and still
        sends each signal once."""
        try:
            await self._bus.call_bus("AddMatch", "s", [watch.rule])
            if watch.holds_rule:  # left to it meanwhile: now the bus has two
                self._bus.send_to_bus("RemoveMatch", "s", [watch.rule])
            watch.holds_rule = True
        except BaseException as error:
            if watch in self._watches:  # all are dropped where the connection was closed
                self._watches.remove(watch)
            if not isinstance(
                error, BusError | BusClosed
            ):  # the call was abandoned: the bus may have the rule
                self._bus.send_to_bus("RemoveMatch", "s", [watch.rule])
            raise

    def drop(self, watch: Watch) -> None:
        """End a subscription; see Watch.drop."""
        if watch not in self._watches:
            return
        self._watches.remove(watch)
        if not watch.holds_rule:
            return
        heirs = [one for one in self._watches if one.rule == watch.rule]
        if not heirs or any(one.holds_rule for one in heirs):
            self._bus.send_to_bus("RemoveMatch", "s", [watch.rule])
        else:
            heirs[0].holds_rule = True

    def is_expected(self, sender: str) -> bool:
        """Whether any subscription is to signals of this sender, or of all senders."""
        senders = (watch.conditions.get("sender") for watch in self._watches)
        return any(one is None or self._owners.get(one, one) == sender for one in senders)

    def dispatch(self, signal: Signal) -> None:
        """Call the handler of each matching subscription; an exception in one does not affect the others."""
        for watch in [watch for watch in self._watches if watch.applies_to(signal, self._owners)]:
            try:
                watch.handler(signal)
            except Exception as error:  # noqa: BLE001 - one failing handler must not close the connection
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"handling the D-Bus signal {signal.member} failed", "exception": error}
                )

    def clear(self) -> None:
        """Drop all subscriptions: the connection is closed."""
        self._watches.clear()

    async def _follow_owner(self, name: str) -> None:
        """Track the owner of a name from now on; if one caller is cancelled, the others still get it."""
        finding = self._found.get(name)
        if finding is None:
            finding = self._found[name] = asyncio.create_task(self._find_owner(name))
            finding.add_done_callback(partial(self._owner_found, name))
        await asyncio.shield(finding)

    async def _find_owner(self, name: str) -> None:
        watch = await self.add(
            self._owner_changed, {"sender": names.BUS_DAEMON, "member": "NameOwnerChanged", "arg0": name}
        )
        try:
            owner = await self._bus.name_owner(name)
        except BaseException:
            watch.drop()
            raise
        self._owners.setdefault(name, owner)  # a change that arrived meanwhile is newer

    def _owner_found(self, name: str, finding: asyncio.Task[None]) -> None:
        if finding.cancelled() or finding.exception() is not None:
            del self._found[name]  # the next subscription tries again

    def _owner_changed(self, signal: Signal) -> None:
        change = typed(OwnerChange, signal.body)
        self._owners[change.name] = change.after or None


class BusConnection(Calls):
    """A connection to a message bus, for calls, subscriptions to signals, and one service."""

    def __init__(self, bus: LibraryConnection) -> None:
        """Use `BusConnection.open`."""
        super().__init__()
        self._bus = bus
        self._loop = asyncio.get_running_loop()
        self._socket, passes_descriptors = library.take_over_socket(bus)
        self._watches = Watches(self)
        self._on_call: Callable[[MethodCall], None] = self._serve_nothing
        self._limit = _LIMITS_EXCEEDED
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._incoming = Reader(self._socket, self, descriptors=passes_descriptors)
        self._sender = Writer(self._socket, self._incoming, self.lost)

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
        """Whether the connection is open."""
        return not self._closed.done()

    async def wait_closed(self) -> None:
        """Return once the connection is closed, by `close` or by the bus."""
        await asyncio.shield(self._closed)

    async def close(self) -> None:
        """Close the connection, after the queue was sent or after one second."""
        try:
            async with asyncio.timeout(1):
                await self._drained()
        except (TimeoutError, BusClosed):
            pass
        self._finish(BusClosed("the connection to the message bus was closed"))

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
        """Call `handler` with each signal that matches, in the order of the bus.

        A well-known `sender` matches its current owner.
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

    async def watch_owner(self, handler: Callable[[OwnerChange], None], name: str) -> Watch:
        """Call `handler` when the owner of a name changes."""
        return await self.watch(
            lambda signal: handler(typed(OwnerChange, signal.body)),
            sender=names.BUS_DAEMON,
            interface=names.BUS_DAEMON,
            member="NameOwnerChanged",
            arg0=name,
        )

    def serve(
        self,
        on_call: Callable[[MethodCall], None],
        *,
        limit: str = _LIMITS_EXCEEDED,
        sockets: bool = False,
    ) -> None:
        """Pass every incoming method call to `on_call`, which must reply to each by reply or reply_error.

        `limit` is the name of the error for calls of a client that has too many waiting. With `sockets` a
        call may come with one, which `on_call` takes over (`MethodCall.passed`).
        """
        self._limit = limit
        self._on_call = on_call
        self._incoming.takes_calls_with_sockets = sockets

    def reply(self, call: MethodCall, signature: str = "", body: Sequence[object] = ()) -> None:
        """Reply to a call, where a reply is expected and the connection is open.

        A socket in the body, for `h`, is closed here once it is sent, or if no reply is expected.
        A PackedBody is sent as it is.
        """
        if len(body) == 1 and isinstance(body[0], PackedBody):
            if call.expects_reply and self.is_open:
                self._send(library.PackedReturn(call.sender, call.serial, body[0]))
            return
        numbered, passed = separate_sockets(body)
        if not (call.expects_reply and self.is_open):
            close_all(passed)
            return
        descriptors = [one.fileno() for one in passed]
        with closed_on_error(passed):
            message = library.method_return(call.sender, call.serial, signature, numbered, descriptors)
        self._send(message, passed)

    def reply_error(
        self, call: MethodCall, name: str, text: str, signature: str = "s", further: Sequence[object] = ()
    ) -> None:
        """Reply to a call with an error; `signature` is that of the message and the further arguments."""
        if call.expects_reply and self.is_open:
            self._send(library.error(call.sender, call.serial, name, signature, [text, *further]))

    def emit(self, path: str, interface: str, member: str, signature: str, body: Sequence[object]) -> None:
        """Send a signal, where the connection is open."""
        if self.is_open:
            self._send(library.signal(path, interface, member, signature, body))

    # -- sending

    def _send(self, message: Outgoing, passed: Sequence[socket.socket] = ()) -> int:
        with closed_on_error(passed):
            if not self.is_open:
                raise BusClosed("the connection to the message bus has ended")
            if not message.serial:
                message.serial = self._bus.next_serial()
            data = library.to_bytes(message, sockets=bool(passed))
        self._sender.send(data, passed)
        return int(message.serial)

    async def _drained(self) -> None:
        """Wait until the queue was sent: by a round trip, because the socket keeps the order."""
        if self._sender.busy:
            await self.round_trip()

    # -- receiving

    def is_expected(self, sender: str) -> bool:
        """Whether there is a subscription to a sender's signals."""
        return self._watches.is_expected(sender)

    def receive(self, frame: Frame) -> None:
        """Dispatch a message; one that the library cannot parse is refused (a call) or dropped."""
        descriptors = list(frame.descriptors)
        try:
            if self.is_open:
                self._handle(frame, descriptors)
        finally:
            close_descriptors(descriptors)

    def _handle(self, frame: Frame, descriptors: list[int]) -> None:
        try:
            message = library.read(frame.data)
        except ValueError as error:
            self._refuse(frame, _INVALID_ARGUMENTS, str(error))
            return
        if not isinstance(message, Reply) and message.sender != frame.sender:
            return  # two senders: one of them is the client's own idea
        match message:
            case Signal():
                self._watches.dispatch(message)
            case MethodCall():
                message.passed.extend(take_sockets(descriptors))
                try:
                    self._on_call(message)
                except BaseException:
                    message.close_passed()
                    raise
            case Reply():
                self._replied(message, descriptors)

    def refuse(self, call: Frame) -> None:
        """Refuse a call that is too large, or beyond the limit of pending calls."""
        if call.data:
            self._refuse(call, self._limit, "too many calls of this client wait")
        else:
            self._refuse(call, _INVALID_ARGUMENTS, "the message is too large")

    def lost(self, reason: str) -> None:
        """The message bus has closed the connection, or has sent invalid data."""
        self._finish(BusClosed(f"the message bus became unavailable: {reason}"))

    def _refuse(self, frame: Frame, error: str, text: str) -> None:
        wanted = frame.kind == CALL and not frame.flags & NO_REPLY_EXPECTED
        if wanted and frame.sender and self.is_open:
            self._send(library.error(frame.sender, frame.serial, error, "s", [text]))

    def _serve_nothing(self, call: MethodCall) -> None:
        self.reply_error(call, names.BUS_DAEMON + ".Error.UnknownObject", "nothing is served here")

    def _finish(self, error: BusClosed) -> None:
        if self._closed.done():
            return
        self._closed.set_result(None)
        self._incoming.close()
        self._sender.close()
        library.disconnect(self._bus)
        self._watches.clear()
        self._fail_pending(error)
