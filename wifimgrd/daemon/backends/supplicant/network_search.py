"""Search for a network: for one to join, and for that of an interrupted link, so that wpa_supplicant joins it
again at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import structlog

from wifimgrd.bus.connection import BusError
from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import Sighting, Ssid
from wifimgrd.domain.network import is_full_scan
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.proxies.wpa_supplicant.definitions import SupplicantState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanRefused

_log = structlog.get_logger(__name__)

LIKELY_FREQUENCIES: Final = (2412, 2437, 2462, 5180, 5220, 5745, 5785)
"""Centre frequencies, MHz, that cameras usually use: channels 1, 6, 11, 36, 44, 149, 157."""
_FRESH_S: Final = 3
"""The supplicant joins from the results of its last scan without another one, if they are less than 5 s old
(scan_res_valid_for_connect); for older results, their channel is scanned first."""
_RETRY_DELAY_S: Final = 0.4
"""Between two scans for the network of an interrupted link."""
_KNOWN_SCANS: Final = 8
"""Scans of the known channel before each scan of all channels."""
_GRACE_S: Final = 2.0
"""How long the supplicant may take to join a network that a scan has found."""


async def locate(
    supplicant: SupplicantInterface, ssid: Ssid, choice: Callable[[], BssChoice], bands: frozenset[Band]
) -> list[Bss]:
    """Find a network to join: in the list, where all of it is fresh; then on the channels of earlier
    sightings and of the list, then on all; also subscribes. `choice` is what is known then: another device
    may have chosen an access point meanwhile. Raises ScanRefused, BusError, and TimeoutError where no scan
    ever ends."""
    subscribed, listed = await asyncio.gather(
        supplicant.subscribe(), supplicant.networks(ssid), return_exceptions=True
    )
    if isinstance(subscribed, BaseException):
        raise subscribed
    if isinstance(listed, BaseException):
        raise listed
    fresh = [point for point in listed if point.age_s < _FRESH_S]
    settled = fresh if choice().is_settled(fresh) else []
    if settled and len(fresh) == len(listed):
        return fresh
    # One that was received earlier may still be there, and be the camera that is wanted.
    frequencies = frequencies_to_try(choice().sightings, listed, bands)
    return await scan_for(supplicant, ssid, choice, frequencies, heard=settled)


async def scan_for(
    supplicant: SupplicantInterface,
    ssid: Ssid,
    choice: Callable[[], BssChoice],
    frequencies: Sequence[int],
    *,
    all_channels: bool = True,
    heard: Iterable[Bss] = (),
) -> list[Bss]:
    """Scan the given frequencies; then all, if that is wanted, unless one of the access points is nobody
    else's by then. Those that were `heard` just before count as found.

    Raises ScanRefused if the last scan is refused and nothing was found, else as `find_bss` does.
    """
    found = {point.bssid: point for point in heard}
    steps = dict.fromkeys((tuple(frequencies), ()))
    for channels in steps if all_channels else filter(None, steps):
        try:
            points = await supplicant.find_bss(ssid, channels)
        except ScanRefused as error:
            _log.warning("scan_refused", path=supplicant.path, channels=channels or "all", error=str(error))
            if not (channels and all_channels) and not found:
                raise
            continue
        _log.debug("network_searched", path=supplicant.path, channels=channels or "all", found=len(points))
        found |= {point.bssid: point for point in points}
        if choice().is_settled(found.values()):
            break
    return list(found.values())


def frequencies_to_try(
    known: Sequence[Sighting], listed: Iterable[Bss], bands: frozenset[Band]
) -> tuple[int, ...]:
    """The channels to scan before a full scan, MHz, best first: those where the network was
    seen before, or else the likely ones. Bands that the adapter lacks are left out, because the
    kernel refuses a scan request with a channel that the adapter does not support.
    """
    seen = [sighting.frequency_mhz for sighting in known] + [point.frequency_mhz for point in listed]
    wanted = seen or LIKELY_FREQUENCIES
    usable = (mhz for mhz in wanted if mhz > 0 and (not bands or Band.of_frequency(mhz) in bands))
    return tuple(dict.fromkeys(usable))


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
                all_channels = is_full_scan(attempts, _KNOWN_SCANS)
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
