"""The profiles that the helper has NetworkManager activate, from typed arguments alone."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.bus.library import unpack
from wifimgrd.bus.values import typed
from wifimgrd.daemon.backends.networkmanager._profile import bssid_of, ssid_of
from wifimgrd.daemon.helper_client.helper import profile_arguments
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.helper._call_arguments import profile_of
from wifimgrd.proxies.networkmanager.definitions import ProfileSettings
from wifimgrd.proxies.networkmanager.objects import marked_device
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement

UUID = "12345678-9abc-4def-8123-456789abcdef"
SECURITY = "802-11-wireless-security"


def profile(
    ssid: bytes = b"CAM",
    key_management: str = "wpa-psk",
    passphrase: str = "secret-1",
    device: int = 3,
    *,
    bssid: str = "",
    hidden: bool = False,
    seconds: int = 18,
    local_address: str = "",
) -> dict[str, Any]:
    """The settings for these arguments."""
    made, path, not_after_us = profile_of(
        *("wlan0", device, ssid, key_management, passphrase, bssid, hidden),
        *("/nm/device", UUID, seconds, local_address, 77),
    )
    assert (path, not_after_us) == ("/nm/device", 77)
    return cast("dict[str, Any]", unpack(made.settings))


def test_a_profile() -> None:
    assert profile() == {
        "connection": {
            "id": "wifimgrd-3",
            "uuid": UUID,
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


def test_sae_has_the_password_too() -> None:
    assert profile(key_management="sae")[SECURITY] == {"key-mgmt": "sae", "psk": "secret-1"}


def test_an_open_encrypted_network_has_no_password() -> None:
    assert profile(key_management="owe", passphrase="")[SECURITY] == {"key-mgmt": "owe"}


def test_an_open_network_has_no_security_setting() -> None:
    assert SECURITY not in profile(key_management="none", passphrase="")


def test_a_camera_that_hands_out_no_addresses() -> None:
    assert profile(local_address="192.168.1.30/24")["ipv4"] == {
        "method": "manual",
        "address-data": [{"address": "192.168.1.30", "prefix": 24}],
        "never-default": True,
        "route-table": 0x774A0003,
        "ignore-auto-routes": True,
        "route-metric": 30_003,
        "may-fail": False,
    }


def test_a_camera_that_does_not_send_its_name() -> None:
    assert profile(hidden=True)["802-11-wireless"]["hidden"] is True


def test_a_profile_of_one_access_point() -> None:
    any_point, pinned = profile(), profile(bssid="02:ca:00:0f:00:77")
    assert "bssid" not in any_point["802-11-wireless"]
    assert pinned["802-11-wireless"]["bssid"] == b"\x02\xca\x00\x0f\x00\x77"
    assert (bssid_of(typed(ProfileSettings, any_point)), bssid_of(typed(ProfileSettings, pinned))) == (
        "",
        "02:ca:00:0f:00:77",
    )


@given(st.binary(min_size=1, max_size=32), st.integers(1, 2**63 - 1))
def test_a_profile_is_known_again(ssid: bytes, device: int) -> None:
    settings = typed(ProfileSettings, profile(ssid, device=device))
    assert marked_device(settings) == device
    assert ssid_of(settings) == Ssid(ssid)


@pytest.mark.parametrize("mark", ["", "0", "-1", "x", "٣", "3 "])
def test_other_profiles_are_not_ours(mark: str) -> None:
    assert marked_device({"user": {"data": {"org.wifimgrd.device": mark}}}) is None
    assert marked_device(typed(ProfileSettings, {"connection": {"id": "wifimgrd-3"}})) is None


@pytest.mark.parametrize(("remaining_s", "dhcp_timeout_s"), [(17.4, 18), (0.1, 1), (-3.0, 1)])
def test_dhcp_is_given_as_long_as_the_attempt(remaining_s: float, dhcp_timeout_s: int) -> None:
    request = JoinRequest(DeviceId(3), "wlan0", Ssid(b"CAM"), Passphrase("secret-1"), 20.0)
    arguments = profile_arguments(request, KeyManagement.PSK, "", "/nm/device", UUID, remaining_s, 1.0)
    made, *_ = profile_of(*arguments)
    assert made.dhcp_timeout_s == dhcp_timeout_s


@pytest.mark.parametrize(
    "wrong",
    [
        {"uuid": ""},
        {"uuid": UUID.upper()},
        {"uuid": UUID + "\n"},
        {"seconds": 0},
        {"seconds": 601},
        {"local_address": "8.8.8.8/24"},
        {"local_address": "192.168.1.30"},
        {"key_management": "wpa-eap"},
        {"bssid": "any"},
    ],
    ids=str,
)
def test_arguments_that_are_no_profile_are_refused_without_the_password(wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {
        "key_management": "wpa-psk",
        "bssid": "",
        "uuid": UUID,
        "seconds": 18,
        "local_address": "",
    } | wrong
    with pytest.raises(InvalidRequest) as refused:
        profile_of(
            *("wlan0", 3, b"CAM", arguments["key_management"], "secret-1", arguments["bssid"], False),
            *("/nm/device", arguments["uuid"], arguments["seconds"], arguments["local_address"], 77),
        )
    assert "secret" not in refused.value.message


def test_the_password_of_a_profile_is_not_printed() -> None:
    made, *_ = profile_of("wlan0", 3, b"CAM", "sae", "secret-1", "", False, "/nm/device", UUID, 18, "", 77)
    assert "secret" not in repr(made)
