"""Whether the network of a camera that is being woken is on the air."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

from wifimgrd.domain.network import is_full_scan
from wifimgrd.domain.power import APPEARING, Looks, WakeRequest

IsVisible = Callable[[bool], Awaitable[bool | None]]
"""Whether a camera's network is on the air: on any channel, or, with False, on those where it was met; None
where no adapter could look, and none has received it."""


class Lookout:
    """Looks for a camera's network, and knows whether an adapter could."""

    def __init__(self, is_visible: IsVisible) -> None:
        self._is_visible = is_visible
        self._has_looked = False

    async def look(self, *, all_channels: bool) -> bool | None:
        """See IsVisible."""
        seen = await self._is_visible(all_channels)
        self._has_looked = self._has_looked or seen is not None
        return seen

    async def until_seen(self, looks: Looks) -> None:
        """Look until the network is seen."""
        for number in count(1):
            if await self._look_once(looks, number):
                return
            await asyncio.sleep(looks.pause_s)

    async def until_appeared(self, limit_s: float) -> None:
        """Wait for the network of a camera that has said that it is on, as long as an adapter can look: it
        may be received only later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                for number in count(1):
                    if await self._look_once(APPEARING, number) is not False:
                        return
                    await asyncio.sleep(APPEARING.pause_s)

    async def _look_once(self, looks: Looks, number: int) -> bool | None:
        return await self.look(all_channels=is_full_scan(number, looks.known_scans))

    def why_not_awake(self, request: WakeRequest) -> str:
        """Why a wake has failed by its time limit."""
        if request.beacon and not self._has_looked:
            return (
                f"the camera was called for {request.timeout_s:g} s, and no adapter was free to look for its"
                " network: it is not known whether it woke"
            )
        return (
            f"the camera did not wake within {request.timeout_s:g} s: it is out of range, switched off, or"
            " its setting for that is off"
        )
