"""End the limit of a link to one access point where the camera is on the air under another BSSID."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from wifimgrd.wpa_supplicant.bss import Bss
from wifimgrd.wpa_supplicant.interface import SupplicantInterface

_log = structlog.get_logger(__name__)


async def follow_bssid(supplicant: SupplicantInterface, bssid: str, found: Sequence[Bss]) -> str:
    """Return the BSSID that the supplicant is limited to after a scan of the network has `found` these.

    Where the network is there, but not at `bssid`, the limit is ended and the result is empty. It is ended in
    the supplicant and not in the profile: the activation goes on, and no background scan is configured.
    Raises BusError, BusClosed, TimeoutError.
    """
    if not bssid or not found or any(point.bssid == bssid for point in found):
        return bssid
    await supplicant.allow_any_bssid()
    _log.info("bssid_changed", before=bssid, found=[point.bssid for point in found])
    return ""
