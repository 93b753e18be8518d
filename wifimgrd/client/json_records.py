"""The daemon's records as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wifimgrd.client.json_members import (
    AbsentAdapterJson,
    CheckJson,
    DeviceJson,
    FindingJson,
    GroupsJson,
    HistoryRowJson,
    InterfaceJson,
    InterfacesJson,
    NetworkJson,
    SearchJson,
    ServiceJson,
    StatusJson,
    StatusUpdateJson,
    TakeJson,
)
from wifimgrd.client.json_types import SignalHistoryJson
from wifimgrd.domain.records import (
    CheckRecord,
    InterfaceRecord,
    SearchRecord,
    ServiceRecord,
    SignalHistoryRecord,
)
from wifimgrd.wire.kinds import time_text

device_json: Final = DeviceJson.of
"""The device record."""
connection_status_json: Final = StatusUpdateJson.of
"""The data of `device.connection_status.update`."""
status_json: Final = StatusJson.of
"""The answer to the status request."""
interface_json: Final = InterfaceJson.of
"""The interface object."""
history_json: Final = HistoryRowJson.of
"""A row of the history."""
take_json: Final = TakeJson.of
"""A take."""
service_json: Final = ServiceJson.of
"""The data of `service.updated`."""


def interfaces_json(interfaces: Mapping[str, InterfaceRecord], service: ServiceRecord) -> InterfacesJson:
    """The answer to the interfaces request, all of it from the same moment, so that it is consistent."""
    everyone = interfaces.values()
    assignments = {str(one.device_id): one.name for one in everyone if one.device_id is not None}
    return {
        "interfaces": list(map(InterfaceJson.of, everyone)),
        "available_interfaces": [one.name for one in everyone if one.is_free],
        "interface_assignments": assignments,
        "total_interfaces": service.total_interfaces,
        "assigned_interfaces": len(assignments),
        "absent_adapters": list(map(AbsentAdapterJson.of, service.absent_adapters)),
        "unmatched_reservations": list(service.unmatched_reservations),
    }


def signal_history_json(found: SignalHistoryRecord) -> SignalHistoryJson:
    """The answer to the request for a device's signal, and its battery."""
    return {
        "step_s": found.step_us // 1_000_000,
        "samples": [[time_text(at), mean, minimum] for at, mean, minimum in found.samples],
        "battery": list(found.battery),
    }


def groups_json(service: ServiceRecord) -> GroupsJson:
    """The answer to the groups request."""
    missing = service.missing_members
    return {
        "groups": [
            {"name": name, "device_ids": list(devices), "missing": list(missing.get(name, ()))}
            for name, devices in service.groups.items()
        ]
    }


def check_json(found: CheckRecord) -> CheckJson:
    """The answer to the question whether cameras are ready."""
    return {
        "ok": found.ok,
        "checked": list(found.checked),
        "findings": list(map(FindingJson.of, found.findings)),
    }


def search_json(found: SearchRecord) -> SearchJson:
    """The answer to the networks request."""
    return {
        "networks": list(map(NetworkJson.of, found.networks)),
        "scanned_interfaces": list(found.scanned),
        "skipped_interfaces": dict(found.skipped),
    }
