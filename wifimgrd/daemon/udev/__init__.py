"""The host's Wi-Fi adapters: inventory, hot-plug, USB power management.

It reports adapters that appear, change and go as udev and the kernel do, and counts them again when events
were lost.

Used by: `daemon`.
Imports: `daemon/ports`, `domain`, `kernel`, `runtime`.
"""

from wifimgrd.daemon.udev._autosuspend import AutosuspendBlock
from wifimgrd.daemon.udev._source import UdevAdapterSource
from wifimgrd.daemon.udev._usb import UsbDevices

__all__ = ["AutosuspendBlock", "UdevAdapterSource", "UsbDevices"]
