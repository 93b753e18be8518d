"""Who may do what: each call is decided on its real caller, by polkit.

https://www.freedesktop.org/software/polkit/docs/latest/eggdbus-interface-org.freedesktop.PolicyKit1.Authority.html
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, MethodCall, Signal, Variant, Watch
from wifimgrd.domain.errors import NotAuthorized
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_POLKIT: Final = "org.freedesktop.PolicyKit1"
_AUTHORITY_PATH: Final = "/org/freedesktop/PolicyKit1/Authority"
_AUTHORITY: Final = _POLKIT + ".Authority"
_ALLOW_USER_INTERACTION: Final = 1
_ANSWER_S: Final = 20.0
_DIALOGUE_S: Final = 120.0
"""How long a person may take to type a password."""
_ROOT: Final = 0


@dataclass(slots=True)
class _Caller:
    """Who is at the other end of a unique name, as long as that is on the bus."""

    uid: int
    watch: Watch
    allowed: set[str] = field(default_factory=set)
    """Actions that were granted without a dialogue."""


class Authorization:
    """Asks polkit. Root and the daemon's own user need no asking; without polkit nobody else may."""

    def __init__(self, connection: BusConnection, tasks: Tasks) -> None:
        self._connection = connection
        self._tasks = tasks
        self._callers: dict[str, _Caller] = {}
        self._dialogues = 0

    async def start(self) -> None:
        """Keep in touch with polkit: what it granted holds until its rules change."""
        await self._connection.watch(
            self._rules_changed, sender=_POLKIT, path=_AUTHORITY_PATH, interface=_AUTHORITY, member="Changed"
        )

    def knows(self, sender: str) -> bool:
        """Whether it was found out who has this unique name."""
        return sender in self._callers

    async def identify(self, sender: str) -> None:
        """Find that out; a sender that cannot be known, or went, stays unknown."""
        watch: Watch | None = None
        try:
            # Watched before it is asked for: one that went meanwhile has no user any more.
            watch = await self._connection.watch(
                self._owner_changed, sender=names.BUS_DAEMON, member="NameOwnerChanged", arg0=sender
            )
            await self._ask_for_user(sender, watch)
        except (BusError, BusClosed, TimeoutError) as error:
            _log.debug("caller_unknown", sender=sender, reason=str(error))
            if watch is not None:
                watch.drop()

    async def _ask_for_user(self, sender: str, watch: Watch) -> None:
        def found(reply: list[Any]) -> None:
            self._callers[sender] = _Caller(int(reply[0]), watch)

        await self._connection.call(
            names.BUS_DAEMON,
            names.BUS_DAEMON_PATH,
            names.BUS_DAEMON,
            "GetConnectionUnixUser",
            "s",
            [sender],
            on_reply=found,  # that it went may come right behind the answer, before this call returns
        )

    async def require(self, call: MethodCall, action: str) -> None:
        """Return if the caller, identified before, may do `action`; raises NotAuthorized."""
        caller = self._callers.get(call.sender)
        if caller is None:
            raise NotAuthorized("the message bus does not say who asks")
        if caller.uid in (_ROOT, os.geteuid()) or action in caller.allowed:
            return
        try:
            granted, dialogue_helps = await self._ask(call.sender, action, 0, "", _ANSWER_S)
            if granted:
                caller.allowed.add(action)
                return
            if dialogue_helps and call.interactive and await self._ask_a_person(call.sender, action):
                return
        except (BusError, BusClosed, TimeoutError) as error:
            _log.warning("authorization_unknown", action=action, member=call.member, reason=str(error))
            raise NotAuthorized(f"{action} cannot be granted: polkit does not answer") from None
        _log.warning("not_authorized", action=action, member=call.member, uid=caller.uid)
        raise NotAuthorized(f"user {caller.uid} is not authorized for {action}")

    async def _ask_a_person(self, sender: str, action: str) -> bool:
        """Let polkit ask for a password; the answer holds for this one call, polkit keeps what it keeps."""
        self._dialogues += 1
        dialogue = f"wifimgrd-{self._dialogues}"
        try:
            granted, _ = await self._ask(sender, action, _ALLOW_USER_INTERACTION, dialogue, _DIALOGUE_S)
        except (TimeoutError, asyncio.CancelledError):
            self._tasks.start("call-off", self._call_off(dialogue))
            raise
        return granted

    async def _ask(
        self, sender: str, action: str, flags: int, dialogue: str, timeout_s: float
    ) -> tuple[bool, bool]:
        """Whether it is granted, and whether a dialogue could grant it."""
        subject = ["system-bus-name", {"name": Variant("s", sender)}]
        body = [subject, action, {}, flags, dialogue]
        [[granted, challenge, _details]] = await self._connection.call(
            _POLKIT,
            _AUTHORITY_PATH,
            _AUTHORITY,
            "CheckAuthorization",
            "(sa{sv})sa{ss}us",
            body,
            timeout_s=timeout_s,
        )
        return bool(granted), bool(challenge)

    async def _call_off(self, dialogue: str) -> None:
        with suppress(BusError, BusClosed, TimeoutError):
            await self._connection.call(
                _POLKIT, _AUTHORITY_PATH, _AUTHORITY, "CancelCheckAuthorization", "s", [dialogue]
            )

    def _owner_changed(self, signal: Signal) -> None:
        sender, _, owner = signal.body
        caller = None if owner else self._callers.pop(sender, None)
        if caller is not None:
            caller.watch.drop()

    def _rules_changed(self, signal: Signal) -> None:
        del signal
        for caller in self._callers.values():
            caller.allowed.clear()
