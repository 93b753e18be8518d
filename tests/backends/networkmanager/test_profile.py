from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.backends.networkmanager.profile import (
    bssid_of,
    link_of,
    marked_device,
    prefix_of,
    settings_for,
    ssid_of,
)
from wifimgrd.dbus.library import unpack
from wifimgrd.domain.device import DeviceId, Link, Passphrase, Sighting, Ssid
from wifimgrd.ports import JoinRequest
from wifimgrd.wpa_supplicant.bss import KeyManagement


def request(ssid: bytes = b"CAM", password: str = "secret-1", device: int = 3) -> JoinRequest:
    return JoinRequest(DeviceId(device), "wlan0", Ssid(ssid), Passphrase(password), 20.0)


def test_a_profile() -> None:
    assert unpack(settings_for(request(), KeyManagement.PSK, "some-uuid", 17.4)) == {
        "connection": {
            "id": "wifimgrd-3",
            "uuid": "some-uuid",
            "type": "802-11-wireless",
            "interface-name": "wlan0",
            "autoconnect": False,
            "auth-retries": 1,
        },
        "802-11-wireless": {
            "ssid": b"CAM",
            "mode": "infrastructure",
            "powersave": 2,
            "assigned-mac-address": "permanent",
            "mtu": 1500,
        },
        "802-11-wireless-security": {"key-mgmt": "wpa-psk", "psk": "secret-1"},
        "ipv4": {
            "method": "auto",
            "never-default": True,
            "ignore-auto-routes": True,
            "route-table": 0x774A0003,
            "route-metric": 30_003,
            "ignore-auto-dns": True,
            "may-fail": False,
            "dhcp-timeout": 18,
        },
        "ipv6": {"method": "disabled"},
        "hostname": {"from-dhcp": 0, "from-dns-lookup": 0},
        "user": {"data": {"org.wifimgrd.device": "3"}},
    }


def test_an_open_encrypted_network_has_no_password() -> None:
    profile = unpack(settings_for(request(password=""), KeyManagement.OWE, "some-uuid", 17.4))
    assert profile["802-11-wireless-security"] == {"key-mgmt": "owe"}


def test_an_open_network_has_no_security_setting() -> None:
    settings = settings_for(request(password=""), KeyManagement.NONE, "some-uuid", 0.1)
    assert "802-11-wireless-security" not in settings
    assert unpack(settings)["ipv4"]["dhcp-timeout"] == 1


def test_a_camera_that_hands_out_no_addresses() -> None:
    asked = replace(request(), local_address="192.168.1.30/24")
    assert unpack(settings_for(asked, KeyManagement.PSK, "some-uuid", 17.4))["ipv4"] == {
        "method": "manual",
        "address-data": [{"address": "192.168.1.30", "prefix": 24}],
        "never-default": True,
        "route-table": 0x774A0003,
        "ignore-auto-routes": True,
        "route-metric": 30_003,
        "may-fail": False,
    }


def test_a_camera_that_does_not_send_its_name() -> None:
    settings = settings_for(replace(request(), hidden=True), KeyManagement.PSK, "some-uuid", 17.4)
    assert unpack(settings)["802-11-wireless"]["hidden"] is True


def test_a_profile_of_one_access_point() -> None:
    any_point = unpack(settings_for(request(), KeyManagement.PSK, "some-uuid", 17.4))
    pinned = unpack(settings_for(request(), KeyManagement.PSK, "some-uuid", 17.4, "02:ca:00:0f:00:77"))
    assert "bssid" not in any_point["802-11-wireless"]
    assert pinned["802-11-wireless"]["bssid"] == b"\x02\xca\x00\x0f\x00\x77"
    assert (bssid_of(any_point), bssid_of(pinned)) == ("", "02:ca:00:0f:00:77")


@given(st.binary(min_size=1, max_size=32), st.integers(1, 2**63 - 1))
def test_a_profile_is_known_again(ssid: bytes, device: int) -> None:
    settings = unpack(settings_for(request(ssid, device=device), KeyManagement.SAE, "some-uuid", 20))
    assert marked_device(settings) == device
    assert ssid_of(settings) == Ssid(ssid)


@pytest.mark.parametrize("mark", ["", "0", "-1", "x", "٣", "3 "])
def test_other_profiles_are_not_ours(mark: str) -> None:
    assert marked_device({"user": {"data": {"org.wifimgrd.device": mark}}}) is None
    assert marked_device({"connection": {"id": "wifimgrd-3"}}) is None


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
def test_the_cameras_address(ip4: dict[str, object], options: dict[str, str], camera: str) -> None:
    ip4 = {"AddressData": [{"address": "192.168.42.36", "prefix": 24}], "Gateway": "", **ip4}
    link = link_of(ip4, {"Options": options}, None, 0)
    assert link == Link("192.168.42.36", camera)


def test_a_link_with_its_access_point() -> None:
    ip4 = {"AddressData": [{"address": "192.168.42.36", "prefix": 24}]}
    seen = Sighting("02:ca:d3:d9:9e:8b", 2412)
    assert link_of(ip4, {}, seen, 90) == Link("192.168.42.36", "", 90, seen)
    assert link_of({"AddressData": []}, {}, seen, 90) is None


def test_the_lease_has_the_address_before_the_interface_shows_it() -> None:
    lease = {"Options": {"ip_address": "192.168.42.36", "routers": "192.168.42.1"}}
    assert link_of({}, lease, None, 0) == Link("192.168.42.36", "192.168.42.1")


def test_a_lease_that_has_run_out_is_no_address() -> None:
    lease = {"Options": {"ip_address": "192.168.42.36", "routers": "192.168.42.1"}}
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
def test_the_prefix_of_an_address(ip4: dict[str, Any], dhcp4: dict[str, Any], prefix: int) -> None:
    assert prefix_of(ip4, dhcp4) == prefix


def test_a_router_that_is_no_cameras_is_not_the_cameras_address() -> None:
    options = {"ip_address": "192.168.42.10", "routers": "8.8.8.8", "dhcp_server_identifier": "192.168.42.1"}
    link = link_of({}, {"Options": options}, None, 50)
    assert link is not None
    assert link.camera_address == "192.168.42.1"
