"""wpa_supplicant's list of access points, in a connection's place."""

from __future__ import annotations

import asyncio
from typing import Any

from wifimgrd.bus.connection import BusError


class ListOnTheBus:
    """Replies in rounds: calls that are made together are answered together."""

    def __init__(self, **listed: bytes) -> None:
        self.listed = listed
        self.rounds = 0
        self.age_s = 0
        self._answering: asyncio.Future[None] | None = None

    async def _round(self) -> None:
        if self._answering is None or self._answering.done():
            self.rounds += 1
            self._answering = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(0.01, self._answering.set_result, None)
        await self._answering

    async def get(self, destination: str, path: str, interface: str, name: str, timeout_s: float = 25) -> Any:
        del destination, interface, timeout_s
        await self._round()
        return list(self.listed) if name == "BSSs" else self.listed[path]

    async def get_all(
        self, destination: str, path: str, interface: str, timeout_s: float = 25
    ) -> dict[str, Any]:
        del destination, interface, timeout_s
        await self._round()
        if path not in self.listed:
            raise BusError("org.freedesktop.DBus.Error.UnknownObject", path)
        return {"SSID": self.listed[path], "BSSID": b"\2\0\0\0\0\1", "Frequency": 2412, "Age": self.age_s}
