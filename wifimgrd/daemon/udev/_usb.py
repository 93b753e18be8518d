"""The USB device of a wireless interface, in sysfs: its power control and its authorization.

Two of its files are written; a udev rule of the package makes them writable for the daemon's user
(`systemd/70-wifimgrd-usb-wlan.rules`). Every path is derived here, from the name of an interface.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_SYSFS: Final = Path("/sys")
_CONTROL: Final = "power/control"
"""`auto`: suspended when idle; `on`: never:
https://docs.kernel.org/driver-api/usb/power-management.html."""
_AUTHORIZED: Final = "authorized"
"""`0`: its drivers are unbound, `1`: it is configured again: https://docs.kernel.org/usb/authorization.html."""


class UsbDevices:
    """The USB devices of this host's wireless interfaces. Its methods block, for up to seconds."""

    def __init__(self, sysfs: Path = _SYSFS) -> None:
        """`sysfs` is the mount point of sysfs."""
        self._sysfs = sysfs

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
        device = self._device(interface)
        if device is None:
            raise FileNotFoundError(f"{interface} is not on USB")
        (device / _CONTROL).write_text(control)

    def replug(self, interface: str) -> None:
        """Unbind the device's drivers and configure it again, as if it were replugged; raises OSError.

        The interface disappears and appears again meanwhile.
        """
        device = self._device(interface)
        if device is None:
            raise FileNotFoundError(f"{interface} is not on USB")
        authorized = device / _AUTHORIZED
        authorized.write_text("0")
        authorized.write_text("1")

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
