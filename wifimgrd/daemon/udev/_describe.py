"""Read devices of udev: an `Adapter` with its identity, driver and rfkill state, and which one has failed.

The strings of a USB device are untrusted input: any bytes, any length. They are cleaned before use.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Mode
from wifimgrd.kernel.links import permanent_address
from wifimgrd.kernel.nl80211 import mode_of

_ARPHRD_ETHER: Final = "1"
_ARPHRD_MONITORS: Final = ("801", "802", "803")
"""A netdev that is a station, an access point or the like, and one that is a monitor (linux/if_arp.h)."""
_IFF_UP: Final = 0x1
_ASSOCIATED: Final = ("up", "dormant")
"""https://docs.kernel.org/networking/operstates.html; dormant: not authorized yet."""
_NET_ADDR_PERM: Final = "0"
"""Not random, copied or set (linux/netdevice.h, `addr_assign_type`)."""
_LONGEST_TEXT: Final = 128
"""A USB string has at most 126 characters (USB 2.0, 9.6.7)."""

_MAC: Final = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_NAME_BY_MAC: Final = re.compile(r"wl(?:an)?x([0-9a-f]{12})")
_USB_PATH: Final = re.compile(r"-usb(?:v[23])?-(\d+):(\d+(?:\.\d+)*)(?::|$)")
_FAILING: Final = "failing_device"
_SYNTHETIC: Final = "SYNTH_UUID"
"""A property of synthetic events, e.g. of `udevadm trigger`:
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-uevent."""
_USB_ID: Final = re.compile(r"[0-9a-f]{4}")


class UdevAttributes(Protocol):
    """Files of a device in sysfs."""

    def get(self, name: str) -> bytes | None:
        """The contents of an attribute's file; None if it cannot be read."""


class UdevDevice(Protocol):
    """The part of `pyudev.Device` that is used here; pyudev ships no types."""

    action: str | None
    attributes: UdevAttributes
    device_type: str | None
    is_initialized: bool
    parent: UdevDevice | None
    properties: Mapping[str, str]
    subsystem: str | None
    sys_name: str
    sys_path: str

    def find_parent(self, subsystem: str, device_type: str | None = None) -> UdevDevice | None:
        """The nearest ancestor of a kind."""


def is_wireless(device: UdevDevice) -> bool:
    """Whether the device is a wireless interface: one that can be a station, or a monitor."""
    kind = attribute(device, "type")
    return device.device_type == "wlan" and (kind == _ARPHRD_ETHER or kind in _ARPHRD_MONITORS)


def ifindex(device: UdevDevice) -> int:
    """The kernel's index of a network device, which a rename does not change; 0 = not known."""
    # The property first: in an event it belongs to the event, even if another device has the name by now.
    text = property_of(device, "IFINDEX") or attribute(device, "ifindex")
    return int(text) if text.isascii() and text.isdigit() else 0


def describe(device: UdevDevice) -> Adapter:
    """The adapter of a network device, with empty fields where they are not known."""
    usb = device.find_parent("usb", "usb_device")
    usb_interface = device.find_parent("usb", "usb_interface")
    on_usb = usb is not None or property_of(device, "ID_BUS") == "usb"
    vendor = product = ""
    if on_usb:
        vendor = _usb_id(usb, "idVendor") or _usb_id_property(device, "ID_VENDOR_ID")
        product = _usb_id(usb, "idProduct") or _usb_id_property(device, "ID_MODEL_ID")
    name = str(device.sys_name)
    mode = Mode.MONITOR if attribute(device, "type") in _ARPHRD_MONITORS else mode_of(ifindex(device))
    port = _usb_port(device, usb) if on_usb else ""
    return Adapter(
        name=name,
        identity=AdapterIdentity(
            mac=_mac(permanent_address(name).hex(":")) or _mac_of_udev(device),
            usb_port=port,
            usb_serial=_usb_serial(device, usb) if on_usb else "",
        ),
        driver=(property_of(usb_interface, "DRIVER") if usb_interface is not None else "")
        or property_of(device, "ID_USB_DRIVER")
        or property_of(device, "ID_NET_DRIVER"),
        # A device that only udev reports to be on USB counts as a USB device, even without ids.
        usb_vendor_id=vendor or ("0000" if on_usb and not port else ""),
        usb_product_id=product,
        usb_product=_usb_product(device, usb) if on_usb else "",
        rfkill=_rfkill(device),
        radio=_radio(device),
        index=ifindex(device),
        mode=mode,
        is_active=_is_active(device, mode),
    )


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


