"""What a live copy of the daemon's objects tells its listeners, in the order of the bus."""

from __future__ import annotations

from dataclasses import dataclass

from wifimgrd.dbus.client.records import DeviceRecord, InterfaceRecord, ServiceRecord


@dataclass(frozen=True, slots=True)
class DaemonAppeared:
    """The daemon is there and the copy is complete and current."""


@dataclass(frozen=True, slots=True)
class DaemonVanished:
    """The daemon or the bus went away; the copy is stale and must not be shown."""

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
    """Properties of a device changed.

    `State` is among `changed` exactly where the connection took a step or was refused one, also
    where its value is as before.
    """

    device: DeviceRecord
    changed: frozenset[str]
    """D-Bus names of the properties that the signal carried."""


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """The signal `ConnectionFailed`: a DeviceChanged with `State` follows at once."""

    device_id: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class DeviceRemoved:
    """A device object went away."""

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
    """An interface object went away."""

    name: str


Change = (
    DaemonAppeared
    | DaemonVanished
    | ServiceChanged
    | DeviceAdded
    | DeviceChanged
    | AttemptFailed
    | DeviceRemoved
    | InterfaceAdded
    | InterfaceChanged
    | InterfaceRemoved
)
