"""systemd-timedated: whether this host's clock is synchronised, by whichever program does that."""

from __future__ import annotations

import asyncio
from typing import Final

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError
from wifimgrd.bus.proxy import Proxy

_ANSWER_S: Final = 10.0
"""timedated is started by the call."""


class Timedated(Proxy):
    """Implements `wifimgrd.daemon.ports.HostClock`.

    https://www.freedesktop.org/software/systemd/man/252/org.freedesktop.timedate1.html: NTPSynchronized is
    what the kernel says (adjtimex(2)), and so true for every program that keeps the clock right.
    """

    SERVICE = "org.freedesktop.timedate1"
    INTERFACE = "org.freedesktop.timedate1"

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, "/org/freedesktop/timedate1")

    async def is_synchronised(self) -> bool:
        """See HostClock.is_synchronised; False also on a host without timedated."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await self.get("NTPSynchronized", bool)
        except (BusError, BusClosed, TimeoutError):
            return False
