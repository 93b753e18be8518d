"""wpa_supplicant's scans of one interface: start a scan, and match the end of a scan to its start."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from wifimgrd.bus.connection import BusError, Variant
from wifimgrd.domain.device import Ssid
from wifimgrd.proxies.wpa_supplicant import definitions

_CHANNEL_WIDTH_MHZ: Final = 20
_ATTEMPTS: Final = 12
_ABORTED: Final = 3
"""After so many scans of all channels that were aborted, for a join or for another scan, it is given up."""
_LONGEST_S: Final = 30.0
"""No scan takes longer; one of all channels takes some 10 s."""
_SETTLE_S: Final = 0.25
"""How long to wait for the end of the running scan before a refused scan is requested again."""


class ScanRefused(Exception):
    """The supplicant does not scan: each request was refused or ended early."""


class Call(Protocol):
    """Calls a method of the interface."""

    def __call__(
        self,
        member: str,
        signature: str = "",
        body: Sequence[object] = (),
        on_reply: Callable[[list[object]], None] | None = None,
    ) -> Awaitable[object]:
        """Call one; `on_reply` as in `BusConnection.call`."""


class ScanQueue:
    """The scans of an interface, of which one runs at a time, for this client or another one."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._waiters: list[asyncio.Future[bool]] = []

    def ended(self, complete: bool) -> None:
        """A ScanDone signal arrived."""
        waiters, self._waiters = self._waiters, []
        for end in waiters:
            if not end.done():
                end.set_result(complete)

    async def run(self, ssid: Ssid, frequencies: Sequence[int]) -> float:
        """Scan for a network, and abort a running scan for it; returns the loop time of the scan's start.

        On the given frequencies, MHz, or on all that the adapter may use. Raises ScanRefused, BusError,
        and TimeoutError where no scan ever ends.
        """
        for _ in range(_ATTEMPTS):
            started = asyncio.get_running_loop().time()
            try:
                end = await self._start(ssid, frequencies)
            except BusError as error:
                if error.name == definitions.WPAS_INVALID_ARGUMENTS:
                    raise ScanRefused(error.message) from None
                if error.name != definitions.WPAS_SCAN_ERROR:
                    raise
                await self._settle()
                continue
            if await self._end_of(end):
                return started
        raise ScanRefused("each request was refused")

    async def scan_all_channels(self, require_idle: Callable[[], None]) -> None:
        """Scan all channels for any network, after the scans of other clients, of which each has an end.

        `require_idle` is called before each request, and raises where the interface is to scan no more.
        Raises ScanRefused where each scan was aborted, BusError, and TimeoutError where no scan ever ends.
        """
        aborted = 0
        while aborted < _ABORTED:
            require_idle()
            of_another = self._next_end()
            try:
                end = await self._start(None, ())
            except BusError as error:
                if error.name != definitions.WPAS_SCAN_ERROR:
                    raise
                await self._end_of(of_another)
                continue
            finally:
                self._drop(of_another)
            if await self._end_of(end):
                return
            aborted += 1
        raise ScanRefused("each scan was aborted")

    async def _settle(self) -> None:
        """Abort the running scan and wait for its end, or for `_SETTLE_S` where none is running."""
        end = self._next_end()
        with contextlib.suppress(BusError):  # no scan is running: the interface is coming up
            await self._call("AbortScan")
        await asyncio.wait([end], timeout=_SETTLE_S)
        self._drop(end)

    async def _start(self, ssid: Ssid | None, frequencies: Sequence[int]) -> asyncio.Future[bool]:
        """Start a scan; the future that is returned resolves at its end.

        A ScanDone signal before the reply belongs to the previous scan.
        """
        arguments = {"Type": Variant("s", "active")}
        if ssid is not None:
            arguments["SSIDs"] = Variant("aay", [ssid.data])
        if frequencies:
            channels = [[mhz, _CHANNEL_WIDTH_MHZ] for mhz in frequencies]
            arguments["Channels"] = Variant("a(uu)", channels)
        waiters: list[asyncio.Future[bool]] = []
        await self._call("Scan", "a{sv}", [arguments], lambda _: waiters.append(self._next_end()))
        return waiters[0]

    async def _end_of(self, end: asyncio.Future[bool]) -> bool:
        try:
            async with asyncio.timeout(_LONGEST_S):
                return await end
        finally:
            self._drop(end)

    def _next_end(self) -> asyncio.Future[bool]:
        """Resolves at the end of the next scan that ends, with whether it was complete."""
        end: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiters.append(end)
        return end

    def _drop(self, end: asyncio.Future[bool]) -> None:
        if end in self._waiters:
            self._waiters.remove(end)
