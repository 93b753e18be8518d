"""Joins networks through NetworkManager, watching wpa_supplicant beside it."""

from wifimgrd.backends.networkmanager._backend import NetworkManagerBackend

__all__ = ["NetworkManagerBackend"]
