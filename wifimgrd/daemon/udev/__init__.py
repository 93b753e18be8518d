"""The host's Wi-Fi adapters: inventory, hot-plug, USB power management.

It reports when an adapter appears, changes or goes, as udev and the kernel tell it, lists all again when
events were lost, and unplugs and plugs in an adapter on its bus (`_usb.py`).

Used by: `daemon`.
Imports: `daemon/ports`, `domain`, `kernel`, `runtime`.
"""

from wifimgrd.daemon.udev._autosuspend import AutosuspendBlock
from wifimgrd.daemon.udev._source import UdevAdapterSource
from wifimgrd.daemon.udev._usb import UsbDevices

__all__ = ["AutosuspendBlock", "UdevAdapterSource", "UsbDevices"]
