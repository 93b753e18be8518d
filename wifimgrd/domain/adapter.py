"""A USB Wi-Fi adapter, and the identity that it keeps when its interface name or its USB port changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


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
    """The properties of an adapter that stay the same when it is renamed or plugged in in another order.

    Any part may be unknown (empty): some adapters have no serial number, and cheap ones share one
    MAC address. So identities are compared by strength, not by equality.
    """

    mac: str = ""
    """Permanent MAC address, lower case with colons."""
    usb_port: str = ""
    """USB port path, e.g. `1-1.4`."""
    usb_serial: str = ""

    def match_strength(self, other: AdapterIdentity) -> int:
        """How certain it is that `other` is the same adapter: 0 = it is not, higher = more certain.

        A different MAC address proves a different adapter. If either MAC address is unknown, the serial
        number decides, and if that is unknown, the port does.
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


def _same(first: str, second: str) -> bool:
    return bool(first) and first == second


@dataclass(frozen=True, slots=True)
class AdapterPin:
    """Which adapter a device is pinned to: by its permanent MAC address, by its USB port, or to none."""

    mac: str = ""
    """Lower case with colons."""
    usb_port: str = ""
    """E.g. `1-1.4`."""

    def __bool__(self) -> bool:
        return bool(self.mac or self.usb_port)

    def is_of(self, identity: AdapterIdentity) -> bool:
        """Whether it pins this adapter."""
        if self.mac:
            return identity.mac == self.mac
        return bool(self.usb_port) and identity.usb_port == self.usb_port

    def __str__(self) -> str:
        return f"the adapter {self.mac}" if self.mac else f"the adapter at USB port {self.usb_port}"


NO_PIN: Final = AdapterPin()


class Mode(StrEnum):
    """The kind of an interface, as the kernel has it; only a station joins networks."""

    STATION = "a station"
    ACCESS_POINT = "an access point"
    MONITOR = "a monitor"
    P2P = "a Wi-Fi Direct interface"
    MESH = "a mesh point"


@dataclass(frozen=True, slots=True)
class Adapter:
    """One network interface of a Wi-Fi adapter, with its current properties in the kernel."""

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
    radio: str = ""
    """Its radio (`phy80211`) for as long as that is present; several interfaces may have one. Empty where it
    is not known."""
    index: int = field(default=0, compare=False)
    """The kernel's index of the interface: later interfaces have higher ones."""
    mode: Mode = Mode.STATION
    is_active: bool = False
    """It uses its radio: a station has joined a network, by the hub or not, another interface is up. Only
    known of an interface that is not the only one of its adapter."""

    @property
    def is_usb(self) -> bool:
        """Whether the interface belongs to a USB device."""
        return bool(self.usb_vendor_id or self.identity.usb_port)
