"""What the hub tells its clients: one value per thing that happened, in the order it happened.

An interface's change comes before the device's, on taking and on freeing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from wifimgrd.domain.device import DeviceId, DeviceStatus, Failure
from wifimgrd.domain.interface import InterfaceStatus
from wifimgrd.domain.recovery import RecoveryStep


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


@dataclass(frozen=True, slots=True)
class DeviceCreated:
    """A device was registered and is on disk."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class DeviceUpdated:
    """What clients see of a device changed, and its connection took no step."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class DeviceRemoved:
    """A device was forgotten."""

    device: DeviceId


@dataclass(frozen=True, slots=True)
class DeviceStateChanged:
    """The connection of a device took a step, or was refused one."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class ConnectionFailed:
    """An attempt failed or was refused, or a link ended for good; DeviceStateChanged follows."""

    device: DeviceId
    failure: Failure


@dataclass(frozen=True, slots=True)
class SignalChanged:
    """The signal of a connected device moved by a step worth telling."""

    status: DeviceStatus


@dataclass(frozen=True, slots=True)
class InterfaceAdded:
    """An adapter was plugged in."""

    status: InterfaceStatus


@dataclass(frozen=True, slots=True)
class InterfaceChanged:
    """An interface was taken, freed, blocked, unblocked or described better."""

    status: InterfaceStatus


@dataclass(frozen=True, slots=True)
class InterfaceRemoved:
    """An adapter was pulled out."""

    name: str


@dataclass(frozen=True, slots=True)
class AdapterRecovery:
    """Something is tried with an adapter that does not work."""

    interface: str
    step: RecoveryStep


@dataclass(frozen=True, slots=True)
class BackendChanged:
    """The backend came, went or is on its way."""

    status: BackendStatus


Event = (
    DeviceCreated
    | DeviceUpdated
    | DeviceRemoved
    | DeviceStateChanged
    | ConnectionFailed
    | SignalChanged
    | InterfaceAdded
    | InterfaceChanged
    | InterfaceRemoved
    | AdapterRecovery
    | BackendChanged
)
