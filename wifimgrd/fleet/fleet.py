"""The hubs of one broker, as it retains their records. Pure: no clock, no I/O; sizes and counts are limited.

The broker is read hub by hub (see `fleet_client.py`): `begin_listing`, then `begin_reading` and `complete`
for each hub that was found, then `complete_listing`. Changes of a hub are reported once it was read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

from wifimgrd.client.changes import (
    BACKEND,
    Change,
    DeviceAdded,
    DeviceChanged,
    DeviceRemoved,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    ServiceChanged,
)
from wifimgrd.client.json_members import STATUS_MEMBERS
from wifimgrd.config.configuration import TOPIC_LEVEL
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord, ServiceRecord
from wifimgrd.fleet.records import HubRecord, parse_device, parse_hub, parse_interface
from wifimgrd.mqtt._topics import OFFLINE, ONLINE
from wifimgrd.wire.kinds import RecordError

_HUB_ID: Final = re.compile(TOPIC_LEVEL)
_DEVICE: Final = re.compile(r"devices/([1-9][0-9]{0,17})")
_LONGEST_NAME: Final = 1024
_STATUS: Final = tuple(one.read for one in STATUS_MEMBERS)
_UNREADABLE_KEPT: Final = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """What is kept at most; the rest is counted."""

    hubs: int = 5_000
    records: int = 100_000
    octets: int = 64 * 1024 * 1024
    """Of the messages with these records."""


@dataclass(frozen=True, slots=True)
class BrokerAppeared:
    """The copy is complete and current."""


@dataclass(frozen=True, slots=True)
class BrokerVanished:
    """The connection is lost, or cannot be made; the copy may be out of date."""

    reason: str


@dataclass(frozen=True, slots=True)
class HubAppeared:
    """A hub was read: its records are complete and current."""


@dataclass(frozen=True, slots=True)
class HubVanished:
    """The broker retains nothing of the hub any more."""


@dataclass(frozen=True, slots=True)
class AvailabilityChanged:
    """The hub went online or offline; the records of one that is offline may be out of date."""

    online: bool


@dataclass(frozen=True, slots=True)
class FleetChange:
    """A change, with the id of its hub; empty for one of the connection to the broker."""

    hub: str
    change: BrokerAppeared | BrokerVanished | HubAppeared | HubVanished | AvailabilityChanged | Change


@dataclass(slots=True)
class FleetHub:
    """A hub; read-only for everyone but the fleet."""

    id: str
    online: bool = False
    is_read: bool = False
    """Its records are complete; before, some may be missing."""
    record: HubRecord = field(default_factory=HubRecord)
    devices: dict[int, DeviceRecord] = field(default_factory=dict)
    interfaces: dict[str, InterfaceRecord] = field(default_factory=dict)
    last_message_us: int | None = None
    """Microseconds since the epoch: when the last message arrived, of those that were published while this
    client was connected. The broker does not say when it received its retained messages."""
    octets: dict[str, int] = field(default_factory=dict, repr=False)
    """The size of the message at each topic below the hub's."""
    unconfirmed: set[str] = field(default_factory=set, repr=False)
    """The topics of records from before it is read again, of which none has arrived since."""


