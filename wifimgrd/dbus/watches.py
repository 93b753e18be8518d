"""Subscriptions to signals: what the bus is asked for, and who hears what comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from wifimgrd.dbus.traffic import BusClosed, BusError, Signal

_DAEMON: Final = "org.freedesktop.DBus"


class Bus(Protocol):
    """What subscriptions need of a connection."""

    async def ask_bus(self, member: str, signature: str, body: Sequence[Any]) -> list[Any]:
        """Call a method of the message bus itself."""

    def tell_bus(self, member: str, signature: str, body: Sequence[Any]) -> None:
        """The same without waiting for what comes of it."""

    async def name_owner(self, name: str) -> str | None:
        """The unique name of who owns `name`, or None where nobody does."""


@dataclass(eq=False, slots=True)
class Watch:
    """A subscription to signals; `drop` ends it."""

    watches: Watches
    handler: Callable[[Signal], None]
    conditions: Mapping[str, str] = field(default_factory=dict)

    @property
    def rule(self) -> str:
        """The match rule: https://dbus.freedesktop.org/doc/dbus-specification.html."""
        return ",".join(["type='signal'", *(f"{key}='{value}'" for key, value in self.conditions.items())])

    def wants(self, signal: Signal, owners: Mapping[str, str | None]) -> bool:
        """Whether the signal fits the conditions, a well-known sender by its owner now."""
        for key, wanted in self.conditions.items():
            match key:
                case "sender":
                    fits = signal.sender == owners.get(wanted, wanted)
                case "path_namespace":
                    fits = signal.path == wanted or signal.path.startswith(wanted.rstrip("/") + "/")
                case "arg0":
                    fits = bool(signal.body) and signal.body[0] == wanted
                case _:
                    fits = getattr(signal, key) == wanted
            if not fits:
                return False
        return True

    def drop(self) -> None:
        """End the subscription; of a dead connection nothing is left to end. The bus is told, not asked."""
        self.watches.drop(self)


class Watches:
    """The subscriptions of one connection."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._watches: list[Watch] = []
        self._owners: dict[str, str | None] = {}
        """Of the well-known names that are followed."""
        self._found: dict[str, asyncio.Task[None]] = {}
        """Subscriptions to the owner of a name, each of which ends once the owner is known."""

    async def add(self, handler: Callable[[Signal], None], conditions: Mapping[str, str]) -> Watch:
        """Subscribe; raises as a call does."""
        sender = conditions.get("sender", "")
        if sender and not sender.startswith(":") and sender != _DAEMON:
            await self._follow_owner(sender)
        watch = Watch(self, handler, conditions)
        self._watches.append(watch)
        try:
            await self._bus.ask_bus("AddMatch", "s", [watch.rule])
        except BaseException as error:
            self._watches.remove(watch)
            if not isinstance(error, BusError | BusClosed):  # the wait was given up: the bus has the rule
                self._bus.tell_bus("RemoveMatch", "s", [watch.rule])
            raise
        return watch

    def drop(self, watch: Watch) -> None:
        """End a subscription; see Watch.drop."""
        if watch in self._watches:
            self._watches.remove(watch)
            self._bus.tell_bus("RemoveMatch", "s", [watch.rule])

    def hear(self, sender: str) -> bool:
        """Whether any subscription is to signals of this sender, or of everybody."""
        senders = (watch.conditions.get("sender") for watch in self._watches)
        return any(one is None or self._owners.get(one, one) == sender for one in senders)

    def dispatch(self, signal: Signal) -> None:
        """Pass a signal on to everybody who wants it; one that fails harms no other."""
        for watch in [watch for watch in self._watches if watch.wants(signal, self._owners)]:
            try:
                watch.handler(signal)
            except Exception as error:  # noqa: BLE001 - one bad handler must not take the bus down
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"handling the D-Bus signal {signal.member} failed", "exception": error}
                )

    def clear(self) -> None:
        """Forget all of them: the connection is gone."""
        self._watches.clear()

    async def _follow_owner(self, name: str) -> None:
        """Know the owner of a name from here on; who gives up waiting for that leaves the others to it."""
        finding = self._found.get(name)
        if finding is None:
            finding = self._found[name] = asyncio.create_task(self._find_owner(name))
            finding.add_done_callback(partial(self._owner_found, name))
        await asyncio.shield(finding)

    async def _find_owner(self, name: str) -> None:
        watch = await self.add(
            self._owner_changed, {"sender": _DAEMON, "member": "NameOwnerChanged", "arg0": name}
        )
        try:
            owner = await self._bus.name_owner(name)
        except BaseException:
            watch.drop()
            raise
        self._owners.setdefault(name, owner)  # a change that came since is newer

    def _owner_found(self, name: str, finding: asyncio.Task[None]) -> None:
        if finding.cancelled() or finding.exception() is not None:
            del self._found[name]  # the next who asks tries again

    def _owner_changed(self, signal: Signal) -> None:
        name, _, owner = signal.body
        self._owners[name] = owner or None
