"""Authorization: polkit decides on each call, by the caller's unique name on the bus.

https://www.freedesktop.org/software/polkit/docs/latest/eggdbus-interface-org.freedesktop.PolicyKit1.Authority.html
"""

from __future__ import annotations

import asyncio
import os
import pwd
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

import structlog

from wifimgrd.bus import names
from wifimgrd.bus.connection import (
    BusClosed,
    BusConnection,
    BusError,
    MethodCall,
    OwnerChange,
    Signal,
    Variant,
    Watch,
)
from wifimgrd.bus.values import typed
from wifimgrd.domain.errors import DialogueNeeded, NotAuthorized
from wifimgrd.domain.time_limits import AUTHORIZATION_S, DIALOGUE_S, NAME_S
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_POLKIT: Final = "org.freedesktop.PolicyKit1"
_AUTHORITY_PATH: Final = "/org/freedesktop/PolicyKit1/Authority"
_AUTHORITY: Final = _POLKIT + ".Authority"
_ALLOW_USER_INTERACTION: Final = 1
_ROOT: Final = 0
_REFUSED_S: Final = 1.0
"""For how long polkit is not asked again about what a connection was refused, which may try again at once."""
_PLACES: Final = 4
"""Questions to polkit that may be under way about one user's connections; a dialogue does not count."""
_GROUP: Final = "wifimgrd"
"""The group whose members polkit's rules allow everything (`dbus-policy/org.wifimgrd1.rules`)."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The refusal that a caller got."""

    kind: type[NotAuthorized]
    message: str
    until_s: float
    """Until when it is not asked again, by the loop's clock."""
    unknown: str = ""
    """Why polkit has not answered."""


@dataclass(slots=True)
class _Caller:
    """The user of a unique name, for as long as it is on the bus."""

    uid: int
    watch: Watch
    places: asyncio.Semaphore
    """For the questions about all callers of the user, without a dialogue."""
    allowed: set[str] = field(default_factory=set)
    """Actions that were granted without a dialogue."""
    refused: dict[tuple[str, bool], _Refusal] = field(default_factory=dict)
    """The last refusals, by the action, and whether there could be a dialogue."""
    asking: dict[tuple[str, bool], asyncio.Lock] = field(default_factory=dict)
    """Held while polkit is asked, by the same. Another connection has its own: polkit decides by the process
    and its session, which are not the same for all of a user."""


