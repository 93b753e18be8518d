"""The host's Wi-Fi adapters: inventory, hot-plug and USB power management."""

from wifimgrd.udev._autosuspend import AutosuspendBlock
from wifimgrd.udev._source import UdevAdapterSource
from wifimgrd.udev._usb import UsbDevices

__all__ = ["AutosuspendBlock", "UdevAdapterSource", "UsbDevices"]
