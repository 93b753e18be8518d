"""The security of a network, from wpa_supplicant's properties."""

from __future__ import annotations

import pytest

from wifimgrd.domain.network import Security
from wifimgrd.proxies.wpa_supplicant.bss import bss_of, security_of
from wifimgrd.proxies.wpa_supplicant.definitions import BssProperties


@pytest.mark.parametrize(
    ("properties", "security"),
    [
        ({}, Security.OPEN),
        ({"Privacy": True}, Security.WEP),
        ({"WPA": {"KeyMgmt": ["wpa-psk"]}}, Security.WPA),
        ({"RSN": {"KeyMgmt": ["wpa-psk"]}}, Security.WPA2),
        ({"RSN": {"KeyMgmt": ["wpa-psk-sha256"]}}, Security.WPA2),
        ({"RSN": {"KeyMgmt": ["wpa-psk"]}, "WPA": {"KeyMgmt": ["wpa-psk"]}}, Security.WPA2),
        ({"RSN": {"KeyMgmt": ["wpa-psk", "sae"]}}, Security.WPA2_WPA3),
        ({"RSN": {"KeyMgmt": ["sae"]}}, Security.WPA3),
        ({"RSN": {"KeyMgmt": ["wpa-eap"]}}, Security.ENTERPRISE),
        ({"RSN": {"KeyMgmt": ["wpa-eap", "wpa-psk"]}}, Security.WPA2),
        ({"RSN": {"KeyMgmt": ["owe"]}}, Security.OWE),
    ],
)
def test_security_by_key_management(properties: BssProperties, security: Security) -> None:
    private = bool(properties)
    assert security_of(bss_of("/1", {"Privacy": private, **properties})) is security