class Authorization:
    """Checks callers with polkit. Root and the daemon's own user are always allowed; without polkit all
    others are denied."""

    def __init__(self, connection: BusConnection, tasks: Tasks) -> None:
        self._connection = connection
        self._tasks = tasks
        self._callers: dict[str, _Caller] = {}
        self._places = WeakValueDictionary[int, asyncio.Semaphore]()
        """By the user, for as long as it has a caller."""
        self._dialogues = 0
        self._rules = 0
        """How often polkit's rules have changed: a grant from before is not kept."""

    async def start(self) -> None:
        """Watch for changes of polkit's rules: grants are cached until then."""
        await self._connection.watch(
            self._rules_changed, sender=_POLKIT, path=_AUTHORITY_PATH, interface=_AUTHORITY, member="Changed"
        )

    def is_identified(self, sender: str) -> bool:
        """Whether this unique name was identified."""
        return sender in self._callers

    async def identify(self, sender: str) -> None:
        """Read the user of a unique name; one that cannot be identified, or is gone, stays unknown."""
        watch: Watch | None = None
        try:
            # Subscribe before the call, so that the exit of the sender is not missed.
            watch = await self._connection.watch_owner(self._owner_changed, sender)
            await self._query_user(sender, watch)
        except (BusError, BusClosed, TimeoutError) as error:
            _log.debug("caller_unknown", sender=sender, reason=str(error))
            if watch is not None:
                watch.drop()

    async def _query_user(self, sender: str, watch: Watch) -> None:
        def found(reply: list[object]) -> None:
            uid = typed(int, reply[0])
            places = self._places.setdefault(uid, asyncio.Semaphore(_PLACES))
            self._callers[sender] = _Caller(uid, watch, places)

        await self._connection.call(
            names.BUS_DAEMON,
            names.BUS_DAEMON_PATH,
            names.BUS_DAEMON,
            "GetConnectionUnixUser",
            "s",
            [sender],
            on_reply=found,  # the signal of its exit may follow the reply before this call returns
        )

    async def require(self, call: MethodCall, action: str) -> None:
        """Return if the caller, identified before, may do `action`; raises NotAuthorized, DialogueNeeded."""
        caller = self._callers.get(call.sender)
        if caller is None:
            raise NotAuthorized("the caller cannot be identified")
        if caller.uid in (_ROOT, os.geteuid()) or action in caller.allowed:
            return
        loop, asked = asyncio.get_running_loop(), (action, call.interactive)
        # Each of its calls in turn: what the one before was answered may be the answer.
        async with caller.asking.setdefault(asked, asyncio.Lock()):
            if action in caller.allowed:
                return
            refused = caller.refused.get(asked)
            if refused is None or loop.time() >= refused.until_s:
                refused = await self._ask(caller, call, action)
                if refused is None:
                    return
                caller.refused[asked] = refused
        if refused.unknown:
            _log.warning("authorization_unknown", action=action, member=call.member, reason=refused.unknown)
        else:
            _log.warning("not_authorized", action=action, member=call.member, uid=caller.uid)
        raise refused.kind(refused.message)

    async def _ask(self, caller: _Caller, call: MethodCall, action: str) -> _Refusal | None:
        """Ask polkit; None if it grants the action."""
        time, rules = asyncio.get_running_loop().time, self._rules
        try:
            async with asyncio.timeout(AUTHORIZATION_S), caller.places:
                granted, dialogue_helps = await self._check(call.sender, action, 0, "", AUTHORIZATION_S)
            if granted:
                if rules == self._rules:
                    caller.allowed.add(action)
                return None
            if dialogue_helps and call.interactive and await self._check_with_agent(call.sender, action):
                return None
        except (BusError, BusClosed, TimeoutError) as error:
            message = f"{action} cannot be granted: polkit does not answer"
            unknown = str(error) or type(error).__name__
            return _Refusal(NotAuthorized, message, time() + _REFUSED_S, unknown)
        name = await _name_of(caller.uid)
        kind = DialogueNeeded if dialogue_helps and not call.interactive else NotAuthorized
        message = (
            f"user {name or caller.uid} is not authorized for {action}; to allow what members of the group"
            f" {_GROUP} may do: sudo adduser {name or 'NAME'} {_GROUP}, then log in again"
        )
        return _Refusal(kind, message, time() + _REFUSED_S)

    async def _check_with_agent(self, sender: str, action: str) -> bool:
        """Check with a password dialogue; a grant is not cached here, because polkit's rules decide that."""
        self._dialogues += 1
        dialogue = f"wifimgrd-{self._dialogues}"
        try:
            granted, _ = await self._check(sender, action, _ALLOW_USER_INTERACTION, dialogue, DIALOGUE_S)
        except (TimeoutError, asyncio.CancelledError):
            self._tasks.start("call-off", self._call_off(dialogue))
            raise
        return granted

    async def _check(
        self, sender: str, action: str, flags: int, dialogue: str, timeout_s: float
    ) -> tuple[bool, bool]:
        """Whether the action is granted, and whether an interactive check could grant it."""
        subject = ["system-bus-name", {"name": Variant("s", sender)}]
        body = [subject, action, {}, flags, dialogue]
        reply = await self._connection.call(
            _POLKIT,
            _AUTHORITY_PATH,
            _AUTHORITY,
            "CheckAuthorization",
            "(sa{sv})sa{ss}us",
            body,
            timeout_s=timeout_s,
        )
        granted, challenge, _details = typed(tuple[bool, bool, dict[str, str]], reply[0])
        return granted, challenge

    async def _call_off(self, dialogue: str) -> None:
        with suppress(BusError, BusClosed, TimeoutError):
            await self._connection.call(
                _POLKIT, _AUTHORITY_PATH, _AUTHORITY, "CancelCheckAuthorization", "s", [dialogue]
            )

    def _owner_changed(self, change: OwnerChange) -> None:
        caller = None if change.after else self._callers.pop(change.name, None)
        if caller is not None:
            caller.watch.drop()

    def _rules_changed(self, signal: Signal) -> None:
        del signal
        self._rules += 1
        for caller in self._callers.values():
            caller.allowed.clear()
            caller.refused.clear()


async def _name_of(uid: int) -> str:
    """The name of a user; empty where it is not known."""
    try:
        async with asyncio.timeout(NAME_S):
            return (await asyncio.to_thread(pwd.getpwuid, uid)).pw_name
    except (KeyError, TimeoutError):
        return ""
