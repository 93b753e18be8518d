"""Watch a device's carrier (IFF_LOWER_UP), which a Wi-Fi interface has while it is associated.

The kernel is watched beside wpa_supplicant because wpa_supplicant can miss the end of an association. If a
station leaves, gets another MAC address (NetworkManager sets one for scans) and joins again at once,
wpa_supplicant 2.10 takes the next disconnection event for the one that it requested itself. It then still
reports "completed" although the association has ended, and NetworkManager stays ACTIVATED.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from wifimgrd.bus.connection import BusConnection, Signal, Watch
from wifimgrd.proxies.networkmanager.definitions import InterfaceFlag
from wifimgrd.proxies.networkmanager.device import Device

_NOTICE_S: Final = 0.3
"""How long after NetworkManager the supplicant may report the same loss; mostly it reports it first."""


class Carrier:
    """Watches a device's carrier: `watch` starts, `drop` stops."""

    def __init__(self, connection: BusConnection, device: str, on_lost: Callable[[], None]) -> None:
        """`device` is NetworkManager's object path; `on_lost` is called when the carrier has been lost for
        `_NOTICE_S`, after which the supplicant should have reported it.
        """
        self._device = Device(connection, device)
        self._on_lost = on_lost
        self._watch: Watch | None = None
        self._notice: asyncio.TimerHandle | None = None

    async def watch(self) -> None:
        """Subscribe, then read; raises BusError, BusClosed, TimeoutError."""
        self._watch = await self._device.watch_properties(self._changed)
        self._apply(await self._device.interface_flags())

    def drop(self) -> None:
        """Stop calling `on_lost`; the caller cancels a `watch` that is still running first."""
        if self._watch:
            self._watch.drop()
            self._watch = None
        if self._notice:
            self._notice.cancel()

    def _changed(self, signal: Signal) -> None:
        flags = Device.changes(signal.body).get("InterfaceFlags")
        if flags is not None:
            self._apply(flags)

    def _apply(self, flags: int) -> None:
        if self._notice:
            self._notice.cancel()
            self._notice = None
        if not flags & InterfaceFlag.LOWER_UP:
            self._notice = asyncio.get_running_loop().call_later(_NOTICE_S, self._on_lost)
