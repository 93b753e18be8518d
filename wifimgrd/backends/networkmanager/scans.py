"""wpa_supplicant's scans of one interface: have one begin, and know its end from that of another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto
from typing import Any, Final, Protocol

from wifimgrd.backends.networkmanager import defs
from wifimgrd.dbus.bus import BusError, Variant
from wifimgrd.domain.device import Ssid

_CHANNEL_WIDTH_MHZ: Final = 20
_TRIES: Final = 12
_LONGEST_S: Final = 30.0
"""No scan takes longer; one of all channels takes some 10 s."""
_SETTLE_S: Final = 0.25
"""How long to wait for a word of the supplicant before a refused scan is asked for again."""


class SweepEnd(Enum):
    """What came of a scan of all channels."""

    COMPLETE = auto()
    ENDED_EARLY = auto()
    """Somebody ended it for something else."""
    ANOTHER_RAN = auto()
    """Another one ran, and is over now."""


class ScanRefused(Exception):
    """The supplicant does not scan: each request was refused or ended early."""


class Call(Protocol):
    """The interface's methods."""

    def __call__(
        self,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> Awaitable[None]:
        """Call one; `on_reply` as in `BusConnection.call`."""


class Scans:
    """The scans of an interface, of which one runs at a time, whoever has asked for it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._words: list[asyncio.Future[bool]] = []

    def ended(self, complete: bool) -> None:
        """The supplicant says that the scan has ended."""
        words, self._words = self._words, []
        for word in words:
            if not word.done():
                word.set_result(complete)

    async def run(self, ssid: Ssid, frequencies: Sequence[int]) -> float:
        """Scan for a network to the end, and end a scan that runs for it; returns the loop time of its start.

        On the given frequencies, MHz, or on all that the adapter may use. Raises ScanRefused, BusError,
        and TimeoutError where no scan ever ends.
        """
        for _ in range(_TRIES):
            started = asyncio.get_running_loop().time()
            try:
                word = await self._begin(ssid, frequencies)
            except BusError as error:
                if error.name == defs.WPAS_INVALID_ARGUMENTS:
                    raise ScanRefused(error.message) from None
                if error.name != defs.WPAS_SCAN_ERROR:
                    raise
                await self._settle()
                continue
            if await self._end_of(word):
                return started
        raise ScanRefused("each request was refused")

    async def sweep(self) -> SweepEnd:
        """Scan all channels for whatever is there, unless a scan runs: then wait for the end of that.

        Raises BusError, and TimeoutError where no scan ever ends.
        """
        of_another = self._next_word()
        try:
            complete = await self._end_of(await self._begin(None, ()))
        except BusError as error:
            if error.name != defs.WPAS_SCAN_ERROR:
                raise
            await self._end_of(of_another)
            return SweepEnd.ANOTHER_RAN
        finally:
            self._drop(of_another)
        return SweepEnd.COMPLETE if complete else SweepEnd.ENDED_EARLY

    async def _settle(self) -> None:
        """End the scan that is in the way, and wait for its end, or a moment where none is."""
        word = self._next_word()
        with contextlib.suppress(BusError):  # none runs: the interface is on its way up
            await self._call("AbortScan")
        await asyncio.wait([word], timeout=_SETTLE_S)
        self._drop(word)

    async def _begin(self, ssid: Ssid | None, frequencies: Sequence[int]) -> asyncio.Future[bool]:
        """Have a scan begin; what is returned resolves at its end.

        An end that is told before the answer is that of the scan before it.
        """
        arguments = {"Type": Variant("s", "active")}
        if ssid is not None:
            arguments["SSIDs"] = Variant("aay", [ssid.octets])
        if frequencies:
            channels = [[mhz, _CHANNEL_WIDTH_MHZ] for mhz in frequencies]
            arguments["Channels"] = Variant("a(uu)", channels)
        words: list[asyncio.Future[bool]] = []
        await self._call("Scan", "a{sv}", [arguments], lambda _: words.append(self._next_word()))
        return words[0]

    async def _end_of(self, word: asyncio.Future[bool]) -> bool:
        try:
            async with asyncio.timeout(_LONGEST_S):
                return await word
        finally:
            self._drop(word)

    def _next_word(self) -> asyncio.Future[bool]:
        """Resolves at the end of the next scan that ends, with whether it was complete."""
        word: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._words.append(word)
        return word

    def _drop(self, word: asyncio.Future[bool]) -> None:
        if word in self._words:
            self._words.remove(word)
