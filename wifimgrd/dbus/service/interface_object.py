"""`org.wifimgrd1.Interface`: one Wi-Fi interface of this host."""

from __future__ import annotations

from typing import Any

from wifimgrd.dbus import names
from wifimgrd.dbus.service.objects import ExportedObject
from wifimgrd.domain.interface import InterfaceStatus


class InterfaceObject(ExportedObject):
    """An interface on the bus."""

    def __init__(self, status: InterfaceStatus) -> None:
        path = names.interface_path(status.interface.name)
        super().__init__(path, names.INTERFACE, interface_properties(status))


def interface_properties(status: InterfaceStatus) -> dict[str, Any]:
    """The properties of an interface on D-Bus."""
    adapter = status.interface.adapter
    return {
        "Name": adapter.name,
        "State": status.state.value,
        "Reason": status.reason,
        "Device": names.NO_OBJECT if status.device is None else names.device_path(status.device),
        "MacAddress": adapter.identity.mac,
        "Driver": adapter.driver,
        "UsbVendorId": adapter.usb_vendor_id,
        "UsbProductId": adapter.usb_product_id,
        "UsbProduct": adapter.usb_product,
        "UsbPort": adapter.identity.usb_port,
        "Bands": sorted(band.value for band in status.interface.facts.bands),
    }