class Fleet:
    """The hubs by id."""

    def __init__(self, prefix: str, limits: Limits = Limits()) -> None:
        self._prefix = f"{prefix}/"
        self._limits = limits
        self._hubs: dict[str, FleetHub] = {}
        self._unlisted: set[str] = set()
        """Hubs from before the list is read again, that it has not had yet."""
        self._records = 0
        self._octets = 0
        self.left_out = 0
        """Messages that were ignored because of the limits."""
        self.unreadable: dict[str, str] = {}
        """By topic, why the last message there is no record; the first hundred."""

    @property
    def hubs(self) -> Mapping[str, FleetHub]:
        """The hubs by id."""
        return MappingProxyType(self._hubs)

    # -- reading what the broker retains

    def begin_listing(self) -> None:
        """A connection begins: which hubs there are is read anew."""
        self._unlisted = set(self._hubs)
        self.unreadable.clear()
        self.left_out = 0

    def complete_listing(self) -> list[FleetChange]:
        """All hubs were found: the others are gone."""
        gone, self._unlisted = self._unlisted, set()
        return [change for hub_id in sorted(gone) for change in self._remove(hub_id)]

    def begin_reading(self, hub_id: str) -> None:
        """What the broker retains of a hub arrives next."""
        hub = self._hubs.get(hub_id)
        if hub is not None:
            hub.unconfirmed = set(hub.octets)

    def complete(self, hub_id: str) -> list[FleetChange]:
        """All that the broker retains of a hub has arrived."""
        hub = self._hubs.get(hub_id)
        if hub is None:
            return []
        changes = [change for below in sorted(hub.unconfirmed) for change in self._record(hub, below, b"")]
        hub.unconfirmed = set()
        if not hub.is_read:
            hub.is_read = True
            changes = [FleetChange(hub_id, HubAppeared())]
        return changes

    # -- messages

    def receive(self, topic: str, payload: bytes, *, retained: bool, now_us: int) -> list[FleetChange]:
        """A message has arrived: `retained` ones were published before this client subscribed. Returns what
        has changed in a hub that was read."""
        hub_id, slash, below = topic.removeprefix(self._prefix).partition("/")
        if not topic.startswith(self._prefix) or not slash or not _HUB_ID.fullmatch(hub_id):
            return []
        hub = self._hubs.get(hub_id)
        changes = []
        if below == "availability":
            changes = self._availability(hub_id, hub, payload)
        elif hub is not None:
            changes = self._record(hub, below, payload)
        hub = self._hubs.get(hub_id)
        if hub is None:
            return changes
        if not retained:
            hub.last_message_us = now_us
        return changes if hub.is_read else []

    def _availability(self, hub_id: str, hub: FleetHub | None, payload: bytes) -> list[FleetChange]:
        self._unlisted.discard(hub_id)
        if not payload:
            return self._remove(hub_id)
        online = payload == ONLINE
        known = online or payload == OFFLINE
        self._note(f"{self._prefix}{hub_id}/availability", "" if known else "neither online nor offline")
        if hub is None:
            if len(self._hubs) < self._limits.hubs:
                self._hubs[hub_id] = FleetHub(hub_id, online)
            else:
                self.left_out += 1
            return []
        if hub.online == online:
            return []
        hub.online = online
        return [FleetChange(hub_id, AvailabilityChanged(online))]

    def _remove(self, hub_id: str) -> list[FleetChange]:
        hub = self._hubs.pop(hub_id, None)
        if hub is None:
            return []
        self._records -= len(hub.octets)
        self._octets -= sum(hub.octets.values())
        return [FleetChange(hub_id, HubVanished())] if hub.is_read else []

    def _record(self, hub: FleetHub, below: str, payload: bytes) -> list[FleetChange]:
        """The record at a topic of a hub is this; none if the payload is empty, or cannot be read."""
        hub.unconfirmed.discard(below)
        device = _DEVICE.fullmatch(below)
        kind, _, name = below.partition("/")
        is_interface = kind == "interfaces" and 0 < len(name) <= _LONGEST_NAME and "/" not in name
        if device is None and not is_interface and below != "hub":
            return []
        if payload and not self._has_room(hub, below, payload):
            self.left_out += 1
            payload = b""
        try:
            if device is not None:
                changes = self._device(hub, int(device[1]), payload)
            elif is_interface:
                changes = self._interface(hub, unquote(name), payload)
            else:
                changes = self._service(hub, payload)
        except RecordError as error:
            gone = self._record(hub, below, b"")
            self._note(f"{self._prefix}{hub.id}/{below}", str(error))
            return gone
        self._count(hub, below, len(payload))
        self._note(f"{self._prefix}{hub.id}/{below}", "")
        return [FleetChange(hub.id, change) for change in changes]

    def _has_room(self, hub: FleetHub, below: str, payload: bytes) -> bool:
        held = hub.octets.get(below)
        records = self._records + (held is None)
        octets = self._octets - (held or 0) + len(payload)
        return records <= self._limits.records and octets <= self._limits.octets

    def _count(self, hub: FleetHub, below: str, octets: int) -> None:
        held = hub.octets.pop(below, None)
        if held is not None:
            self._records -= 1
            self._octets -= held
        if octets:
            hub.octets[below] = octets
            self._records += 1
            self._octets += octets

    def _note(self, topic: str, reason: str) -> None:
        """Why the message at a topic cannot be read; empty if it can."""
        if not reason:
            self.unreadable.pop(topic, None)
        elif topic in self.unreadable or len(self.unreadable) < _UNREADABLE_KEPT:
            self.unreadable[topic] = reason

    def _service(self, hub: FleetHub, payload: bytes) -> list[Change]:
        before, after = hub.record, parse_hub(payload, hub.id) if payload else HubRecord()
        hub.record = after
        if before == after:
            return []
        changed = BACKEND if _backend(before.service) != _backend(after.service) else frozenset()
        return [ServiceChanged(after.service, changed)]

    @staticmethod
    def _device(hub: FleetHub, device_id: int, payload: bytes) -> list[Change]:
        before = hub.devices.get(device_id)
        if not payload:
            hub.devices.pop(device_id, None)
            return [] if before is None else [DeviceRemoved(device_id)]
        after = hub.devices[device_id] = parse_device(payload, device_id)
        if before is None:
            return [DeviceAdded(after)]
        if before == after:
            return []
        return [DeviceChanged(before, after, is_step=any(read(before) != read(after) for read in _STATUS))]

    @staticmethod
    def _interface(hub: FleetHub, name: str, payload: bytes) -> list[Change]:
        before = hub.interfaces.get(name)
        if not payload:
            hub.interfaces.pop(name, None)
            return [] if before is None else [InterfaceRemoved(name)]
        after = parse_interface(payload)
        if after.name != name:
            raise RecordError("it is of another interface")
        hub.interfaces[name] = after
        if before is None:
            return [InterfaceAdded(after)]
        return [] if before == after else [InterfaceChanged(after)]


def _backend(service: ServiceRecord) -> Collection[str]:
    return service.backend, service.backend_state, service.backend_reason
