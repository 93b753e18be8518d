"""`org.wifimgrd1.Net`: the helper on the message bus, for the daemon's user alone."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Address
from typing import Any, Final

import structlog

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, MethodCall, Signal
from wifimgrd.dbus.definitions import definition, describe_object
from wifimgrd.dbus.errors import NAME_OF
from wifimgrd.domain.addresses import AddressPlan, parse_network, parse_share
from wifimgrd.domain.errors import InternalError, InvalidRequest, NotAuthorized, ServiceRefused, WifimgrdError
from wifimgrd.domain.socket_kind import SocketKind
from wifimgrd.net.commands import CommandError
from wifimgrd.net.nftables import NftablesError
from wifimgrd.net.plan import Camera, Plan
from wifimgrd.net.plumbing import Conflict, Plumbing
from wifimgrd.net.sockets import open_socket
from wifimgrd.net.wireless import end_power_save, restart_link
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_ERROR: Final = "org.freedesktop.DBus.Error."
_SETTLE_S: Final = 0.8
"""Changes by others come in bursts: one look after the first of them, after this time. A join is such
a burst, and over by then."""
_AGAIN_S: Final = 0.2
"""Then it is looked again: NetworkManager ends a link some time before the daemon says so."""
_END_S: Final = 5.0
"""What calls that run get to end by themselves."""
_LATER_S: Final = 0.05
"""After an answer, whoever waited for it comes first."""


class NetService:
    """Answers calls, looks after what stands, and says when it is not needed any more."""

    def __init__(
        self, connection: BusConnection, plumbing: Plumbing, uid: int, linger_s: float, tasks: Tasks
    ) -> None:
        """`uid` may call; `linger_s` is how long what stands outlives the daemon."""
        self._connection = connection
        self._plumbing = plumbing
        self._uid = uid
        self._linger_s = linger_s
        self._definition = definition(names.NET)
        self._wanted: Plan | None = None
        self._conflict = ""
        self._suspected = ""
        """What the last look found not as it was made."""
        self._trusted = ""
        """The daemon's name on the bus, as the last call came from it; no other connection ever gets it."""
        self._tasks = tasks
        self._look: asyncio.TimerHandle | None = None
        self._farewell: asyncio.TimerHandle | None = None
        self.unneeded = asyncio.Event()

    async def start(self) -> None:
        """Own the name and answer; raises NameTaken."""
        self._connection.serve(self._called)
        await self._connection.watch(
            self._daemon_came_or_went,
            sender=names.BUS_DAEMON,
            member="NameOwnerChanged",
            arg0=names.BUS_NAME,
        )
        await self._connection.request_name(names.NET_BUS_NAME)
        if await self._connection.name_owner(names.BUS_NAME) is None:
            self._say_farewell()

    def changed(self, line: str) -> None:
        """Somebody changed the kernel's tables, as a line of `watch` tells."""
        if self._look is not None or self._wanted is None:
            return
        if not line or self._wanted.concerned_by(line):
            self._look = asyncio.get_running_loop().call_later(_SETTLE_S, self._look_now)

    def _look_now(self) -> None:
        self._look = None
        wanted = self._wanted
        if wanted is None:
            return
        try:
            if self._conflict:
                self._plumbing.apply(wanted)
            elif (changed := self._plumbing.changed()) != self._suspected:
                self._suspected = changed
                if changed:
                    self._look = asyncio.get_running_loop().call_later(_AGAIN_S, self._look_now)
            elif changed:
                self._suspected = ""
                self._plumbing.restore()
                _log.warning("tables_restored", network=str(wanted.network), changed=changed)
        except Conflict as conflict:
            self._tell_conflict(str(conflict))
        except (CommandError, NftablesError) as error:
            _log.error("tables_unknown", reason=str(error))
            self._look = asyncio.get_running_loop().call_later(1.0, self._look_now)
        else:
            self._tell_conflict("")

    def _tell_conflict(self, conflict: str) -> None:
        if conflict != self._conflict:
            self._conflict = conflict
            self._connection.emit(names.NET_PATH, names.NET, "ConflictChanged", "s", [conflict])

    # -- calls

    def _called(self, call: MethodCall) -> None:
        self._tasks.start(call.member, self._answer(call))

    async def _answer(self, call: MethodCall) -> None:
        try:
            answer = await self._dispatch(call)
        except WifimgrdError as error:
            self._connection.reply_error(call, NAME_OF[error.code], error.message)
        except BusError as error:
            self._connection.reply_error(call, error.name, error.message)
        except (CommandError, NftablesError) as error:
            _log.error("tables_unchanged", reason=str(error))
            self._connection.reply_error(call, NAME_OF[InternalError.code], str(error))
        except Exception:  # noqa: BLE001 - a bug is logged, not told
            _log.exception("call_crashed", member=call.member)
            self._connection.reply_error(call, NAME_OF[InternalError.code], "an internal error")
        else:
            self._connection.reply(call, *answer)
            asyncio.get_running_loop().call_later(_LATER_S, self._plumbing.get_ready)

    async def _dispatch(self, call: MethodCall) -> tuple[str, Sequence[Any]]:
        match call.path, call.interface, call.member, call.signature:
            case _, names.PEER, "Ping", "":
                return "", ()
            case names.NET_PATH, names.INTROSPECTABLE, "Introspect", "":
                xml = describe_object(self._definition, is_object_manager=False, children=())
                return "s", (xml,)
        await self._require_daemon(call)
        question = self._definition.methods.get(call.member)
        if call.path != names.NET_PATH or call.interface not in ("", names.NET) or question is None:
            raise BusError(_ERROR + "UnknownMethod", f"there is no {call.member} at {call.path}")
        if call.signature != question.question:
            raise InvalidRequest(f"{call.member} takes {question.question!r}")
        match call.member:
            case "Apply":
                return "s", (self._apply(*call.body),)
            case "Open":
                return "h", (await _open(*call.body),)
            case "RestartLink":
                restart_link(call.body[0])
                return "", ()
            case "EndPowerSave":
                return "b", (_end_power_save(call.body[0]),)
        self._wanted = None
        self._plumbing.clear()
        self._tell_conflict("")
        return "", ()

    def _apply(self, network: str, cameras: Sequence[Sequence[str]], share: Sequence[str]) -> str:
        wanted = _plan(network, cameras, share)
        self._wanted = wanted
        try:
            self._plumbing.apply(wanted)
        except Conflict as conflict:
            self._tell_conflict(str(conflict))
        else:
            self._tell_conflict("")
        return self._conflict

    async def _require_daemon(self, call: MethodCall) -> None:
        if call.sender == self._trusted:
            return
        try:
            [uid] = await self._connection.ask_bus("GetConnectionUnixUser", "s", [call.sender])
        except (BusError, BusClosed, TimeoutError):
            uid = None
        if uid != self._uid:
            _log.warning("not_authorized", action=names.NET, member=call.member, uid=uid)
            raise NotAuthorized("this is for wifimgrd alone")
        self._trusted = call.sender

    # -- the daemon

    def _daemon_came_or_went(self, signal: Signal) -> None:
        if signal.body[2]:
            if self._farewell is not None:
                self._farewell.cancel()
                self._farewell = None
        else:
            self._say_farewell()

    def _say_farewell(self) -> None:
        if self._farewell is None:
            self._farewell = asyncio.get_running_loop().call_later(self._linger_s, self.unneeded.set)

    async def stop(self) -> None:
        """Answer nothing more, and take everything away."""
        self._wanted = None
        for timer in (self._look, self._farewell):
            if timer is not None:
                timer.cancel()
        await self._tasks.settle(_END_S)
        with suppress(CommandError, NftablesError):
            self._plumbing.clear()


