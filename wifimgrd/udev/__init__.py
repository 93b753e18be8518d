"""The host's Wi-Fi adapters: who is plugged in, and who comes and goes."""

from wifimgrd.udev.source import UdevAdapterSource

__all__ = ["UdevAdapterSource"]
