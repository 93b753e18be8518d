"""The host's Wi-Fi adapters: inventory, hot-plug and USB power management."""

from wifimgrd.daemon.udev._autosuspend import AutosuspendBlock
from wifimgrd.daemon.udev._source import UdevAdapterSource
from wifimgrd.daemon.udev._usb import UsbDevices

__all__ = ["AutosuspendBlock", "UdevAdapterSource", "UsbDevices"]
