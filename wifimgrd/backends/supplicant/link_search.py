"""Search for the network of an interrupted link, so that wpa_supplicant joins it again at once."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from wifimgrd.backends.supplicant import diagnosis
from wifimgrd.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.bus.connection import BusError
from wifimgrd.domain.device import Sighting, Ssid
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.proxies.wpa_supplicant.definitions import SupplicantState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanRefused

_RETRY_DELAY_S: Final = 0.4
"""Between two scans for the network of an interrupted link."""
_SEARCHES_PER_FULL_SCAN: Final = 8
"""Scans of the known channel before each scan of all channels: the camera may come back on another one."""
_GRACE_S: Final = 2.0
"""How long the supplicant may take to join a network that a scan has found."""


class LinkSearch:
    """The scans of one link's interruptions; `state_changed` passes on each state of the supplicant."""

    def __init__(self, supplicant: SupplicantInterface, ssid: Ssid, limit: BssidLimit) -> None:
        self.limit = limit
        self._supplicant = supplicant
        self._ssid = ssid
        self._state: str = SupplicantState.COMPLETED
        self._state_changed = asyncio.Event()

    def state_changed(self, state: str) -> None:
        """The supplicant's state changed."""
        self._state = state
        self._state_changed.set()

    async def run(self, sighting: Sighting | None) -> None:
        """Make the supplicant scan for the network, mostly on its last channel, so that a camera that
        comes back is found at once and not in the supplicant's next scan of all channels. Ends with
        the interruption, whose length the manager limits.
        """
        known = [sighting.frequency_mhz] if sighting else []
        attempts = 0
        while True:
            found = False
            if diagnosis.is_down(self._state):
                attempts += 1
                all_channels = attempts % (_SEARCHES_PER_FULL_SCAN + 1) == 0
                with contextlib.suppress(ScanRefused, BusError, TimeoutError):
                    points = await self._supplicant.find_bss(self._ssid, () if all_channels else known)
                    found = await self.limit.follow(points)
            self._state_changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GRACE_S if found else _RETRY_DELAY_S):
                    await self._state_changed.wait()

    async def access_point(self) -> Bss | None:
        """The access point of the association; raises BusError, BusClosed, TimeoutError."""
        return await self._supplicant.read_bss(await self._supplicant.current_bss())
