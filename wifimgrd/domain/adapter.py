"""A USB Wi-Fi adapter: who it is, whatever it is called today and wherever it is plugged in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Band(StrEnum):
    """A frequency band that an adapter can use."""

    GHZ_2_4 = "2.4GHz"
    GHZ_5 = "5GHz"
    GHZ_6 = "6GHz"

    @classmethod
    def of_frequency(cls, mhz: int) -> Band:
        """The band of a channel's centre frequency, in MHz."""
        if mhz < 3000:
            return cls.GHZ_2_4
        return cls.GHZ_5 if mhz < 5925 else cls.GHZ_6


@dataclass(frozen=True, slots=True)
class AdapterIdentity:
    """What stays the same when an adapter is renamed or plugged in in another order.

    Any part may be unknown (empty): some adapters have no serial, and cheap ones share one
    MAC address. So identities are compared by strength, not by equality.
    """

    mac: str = ""
    """Permanent MAC address, lower case with colons."""
    usb_port: str = ""
    """USB port path, e.g. `1-1.4`."""
    usb_serial: str = ""

    def match_strength(self, other: AdapterIdentity) -> int:
        """How surely `other` is the same adapter: 0 = not, higher = surer.

        A different MAC address is proof of a different adapter. With the MAC address unknown
        on either side, the serial decides, and where there is none the port does.
        """
        if self.mac and other.mac:
            if self.mac != other.mac:
                return 0
            return 4 + 2 * _same(self.usb_serial, other.usb_serial) + _same(self.usb_port, other.usb_port)
        if self.usb_serial and other.usb_serial:
            if self.usb_serial != other.usb_serial:
                return 0
            return 2 + _same(self.usb_port, other.usb_port)
        return int(_same(self.usb_port, other.usb_port))


def _same(mine: str, theirs: str) -> bool:
    return bool(mine) and mine == theirs


@dataclass(frozen=True, slots=True)
class Adapter:
    """One Wi-Fi adapter as the kernel shows it now."""

    name: str
    """Name of its network interface, e.g. `wlan0`."""
    identity: AdapterIdentity
    driver: str = ""
    usb_vendor_id: str = ""
    """Four hexadecimal digits; empty where it is not a USB adapter."""
    usb_product_id: str = ""
    usb_product: str = ""
    rfkill: str = ""
    """Why it is blocked (`soft-blocked`, `hard-blocked`), empty where it is not."""

    @property
    def is_usb(self) -> bool:
        """True where a USB device stands behind the interface."""
        return bool(self.usb_vendor_id or self.identity.usb_port)
