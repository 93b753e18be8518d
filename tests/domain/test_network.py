"""Scan results of adapters, merged into networks."""

from __future__ import annotations

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import Device, DeviceId, Sighting, Ssid
from wifimgrd.domain.network import ScanResult, Security, is_full_scan, networks


def received(
    ssid: bytes = b"CAM",
    bssid: str = "02:00:00:00:00:01",
    *,
    interface: str = "wlan0",
    security: Security = Security.WPA2,
    mhz: int = 2437,
    percent: int = 50,
    seen: int = 1,
) -> ScanResult:
    return ScanResult(interface, Ssid(ssid), Sighting(bssid, mhz), security, percent, seen)


def test_an_access_point_that_two_interfaces_receive_is_one_network_as_it_was_received_best() -> None:
    weak, strong = received(percent=40, seen=9), received(interface="wlan1", percent=70, seen=5)
    (network,) = networks([weak, strong], [])
    assert network.points == (strong,)
    assert network.interfaces == ("wlan0", "wlan1")
    assert network.signal_percent == 70


def test_a_network_on_two_bands_has_both_its_strongest_first() -> None:
    (network,) = networks(
        [received(percent=60), received(bssid="02:00:00:00:00:02", mhz=5180, percent=80)], []
    )
    assert network.bands == (Band.GHZ_5, Band.GHZ_2_4)
    assert [point.sighting.bssid[-1] for point in network.points] == ["2", "1"]


def test_an_open_network_of_the_same_name_is_another_network() -> None:
    found = networks([received(), received(bssid="02:00:00:00:00:02", security=Security.OPEN)], [])
    assert {network.security for network in found} == {Security.WPA2, Security.OPEN}


def test_the_strongest_network_comes_first() -> None:
    found = networks(
        [received(b"far", percent=20), received(b"near", percent=90), received(b"mid", percent=50)], []
    )
    assert [network.ssid.data for network in found] == [b"near", b"mid", b"far"]


def test_a_network_belongs_to_the_first_device_with_its_ssid() -> None:
    devices = [Device(DeviceId(number), f"{number}", "x", Ssid(b"CAM")) for number in (4, 2, 3)]
    own, foreign = networks([received(percent=90), received(b"other")], devices)
    assert (own.device_id, foreign.device_id) == (2, None)


def test_a_network_that_hides_its_name_is_left_out() -> None:
    assert networks([received(b""), received(b"\0\0\0\0")], []) == []


def test_an_old_reading_hides_no_newer_one() -> None:
    old, new = (
        received(interface="wlan0", percent=90, seen=1_000_000),
        received(interface="wlan1", percent=40, seen=40_000_000),
    )
    (network,) = networks([old, new], [])
    assert (network.signal_percent, network.last_seen_us) == (40, 40_000_000)


def test_what_a_busy_adapter_remembers_from_long_ago_is_in_range_no_more() -> None:
    gone, there = received(b"gone", seen=1_000_000), received(b"there", interface="wlan1", seen=70_000_000)
    assert [network.ssid.data for network in networks([gone, there], [])] == [b"there"]


def test_a_reading_of_unknown_age_is_kept() -> None:
    unknown, there = received(b"unknown", seen=0), received(b"there", seen=90_000_000)
    assert len(networks([unknown, there], [])) == 2


def test_a_search_for_one_network_is_now_and_then_of_all_channels() -> None:
    assert [is_full_scan(number, 3) for number in range(1, 10)] == [False, False, False, True] * 2 + [False]
