import pytest

from wifimgrd.domain.device import Sighting, Ssid
from wifimgrd.domain.errors import AssociationRefused, AuthenticationFailed
from wifimgrd.proxies.wpa_supplicant.bss import (
    Bss,
    KeyManagement,
    bss_of,
    key_management,
    misfit,
    seen_since,
)

SSID = Ssid(b"CAM")


def point(*suites: str, private: bool = True, age_s: int = 0, mhz: int = 2412) -> Bss:
    return Bss("/bss", b"CAM", "02:00:00:00:00:01", mhz, age_s, frozenset(suites), private)


WPA2 = point("wpa-psk")
SAE = point("sae")
MIXED = point("wpa-psk", "sae")
FREE = point(private=False)
OWE = point("owe")
WEP = point()
ENTERPRISE = point("wpa-eap")


@pytest.mark.parametrize(
    ("found", "has_password", "expected"),
    [
        (WPA2, True, KeyManagement.PSK),
        (point("wpa-psk-sha256"), True, KeyManagement.PSK),
        (point("wpa-ft-psk"), True, KeyManagement.PSK),
        (MIXED, True, KeyManagement.PSK),
        (SAE, True, KeyManagement.SAE),
        (point("ft-sae"), True, KeyManagement.SAE),
        (FREE, False, KeyManagement.NONE),
        (OWE, False, KeyManagement.OWE),
        (FREE, True, None),
        (OWE, True, None),
        (WPA2, False, None),
        (SAE, False, None),
        (WEP, True, None),
        (WEP, False, None),
        (ENTERPRISE, True, None),
    ],
)
def test_key_management_follows_the_access_point(
    found: Bss, has_password: bool, expected: KeyManagement | None
) -> None:
    assert key_management(found, has_password) is expected


@pytest.mark.parametrize(
    ("found", "kind", "words"),
    [
        ([FREE], AuthenticationFailed, "is open"),
        ([OWE], AuthenticationFailed, "is open"),
        ([WPA2], AuthenticationFailed, "asks for a password"),
        ([SAE], AuthenticationFailed, "asks for a password"),
        ([WEP], AssociationRefused, "WEP"),
        ([ENTERPRISE], AssociationRefused, "certificate"),
    ],
)
def test_another_kind_of_network_is_refused_in_words(
    found: list[Bss], kind: type[Exception], words: str
) -> None:
    error = misfit(found, SSID)
    assert isinstance(error, kind)
    assert words in error.message
    assert '"CAM"' in error.message


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
            "WPA": {"KeyMgmt": []},
            "RSN": {"KeyMgmt": ["wpa-psk", "sae"]},
        },
    )
    suites = frozenset({"wpa-psk", "sae"})
    assert read == Bss("/bss", b"CAM", "02:ca:d3:d9:9e:8b", 5180, 7, suites, True, -61, True)
    assert read.sighting == Sighting("02:ca:d3:d9:9e:8b", 5180)
    assert (read.offers_psk, read.offers_sae, read.is_open) == (True, True, False)
    assert bss_of("/bss", {}).is_open


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
