from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import Passphrase, Sighting, Ssid
from wifimgrd.domain.errors import AssociationRefused, AuthenticationFailed
from wifimgrd.wpa_supplicant.bss import (
    LIKELY_FREQUENCIES,
    Bss,
    KeyManagement,
    bss_of,
    bssid_to_pin,
    choose_key_management,
    frequencies_to_try,
    seen_since,
)

SSID = Ssid(b"CAM")
SECRET = Passphrase("secret-1")
OPEN = Passphrase("")


def point(*suites: str, private: bool = True, age_s: int = 0, mhz: int = 2412) -> Bss:
    return Bss("/bss", b"CAM", "02:00:00:00:00:01", mhz, age_s, frozenset(suites), private)


WPA2 = point("wpa-psk")
SAE = point("sae")
MIXED = point("wpa-psk", "sae")
FREE = point(private=False)
WEP = point()
ENTERPRISE = point("wpa-eap")


@pytest.mark.parametrize(
    ("found", "passphrase", "expected"),
    [
        ([WPA2], SECRET, KeyManagement.PSK),
        ([point("wpa-psk-sha256")], SECRET, KeyManagement.PSK),
        ([point("wpa-ft-psk")], SECRET, KeyManagement.PSK),
        ([MIXED], SECRET, KeyManagement.PSK),
        ([SAE], SECRET, KeyManagement.SAE),
        ([point("ft-sae")], SECRET, KeyManagement.SAE),
        ([SAE, WPA2], SECRET, KeyManagement.PSK),
        ([FREE, SAE], SECRET, KeyManagement.SAE),
        ([FREE], OPEN, KeyManagement.NONE),
        ([WPA2, FREE], OPEN, KeyManagement.NONE),
    ],
)
def test_key_management_follows_the_networks_in_range(
    found: list[Bss], passphrase: Passphrase, expected: KeyManagement
) -> None:
    assert choose_key_management(found, SSID, passphrase) is expected


@pytest.mark.parametrize(
    ("found", "passphrase", "kind", "words"),
    [
        ([FREE], SECRET, AuthenticationFailed, "is open"),
        ([WPA2], OPEN, AuthenticationFailed, "asks for a password"),
        ([SAE], OPEN, AuthenticationFailed, "asks for a password"),
        ([WEP], SECRET, AssociationRefused, "WEP"),
        ([WEP], OPEN, AssociationRefused, "WEP"),
        ([ENTERPRISE], SECRET, AssociationRefused, "certificate"),
    ],
)
def test_another_kind_of_network_is_refused_in_words(
    found: list[Bss], passphrase: Passphrase, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words) as failure:
        choose_key_management(found, SSID, passphrase)
    assert '"CAM"' in str(failure.value)
    assert "secret-1" not in str(failure.value)


def test_a_bss_object_is_read() -> None:
    read = bss_of(
        "/bss",
        {
            "SSID": b"CAM",
            "BSSID": b"\x02\xca\xd3\xd9\x9e\x8b",
            "Privacy": True,
            "Frequency": 5180,
            "Age": 7,
            "Signal": -61,
            "WPA": {"KeyMgmt": [], "Group": "", "Pairwise": []},
            "RSN": {"KeyMgmt": ["wpa-psk", "sae"], "Group": "ccmp", "Pairwise": ["ccmp"]},
        },
    )
    suites = frozenset({"wpa-psk", "sae"})
    assert read == Bss("/bss", b"CAM", "02:ca:d3:d9:9e:8b", 5180, 7, suites, True, -61, True)
    assert read.sighting == Sighting("02:ca:d3:d9:9e:8b", 5180)
    assert (read.offers_psk, read.offers_sae, read.is_open) == (True, True, False)
    assert bss_of("/bss", {}).is_open


def test_where_it_was_met_comes_first_and_the_likely_channels_where_it_never_was() -> None:
    both = frozenset({Band.GHZ_2_4, Band.GHZ_5})
    known = [Sighting("a", 5180), Sighting("b", 2437), Sighting("a", 5180)]
    assert frequencies_to_try(known, [point(mhz=2412)], both) == (5180, 2437, 2412)
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


def test_being_in_the_list_is_no_proof_of_being_in_range() -> None:
    fresh, old = point(age_s=2), point(age_s=3)
    assert seen_since([fresh, old], 2.9) == [fresh]
    assert seen_since([old], 0.1) == []


@pytest.mark.parametrize(
    ("dbm", "percent"), [(-30, 100), (-40, 100), (-70, 50), (-99, 1), (-100, 0), (-128, 0)]
)
def test_signal_on_networkmanagers_scale(dbm: int, percent: int) -> None:
    assert bss_of("/bss", {"Signal": dbm}).signal_percent == percent


@pytest.mark.parametrize(("dbm", "percent"), [(-10, 100), (-20, 100), (-30, 90), (-90, 30), (-100, 30)])
def test_a_links_signal_on_networkmanagers_scale(dbm: int, percent: int) -> None:
    assert bss_of("/bss", {"Signal": dbm}).link_percent == percent


FIRST, SECOND, THIRD = (f"02:00:00:00:00:0{number}" for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("found", "known", "pinned"),
    [
        ([(FIRST, "wpa-psk")], [], FIRST),
        ([(FIRST, "sae")], [], FIRST),
        ([(FIRST, "wpa-psk")], [SECOND], FIRST),
        ([(FIRST, "wpa-psk"), (SECOND, "wpa-psk")], [], ""),
        ([(FIRST, "wpa-psk"), (SECOND, "wpa-psk")], [THIRD], ""),
        ([(FIRST, "wpa-psk"), (SECOND, "wpa-psk")], [THIRD, SECOND, FIRST], SECOND),
        ([(FIRST, "wpa-psk"), (SECOND, "wpa-eap")], [SECOND], FIRST),
        ([(FIRST, "wpa-eap")], [FIRST], ""),
        ([], [FIRST], ""),
    ],
)
def test_the_access_point_to_pin(found: list[tuple[str, str]], known: list[str], pinned: str) -> None:
    points = [replace(point(suite), bssid=bssid) for bssid, suite in found]
    sightings = [Sighting(bssid, 2412) for bssid in known]
    assert bssid_to_pin(points, KeyManagement.PSK, sightings) == pinned


def test_an_open_network_is_pinned_where_it_is_the_only_open_one() -> None:
    points = [point(private=False), replace(point("wpa-psk"), bssid=SECOND)]
    assert bssid_to_pin(points, KeyManagement.NONE, []) == FIRST
    assert bssid_to_pin(points, KeyManagement.SAE, []) == ""
