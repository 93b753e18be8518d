"""Joins networks through NetworkManager, watching wpa_supplicant beside it."""

from wifimgrd.daemon.backends.networkmanager._backend import NetworkManagerBackend

__all__ = ["NetworkManagerBackend"]
