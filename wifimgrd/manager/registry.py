"""The registered devices in memory, and values derived from all: taken names, shared networks, pins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from wifimgrd.domain import sentences
from wifimgrd.domain.allocator import AllocationRules, Reservation
from wifimgrd.domain.device import Device, DeviceId, Ssid
from wifimgrd.manager.entry import DeviceEntry


class Registry:
    """Entries by id, and the devices of each network."""

    def __init__(self) -> None:
        self._entries: dict[DeviceId, DeviceEntry] = {}
        self._by_ssid: dict[Ssid, list[DeviceId]] = {}
        """The devices of a network, in order of id."""

    @property
    def entries(self) -> Mapping[DeviceId, DeviceEntry]:
        """Every entry, by id."""
        return MappingProxyType(self._entries)

    def add(self, entry: DeviceEntry) -> None:
        """A device is registered."""
        self._entries[entry.device.id] = entry
        self._index(entry.device)

    def remove(self, device_id: DeviceId) -> None:
        """A device is removed."""
        self._unindex(self._entries.pop(device_id).device)

    def replace(self, entry: DeviceEntry, device: Device) -> None:
        """Replace a device's value."""
        before, entry.device = entry.device, device
        if before.ssid != device.ssid and device.id in self._entries:
            self._unindex(before)
            self._index(device)

    def _index(self, device: Device) -> None:
        ids = self._by_ssid.setdefault(device.ssid, [])
        ids.append(device.id)
        ids.sort()

    def _unindex(self, device: Device) -> None:
        ids = self._by_ssid[device.ssid]
        ids.remove(device.id)
        if not ids:
            del self._by_ssid[device.ssid]

    def is_taken(self, name: str, but: DeviceId | None = None) -> bool:
        """Whether a device, another one than `but`, has a name."""
        return any(one.device.name == name and one.device.id != but for one in self._entries.values())

    def sharing(self, ssid: Ssid) -> list[DeviceEntry]:
        """The devices of a network, in order of id."""
        return [self._entries[one] for one in self._by_ssid.get(ssid, ())]

    def cameras_of_others(self, device: Device) -> dict[str, DeviceId]:
        """The access points that the other devices of a device's network were connected to last, by their
        BSSIDs; without its own."""
        latest = {
            entry.device.sightings[0].bssid: entry.device.id
            for entry in self.sharing(device.ssid)
            if entry.device.sightings
        }
        for seen in device.sightings[:1]:
            latest.pop(seen.bssid, None)
        return latest

    def warnings(self, device: Device, rules: AllocationRules) -> tuple[str, ...]:
        """Settings of a device that were accepted and may be mistakes; `rules` are the configuration's."""
        found = []
        for other_id in self._by_ssid.get(device.ssid, ())[:2]:
            if other_id != device.id:
                other = self._entries[other_id].device
                found.append(sentences.same_network(device.ssid, other.id, other.name))
                break
        if device.pin and not is_pin_used(device, rules):
            found.append(sentences.pin_overruled(device.pin))
        return tuple(found)

    def with_pins(self, rules: AllocationRules) -> AllocationRules:
        """The configuration's rules, and the devices' own pins that do not contradict them."""
        pins = tuple(
            Reservation(entry.device.id, entry.device.pin.mac, entry.device.pin.usb_port)
            for _, entry in sorted(self._entries.items())
            if entry.device.pin and is_pin_used(entry.device, rules)
        )
        return replace(rules, reservations=(*rules.reservations, *pins)) if pins else rules


def is_pin_used(device: Device, rules: AllocationRules) -> bool:
    """Whether the configuration reserves this adapter for this device, or neither of them for another one."""
    pin = device.pin
    pinned = [
        (one.device in (device.id, device.name), (one.mac.lower(), one.usb_port) == (pin.mac, pin.usb_port))
        for one in rules.reservations
    ]
    return (True, True) in pinned or not any(is_device or is_adapter for is_device, is_adapter in pinned)
