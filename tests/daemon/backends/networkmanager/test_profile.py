import pytest

from wifimgrd.daemon.backends.networkmanager._profile import link_of, prefix_of
from wifimgrd.domain.device import Link, Sighting
from wifimgrd.proxies.networkmanager.definitions import (
    AddressData,
    Dhcp4ConfigProperties,
    DhcpOptions,
    Ip4ConfigProperties,
)


@pytest.mark.parametrize(
    ("ip4", "options", "camera"),
    [
        ({}, {"routers": "192.168.42.1", "dhcp_server_identifier": "192.168.42.2"}, "192.168.42.1"),
        ({}, {"routers": "10.0.0.1 10.0.0.2"}, "10.0.0.1"),
        ({}, {"routers": "0.0.0.0", "dhcp_server_identifier": "192.168.42.2"}, "192.168.42.2"),
        ({"Gateway": "192.168.42.9"}, {"routers": "192.168.42.1"}, "192.168.42.9"),
        ({}, {"dhcp_server_identifier": "192.168.42.2"}, "192.168.42.2"),
        ({}, {}, ""),
    ],
)
def test_the_cameras_address(ip4: Ip4ConfigProperties, options: DhcpOptions, camera: str) -> None:
    data: list[AddressData] = [{"address": "192.168.42.36", "prefix": 24}]
    link = link_of({"AddressData": data, "Gateway": "", **ip4}, {"Options": options}, None, 0)
    assert link == Link("192.168.42.36", camera)


def test_a_link_with_its_access_point() -> None:
    ip4: Ip4ConfigProperties = {"AddressData": [{"address": "192.168.42.36", "prefix": 24}]}
    seen = Sighting("02:ca:d3:d9:9e:8b", 2412)
    assert link_of(ip4, {}, seen, 90) == Link("192.168.42.36", "", 90, seen)
    assert link_of({"AddressData": []}, {}, seen, 90) is None


def test_the_lease_has_the_address_before_the_interface_shows_it() -> None:
    lease: Dhcp4ConfigProperties = {"Options": {"ip_address": "192.168.42.36", "routers": "192.168.42.1"}}
    assert link_of({}, lease, None, 0) == Link("192.168.42.36", "192.168.42.1")


def test_a_lease_that_has_run_out_is_no_address() -> None:
    lease: Dhcp4ConfigProperties = {"Options": {"ip_address": "192.168.42.36", "routers": "192.168.42.1"}}
    assert link_of({"AddressData": []}, lease, None, 0) is None


@pytest.mark.parametrize(
    ("ip4", "dhcp4", "prefix"),
    [
        (
            {"AddressData": [{"address": "10.5.5.9", "prefix": 8}]},
            {"Options": {"subnet_mask": "255.255.255.0"}},
            8,
        ),
        ({}, {"Options": {"subnet_mask": "255.255.255.0"}}, 24),
        ({}, {"Options": {"subnet_mask": "0.0.0.0"}}, 0),
        ({}, {"Options": {"subnet_mask": "255.0.255.0"}}, 32),
        ({}, {"Options": {}}, 32),
        ({"AddressData": []}, {}, 32),
    ],
)
def test_the_prefix_of_an_address(
    ip4: Ip4ConfigProperties, dhcp4: Dhcp4ConfigProperties, prefix: int
) -> None:
    assert prefix_of(ip4, dhcp4) == prefix


def test_a_router_that_is_no_cameras_is_not_the_cameras_address() -> None:
    options: DhcpOptions = {
        "ip_address": "192.168.42.10",
        "routers": "8.8.8.8",
        "dhcp_server_identifier": "192.168.42.1",
    }
    link = link_of({}, {"Options": options}, None, 50)
    assert link is not None
    assert link.camera_address == "192.168.42.1"
