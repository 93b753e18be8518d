"""Limits of connections, in all and of one address; at the limit the one that is idle longest is closed."""

from __future__ import annotations

import resource
from collections import Counter, OrderedDict
from typing import Final, Protocol

from wifimgrd.http.access.exposure import is_loopback
from wifimgrd.http.access.throttle import address_group

IN_ALL: Final = 2048
PER_ADDRESS: Final = 128
"""Of another host; programs on this host, a proxy among them, have only the limit in all."""
SURPLUS: Final = 16
"""Connections beyond the limits, if none is idle: their requests get an error, except the liveness check."""
_OTHER_FILES: Final = 128
"""Descriptors that are left for other purposes."""


class Limited(Protocol):
    """The part of a connection that the limits need."""

    is_surplus: bool

    @property
    def is_evictable(self) -> bool:
        """Whether it waits for a request, and has sent all answers."""

    def evict(self) -> None:
        """Close it at once."""


class ConnectionLimits:
    """The connections, the least recently used first."""

    def __init__(self, in_all: int | None = None, per_address: int = PER_ADDRESS) -> None:
        """`in_all`: None = as many as the limit of open files allows, and no more than fit into memory."""
        if in_all is None:
            in_all = IN_ALL
            files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            if files != resource.RLIM_INFINITY:
                in_all = min(in_all, max(16, files - _OTHER_FILES))
        self._in_all = in_all
        self._per_address = per_address
        self._groups: OrderedDict[Limited, str] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._surplus = 0

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, connection: Limited, address: str) -> bool:
        """Add a new connection, in place of an idle one or as surplus; False = close it at once."""
        group = "" if not address or is_loopback(address) else address_group(address)
        is_full = len(self._groups) - self._surplus >= self._in_all
        if group and self._counts[group] >= self._per_address:
            has_place = self._evict_one(group)
        else:
            has_place = not is_full or self._evict_one(None)
        if not has_place:
            if self._surplus >= SURPLUS and not self._evict_one(None, surplus=True):
                return False
            connection.is_surplus = True
            self._surplus += 1
        self._groups[connection] = group
        self._counts[group] += not connection.is_surplus
        return True

    def close_all(self) -> None:
        """Close all connections at once."""
        for connection in list(self._groups):
            connection.evict()

    def touch(self, connection: Limited) -> None:
        """Record that a connection was used."""
        if connection in self._groups:
            self._groups.move_to_end(connection)

    def remove(self, connection: Limited) -> None:
        """Remove a connection."""
        group = self._groups.pop(connection, None)
        if group is None:
            return
        if connection.is_surplus:
            self._surplus -= 1
            return
        self._counts[group] -= 1
        if not self._counts[group]:
            del self._counts[group]

    def _evict_one(self, group: str | None, *, surplus: bool = False) -> bool:
        for connection, its_group in self._groups.items():
            fits = connection.is_surplus == surplus and group in (None, its_group)
            if fits and connection.is_evictable:
                self.remove(connection)
                connection.evict()
                return True
        return False
