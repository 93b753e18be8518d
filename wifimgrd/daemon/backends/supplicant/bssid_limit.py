"""The limit of a link to one access point, and its change where the camera has another BSSID now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import structlog

from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice
from wifimgrd.proxies.wpa_supplicant.bss import Bss

_log = structlog.get_logger(__name__)

LimitNetworks = Callable[[str, str], Awaitable[None]]
"""Makes wpa_supplicant join the networks that it has on an interface only at one BSSID; raises BusError,
BusClosed, TimeoutError."""


class BssidLimit:
    """The only access point that the supplicant is configured to join."""

    def __init__(
        self,
        interface: str,
        bssid: str,
        limit_networks: LimitNetworks | None = None,
        choice: Callable[[], BssChoice] = BssChoice,
    ) -> None:
        """`bssid` is empty where there is no limit, as for a link of an earlier version."""
        self._interface = interface
        self.limit_networks = limit_networks
        """None where the limit is not changed, as that of a link that is not watched yet."""
        self.bssid = bssid
        self.choice = choice
        """Returns the known facts about the network's access points now."""

    async def follow(self, found: Sequence[Bss]) -> bool:
        """Return whether a scan of the network has `found` an access point for the device.

        Where it has, but not the one of the limit, the limit becomes that one. It is changed in the
        supplicant and not in the profile: the activation goes on, and no background scan is configured.
        Raises BusError, BusClosed, TimeoutError.
        """
        if any(point.bssid == self.bssid for point in found):
            return True
        candidates = self.choice().candidates(found)
        if not candidates or self.limit_networks is None:
            return False
        before, self.bssid = (
            self.bssid,
            candidates[0].bssid,
        )  # before it is awaited, so that no other takes it
        try:
            await self.limit_networks(self._interface, self.bssid)
        except BaseException:
            self.bssid = before
            raise
        _log.info("bssid_changed", interface=self._interface, before=before, now=self.bssid)
        return True
