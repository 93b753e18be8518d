"""Subscriptions to the properties of NetworkManager's objects, kept only while they are needed.

A join makes NetworkManager emit some forty property changes. Each would wake up this process, and the
message bus, during the join.
"""

from __future__ import annotations

from collections.abc import Callable

from wifimgrd.bus.connection import Signal, Watch
from wifimgrd.bus.proxy import Proxy


class Subscriptions:
    """Subscriptions, grouped by the object that needs them."""

    def __init__(self) -> None:
        self._watches: dict[str, dict[str, Watch]] = {}
        """By the object path of the owner, then of the watched object."""

    async def watch_object(self, owner: str, watched: Proxy, handler: Callable[[Signal], None]) -> None:
        """Call `handler` with each change of an object's properties; does nothing if subscribed already.

        Raises BusError, BusClosed, TimeoutError.
        """
        if watched.path in self._watches.get(owner, ()):
            return
        watch = await watched.watch_properties(handler)
        self._watches.setdefault(owner, {})[watched.path] = watch

    def unwatch(self, owner: str, but: tuple[str, ...] = ()) -> None:
        """End an owner's subscriptions, except those to the objects in `but`.

        Their match rules are removed from the bus a little later.
        """
        watches = self._watches.pop(owner, {})
        kept = {path: watch for path, watch in watches.items() if path in but}
        if kept:
            self._watches[owner] = kept
        for path in watches.keys() - kept.keys():
            watches[path].drop()

    def close(self) -> None:
        """End all subscriptions."""
        for owner in list(self._watches):
            self.unwatch(owner)
