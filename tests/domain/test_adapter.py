"""By what an adapter is known again."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.domain import worlds
from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Band

KNOWN = AdapterIdentity("02:00:00:00:00:0a", "1-1.4", "123456")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (KNOWN, True),
        (AdapterIdentity("02:00:00:00:00:0a", "2-1", "123456"), True),  # another port
        (AdapterIdentity("02:00:00:00:00:0b", "1-1.4", "123456"), False),  # another adapter in its port
        (AdapterIdentity("", "2-1", "123456"), True),  # its serial
        (AdapterIdentity("", "1-1.4", "654321"), False),
        (AdapterIdentity("", "1-1.4", ""), True),  # nothing but its port
        (AdapterIdentity("", "2-1", ""), False),
        (AdapterIdentity(), False),
    ],
)
def test_who_is_the_same_adapter(other: AdapterIdentity, same: bool) -> None:
    assert (KNOWN.match_strength(other) > 0) is same


def test_of_two_adapters_with_one_address_the_serial_and_then_the_port_decide() -> None:
    mac = "02:00:00:00:00:0a"
    serial = KNOWN.match_strength(AdapterIdentity(mac, "2-1", "123456"))
    port = KNOWN.match_strength(AdapterIdentity(mac, "1-1.4", "654321"))
    address_alone = KNOWN.match_strength(AdapterIdentity(mac, "2-1", "654321"))
    assert KNOWN.match_strength(KNOWN) > serial > port > address_alone > 0


@given(one=worlds.identities, other=worlds.identities)
def test_it_does_not_matter_who_is_compared_with_whom(one: AdapterIdentity, other: AdapterIdentity) -> None:
    assert one.match_strength(other) == other.match_strength(one)


@given(one=worlds.identities, other=worlds.identities)
def test_nothing_is_surer_than_being_the_same(one: AdapterIdentity, other: AdapterIdentity) -> None:
    assert one.match_strength(one) >= one.match_strength(other)
    assert bool(one.match_strength(one)) == (one != AdapterIdentity())


def test_nothing_known_is_no_match_not_even_with_itself() -> None:
    assert AdapterIdentity().match_strength(AdapterIdentity()) == 0


@pytest.mark.parametrize(
    ("mhz", "band"),
    [
        (2412, Band.GHZ_2_4),
        (2484, Band.GHZ_2_4),
        (5180, Band.GHZ_5),
        (5885, Band.GHZ_5),
        (5955, Band.GHZ_6),
        (7115, Band.GHZ_6),
    ],
)
def test_the_band_of_a_channel(mhz: int, band: Band) -> None:
    assert Band.of_frequency(mhz) is band


def test_an_adapter_is_on_usb_by_its_id_or_its_port() -> None:
    assert not Adapter("wlan0", AdapterIdentity("02:00:00:00:00:0a")).is_usb
    assert Adapter("wlan0", AdapterIdentity(usb_port="1-1")).is_usb
    assert Adapter("wlan0", AdapterIdentity(), usb_vendor_id="0bda").is_usb
