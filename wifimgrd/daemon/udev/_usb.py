"""The USB device of a wireless interface, in sysfs and usbfs: its power control, its port's reset and power.

Two files of sysfs are written, of a USB 3 port those of both halves, and a node of usbfs is opened: a udev
rule of the package makes the daemon's user their owner (`systemd/70-wifimgrd-usb-wlan.rules`). Every path is
derived here, from the name of an interface or of a port.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from wifimgrd.domain.device_values import USB_PORT_PATTERN

_SYSFS: Final = Path("/sys")
_USBFS: Final = Path("/dev/bus/usb")
_CONTROL: Final = "power/control"
"""`auto`: suspended when idle; `on`: never:
https://docs.kernel.org/driver-api/usb/power-management.html."""
_USBDEVFS_RESET: Final = ord("U") << 8 | 20
"""linux/usbdevice_fs.h: a reset of the port, after which the device is configured again."""
_DISABLE: Final = "disable"
"""`1`: the device is disconnected and the port's power switched off, `0`: on; since Linux 6.0:
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-usb."""
_PORT_FOLDER: Final = re.compile(
    r"(?:usb(?P<bus>[0-9]{1,4})|(?P<hub>[0-9]{1,4}-[0-9.]{1,40}))-port(?P<number>[0-9]{1,4})"
)


class UsbDevices:
    """The USB devices of this host's wireless interfaces. Its methods block, for up to seconds."""

    def __init__(self, sysfs: Path = _SYSFS, usbfs: Path = _USBFS) -> None:
        """`sysfs` is the mount point of sysfs, `usbfs` the folder with a node for each USB device."""
        self._sysfs = sysfs
        self._usbfs = usbfs

    # -- an interface

    def control(self, interface: str) -> str | None:
        """The power control of an interface's device, `auto` or `on`; None where it is not on
        USB, or gone."""
        device = self._device(interface)
        try:
            return None if device is None else (device / _CONTROL).read_text().strip()
        except OSError:
            return None

    def set_control(self, interface: str, control: str) -> None:
        """Set the power control to `auto` or `on`; raises OSError."""
        (self._device_on_usb(interface) / _CONTROL).write_text(control)

    def port_of(self, interface: str) -> str:
        """The USB port of an interface, such as `1-1.4`; raises FileNotFoundError where it has none."""
        return Path(os.path.realpath(self._device_on_usb(interface))).name

    def index_of(self, interface: str) -> int | None:
        """The kernel's index of an interface, which another one of the same name does not have; None where
        there is none."""
        try:
            return int((self._sysfs / "class" / "net" / interface / "ifindex").read_text())
        except (OSError, ValueError):
            return None

    # -- a port

    def can_reset(self, port: str) -> bool:
        """Whether udev has given this user the node of the device in a port."""
        try:
            return os.access(self._node(port), os.R_OK | os.W_OK)
        except OSError:
            return False

    def reset(self, port: str) -> bool:
        """Reset a port; raises OSError. Returns whether its device is still the same.

        Drivers that do not know how to go on after a reset are unbound before it and bound after it: then
        the interface is another one. A device whose descriptors are others after the reset, as with one whose
        firmware is loaded then, is disconnected by the kernel and enumerated anew, for which it says ENODEV:
        https://elixir.bootlin.com/linux/v6.1/source/drivers/usb/core/hub.c, usb_reset_and_verify_device.
        """
        node = os.open(self._node(port), os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.ioctl(node, _USBDEVFS_RESET)
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            return False  # or it was unplugged: then nothing comes back
        else:
            return True
        finally:
            os.close(node)

    def cycle_power(self, ports: Sequence[str], off_s: float, hurry: threading.Event) -> None:
        """Switch the power of ports off, and on again after `off_s`, or once `hurry` is set; what was
        switched off is switched on whatever happens. Raises OSError."""
        with ExitStack() as switched_off:
            for port in ports:
                if hurry.is_set():
                    break
                switched_off.callback(self.switch, port, on=True)
                self.switch(port, on=False)
            hurry.wait(off_s)

    def switch(self, port: str, *, on: bool) -> None:
        """Switch the power of a port; raises OSError."""
        try:
            file = os.open(self._folder(port) / _DISABLE, os.O_WRONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            why = "the power of USB ports cannot be switched here: that needs Linux 6.0, and the port's hub"
            raise OSError(errno.EOPNOTSUPP, why) from None
        try:
            os.write(file, b"0" if on else b"1")
        finally:
            os.close(file)

    def is_off(self, port: str) -> bool:
        """Whether a port is without power; False for one that is gone, with its hub."""
        try:
            return (self._folder(port) / _DISABLE).read_text().strip() == "1"
        except OSError:
            return False

    def other_half(self, port: str) -> str | None:
        """The port beside this one in the same socket, of the other half of a USB 3 hub; None where there is
        none."""
        try:
            peer = (self._folder(port) / "peer").readlink()
        except OSError:
            return None
        found = _PORT_FOLDER.fullmatch(peer.name)
        if found is None:
            return None
        hub = f"{found['bus']}-" if found["bus"] else f"{found['hub']}."
        return hub + found["number"]

    def _folder(self, port: str) -> Path:
        """The folder of a port, which is its hub's and stays while nothing is plugged in; raises OSError."""
        if not re.fullmatch(USB_PORT_PATTERN, port):
            raise FileNotFoundError(errno.ENOENT, "not a USB port", port)
        devices = self._sysfs / "bus" / "usb" / "devices"
        hub, dot, number = port.rpartition(".")
        if dot:
            configuration, name = f"{hub}:*", f"{hub}-port{number}"
        else:
            bus, _, number = port.partition("-")
            configuration, name = f"{bus}-0:*", f"usb{bus}-port{number}"
        for folder in devices.glob(f"{configuration}/{name}"):
            return folder
        raise FileNotFoundError(errno.ENOENT, "no hub has the USB port", port)

    def _node(self, port: str) -> Path:
        """The node of the device in a port, which is another one after each enumeration; raises OSError."""
        device = self._sysfs / "bus" / "usb" / "devices" / port
        try:
            bus, number = (int((device / name).read_text()) for name in ("busnum", "devnum"))
        except (FileNotFoundError, ValueError):
            raise OSError(errno.ENODEV, "no device is in the USB port", port) from None
        return self._usbfs / f"{bus:03}" / f"{number:03}"

    def _device_on_usb(self, interface: str) -> Path:
        device = self._device(interface)
        if device is None:
            raise FileNotFoundError(f"{interface} is not on USB")
        return device

    def _device(self, interface: str) -> Path | None:
        """The USB device; None where there is none."""
        if not interface or "/" in interface or interface in (".", ".."):
            return None
        kernels = self._sysfs / "class" / "net" / interface
        if not (kernels / "phy80211").exists():
            return None
        # The link leads to the USB interface with most drivers, with brcmfmac to the USB device, whose parent
        # is a hub. It is the kernel that follows it, in one call.
        for device in (kernels / "device", kernels / "device" / ".."):
            if (device / "idVendor").exists():
                return device
        return None
