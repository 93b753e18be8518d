"""What the end of a scan says of a network that is being joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
import structlog

from wifimgrd.bus.connection import BusError
from wifimgrd.daemon.backends.supplicant.association import AssociationMonitor, ScanEnd, SupplicantChange
from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.domain.errors import DeviceNotReachable
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.proxies.wpa_supplicant.definitions import SupplicantState

SSID = Ssid(b"CAM")


class Scanned:
    """A supplicant whose scan has missed the network, and the state that it has by then."""

    def __init__(self, state: SupplicantState | BusError) -> None:
        self._state = state

    async def seen_in_scan(self, _: Ssid) -> Sequence[Bss]:
        return []

    async def state(self) -> str:
        if isinstance(self._state, BusError):
            raise self._state
        return self._state


async def process_the_end_of_a_scan(state: SupplicantState | BusError) -> None:
    request = JoinRequest(DeviceId(1), "wlan0", SSID, Passphrase("secret-123"), 20.0, ())
    limit = BssidLimit("wlan0", "02:00:00:00:00:01", None, BssChoice)
    supplicant = cast("Any", Scanned(state))
    monitor = AssociationMonitor(supplicant, request, [], limit, structlog.get_logger())
    await monitor.process(SupplicantChange({"State": "scanning"}))
    await monitor.process(ScanEnd(complete=True))
    await monitor.process(await monitor.next_event())


@pytest.mark.parametrize("state", [SupplicantState.SCANNING, BusError("org.example.Gone", "it is gone")])
async def test_a_network_that_a_scan_has_missed_is_not_there(state: SupplicantState | BusError) -> None:
    with pytest.raises(DeviceNotReachable, match="was not found"):
        await process_the_end_of_a_scan(state)


@pytest.mark.parametrize("state", [SupplicantState.AUTHENTICATING, SupplicantState.ASSOCIATING])
async def test_one_that_is_joined_from_an_older_scan_is_there_though_that_was_not_reported_yet(
    state: SupplicantState,
) -> None:
    await process_the_end_of_a_scan(state)
