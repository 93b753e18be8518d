"""Joins networks through NetworkManager, watching wpa_supplicant beside it."""
