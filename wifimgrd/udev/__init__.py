"""The host's Wi-Fi adapters: who is plugged in, and who comes and goes."""

from wifimgrd.udev.awake import AwakeAdapters
from wifimgrd.udev.source import UdevAdapterSource
from wifimgrd.udev.usb import UsbDevices

__all__ = ["AwakeAdapters", "UdevAdapterSource", "UsbDevices"]
