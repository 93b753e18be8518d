"""Every device has an address of its own for as long as it is registered."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.addresses import (
    AcceptedPort,
    AddressPlan,
    SocketKind,
    parse_network,
    parse_port,
    parse_share,
)
from wifimgrd.domain.device import DeviceId

PLAN = AddressPlan(IPv4Network("10.77.0.0/29"))
"""Room for five: the network's, the broadcast and the host's own address are no camera's."""


def test_addresses_are_given_in_order_and_a_removed_ones_last() -> None:
    assert PLAN.next([], "") == "10.77.0.1"
    assert PLAN.next(["10.77.0.1"], "10.77.0.3") == "10.77.0.4"
    assert PLAN.next(["10.77.0.1", "10.77.0.3"], "10.77.0.5") == "10.77.0.2"
    assert PLAN.next(["10.77.0.1", "10.77.0.3"], "10.77.0.2") == "10.77.0.4"
    assert PLAN.next(["10.77.0.2"], "172.20.0.9") == "10.77.0.1"


def test_the_last_address_is_the_hosts_own() -> None:
    assert PLAN.host == "10.77.0.6"
    assert [PLAN.contains(f"10.77.0.{last}") for last in range(9)] == [False, *[True] * 5, *[False] * 3]


def test_a_full_network_gives_none() -> None:
    assert PLAN.next([f"10.77.0.{last}" for last in range(1, 6)], "10.77.0.3") == ""


def test_without_a_network_nobody_has_one_and_nobody_forgets_its_own() -> None:
    off = AddressPlan()
    assert (off.host, off.next([], ""), off.contains("10.77.0.1")) == ("", "", False)
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
    "text", ["10.76.0.0/15", "10.77.0.0/31", "10.77.0.1/24", "127.0.0.0/24", "x", "::/64"]
)
def test_a_network_that_cannot_be_the_cameras_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_network(text)


@pytest.mark.parametrize("text", ["10.77.0.0/16", "10.77.0.0/30"])
def test_a_network_of_16_to_30_bits_can_be_the_cameras(text: str) -> None:
    assert parse_network(text) == IPv4Network(text)


def test_a_network_of_30_bits_has_one_address_for_a_camera() -> None:
    plan = AddressPlan(IPv4Network("10.77.0.0/30"))
    assert (plan.next([], ""), plan.host, plan.next(["10.77.0.1"], "")) == ("10.77.0.1", "10.77.0.2", "")


def test_no_network_is_none() -> None:
    assert parse_network("") is None


@pytest.mark.parametrize("text", ["11.0.0.0/8", "192.168.1.0/24", "192.168.1.7/32", "169.254.0.0/16"])
def test_cameras_can_be_shared_with_a_network_of_8_bits_or_more(text: str) -> None:
    assert parse_share(text) == IPv4Network(text)


@pytest.mark.parametrize(
    "text", ["10.0.0.0/7", "0.0.0.0/0", "0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/8", "192.168.1.7/24"]
)
def test_cameras_cannot_be_shared_with_everybody_or_with_no_host(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_share(text)


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("udp/1", AcceptedPort(SocketKind.UDP, 1)),
        ("tcp/65535", AcceptedPort(SocketKind.TCP, 65535)),
    ],
)
def test_ports_are_1_to_65535(text: str, port: AcceptedPort) -> None:
    assert parse_port(text) == port


@pytest.mark.parametrize("text", ["udp/0", "udp/65536", "sctp/1", "udp/08", "udp/1 "])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="udp/8554"):
        parse_port(text)
