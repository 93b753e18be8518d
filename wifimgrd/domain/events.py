"""The hub's events for its clients, one value each, in the order in which they happened.

When an interface is assigned or freed, its change comes before the device's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from wifimgrd.domain.camera import EndSeen, StopReason
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import DeviceId, DeviceStatus, Failure
from wifimgrd.domain.errors import BackendUnavailable, ErrorCode, WifimgrdError
from wifimgrd.domain.interface import InterfaceStatus
from wifimgrd.domain.link_steps import LinkStep, StepResult
from wifimgrd.domain.power import BluetoothStatus
from wifimgrd.domain.recordings import RecordedFile, Recording
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.domain.reservation import AbsentAdapter


class BackendState(StrEnum):
    """Whether the backend can join networks now."""

    READY = "ready"
    STARTING = "starting"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class BackendStatus:
    """The backend's state, and why where it is not READY."""

    state: BackendState
    reason: str = ""

    def require_ready(self, name: str) -> None:
        """Raise BackendUnavailable unless the backend of this name is READY."""
        if self.state is not BackendState.READY:
            raise BackendUnavailable(self.reason or f"the backend {name} is {self.state}")


@dataclass(frozen=True, slots=True)
class DeviceCreated:
    """A device was registered and is on disk."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class DeviceUpdated:
    """A device's public properties changed, without a change of its connection's state."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class DeviceRemoved:
    """A device was removed."""

    device_id: DeviceId


@dataclass(frozen=True, slots=True)
class DeviceStateChanged:
    """The state of a device's connection changed, or a connection was refused."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class ConnectionFailed:
    """An attempt failed or was refused, or a link has ended; DeviceStateChanged follows."""

    device_id: DeviceId
    failure: Failure


@dataclass(frozen=True, slots=True)
class SignalChanged:
    """The signal strength of a connected device, or its bit rates, changed by a reportable step."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class PowerChanged:
    """Whether a camera sleeps is known otherwise, or it was seen again."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class OperationFailed:
    """A wake, a sleep, a pairing or a recovery step of a device failed that nobody waits for."""

    device_id: DeviceId
    operation: str
    """The name of the command."""
    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class WakeEnded:
    """A wake ended."""

    device_id: DeviceId
    error: WifimgrdError | None
    """None if it succeeded."""


@dataclass(frozen=True, slots=True)
class CameraChanged:
    """A camera has said something of itself that clients are told."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class RecordingStarted:
    """A recording was seen to begin."""

    device_id: DeviceId
    device_name: str
    since_us: int
    """When it began, microseconds since the epoch."""
    recording: Recording
    """The facts at its begin, with all cameras that are expected to record."""


@dataclass(frozen=True, slots=True)
class RecordingFailed:
    """A camera has not done a command to record."""

    device_id: DeviceId
    code: ErrorCode
    commanded: Clocks
    """When the command was given."""


@dataclass(frozen=True, slots=True)
class RecordingRefused:
    """A connected camera has not recorded, or stopped, as somebody has told it."""

    device_id: DeviceId
    on: bool
    """It was told to record."""
    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class RecordingStopped:
    """A recording has ended."""

    device_id: DeviceId
    device_name: str
    reason: StopReason
    since_us: int
    """When it began, microseconds since the epoch."""
    seen: EndSeen = EndSeen.DIRECTLY
    link_error: str = ""
    """Why the link ended that it had outlived or ended with, as a sentence; empty if that is not known."""
    ended_us: int = 0
    """When it has ended, by the clock of its begin; 0 = now, and at a client, which is not told."""
    battery_level: int | None = None
    """Percent, as it was read last."""
    storage_free: int | None = None
    """Bytes, as it was read last."""
    serial_number: str = ""
    """The camera's, as it was read last."""


@dataclass(frozen=True, slots=True)
class RecordingFiles:
    """The camera was asked for the files of a recording that has ended."""

    device_id: DeviceId
    since_us: int
    """When it began: that of its RecordingStarted."""
    files: tuple[RecordedFile, ...] | None
    """None if that is not known, and will not be."""


@dataclass(frozen=True, slots=True)
class BluetoothChanged:
    """Bluetooth became ready or unavailable on this host."""

    status: BluetoothStatus


@dataclass(frozen=True, slots=True)
class InterfaceAdded:
    """An adapter was plugged in."""

    status: InterfaceStatus


@dataclass(frozen=True, slots=True)
class InterfaceChanged:
    """An interface was assigned, freed, blocked or unblocked, or its description changed."""

    status: InterfaceStatus


@dataclass(frozen=True, slots=True)
class InterfaceRemoved:
    """An adapter was pulled out."""

    name: str


@dataclass(frozen=True, slots=True)
class AdapterRecovery:
    """A recovery step was started on an adapter that does not work, or through which a link was dead."""

    interface: str
    step: RecoveryStep | LinkStep


@dataclass(frozen=True, slots=True)
class LinkStepStarted:
    """A recovery step was started for a connected camera that does not answer; its state follows."""

    device_id: DeviceId
    interface: str
    """That of the dead link."""
    step: LinkStep
    why: str
    """The reason, as a sentence."""


@dataclass(frozen=True, slots=True)
class LinkStepEnded:
    """The recovery step of a camera has ended."""

    device_id: DeviceId
    step: LinkStep
    result: StepResult
    failure: str = ""
    """Why it could not be carried out; empty if it was."""


@dataclass(frozen=True, slots=True)
class AbsentAdaptersChanged:
    """Other adapters than before are not plugged in that are kept for devices, or were there."""

    adapters: tuple[AbsentAdapter, ...]


@dataclass(frozen=True, slots=True)
class GroupsChanged:
    """The groups, or the registered devices in them, are others than before."""

    groups: Mapping[str, tuple[DeviceId, ...]]
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Entries of groups that do not name a registered device, as they are written there."""


@dataclass(frozen=True, slots=True)
class UnmatchedReservationsChanged:
    """Other reservations than before name no registered device: each as a sentence."""

    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BackendChanged:
    """The backend became ready, is starting, or became unavailable."""

    status: BackendStatus


Event = (
    DeviceCreated
    | DeviceUpdated
    | DeviceRemoved
    | DeviceStateChanged
    | ConnectionFailed
    | SignalChanged
    | PowerChanged
    | OperationFailed
    | WakeEnded
    | CameraChanged
    | RecordingStarted
    | RecordingFailed
    | RecordingRefused
    | RecordingStopped
    | RecordingFiles
    | BluetoothChanged
    | InterfaceAdded
    | InterfaceChanged
    | InterfaceRemoved
    | AdapterRecovery
    | LinkStepStarted
    | LinkStepEnded
    | AbsentAdaptersChanged
    | GroupsChanged
    | UnmatchedReservationsChanged
    | BackendChanged
)
