"""What the management channel and `wifimgrctl monitor` say of a change: messages made of changes.

Pure: no clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.dbus.client.changes import (
    AttemptFailed,
    Change,
    DaemonAppeared,
    DaemonVanished,
    DeviceAdded,
    DeviceChanged,
    DeviceRemoved,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    ServiceChanged,
)
from wifimgrd.dbus.client.json_records import (
    connection_status_json,
    device_json,
    interface_json,
    service_json,
)
from wifimgrd.dbus.client.json_types import (
    FAILED,
    DeviceJson,
    InterfaceJson,
    RemovedDeviceJson,
    RemovedInterfaceJson,
    ServiceJson,
    SignalJson,
    StatusUpdateJson,
)
from wifimgrd.dbus.client.records import DeviceRecord, ServiceRecord

SIGNAL_STEP: Final = 5
"""Percent."""
_BACKEND: Final = frozenset({"Backend", "BackendState", "BackendReason"})

DATA: Final[Mapping[str, type]] = MappingProxyType(
    {
        "device.created": DeviceJson,
        "device.updated": DeviceJson,
        "device.removed": RemovedDeviceJson,
        "device.connection_status.update": StatusUpdateJson,
        "device.signal": SignalJson,
        "interface.added": InterfaceJson,
        "interface.updated": InterfaceJson,
        "interface.removed": RemovedInterfaceJson,
        "service.updated": ServiceJson,
    }
)
"""Every type of message, and what its data is."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the channel, without its number and time."""

    type: str
    data: Mapping[str, Any]
    numbered: bool = True


class Translator:
    """Turns changes into messages, one after the other.

    The snapshot and the numbered messages after it say together all that the list of devices
    says, the signal's strength aside.
    """

    def __init__(self) -> None:
        self._devices: dict[int, DeviceRecord] = {}
        """As last told."""
        self._failures: dict[int, AttemptFailed] = {}
        """Each is told with the change of its device, which follows at once."""
        self._backend = ""

    def resynchronise(self, service: ServiceRecord, devices: Iterable[DeviceRecord]) -> list[Message]:
        """The daemon is there, with these devices, which a snapshot has told."""
        self._devices = {device.id: device for device in devices}
        self._failures.clear()
        self._backend = service.backend
        return [Message("service.updated", service_json(service))]

    def messages(self, change: Change) -> list[Message]:
        """What to say of a change, in order."""
        match change:
            case DeviceAdded(device):
                self._devices[device.id] = device
                return [Message("device.created", device_json(device))]
            case DeviceChanged(device, changed):
                return self._device_changed(device, changed)
            case AttemptFailed(device_id):
                self._failures[device_id] = change
                return []
            case DeviceRemoved(device_id):
                self._devices.pop(device_id, None)
                self._failures.pop(device_id, None)
                return [Message("device.removed", {"id": device_id})]
            case InterfaceAdded(interface):
                return [Message("interface.added", interface_json(interface))]
            case InterfaceChanged(interface):
                return [Message("interface.updated", interface_json(interface))]
            case InterfaceRemoved(name):
                return [Message("interface.removed", {"name": name})]
            case ServiceChanged(service, changed):
                self._backend = service.backend
                return [Message("service.updated", service_json(service))] if changed & _BACKEND else []
            case DaemonVanished(reason):
                self._failures.clear()
                gone = ServiceRecord(backend=self._backend, backend_reason=reason)
                return [Message("service.updated", service_json(gone))]
            case DaemonAppeared():
                return []

    def _device_changed(self, device: DeviceRecord, changed: frozenset[str]) -> list[Message]:
        told = self._devices.get(device.id, device)
        if changed == {"SignalStrength"}:
            return self._signal(device, told)
        self._devices[device.id] = device
        if "State" not in changed:
            return [Message("device.updated", device_json(device))]
        result = []
        status = connection_status_json(device)
        failure = self._failures.pop(device.id, None)
        if failure is not None:
            failed = status.copy()
            failed["connection_status"] = FAILED
            failed["connected"] = False
            failed["connection_error_code"] = failure.code
            failed["connection_error_message"] = failure.message
            result.append(Message("device.connection_status.update", failed))
        result.append(Message("device.connection_status.update", status))
        if _beside_status(device) != _beside_status(told):
            result.append(Message("device.updated", device_json(device)))
        return result

    def _signal(self, device: DeviceRecord, told: DeviceRecord) -> list[Message]:
        percent, before = device.signal_strength, told.signal_strength
        if device.state != "connected" or percent is None:
            return []
        if before is not None and abs(percent - before) < SIGNAL_STEP:
            return []
        self._devices[device.id] = device
        step = (percent + SIGNAL_STEP // 2) // SIGNAL_STEP * SIGNAL_STEP
        return [Message("device.signal", {"id": device.id, "signal_strength": step}, numbered=False)]


def _beside_status(device: DeviceRecord) -> tuple[object, ...]:
    """What the record says and `device.connection_status.update` does not."""
    return (
        device.codename,
        device.connection_type,
        device.ssid,
        device.local_address,
        device.camera_address,
        device.lost_at_us,
        device.reachable if device.state == "connected" else None,
    )
