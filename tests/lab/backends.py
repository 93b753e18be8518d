"""Which backends a test of the whole product runs on; the test's name says which it is."""

import pytest

on_both = pytest.mark.parametrize("backend", ["networkmanager", "wpa_supplicant"])

SERVICE_OF = {"networkmanager": "NetworkManager.service", "wpa_supplicant": "wpa_supplicant.service"}
"""The service behind each backend."""
