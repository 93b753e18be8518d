"""Whether the kernel lets packets out of a device, which it does of Wi-Fi while that is associated.

The kernel's word stands beside wpa_supplicant's, which can miss the end of an association: a station that
leaves, is given another MAC address, as NetworkManager gives it one to scan with, and joins again at once
makes wpa_supplicant 2.10 take the next end that it is told of for the one that it had asked for itself.
It goes on to say that it is connected, and NetworkManager believes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.defs import InterfaceFlag
from wifimgrd.backends.networkmanager.following import watch_properties
from wifimgrd.dbus.bus import BusConnection, Signal, Watch

_NOTICE_S: Final = 0.3
"""How long after NetworkManager the supplicant may learn of the same; mostly it knows first."""


class Carrier:
    """Follows a device's carrier: `watch` begins, `drop` ends."""

    def __init__(self, connection: BusConnection, device: str, on_lost: Callable[[], None]) -> None:
        """Of NetworkManager's object `device`; `on_lost` is called where the carrier has been away for
        long enough that everybody should know.
        """
        self._connection = connection
        self._device = device
        self._on_lost = on_lost
        self._watch: Watch | None = None
        self._notice: asyncio.TimerHandle | None = None

    async def watch(self) -> None:
        """Subscribe, then read; raises BusError, BusClosed, TimeoutError."""
        self._watch = await watch_properties(
            self._connection, defs.NM, self._device, defs.NM_DEVICE, self._changed
        )
        self._take(await self._connection.get(defs.NM, self._device, defs.NM_DEVICE, "InterfaceFlags"))

    def drop(self) -> None:
        """Tell nobody any more; a `watch` that still waits is to be cancelled first."""
        if self._watch:
            self._watch.drop()
            self._watch = None
        if self._notice:
            self._notice.cancel()

    def _changed(self, signal: Signal) -> None:
        if "InterfaceFlags" in signal.body[1]:
            self._take(signal.body[1]["InterfaceFlags"])

    def _take(self, flags: int) -> None:
        if self._notice:
            self._notice.cancel()
            self._notice = None
        if not flags & InterfaceFlag.LOWER_UP:
            self._notice = asyncio.get_running_loop().call_later(_NOTICE_S, self._on_lost)
