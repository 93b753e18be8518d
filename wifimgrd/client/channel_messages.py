"""The messages of the management channel and of `wifimgrctl monitor`, made of changes.

Pure: no clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.client.changes import (
    BACKEND,
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
    OperationFailed,
    RecordingStopped,
    ServiceChanged,
    TakeEnded,
)
from wifimgrd.client.json_members import (
    DEVICE_MEMBERS,
    CameraUpdateJson,
    DeviceJson,
    InterfaceJson,
    PowerStateJson,
    ServiceJson,
    StatusUpdateJson,
    TakeJson,
    reachability,
)
from wifimgrd.client.json_records import (
    connection_status_json,
    device_json,
    interface_json,
    service_json,
    take_json,
)
from wifimgrd.client.json_types import (
    FAILED,
    OperationFailedJson,
    RecordingStoppedJson,
    RemovedDeviceJson,
    RemovedInterfaceJson,
    SignalJson,
)
from wifimgrd.domain.records import DeviceRecord, ServiceRecord

SIGNAL_STEP: Final = 5
"""Percent."""
STATUS: Final = "device.connection_status.update"
"""The type of the messages with the state of a device's connection."""
POWER: Final = "device.power_state.update"
CAMERA: Final = "device.camera.update"

DATA: Final[Mapping[str, type]] = MappingProxyType(
    {
        "device.created": DeviceJson,
        "device.updated": DeviceJson,
        "device.removed": RemovedDeviceJson,
        STATUS: StatusUpdateJson,
        "device.signal": SignalJson,
        POWER: PowerStateJson,
        CAMERA: CameraUpdateJson,
        "device.recording.stopped": RecordingStoppedJson,
        "take.ended": TakeJson,
        "device.operation.failed": OperationFailedJson,
        "interface.added": InterfaceJson,
        "interface.updated": InterfaceJson,
        "interface.removed": RemovedInterfaceJson,
        "service.updated": ServiceJson,
    }
)
"""Every type of message, with the type of its data."""
_BESIDE_STATUS: Final = tuple(
    one.read
    for one in DEVICE_MEMBERS
    if one.name not in StatusUpdateJson.members and one.name not in ("signal_strength", "camera")
)
"""How the values of a record are read that STATUS does not contain, but for those that have messages of their
own."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the channel, without its number and time."""

    type: str
    data: Mapping[str, Any]
    numbered: bool = True


class ChannelMessages:
    """Turns changes into messages, one after the other.

    The snapshot and the numbered messages after it contain together all that the list of devices
    contains, except the signal strength.
    """

    def __init__(self) -> None:
        self._signals: dict[int, int | None] = {}
        """The signal strengths that were sent last, by device."""
        self._failures: dict[int, AttemptFailed] = {}
        """Failures by device. Each is sent with the change of its device, which follows at once."""
        self._backend = ""

    def resynchronise(self, service: ServiceRecord, devices: Iterable[DeviceRecord]) -> list[Message]:
        """The daemon is on the bus, with these devices, which are in a snapshot that was sent."""
        self._signals = {device.id: device.signal_strength for device in devices}
        self._failures.clear()
        self._backend = service.backend
        return [Message("service.updated", service_json(service))]

    def messages(self, change: Change) -> list[Message]:
        """The messages for a change, in order."""
        match change:
            case DeviceAdded(device):
                self._signals[device.id] = device.signal_strength
                return [Message("device.created", device_json(device))]
            case DeviceChanged(before, after, is_step=True):
                return self._stepped(before, after)
            case DeviceChanged(before, after):
                return self._changed(before, after)
            case AttemptFailed(device_id):
                self._failures[device_id] = change
                return []
            case OperationFailed() | RecordingStopped() | TakeEnded():
                return [_signalled(change)]
            case DeviceRemoved(device_id):
                self._signals.pop(device_id, None)
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
                return [Message("service.updated", service_json(service))] if changed & BACKEND else []
            case DaemonVanished(reason):
                self._failures.clear()
                gone = ServiceRecord(backend=self._backend, backend_reason=reason)
                return [Message("service.updated", service_json(gone))]
            case DaemonAppeared():
                return []

    def _changed(self, before: DeviceRecord, after: DeviceRecord) -> list[Message]:
        """A change without a step of the connection."""
        if replace(after, signal_strength=before.signal_strength) == before:
            return self._signal(after)
        messages = []
        if _power(after) != _power(before):
            messages.append(Message(POWER, PowerStateJson.of(after)))
        if after.camera != before.camera:
            messages.append(Message(CAMERA, CameraUpdateJson.of(after)))
        alone = replace(
            after, power_state=before.power_state, last_seen=before.last_seen, camera=before.camera
        )
        if alone == before:
            return messages
        self._signals[after.id] = after.signal_strength
        if _step(after) != _step(before):
            messages.append(Message(STATUS, connection_status_json(after)))
        return [*messages, Message("device.updated", device_json(after))]

    def _stepped(self, before: DeviceRecord, after: DeviceRecord) -> list[Message]:
        """The connection changed its state, failed, or refused a command."""
        self._signals[after.id] = after.signal_strength
        messages = []
        status = connection_status_json(after)
        failure = self._failures.pop(after.id, None)
        if failure is not None:
            failed = status | {
                "connection_status": FAILED,
                "connected": False,
                "connection_error_code": failure.code,
                "connection_error_message": failure.message,
            }
            messages.append(Message(STATUS, failed))
        messages.append(Message(STATUS, status))
        if after.camera != before.camera:  # as in a record that has both
            messages.append(Message(CAMERA, CameraUpdateJson.of(after)))
        if any(value(after) != value(before) for value in _BESIDE_STATUS):
            messages.append(Message("device.updated", device_json(after)))
        return messages

    def _signal(self, device: DeviceRecord) -> list[Message]:
        percent, sent = device.signal_strength, self._signals.get(device.id)
        if percent is None or (sent is not None and abs(percent - sent) < SIGNAL_STEP):
            return []
        self._signals[device.id] = percent
        step = (percent + SIGNAL_STEP // 2) // SIGNAL_STEP * SIGNAL_STEP
        return [Message("device.signal", {"id": device.id, "signal_strength": step}, numbered=False)]


def _signalled(change: OperationFailed | RecordingStopped | TakeEnded) -> Message:
    """The message about a signal that changes no record."""
    match change:
        case OperationFailed(device_id, operation, code, message):
            failed = {"id": device_id, "operation": operation, "code": code, "message": message}
            return Message("device.operation.failed", failed)
        case RecordingStopped(device_id, reason):
            return Message("device.recording.stopped", {"id": device_id, "reason": reason})
        case TakeEnded(take):
            return Message("take.ended", take_json(take))


def _step(device: DeviceRecord) -> tuple[str, str | None, str | None]:
    """The facts about a connection that clients need at once while its state stays the same."""
    return reachability(device), device.connection_phase, device.recovery_step


def _power(device: DeviceRecord) -> tuple[str | None, int | None]:
    return device.power_state, device.last_seen
