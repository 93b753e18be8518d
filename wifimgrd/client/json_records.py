"""The daemon's records as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wifimgrd.client.json_members import (
    DEVICE_MEMBERS,
    INTERFACE_MEMBERS,
    STATUS_MEMBERS,
    DeviceJson,
    InterfaceJson,
    InterfacesJson,
    StatusJson,
    StatusUpdateJson,
    time_text,
)
from wifimgrd.client.json_types import HistoryRowJson, NetworkJson, SearchJson, ServiceJson
from wifimgrd.client.records import HistoryRecord, NetworkRecord, SearchRecord, ServiceRecord
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord

_DEVICE: Final = tuple((one.name, one.read) for one in DEVICE_MEMBERS)
_STATUS: Final = tuple((one.name, one.read) for one in STATUS_MEMBERS)
_INTERFACE: Final = tuple((one.name, one.read) for one in INTERFACE_MEMBERS)


def device_json(device: DeviceRecord) -> DeviceJson:
    """The device record."""
    return DeviceJson((name, read(device)) for name, read in _DEVICE)


def connection_status_json(device: DeviceRecord) -> StatusUpdateJson:
    """The data of `device.connection_status.update`."""
    status = StatusUpdateJson(id=device.id, name=device.name)
    status.update((name, read(device)) for name, read in _STATUS)
    return status


def status_json(device: DeviceRecord) -> StatusJson:
    """The answer to the status request."""
    status = StatusJson(
        device_connection_id=device.id, device_name=device.name, connection_type=device.connection_type
    )
    status.update((name, read(device)) for name, read in _STATUS)
    status["is_wifi_connection"] = True
    return status


def interface_json(interface: InterfaceRecord) -> InterfaceJson:
    """The interface object."""
    return InterfaceJson((name, read(interface)) for name, read in _INTERFACE)


def interfaces_json(interfaces: Mapping[str, InterfaceRecord], service: ServiceRecord) -> InterfacesJson:
    """The answer to the interfaces request, all of it from the same moment, so that it is consistent."""
    everyone = interfaces.values()
    assignments = {str(one.device_id): one.name for one in everyone if one.device_id is not None}
    return {
        "interfaces": [interface_json(one) for one in everyone],
        "available_interfaces": [one.name for one in everyone if one.is_free],
        "interface_assignments": assignments,
        "total_interfaces": service.total_interfaces,
        "assigned_interfaces": len(assignments),
        "absent_adapters": [
            {
                "device_id": one.device_id,
                "mac_address": one.mac_address,
                "usb_port": one.usb_port,
                "interface": one.interface,
                "product": one.product,
                "unplugged_at": time_text(one.unplugged_us),
            }
            for one in service.absent_adapters
        ],
    }


def network_json(network: NetworkRecord) -> NetworkJson:
    """A network in the scan results."""
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
        "codename": network.codename,
    }


def search_json(found: SearchRecord) -> SearchJson:
    """The answer to the networks request."""
    return {
        "networks": [network_json(one) for one in found.networks],
        "scanned_interfaces": list(found.scanned),
        "skipped_interfaces": dict(found.skipped),
    }


def history_json(row: HistoryRecord) -> HistoryRowJson:
    """A row of the history."""
    return {
        "id": row.id,
        "time": time_text(row.time_us) or "",
        "device_id": row.device_id,
        "device_name": row.device_name,
        "kind": row.kind,
        "interface": row.interface,
        "code": row.code,
        "message": row.message,
        "ended": time_text(row.ended_us),
        "signal_minimum": row.signal_minimum,
        "signal_mean": row.signal_mean,
    }


def service_json(service: ServiceRecord) -> ServiceJson:
    """The data of `service.updated`."""
    return {
        "backend": service.backend,
        "backend_state": service.backend_state,
        "backend_reason": service.backend_reason,
    }
