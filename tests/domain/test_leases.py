"""Which addresses of cameras this host can use."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.addresses import is_private
from wifimgrd.domain.leases import HostAddresses, camera_address, obstacle

CAMERAS = IPv4Network("10.77.0.0/24")
HOST = HostAddresses(
    {IPv4Address("192.168.1.10"): "eth0", IPv4Address("127.0.0.1"): "lo"},
    {IPv4Address("192.168.1.20"): "eth0"},
    frozenset({IPv4Address("10.0.0.53")}),
)


@pytest.mark.parametrize(
    ("lease", "reason"),
    [
        ("192.168.42.10/24", ""),
        ("192.168.42.10/32", ""),
        ("192.168.42.10/31", ""),
        ("192.168.42.11/31", ""),
        ("192.168.42.10/16", ""),
        ("10.5.5.100/8", ""),
        ("172.16.10.2/12", ""),
        ("169.254.7.7/16", ""),
        ("192.168.1.30/24", ""),
        ("8.8.8.8/24", "8.8.8.8, which is not a private address"),
        ("127.0.0.9/8", "127.0.0.9, which is not a private address"),
        ("0.0.0.0/0", "0.0.0.0, which is not a private address"),
        ("224.0.0.5/24", "224.0.0.5, which is not a private address"),
        ("255.255.255.255/32", "255.255.255.255, which is not a private address"),
        ("100.64.0.9/24", "100.64.0.9, which is not a private address"),
        ("192.168.42.10/0", "192.168.42.10/0, whose network is larger than a private one"),
        ("192.168.42.10/15", "192.168.42.10/15, whose network is larger than a private one"),
        ("172.16.0.9/11", "172.16.0.9/11, whose network is larger than a private one"),
        ("192.168.42.255/24", "192.168.42.255/24, which is not a host address"),
        ("192.168.42.0/24", "192.168.42.0/24, which is not a host address"),
        ("192.168.42.8/30", "192.168.42.8/30, which is not a host address"),
        ("192.168.42.11/30", "192.168.42.11/30, which is not a host address"),
        (
            "10.77.0.9/25",
            "10.77.0.9/25, which belongs to 10.77.0.0/24, the network of the cameras' addresses on this host",
        ),
        ("192.168.1.10/24", "192.168.1.10/24, which is this host's own address at eth0"),
        ("192.168.1.20/32", "192.168.1.20/32, which is in use by another host at eth0"),
        (
            "192.168.1.17/29",
            "",
        ),
        (
            "192.168.1.9/30",
            "",
        ),
        ("10.0.0.53/24", "10.0.0.53/24, which is a name server or time server of this host"),
    ],
)
def test_a_lease_is_usable_or_not_for_a_reason(lease: str, reason: str) -> None:
    assert obstacle(IPv4Interface(lease), HOST, CAMERAS) == reason


@pytest.mark.parametrize(
    ("lease", "camera", "reason"),
    [
        ("192.168.42.7/24", "192.168.42.1", ""),
        ("192.168.42.20/24", "192.168.42.1", ""),
        (
            "192.168.42.1/24",
            "192.168.42.2",
            "192.168.42.1/24, which is the camera's own address at wlan1",
        ),
        (
            "10.9.9.9/24",
            "10.77.0.5",
            "10.9.9.9/24, and its own address 10.77.0.5 belongs to 10.77.0.0/24, "
            "the network of the cameras' addresses on this host",
        ),
        (
            "10.9.9.9/24",
            "192.168.1.10",
            "10.9.9.9/24, and its own address 192.168.1.10 is this host's own address at eth0",
        ),
        (
            "192.168.42.7/24",
            "192.168.42.20",
            "192.168.42.7/24, and its own address 192.168.42.20 is this host's own address at wlan1, "
            "given by the camera there",
        ),
    ],
)
def test_no_camera_takes_the_address_of_another(lease: str, camera: str, reason: str) -> None:
    host = replace(
        HOST,
        cameras={IPv4Address("192.168.42.1"): "wlan1"},
        leases={IPv4Address("192.168.42.20"): "wlan1"},
    )
    assert obstacle(IPv4Interface(lease), host, CAMERAS, IPv4Address(camera)) == reason


def test_a_broadcast_address_that_is_in_use_makes_a_lease_unusable() -> None:
    host = HostAddresses(neighbours={IPv4Address("192.168.1.23"): "eth0"})
    assert obstacle(IPv4Interface("192.168.1.17/29"), host, None) == (
        "192.168.1.17/29, whose broadcast address 192.168.1.23 is in use by another host at eth0"
    )
    assert not obstacle(IPv4Interface("192.168.1.17/28"), host, None)


@pytest.mark.parametrize(("prefix", "is_usable"), [(30, False), (31, True), (32, True)])
def test_the_last_address_of_31_bits_or_more_is_no_broadcast_address(prefix: int, is_usable: bool) -> None:
    host = HostAddresses(neighbours={IPv4Address("192.168.42.11"): "eth0"})
    assert (not obstacle(IPv4Interface(f"192.168.42.10/{prefix}"), host, None)) == is_usable


def test_without_addresses_for_cameras_their_network_is_any_other() -> None:
    assert not obstacle(IPv4Interface("10.77.0.9/24"), HOST, None)


@given(st.integers(0, 2**32 - 1), st.integers(0, 32))
def test_what_is_usable_takes_no_public_address_and_none_in_use(number: int, prefix: int) -> None:
    lease = IPv4Interface((number, prefix))
    if not obstacle(lease, HOST, CAMERAS):
        assert is_private(lease.ip)
        assert is_private(lease.network.broadcast_address)
        assert {lease.ip}.isdisjoint({*HOST.own, *HOST.neighbours, *HOST.servers})
        assert lease.ip not in CAMERAS


@pytest.mark.parametrize(
    ("candidates", "address"),
    [
        (["", "192.168.42.1"], "192.168.42.1"),
        (["127.0.0.1", "8.8.8.8", "192.168.42.1", "192.168.42.2"], "192.168.42.1"),
        (["192.168.42.10", "0.0.0.0", "255.255.255.255", "224.0.0.1", "no address"], ""),
        ([], ""),
    ],
)
def test_the_cameras_own_address(candidates: list[str], address: str) -> None:
    assert camera_address(candidates, "192.168.42.10") == address
