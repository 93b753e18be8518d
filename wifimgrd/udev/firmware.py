"""Firmware that crashed, as drivers tell of it: a dump of its memory appears in the class `devcoredump`.

The kernel makes one for a device at a time, and keeps it until somebody has read it, five minutes at most:
https://elixir.bootlin.com/linux/v6.1/source/drivers/base/devcoredump.c. What it holds is left to others.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from wifimgrd.udev.describe import UdevDevice

SUBSYSTEM: Final = "devcoredump"
_FAILING: Final = "failing_device"
_SYNTHETIC: Final = "SYNTH_UUID"
"""Of an event that somebody asked for, as `udevadm trigger` does:
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-uevent."""


def failing_device(dump: UdevDevice) -> str | None:
    """Where the device stands in sysfs of which a dump was made just now; None where an event says anything
    else, or the dump is gone already."""
    if dump.action != "add" or _SYNTHETIC in dump.properties:
        return None
    link = Path(dump.sys_path, _FAILING)
    return os.path.realpath(link) if link.is_symlink() else None


def is_part_of(failing: str, interface: UdevDevice) -> bool:
    """Whether a failing device is the adapter behind a wireless interface, as far as drivers name it: as the
    interface, its radio, what carries the radio (a function of a USB device, mostly), or the USB device.

    Other functions of that device are others: many an adapter has Bluetooth, with a firmware of its own.
    """
    radio = os.path.realpath(Path(interface.sys_path, "phy80211"))
    carriers = (interface.parent, interface.find_parent("usb", "usb_device"))
    return failing in {interface.sys_path, radio, *(one.sys_path for one in carriers if one is not None)}
