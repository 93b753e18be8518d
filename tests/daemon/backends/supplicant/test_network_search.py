"""Which channels are searched for a network, and where the search for an interrupted link goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxies.wpa_supplicant.list_on_the_bus import ListOnTheBus
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.daemon.backends.supplicant.network_search import (
    LIKELY_FREQUENCIES,
    LinkSearch,
    frequencies_to_try,
    locate,
    scan_for,
)
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import DeviceId, Sighting, Ssid
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.proxies.wpa_supplicant.definitions import SupplicantState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanRefused

OURS = Ssid(b"CAM")
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


def test_where_it_was_met_comes_first_and_the_likely_channels_where_it_never_was() -> None:
    both = frozenset({Band.GHZ_2_4, Band.GHZ_5})
    known = [Sighting("a", 5180), Sighting("b", 2437), Sighting("a", 5180)]
    assert frequencies_to_try(known, [Bss("/bss", b"CAM", OWN, 2412, 0)], both) == (5180, 2437, 2412)
    assert frequencies_to_try(known, [], frozenset({Band.GHZ_2_4})) == (2437,)
    assert frequencies_to_try([], [], frozenset()) == LIKELY_FREQUENCIES
    assert frequencies_to_try([], [], frozenset({Band.GHZ_2_4})) == (2412, 2437, 2462)
    assert frequencies_to_try([Sighting("a", 5180)], [], frozenset({Band.GHZ_2_4})) == ()


@given(st.lists(st.integers(2400, 7200)), st.sets(st.sampled_from(list(Band))))
def test_no_channel_is_asked_for_twice_or_in_a_band_that_is_not_there(
    frequencies: list[int], bands: set[Band]
) -> None:
    tried = frequencies_to_try([Sighting("a", mhz) for mhz in frequencies], [], frozenset(bands))
    assert len(tried) == len(set(tried))
    assert not bands or all(Band.of_frequency(mhz) in bands for mhz in tried)


class ScansOfTheNetwork:
    """What a scan of each of these channels finds; () are all."""

    def __init__(self, **found: Sequence[str]) -> None:
        self.found = found
        self.searched: list[tuple[int, ...]] = []

    async def find_bss(self, ssid: Ssid, channels: tuple[int, ...]) -> list[Bss]:
        assert ssid == OURS
        self.searched.append(channels)
        names = self.found["known" if channels else "all"]
        return [Bss("/bss", b"CAM", name, 2412, 0) for name in names]


@pytest.mark.parametrize(
    ("known", "searched", "found"),
    [
        ("a", [(2412,)], ["a"]),
        ("b", [(2412,), ()], ["b", "a"]),
        ("c", [(2412,), ()], ["c", "b", "a"]),
        ("", [(2412,), ()], ["b", "a"]),
    ],
)
async def test_all_channels_are_scanned_where_the_known_ones_have_other_devices_cameras_alone(
    monkeypatch: pytest.MonkeyPatch, known: str, searched: list[tuple[int, ...]], found: list[str]
) -> None:
    scans = ScansOfTheNetwork(known=known, all="ba")
    supplicant = SupplicantInterface(cast("BusConnection", ListOnTheBus()), "/if")
    monkeypatch.setattr(supplicant, "find_bss", scans.find_bss)
    choice = BssChoice(in_use={"b": DeviceId(2)}, others={"c": DeviceId(3)})
    points = await scan_for(supplicant, OURS, lambda: choice, [2412])
    assert [point.bssid for point in points] == found
    assert scans.searched == searched


@pytest.mark.parametrize("known", [[2412], []])
async def test_only_the_known_channels_are_scanned_where_that_is_wanted(
    monkeypatch: pytest.MonkeyPatch, known: list[int]
) -> None:
    scans = ScansOfTheNetwork(known="", all="a")
    supplicant = SupplicantInterface(cast("BusConnection", ListOnTheBus()), "/if")
    monkeypatch.setattr(supplicant, "find_bss", scans.find_bss)
    assert await scan_for(supplicant, OURS, BssChoice, known, all_channels=False) == []
    assert scans.searched == [(mhz,) for mhz in known]


@pytest.mark.parametrize(("in_use", "searched"), [({}, []), ({"02:00:00:00:00:01": DeviceId(2)}, [(2412,)])])
async def test_a_fresh_scan_result_is_not_enough_where_it_is_another_devices_camera(
    monkeypatch: pytest.MonkeyPatch, in_use: dict[str, DeviceId], searched: list[tuple[int, ...]]
) -> None:
    scans = ScansOfTheNetwork(known="a", all="a")
    supplicant = SupplicantInterface(cast("BusConnection", ListOnTheBus(a=b"CAM")), "/if")
    monkeypatch.setattr(supplicant, "find_bss", scans.find_bss)
    monkeypatch.setattr(supplicant, "subscribe", lambda: asyncio.sleep(0))
    await locate(supplicant, OURS, lambda: BssChoice(in_use=in_use), frozenset())
    assert scans.searched == searched


class Refused(ScansOfTheNetwork):
    async def find_bss(self, ssid: Ssid, channels: tuple[int, ...]) -> list[Bss]:
        await super().find_bss(ssid, channels)
        raise ScanRefused("each request was refused")


@pytest.mark.parametrize(
    ("scans", "found"),
    [
        (ScansOfTheNetwork(known=[OWN, FREE]), [OWN, FREE]),
        pytest.param(ScansOfTheNetwork(known=[FREE]), [OWN, FREE], id="the newer one is missed"),
        pytest.param(Refused(known=[], all=[]), [OWN], id="the scan is refused"),
    ],
)
async def test_a_fresh_scan_result_does_not_decide_beside_an_older_one_and_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, scans: ScansOfTheNetwork, found: list[str]
) -> None:
    listed = [Bss("/new", b"CAM", OWN, 2412, age_s=2), Bss("/old", b"CAM", FREE, 2437, age_s=3)]
    supplicant = SupplicantInterface(cast("BusConnection", ListOnTheBus()), "/if")
    monkeypatch.setattr(supplicant, "find_bss", scans.find_bss)
    monkeypatch.setattr(supplicant, "subscribe", lambda: asyncio.sleep(0))
    monkeypatch.setattr(supplicant, "networks", lambda _: asyncio.sleep(0, listed))
    points = await locate(supplicant, OURS, BssChoice, frozenset())
    assert scans.searched[0] == (2412, 2437)
    assert [point.bssid for point in points] == found


async def test_a_camera_that_another_device_joins_during_the_scan_is_not_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_use: dict[str, DeviceId] = {}

    class Taken(ScansOfTheNetwork):
        async def find_bss(self, ssid: Ssid, channels: tuple[int, ...]) -> list[Bss]:
            in_use["b"] = DeviceId(2)
            return await super().find_bss(ssid, channels)

    scans = Taken(known="b", all="ba")
    supplicant = SupplicantInterface(cast("BusConnection", ListOnTheBus()), "/if")
    monkeypatch.setattr(supplicant, "find_bss", scans.find_bss)
    points = await scan_for(supplicant, OURS, lambda: BssChoice(in_use=in_use), [2412])
    assert [point.bssid for point in points] == ["b", "a"]