def clean(text: str | bytes) -> str:
    """The text made safe for terminals, logs and messages: printable and of limited length."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    text = text[: 4 * _LONGEST_TEXT]
    shown = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(shown.split())[:_LONGEST_TEXT].rstrip()


def attribute(device: UdevDevice, name: str) -> str:
    """An attribute file of the device in sysfs, cleaned; empty where there is none."""
    return clean(device.attributes.get(name) or b"")


def property_of(device: UdevDevice, name: str) -> str:
    """A property of the device in udev's database, cleaned; empty where there is none."""
    try:
        return clean(device.properties.get(name) or "")
    except UnicodeDecodeError:
        return ""


def _mac_of_udev(device: UdevDevice) -> str:
    if match := _NAME_BY_MAC.fullmatch(property_of(device, "ID_NET_NAME_MAC")):
        return _mac(bytes.fromhex(match[1]).hex(":"))
    if attribute(device, "addr_assign_type") == _NET_ADDR_PERM:
        return _mac(attribute(device, "address"))
    return ""


def _mac(text: str) -> str:
    text = text.lower()
    return text if _MAC.fullmatch(text) and text != "00:00:00:00:00:00" else ""


def _usb_port(device: UdevDevice, usb: UdevDevice | None) -> str:
    if usb is not None:
        return clean(usb.sys_name)
    match = _USB_PATH.search(property_of(device, "ID_PATH"))
    return f"{match[1]}-{match[2]}" if match else ""


def _usb_serial(device: UdevDevice, usb: UdevDevice | None) -> str:
    if usb is not None:
        # Where the device has no serial number, ID_SERIAL is vendor and model, which identify no device.
        return attribute(usb, "serial") or property_of(device, "ID_SERIAL_SHORT")
    return property_of(device, "ID_SERIAL_SHORT") or property_of(device, "ID_SERIAL")


def _usb_product(device: UdevDevice, usb: UdevDevice | None) -> str:
    product = attribute(usb, "product") if usb is not None else ""
    return (
        product
        or property_of(device, "ID_MODEL_FROM_DATABASE")
        or property_of(device, "ID_MODEL").replace("_", " ")
    )


def _usb_id(usb: UdevDevice | None, name: str) -> str:
    return "" if usb is None else _checked_id(attribute(usb, name))


def _usb_id_property(device: UdevDevice, name: str) -> str:
    return _checked_id(property_of(device, name))


def _checked_id(text: str) -> str:
    text = text.lower()
    return text if _USB_ID.fullmatch(text) else ""


def _radio(device: UdevDevice) -> str:
    """The radio's directory in sysfs, which it keeps while it is present, renamed or not; empty where there
    is none."""
    phy = Path(device.sys_path, "phy80211")
    try:
        return f"phy/{int((phy / 'index').read_text())}"
    except (OSError, ValueError):
        return clean(phy.resolve().name) if phy.exists() else ""


def _is_active(device: UdevDevice, mode: Mode) -> bool:
    """Whether an interface uses its radio: a station has joined a network, another one is up."""
    if mode is Mode.STATION:
        return attribute(device, "operstate") in _ASSOCIATED
    try:
        return bool(int(attribute(device, "flags"), 16) & _IFF_UP)
    except ValueError:
        return False


def _rfkill(device: UdevDevice) -> str:
    """The strongest block of the radio's rfkill switches, which are children of its phy in sysfs."""
    blocks = set()
    for switch in Path(device.sys_path, "phy80211").glob("rfkill*"):
        for block in ("hard", "soft"):
            try:
                if (switch / block).read_bytes().strip() == b"1":
                    blocks.add(block)
            except OSError:  # unplugged meanwhile
                continue
    return next((f"{block}-blocked" for block in ("hard", "soft") if block in blocks), "")
