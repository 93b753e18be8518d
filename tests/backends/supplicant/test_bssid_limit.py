"""When the supplicant may join another access point than the one that a link was made to."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from wifimgrd.backends.supplicant.bss_choice import BssChoice
from wifimgrd.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.bus.connection import BusError
from wifimgrd.domain.device import DeviceId, Sighting
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.runtime._repetitions import LIMITED

PINNED, OTHER = "02:ca:00:00:00:01", "02:ca:00:00:00:02"


class Helper:
    """The changes that it was to make."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str]] = []

    async def limit_networks(self, interface: str, bssid: str) -> None:
        self.changes.append((interface, bssid))


def limit_of(helper: Helper, bssid: str, choice: BssChoice | None = None) -> BssidLimit:
    return BssidLimit("wlan0", bssid, helper.limit_networks, lambda: choice or BssChoice())


@pytest.mark.parametrize(
    ("bssid", "found", "then"),
    [
        (PINNED, [], PINNED),
        (PINNED, [PINNED], PINNED),
        (PINNED, [OTHER, PINNED], PINNED),
        (PINNED, [OTHER], OTHER),
        ("", [OTHER], OTHER),
    ],
)
async def test_the_limit_follows_where_the_network_is_only_at_another_bssid(
    bssid: str, found: list[str], then: str
) -> None:
    helper = Helper()
    limit = limit_of(helper, bssid)
    assert await limit.follow([Bss("/bss", b"CAM", one, 2412, 0) for one in found]) is bool(found)
    assert limit.bssid == then
    assert helper.changes == ([("wlan0", then)] if then != bssid else [])


@pytest.mark.parametrize(
    ("others", "in_use"),
    [({}, {OTHER: DeviceId(2)}), ({OTHER: DeviceId(2)}, {})],
    ids=["in use", "another's"],
)
async def test_it_does_not_follow_to_another_devices_camera(
    others: dict[str, DeviceId], in_use: dict[str, DeviceId]
) -> None:
    helper = Helper()
    limit = limit_of(helper, PINNED, BssChoice([Sighting(PINNED, 2412)], others, in_use))
    assert not await limit.follow([Bss("/bss", b"CAM", OTHER, 2412, 0)])
    assert (limit.bssid, helper.changes) == (PINNED, [])


async def test_a_limit_of_a_link_that_is_not_watched_is_not_changed() -> None:
    limit = BssidLimit("wlan0", PINNED)
    assert not await limit.follow([Bss("/bss", b"CAM", OTHER, 2412, 0)])
    assert limit.bssid == PINNED


async def test_a_limit_that_the_supplicant_does_not_take_is_not_changed() -> None:
    meanwhile: list[str] = []

    async def refuse(*_: str) -> None:
        meanwhile.append(limit.bssid)
        raise BusError("org.example.Error", "no")

    limit = BssidLimit("wlan0", PINNED, refuse)
    with pytest.raises(BusError):
        await limit.follow([Bss("/bss", b"CAM", OTHER, 2412, 0)])
    assert meanwhile == [OTHER], "it is in use before that is awaited"
    assert limit.bssid == PINNED


async def test_a_camera_that_has_another_bssid_each_time_fills_no_journal() -> None:
    limit = limit_of(Helper(), PINNED)
    with capture_logs() as logs:
        for number in range(5):
            bssid = f"02:ca:00:00:01:{number:02x}"
            assert await limit.follow([Bss("/bss", b"CAM", bssid, 2412, 0)])
    lines = [one for one in logs if one["event"] == "bssid_changed"]
    limited = [tuple(one[name] for name in LIMITED["bssid_changed"].fields) for one in lines]
    assert limited == [("wlan0",)] * 5, "they are the same thing"
