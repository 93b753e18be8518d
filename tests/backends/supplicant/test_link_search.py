"""Where the search for an interrupted link goes on, where equal cameras are on the air."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.backends.supplicant.link_search import LinkSearch
from wifimgrd.domain.device import DeviceId, Sighting, Ssid
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.proxies.wpa_supplicant.bss_choice import BssChoice
from wifimgrd.proxies.wpa_supplicant.definitions import SupplicantState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

OWN, ANOTHERS, FREE = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"


class SupplicantOnTheAir:
    """It receives these access points, and has been limited to these."""

    def __init__(self, *bssids: str) -> None:
        self.bssids = bssids
        self.limits: list[str] = []
        self.searches = 0

    async def find_bss(self, ssid: Ssid, channels: Sequence[int]) -> list[Bss]:
        del ssid, channels
        self.searches += 1
        return [Bss("/bss", b"CAM", bssid, 2412, 0) for bssid in self.bssids]

    async def limit_networks(self, _: str, bssid: str) -> None:
        self.limits.append(bssid)


def searched(supplicant: SupplicantOnTheAir, limit: str = OWN) -> LinkSearch:
    limit_of_link = BssidLimit("wlan0", limit, supplicant.limit_networks)
    search = LinkSearch(cast("SupplicantInterface", supplicant), Ssid(b"CAM"), limit_of_link)
    own = Sighting(OWN, 2412)
    search.limit.choice = lambda: BssChoice([own], in_use={ANOTHERS: DeviceId(2)})

    async def test() -> None:
        search.state_changed(SupplicantState.SCANNING)
        async with asyncio.timeout(10):
            await search.run(own)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        try:
            runner.run(test())
        except TimeoutError:
            return search
    raise AssertionError


def test_a_link_is_not_restored_at_another_devices_camera() -> None:
    supplicant = SupplicantOnTheAir(ANOTHERS)
    assert searched(supplicant).limit.bssid == OWN
    assert supplicant.limits == []
    assert supplicant.searches > 15, "nothing is waited for that will not be joined"


def test_a_link_is_restored_where_its_camera_has_another_bssid() -> None:
    supplicant = SupplicantOnTheAir(ANOTHERS, FREE)
    assert searched(supplicant).limit.bssid == FREE
    assert supplicant.limits == [FREE]


def test_a_link_that_was_not_limited_is_limited_to_its_camera() -> None:
    supplicant = SupplicantOnTheAir(ANOTHERS, OWN)
    assert searched(supplicant, "").limit.bssid == OWN
    assert supplicant.limits == [OWN]
