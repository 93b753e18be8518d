"""Which devices use which access points: by links, which last, and by attempts, which are soon over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from wifimgrd.domain.device import DeviceId

Users = Callable[[], Iterable[tuple[str, DeviceId]]]
"""BSSIDs, each with the device that uses it now; an empty one counts for nothing."""


class BssUsers:
    """The access points in use, by their BSSIDs; one for all links and attempts of a backend."""

    def __init__(self, links: Users, attempts: Users) -> None:
        self._links = links
        self._attempts = attempts
        self._left = asyncio.Event()
        """Of the next change; replaced with each."""

    def links(self, but: DeviceId | None) -> dict[str, DeviceId]:
        """Those that links use, interrupted ones too; without those of one device."""
        return {bssid: user for bssid, user in self._links() if bssid and user != but}

    def attempts(self, but: DeviceId | None) -> dict[str, DeviceId]:
        """Those that attempts use; without those of one device."""
        return {bssid: user for bssid, user in self._attempts() if bssid and user != but}

    def leave(self) -> None:
        """Note that an attempt has left its access point, or has become a link."""
        left, self._left = self._left, asyncio.Event()
        left.set()

    async def next_leave(self) -> None:
        """Return once an attempt has left its access point, or has become a link."""
        await self._left.wait()
