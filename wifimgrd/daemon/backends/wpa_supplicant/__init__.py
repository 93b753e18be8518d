"""Joins networks through wpa_supplicant, and takes addresses by systemd-networkd."""

from wifimgrd.daemon.backends.wpa_supplicant._backend import WpaSupplicantBackend

__all__ = ["WpaSupplicantBackend"]
