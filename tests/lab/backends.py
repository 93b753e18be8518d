"""Which backends a test of the whole product runs on; the test's name says which it is."""

import pytest

on_both = pytest.mark.parametrize("backend", ["networkmanager", "wpa_supplicant"])
on_networkmanager = pytest.mark.parametrize("backend", ["networkmanager"])
on_wpa_supplicant = pytest.mark.parametrize("backend", ["wpa_supplicant"])
"""For what no backend takes part in, such as what wifimgrd-net and the kernel do with addresses."""

SERVICE_OF = {"networkmanager": "NetworkManager.service", "wpa_supplicant": "wpa_supplicant.service"}
"""The service behind each backend."""
