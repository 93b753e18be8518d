"""The daemon's records as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from wifimgrd.dbus.client.json_types import (
    AirJson,
    DeviceJson,
    InterfaceJson,
    InterfacesJson,
    NetworkJson,
    ServiceJson,
    SettingsJson,
    StatusJson,
    StatusUpdateJson,
)
from wifimgrd.dbus.client.records import (
    AirRecord,
    DeviceRecord,
    InterfaceRecord,
    NetworkRecord,
    ServiceRecord,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def time_text(microseconds: int | None) -> str | None:
    """Microseconds since the epoch as RFC 3339 in UTC; None stays None."""
    if microseconds is None:
        return None
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def device_json(device: DeviceRecord) -> DeviceJson:
    """The device record."""
    return {
        "id": device.id,
        "name": device.name,
        "codename": device.codename,
        "connection_type": device.connection_type,
        "connection_status": device.state,
        "connected": device.state == "connected",
        "connection_settings": settings_json(device.ssid),
        "interface": device.interface,
        "local_address": device.local_address,
        "camera_address": device.camera_address,
        "signal_strength": device.signal_strength,
        "address": device.address,
        "reachable": device.reachable if device.state == "connected" else None,
        "last_connection_attempt": time_text(device.last_connection_attempt_us),
        "last_successful_connection": time_text(device.last_successful_connection_us),
        "connection_error_code": device.error_code,
        "connection_error_message": device.error_message,
        "device_type_icon_url": device.icon,
        "auto_reconnect": device.auto_reconnect,
        "priority": device.priority,
        "lost_at": time_text(device.lost_at_us),
    }


def settings_json(ssid: bytes) -> SettingsJson:
    """The SSID as text, and in hex as well where it is not UTF-8."""
    try:
        return {"ssid": ssid.decode()}
    except UnicodeDecodeError:
        return {"ssid": ssid.decode("utf-8", "replace"), "ssid_hex": ssid.hex()}


def connection_status_json(device: DeviceRecord) -> StatusUpdateJson:
    """What `device.connection_status.update` carries."""
    return {
        "id": device.id,
        "name": device.name,
        "connection_status": device.state,
        "connected": device.state == "connected",
        "interface": device.interface,
        "last_connection_attempt": time_text(device.last_connection_attempt_us),
        "last_successful_connection": time_text(device.last_successful_connection_us),
        "connection_error_code": device.error_code,
        "connection_error_message": device.error_message,
    }


def status_json(device: DeviceRecord) -> StatusJson:
    """What the status request answers."""
    return {
        "device_connection_id": device.id,
        "device_name": device.name,
        "connection_type": device.connection_type,
        "connection_status": device.state,
        "connected": device.state == "connected",
        "interface": device.interface,
        "last_connection_attempt": time_text(device.last_connection_attempt_us),
        "last_successful_connection": time_text(device.last_successful_connection_us),
        "connection_error_code": device.error_code,
        "connection_error_message": device.error_message,
        "is_wifi_connection": True,
    }


def interface_json(interface: InterfaceRecord) -> InterfaceJson:
    """The interface object."""
    return {
        "name": interface.name,
        "state": interface.state,
        "reason": interface.reason,
        "device_id": interface.device_id,
        "mac_address": interface.mac_address or None,
        "driver": interface.driver or None,
        "usb": {
            "vendor_id": interface.usb_vendor_id or None,
            "product_id": interface.usb_product_id or None,
            "product": interface.usb_product or None,
            "port": interface.usb_port or None,
        },
        "bands": list(interface.bands),
    }


def interfaces_json(interfaces: Mapping[str, InterfaceRecord]) -> InterfacesJson:
    """What the interfaces request answers: all of it from one look, so that it adds up."""
    everyone = interfaces.values()
    assignments = {str(one.device_id): one.name for one in everyone if one.device_id is not None}
    return {
        "interfaces": [interface_json(one) for one in everyone],
        "available_interfaces": [one.name for one in everyone if one.state == "available"],
        "interface_assignments": assignments,
        "total_interfaces": len(interfaces),
        "assigned_interfaces": len(assignments),
    }


def network_json(network: NetworkRecord) -> NetworkJson:
    """A network in the air."""
    return {
        "ssid": network.ssid.decode("utf-8", "replace"),
        "ssid_hex": network.ssid.hex(),
        "bssids": list(network.bssids),
        "frequencies_mhz": list(network.frequencies_mhz),
        "security": network.security,
        "band": network.bands[0],
        "bands": list(network.bands),
        "signal_strength": network.signal_strength,
        "last_seen": time_text(network.last_seen_us),
        "interfaces": list(network.interfaces),
        "device_id": network.device_id,
    }


def air_json(air: AirRecord) -> AirJson:
    """What the networks request answers."""
    return {
        "networks": [network_json(one) for one in air.networks],
        "scanned_interfaces": list(air.scanned),
        "skipped_interfaces": dict(air.skipped),
    }


def service_json(service: ServiceRecord) -> ServiceJson:
    """What `service.updated` carries."""
    return {
        "backend": service.backend,
        "backend_state": service.backend_state,
        "backend_reason": service.backend_reason,
    }
