"""What is read back from wpa_supplicant of the network that it is configured to join."""

from __future__ import annotations

import pytest

from wifimgrd.daemon.backends.wpa_supplicant._adoption import bssid_of, marked_device, ssid_of


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
    ("text", "data"), [('"CAM A"', b"CAM A"), ('"a"b"', b'a"b'), ("63616dff", b"cam\xff")]
)
def test_an_ssid_is_quoted_or_digits(text: str, data: bytes) -> None:
    assert ssid_of({"ssid": text}).data == data


@pytest.mark.parametrize(
    ("text", "bssid"), [("02:CA:00:00:00:01", "02:ca:00:00:00:01"), ("any", ""), ("", "")]
)
def test_a_bssid_may_be_any(text: str, bssid: str) -> None:
    assert bssid_of({"bssid": text}) == bssid
