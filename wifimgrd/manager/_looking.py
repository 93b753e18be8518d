"""Whether the network of a camera that is being woken is on the air."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from wifimgrd.domain.power import WakeRequest

PAUSE_S: Final = 0.5
"""From one search for the network to the next one."""

IsVisible = Callable[[], Awaitable[bool | None]]
"""Whether a camera's network is on the air; None where no adapter could look, and none has received it."""


class Looking:
    """Looks for a camera's network, and knows whether an adapter could."""

    def __init__(self, is_visible: IsVisible) -> None:
        self._is_visible = is_visible
        self._has_looked = False

    async def look(self) -> bool | None:
        """See IsVisible."""
        seen = await self._is_visible()
        self._has_looked = self._has_looked or seen is not None
        return seen

    async def until_seen(self, limit_s: float) -> None:
        """Wait for the network of a camera that has said that it is on, as long as an adapter can look: it
        may be received only later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while True:
                    if await self.look() is not False:
                        return
                    await asyncio.sleep(PAUSE_S)

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
