"""Every device has an address of its own for as long as it is registered."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.addresses import AddressPlan, parse_network
from wifimgrd.domain.device import DeviceId

PLAN = AddressPlan(IPv4Network("10.77.0.0/29"))
"""Room for five: the network's, the broadcast and the host's own address are no camera's."""


def test_addresses_are_given_in_order_and_a_removed_ones_last() -> None:
    assert PLAN.next([]) == "10.77.0.1"
    assert PLAN.next(["10.77.0.1", "10.77.0.3"]) == "10.77.0.4"
    assert PLAN.next(["10.77.0.1", "10.77.0.3", "10.77.0.5"]) == "10.77.0.2"


def test_the_last_address_is_the_hosts_own() -> None:
    assert PLAN.host == "10.77.0.6"
    assert [PLAN.contains(f"10.77.0.{last}") for last in range(9)] == [False, *[True] * 5, *[False] * 3]


def test_a_full_network_gives_none() -> None:
    assert PLAN.next([f"10.77.0.{last}" for last in range(1, 6)]) == ""


def test_without_a_network_nobody_has_one_and_nobody_forgets_its_own() -> None:
    off = AddressPlan()
    assert (off.host, off.next([]), off.contains("10.77.0.1")) == ("", "", False)
    assert off.assign_all({DeviceId(1): "10.77.0.1"}) == {DeviceId(1): "10.77.0.1"}


def test_devices_keep_their_place_in_another_network() -> None:
    plan = AddressPlan(IPv4Network("172.20.0.0/16"))
    given_before = {DeviceId(1): "10.77.0.9", DeviceId(2): "", DeviceId(3): "172.20.0.9"}
    assert plan.assign_all(given_before) == {
        DeviceId(1): "172.20.0.10",  # 3 was there before
        DeviceId(2): "172.20.0.11",
        DeviceId(3): "172.20.0.9",
    }


@given(st.dictionaries(st.integers(1, 99).map(DeviceId), st.sampled_from(["", "10.77.0.2", "10.9.0.3"])))
def test_settling_gives_no_address_twice_and_changes_nothing_when_done_again(
    devices: dict[DeviceId, str],
) -> None:
    first_come: dict[DeviceId, str] = {}
    for device, address in devices.items():
        first_come[device] = "" if address in first_come.values() else address
    settled = PLAN.assign_all(first_come)
    shown = [address for address in settled.values() if address]
    assert len(shown) == len(set(shown)) == min(len(devices), 5)
    assert PLAN.assign_all(settled) == settled
    assert all(settled[device] == one for device, one in first_come.items() if PLAN.contains(one))


@pytest.mark.parametrize(
    "text", ["10.77.0.0/15", "10.77.0.0/31", "10.77.0.1/24", "127.0.0.0/24", "x", "::/64"]
)
def test_a_network_that_cannot_be_the_cameras_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_network(text)


def test_a_network_or_none() -> None:
    assert parse_network("10.77.0.0/16") == IPv4Network("10.77.0.0/16")
    assert parse_network("") is None
