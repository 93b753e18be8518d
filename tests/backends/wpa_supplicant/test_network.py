"""What wpa_supplicant is configured to join, and what is read back from it."""

from __future__ import annotations

from typing import Any

import pytest

from wifimgrd.backends.wpa_supplicant.network import bssid_of, marked_device, settings_for, ssid_of
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.ports import JoinRequest
from wifimgrd.wpa_supplicant.bss import KeyManagement

KEY = "0123456789abcdef" * 4


def settings(
    key_management: KeyManagement, passphrase: str, *, hidden: bool = False, bssid: str = ""
) -> dict[str, Any]:
    request = JoinRequest(
        DeviceId(7), "wlan0", Ssid(b'a "b" \xff'), Passphrase(passphrase), 20.0, hidden=hidden
    )
    made = settings_for(request, key_management, bssid)
    return {name: value.value for name, value in made.items()}


def test_a_network_bears_the_device_and_the_permanent_address() -> None:
    made = settings(KeyManagement.NONE, "")
    assert made == {
        "ssid": b'a "b" \xff',
        "id_str": "wifimgrd:7",
        "mac_addr": 0,
        "key_mgmt": "NONE",
    }


def test_a_passphrase_is_for_wpa2_and_for_sae_where_both_are_offered() -> None:
    made = settings(KeyManagement.PSK, 'quo"te pass')
    assert (made["key_mgmt"], made["psk"]) == ("WPA-PSK WPA-PSK-SHA256 SAE", 'quo"te pass')
    assert made["ieee80211w"] == 1


def test_sae_alone_protects_management_frames() -> None:
    made = settings(KeyManagement.SAE, "secret-secret")
    assert (made["key_mgmt"], made["sae_password"], made["ieee80211w"]) == ("SAE", "secret-secret", 2)
    assert "psk" not in made


def test_owe_encrypts_without_a_password_and_protects_management_frames() -> None:
    made = settings(KeyManagement.OWE, "")
    assert (made["key_mgmt"], made["ieee80211w"]) == ("OWE", 2)
    assert not {"psk", "sae_password"} & made.keys()


def test_a_key_of_64_digits_is_the_key_itself() -> None:
    assert settings(KeyManagement.PSK, KEY)["psk"] == bytes.fromhex(KEY)


def test_a_hidden_network_is_probed_for_and_a_bssid_is_the_only_one() -> None:
    made = settings(KeyManagement.NONE, "", hidden=True, bssid="02:ca:00:00:00:01")
    assert (made["scan_ssid"], made["bssid"]) == (1, "02:ca:00:00:00:01")


def test_there_is_no_background_scan() -> None:
    assert "bgscan" not in settings(KeyManagement.PSK, "secret-secret", bssid="02:ca:00:00:00:01")


@pytest.mark.parametrize(
    ("id_str", "device_id"),
    [
        ('"wifimgrd:7"', 7),
        ("wifimgrd:12", 12),
        ('"wifimgrd:0"', None),
        ('"wifimgrd:-1"', None),
        ('"wifimgrd:"', None),
        ('"wifimgrd:٣"', None),
        ('"7"', None),
        ("", None),
    ],
)
def test_the_mark_is_read_strictly(id_str: str, device_id: int | None) -> None:
    assert marked_device({"id_str": id_str}) == device_id


def test_a_network_without_a_mark_is_another_programs() -> None:
    assert marked_device({"ssid": '"CAM"'}) is None


@pytest.mark.parametrize(
    ("text", "octets"), [('"CAM A"', b"CAM A"), ('"a"b"', b'a"b'), ("63616dff", b"cam\xff")]
)
def test_an_ssid_is_quoted_or_digits(text: str, octets: bytes) -> None:
    assert ssid_of({"ssid": text}).octets == octets


@pytest.mark.parametrize(
    ("text", "bssid"), [("02:CA:00:00:00:01", "02:ca:00:00:00:01"), ("any", ""), ("", "")]
)
def test_a_bssid_may_be_any(text: str, bssid: str) -> None:
    assert bssid_of({"bssid": text}) == bssid
