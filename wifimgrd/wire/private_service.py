"""Who may call the processes that only the daemon calls, and how they refuse a call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, MethodCall
from wifimgrd.bus.values import typed
from wifimgrd.domain.errors import InternalError, InvalidRequest, NotAuthorized, WifimgrdError
from wifimgrd.wire.definitions import describe_object
from wifimgrd.wire.errors import NAME_OF
from wifimgrd.wire.private_calls import Member, PrivateInterface

_log = structlog.get_logger()

Values = Sequence[object] | None
"""Of a reply."""
Handler = Callable[..., Awaitable[Values]]
"""Carries a method out: it is given the call and its arguments."""
Handlers = Mapping[Member, Handler]


class PrivateService:
    """One object with one interface, only for the daemon's user."""

    def __init__(
        self,
        connection: BusConnection,
        interface: PrivateInterface,
        uid: int,
        on_daemon: Callable[[], Awaitable[None]],
    ) -> None:
        """`uid` may call; `on_daemon` is awaited before the first call of each daemon is carried out. If it
        raises, that call fails, and the daemon's next one counts as its first."""
        self._connection = connection
        self._interface = interface
        self._uid = uid
        self._on_daemon = on_daemon
        self.daemon = ""
        """The daemon's unique name, from its last call; the bus never assigns it to another connection."""
        self._meeting = asyncio.Lock()
        """All calls of a daemon but its first wait for it, so that none overtakes that."""

    async def admit(self, call: MethodCall) -> tuple[str, Sequence[object]] | None:
        """The answer to a call of a standard interface; None for one of the object's own that may be carried
        out. Raises NotAuthorized, InvalidRequest, BusError."""
        match call.path, call.interface, call.member, call.signature:
            case _, bus_names.PEER, "Ping", "":
                return "", ()
            case self._interface.path, bus_names.INTROSPECTABLE, "Introspect", "":
                return "s", (describe_object([self._interface.element()]),)
        await self._require_daemon(call)
        method = self._interface.methods.get(call.member)
        is_here = call.path == self._interface.path and call.interface in ("", self._interface.name)
        if method is None or not is_here:
            raise BusError(bus_names.UNKNOWN_METHOD, f"there is no {call.member} at {call.path}")
        if call.signature != method.signature:
            raise InvalidRequest(f"{call.member} takes {method.signature!r}")
        return None

    async def _require_daemon(self, call: MethodCall) -> None:
        if call.sender != self.daemon:
            await self._require_user(call)
        async with self._meeting:
            if call.sender == self.daemon:
                return
            self.daemon = call.sender
            try:
                await self._on_daemon()
            except BaseException:
                self.daemon = ""
                raise

    async def _require_user(self, call: MethodCall) -> None:
        try:
            reply = await self._connection.call_bus("GetConnectionUnixUser", "s", [call.sender])
            uid: int | None = typed(int, reply[0])
        except (BusError, BusClosed, TimeoutError):
            uid = None
        if uid != self._uid:
            _log.warning("not_authorized", action=self._interface.name, member=call.member, uid=uid)
            raise NotAuthorized("only wifimgrd may call this")

    async def carry_out(self, call: MethodCall, handlers: Handlers) -> tuple[str, Sequence[object]]:
        """The answer to a call, by its handler; raises as `admit` and as the handler does."""
        if (standard := await self.admit(call)) is not None:
            return standard
        method = self._interface.methods[call.member]
        return method.reply_signature, await handlers[method](call, *call.body) or ()

    def emit(self, signal: Member, *arguments: object) -> None:
        """Tell everybody who listens, which the policy of the bus lets only the daemon do."""
        interface = self._interface
        self._connection.emit(interface.path, interface.name, signal.name, signal.signature, list(arguments))

    def refuse(self, call: MethodCall, error: Exception) -> None:
        """Answer a call with the error that is being handled; a bug is logged, not sent to the caller."""
        match error:
            case WifimgrdError():
                self._connection.reply_error(call, NAME_OF[error.code], error.message)
            case BusError():
                self._connection.reply_error(call, error.name, error.message)
            case _:
                _log.exception("call_crashed", member=call.member)
                self._connection.reply_error(call, NAME_OF[InternalError.code], "an internal error")
