"""Firmware crashes as drivers report them: a memory dump appears in the class `devcoredump`.

The kernel creates one dump per device at a time, and keeps it until it is read, for five minutes at most:
https://elixir.bootlin.com/linux/v6.1/source/drivers/base/devcoredump.c. The dump itself is not read here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from wifimgrd.udev.describe import UdevDevice

SUBSYSTEM: Final = "devcoredump"
_FAILING: Final = "failing_device"
_SYNTHETIC: Final = "SYNTH_UUID"
"""A property of synthetic events, e.g. of `udevadm trigger`:
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-uevent."""


def failing_device(dump: UdevDevice) -> str | None:
    """The sysfs path of the device that a new dump belongs to; None for other events, and where the dump is
    gone already."""
    if dump.action != "add" or _SYNTHETIC in dump.properties:
        return None
    link = Path(dump.sys_path, _FAILING)
    return os.path.realpath(link) if link.is_symlink() else None


def is_part_of(failing: str, interface: UdevDevice) -> bool:
    """Whether a failing device is the adapter of a wireless interface. Drivers report the interface, its phy,
    the phy's parent (mostly a USB interface), or the USB device.

    Other USB interfaces of that device do not count: many adapters have Bluetooth with its own firmware.
    """
    radio = os.path.realpath(Path(interface.sys_path, "phy80211"))
    carriers = (interface.parent, interface.find_parent("usb", "usb_device"))
    return failing in {interface.sys_path, radio, *(one.sys_path for one in carriers if one is not None)}
