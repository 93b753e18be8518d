"""The host's Wi-Fi adapters: inventory, hot-plug, USB power management.

It reports when an adapter appears, changes or goes, as udev and the kernel tell it, lists all again when
events were lost, and resets the USB port of an adapter, or switches its power (`_usb_ports.py`).

Used by: `daemon`.
Imports: `daemon/ports`, `domain`, `kernel`, `runtime`.
"""

from wifimgrd.daemon.udev._autosuspend import AutosuspendBlock
from wifimgrd.daemon.udev._source import UdevAdapterSource
from wifimgrd.daemon.udev._usb import UsbDevices
from wifimgrd.daemon.udev._usb_ports import PortMemory, UsbPorts

__all__ = ["AutosuspendBlock", "PortMemory", "UdevAdapterSource", "UsbDevices", "UsbPorts"]
