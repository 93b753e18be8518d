"""Adapters on USB as the kernel shows them in sysfs and usbfs, and a memory for their ports."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from wifimgrd.daemon.udev._usb import UsbDevices
from wifimgrd.daemon.udev._usb_ports import PortTimes, UsbPorts
from wifimgrd.simulator._world import BriefMemory

PORT = "1-1.4"
NODE = "001/007"


class Sysfs:
    """The kernel's tree, in which links lead where they lead there, and the nodes beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "sys"
        self.usbfs = root / "dev"
        self.hub = self.root / "devices" / "usb1" / "1-1"
        (self.root / "class" / "net").mkdir(parents=True)
        (self.root / "bus" / "usb" / "devices").mkdir(parents=True)

    @property
    def devices(self) -> UsbDevices:
        """The product's view of it."""
        return UsbDevices(self.root, self.usbfs)

    def plug(self, name: str, *, usb: bool = True, control: str = "auto", whole: bool = False) -> Path:
        """An adapter below a hub; `whole`: its driver names the device, not the interface, as the parent."""
        device = self.hub / PORT
        interface = device if whole else device / f"{PORT}:1.0"
        net = interface / "net" / name
        net.mkdir(parents=True)
        (net / "device").symlink_to("../..")
        (net / "ifindex").write_text("3\n")
        (net / "phy80211").symlink_to("../../ieee80211/phy0")
        (interface / "ieee80211" / "phy0").mkdir(parents=True)
        (device / "power").mkdir()
        (device / "power" / "control").write_text(control + "\n")
        (device / "authorized").write_text("1\n")
        (device / "busnum").write_text("1\n")
        (device / "devnum").write_text("7\n")
        if usb:
            (device / "idVendor").write_text("0bda\n")
            (device.parent / "idVendor").write_text("1a40\n")
        (self.root / "class" / "net" / name).symlink_to(net)
        (self.root / "bus" / "usb" / "devices" / PORT).symlink_to(device)
        return device

    def add_interface(self, name: str) -> None:
        """Another interface of the adapter."""
        net = self.hub / PORT / f"{PORT}:1.0" / "net" / name
        net.mkdir()
        (net / "device").symlink_to("../..")
        (net / "phy80211").symlink_to("../../ieee80211/phy0")
        (self.root / "class" / "net" / name).symlink_to(net)

    def add_node(self) -> Path:
        """udev has made the adapter's node."""
        node = self.usbfs / NODE
        node.parent.mkdir(parents=True)
        node.touch()
        return node

    def port(self, hub: str, name: str, *, peer: str = "") -> Path:
        """A port of a hub's interface, such as `1-1:1.0`, beside one of another hub; returns its switch."""
        folder = self.root / "bus" / "usb" / "devices" / hub / name
        folder.mkdir(parents=True)
        (folder / "disable").write_text("0\n")
        if peer:
            (folder / "peer").symlink_to(f"../../{peer}")
        return folder / "disable"


class PortMemory(BriefMemory):
    """Keeps notes until the end of the test."""

    async def flush(self) -> None:
        """See `_usb_ports.PortMemory`."""


def usb_ports(
    devices: UsbDevices, *, named: Collection[str] = (), times: PortTimes | None = None
) -> UsbPorts:
    """The steps on ports, with a memory of its own."""
    return UsbPorts(devices, PortMemory(), lambda: named, times)
