"""Subscriptions to the properties of NetworkManager's objects, held only while somebody needs them.

A join makes NetworkManager tell of some forty changed properties. Each would wake this process up,
and the process of the message bus, in the middle of it.
"""

from __future__ import annotations

from collections.abc import Callable

from wifimgrd.backends.networkmanager import defs
from wifimgrd.dbus.bus import BusConnection, Signal, Watch


async def watch_properties(
    connection: BusConnection, sender: str, path: str, interface: str, handler: Callable[[Signal], None]
) -> Watch:
    """Have `handler` hear of each change of an object's properties of one interface.

    Raises BusError, BusClosed, TimeoutError.
    """
    return await connection.watch(
        handler,
        sender=sender,
        path=path,
        interface=defs.PROPERTIES,
        member="PropertiesChanged",
        arg0=interface,
    )


class Following:
    """What is followed, by whose sake it is."""

    def __init__(self, connection: BusConnection) -> None:
        self._connection = connection
        self._watches: dict[str, dict[str, Watch]] = {}
        """By the object path of who needs it and of what is followed."""

    async def follow(self, sake: str, path: str, interface: str, handler: Callable[[Signal], None]) -> None:
        """Have `handler` hear of the changes of an object, unless it does already.

        Raises BusError, BusClosed, TimeoutError.
        """
        if path in self._watches.get(sake, ()):
            return
        watch = await watch_properties(self._connection, defs.NM, path, interface, handler)
        self._watches.setdefault(sake, {})[path] = watch

    def unfollow(self, sake: str, but: tuple[str, ...] = ()) -> None:
        """End what was followed for somebody's sake, save some objects; the bus is told soon."""
        watches = self._watches.pop(sake, {})
        kept = {path: watch for path, watch in watches.items() if path in but}
        if kept:
            self._watches[sake] = kept
        for path in watches.keys() - kept.keys():
            watches[path].drop()

    def close(self) -> None:
        """End all of it."""
        for sake in list(self._watches):
            self.unfollow(sake)
