"""Joins networks through NetworkManager, watching wpa_supplicant beside it."""

from wifimgrd.backends.networkmanager.backend import NetworkManagerBackend

__all__ = ["NetworkManagerBackend"]
