"""The changes of the live objects, as they are passed to listeners: in the order of the bus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wifimgrd.domain.fields import fields_of
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord, ServiceRecord, TakeRecord

BACKEND: Final = frozenset(one.dbus_name for one in fields_of(ServiceRecord) if one.field.in_status)
"""The properties of the manager object that `service.updated` reports."""


@dataclass(frozen=True, slots=True)
class DaemonAppeared:
    """The daemon is on the bus, and the copy is complete and current."""


@dataclass(frozen=True, slots=True)
class DaemonVanished:
    """The daemon or the bus has gone; the copy is out of date and must not be used."""

    reason: str


@dataclass(frozen=True, slots=True)
class ServiceChanged:
    """A property of the manager object changed."""

    service: ServiceRecord
    changed: frozenset[str]
    """D-Bus names of the properties that the signal carried."""


@dataclass(frozen=True, slots=True)
class DeviceAdded:
    """A device object appeared."""

    device: DeviceRecord


@dataclass(frozen=True, slots=True)
class DeviceChanged:
    """Properties of a device changed."""

    before: DeviceRecord
    after: DeviceRecord
    is_step: bool
    """Whether the signal carried `State`: the connection changed its state or refused a command, which may
    leave the state as it was."""


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """The signal `ConnectionFailed`. A DeviceChanged that is a step follows at once."""

    device_id: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class OperationFailed:
    """The signal `OperationFailed`: a wake, a sleep, a pairing or a recovery step failed
    that nobody waits for."""

    device_id: int
    operation: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class RecordingStopped:
    """The signal `RecordingStopped`: a recording has ended, by a command or without."""

    device_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class TakeEnded:
    """The signal `TakeEnded`: a take is over."""

    take: TakeRecord


@dataclass(frozen=True, slots=True)
class DeviceRemoved:
    """A device object was removed."""

    device_id: int


@dataclass(frozen=True, slots=True)
class InterfaceAdded:
    """An interface object appeared."""

    interface: InterfaceRecord


@dataclass(frozen=True, slots=True)
class InterfaceChanged:
    """Properties of an interface changed."""

    interface: InterfaceRecord


@dataclass(frozen=True, slots=True)
class InterfaceRemoved:
    """An interface object was removed."""

    name: str


Change = (
    DaemonAppeared
    | DaemonVanished
    | ServiceChanged
    | DeviceAdded
    | DeviceChanged
    | AttemptFailed
    | OperationFailed
    | RecordingStopped
    | TakeEnded
    | DeviceRemoved
    | InterfaceAdded
    | InterfaceChanged
    | InterfaceRemoved
)
