"""The host's Wi-Fi adapters: inventory, hot-plug and USB power management."""

from wifimgrd.udev.autosuspend import AutosuspendBlock
from wifimgrd.udev.source import UdevAdapterSource
from wifimgrd.udev.usb import UsbDevices

__all__ = ["AutosuspendBlock", "UdevAdapterSource", "UsbDevices"]