async def _open(interface: str, address: str, port: int, kind: str) -> socket.socket:
    """What was asked for; raises InvalidRequest, and as open_socket does."""
    try:
        return await open_socket(interface, IPv4Address(address), port, SocketKind(kind))
    except ServiceRefused as refused:
        raise BusError(names.NET_REFUSED, refused.message) from None
    except ValueError as error:
        raise InvalidRequest(str(error)) from None


def _end_power_save(interface: str) -> bool:
    """What was asked for; raises InvalidRequest."""
    try:
        return end_power_save(interface)
    except CommandError as error:  # no fault of anybody's, and so not logged
        raise BusError(NAME_OF[InternalError.code], str(error)) from None


def _plan(network: str, cameras: Sequence[Sequence[str]], share: Sequence[str]) -> Plan:
    """What was asked for; raises InvalidRequest. A camera whose interface is gone by now is left out."""
    try:
        parsed = parse_network(network)
        shared = tuple(map(parse_share, share))
        addresses = [(IPv4Address(address), IPv4Address(own)) for address, _, own in cameras]
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    if parsed is None:
        raise InvalidRequest("a network is needed")
    for one in shared:
        if one.overlaps(parsed):
            raise InvalidRequest(f"{one} overlaps the cameras' own network")
    fit = AddressPlan(parsed)
    for address, _ in addresses:
        if not fit.holds(str(address)):
            raise InvalidRequest(f"{address} is no camera's address in {parsed}")
    for column in (0, 1):
        if len({camera[column] for camera in cameras}) < len(cameras):
            raise InvalidRequest("an address or an interface stands there twice")
    planned = []
    for (address, own_address), (_, interface, _) in zip(addresses, cameras, strict=True):
        with suppress(OSError):
            index = socket.if_nametoindex(interface)
            planned.append(Camera(address, interface, index, own_address))
    return Plan(parsed, tuple(planned), shared)
