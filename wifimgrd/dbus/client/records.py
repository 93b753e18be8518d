"""The daemon's objects as its clients hold them: typed values made of D-Bus properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.dbus import names

Properties = Mapping[str, Any]
"""Property name -> plain Python value (variants already unpacked)."""


_PLAIN: Final = {
    "Name": "name",
    "Codename": "codename",
    "State": "state",
    "ConnectionType": "connection_type",
    "SignalStrength": "signal_strength",
    "AutoReconnect": "auto_reconnect",
    "Priority": "priority",
    "Reachable": "reachable",
}
"""Properties of a device that are told as they are."""
_ABSENT_WHERE_EMPTY: Final = {
    "ConnectionErrorCode": "error_code",
    "ConnectionErrorMessage": "error_message",
    "LastConnectionAttempt": "last_connection_attempt_us",
    "LastSuccessfulConnection": "last_successful_connection_us",
    "LocalAddress": "local_address",
    "CameraAddress": "camera_address",
    "Address": "address",
    "LostAt": "lost_at_us",
    "Icon": "icon",
}
"""Properties whose empty value says that there is none."""


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """`org.wifimgrd1.Device` at one instant; absent things are None."""

    id: int
    name: str = ""
    codename: str = ""
    connection_type: str = "wifi"
    ssid: bytes = b""
    state: str = "disconnected"
    """`disconnected`, `connecting`, `connected` or `disconnecting`."""
    interface: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    last_connection_attempt_us: int | None = None
    """Microseconds since the epoch; None = never."""
    last_successful_connection_us: int | None = None
    local_address: str | None = None
    camera_address: str | None = None
    address: str | None = None
    """Where this host's programs reach the camera while it is connected."""
    signal_strength: int | None = None
    """Percent; None while not connected."""
    auto_reconnect: bool = True
    """It is brought back by itself when its link is lost."""
    priority: int = 0
    """Of two lost devices and one adapter, the higher one gets it."""
    lost_at_us: int | None = None
    """When its link was lost, microseconds since the epoch; None where it is not being brought back."""
    reachable: bool = False
    """It is connected and answers."""
    icon: str | None = None
    """The address of a picture of its model."""

    def updated(self, properties: Properties) -> DeviceRecord:
        """This record with changed properties; unknown ones are ignored."""
        changes: dict[str, Any] = {}
        for name, value in properties.items():
            match name:
                case "Ssid":
                    changes["ssid"] = bytes(value)
                case "Interface":
                    changes["interface"] = names.interface_name_of(value)
                case _ if name in _PLAIN:
                    changes[_PLAIN[name]] = value
                case _ if name in _ABSENT_WHERE_EMPTY:
                    changes[_ABSENT_WHERE_EMPTY[name]] = value or None
        record = replace(self, **changes)
        return record if record.state == "connected" else replace(record, signal_strength=None)


@dataclass(frozen=True, slots=True)
class InterfaceRecord:
    """`org.wifimgrd1.Interface` at one instant."""

    name: str
    state: str = "available"
    """`available`, `in-use` or `unavailable`."""
    reason: str | None = None
    device_id: int | None = None
    mac_address: str = ""
    driver: str = ""
    usb_vendor_id: str = ""
    usb_product_id: str = ""
    usb_product: str = ""
    usb_port: str = ""
    bands: tuple[str, ...] = ()

    def updated(self, properties: Properties) -> InterfaceRecord:
        """This record with changed properties; unknown ones are ignored."""
        changes: dict[str, Any] = {}
        for name, value in properties.items():
            match name:
                case "State" | "Driver":
                    changes[name.lower()] = value
                case "Reason":
                    changes["reason"] = value or None
                case "Device":
                    changes["device_id"] = names.device_id_of(value)
                case "MacAddress":
                    changes["mac_address"] = value
                case "UsbVendorId":
                    changes["usb_vendor_id"] = value
                case "UsbProductId":
                    changes["usb_product_id"] = value
                case "UsbProduct":
                    changes["usb_product"] = value
                case "UsbPort":
                    changes["usb_port"] = value
                case "Bands":
                    changes["bands"] = tuple(value)
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class NetworkRecord:
    """One of the networks that `GetNetworks` answers."""

    ssid: bytes
    bssids: tuple[str, ...]
    frequencies_mhz: tuple[int, ...]
    """One for each BSSID."""
    security: str
    bands: tuple[str, ...]
    signal_strength: int
    """Percent, of the strongest access point."""
    last_seen_us: int | None
    """Microseconds since the epoch."""
    interfaces: tuple[str, ...]
    device_id: int | None

    @classmethod
    def of(cls, told: Properties) -> NetworkRecord:
        """Read one dictionary of the answer."""
        return cls(
            ssid=bytes(told["ssid"]),
            bssids=tuple(told["bssids"]),
            frequencies_mhz=tuple(told["frequencies"]),
            security=told["security"],
            bands=tuple(told["bands"]),
            signal_strength=told["signal_strength"],
            last_seen_us=told["last_seen"] or None,
            interfaces=tuple(told["interfaces"]),
            device_id=names.device_id_of(told["device"]),
        )


@dataclass(frozen=True, slots=True)
class AirRecord:
    """What a search of the air brought."""

    networks: tuple[NetworkRecord, ...]
    scanned: tuple[str, ...]
    """The interfaces that have searched."""
    skipped: Mapping[str, str]
    """Why each of the others has not."""


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """`org.wifimgrd1.Manager` at one instant."""

    version: str = ""
    backend: str = ""
    backend_state: str = "unavailable"
    """`ready`, `starting` or `unavailable`."""
    backend_reason: str = ""
    total_interfaces: int = 0
    assigned_interfaces: int = 0
    recoveries: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How often each step was taken with adapters that do not work."""

    def updated(self, properties: Properties) -> ServiceRecord:
        """This record with changed properties; unknown ones are ignored."""
        known = {
            "Version": "version",
            "Backend": "backend",
            "BackendState": "backend_state",
            "BackendReason": "backend_reason",
            "TotalInterfaces": "total_interfaces",
            "AssignedInterfaces": "assigned_interfaces",
            "Recoveries": "recoveries",
        }
        return replace(self, **{known[name]: value for name, value in properties.items() if name in known})
