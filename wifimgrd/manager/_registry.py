"""The registered devices in memory, and values derived from all: taken names, shared networks,
reservations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from wifimgrd.domain import sentences
from wifimgrd.domain.device import Device, DeviceId, Ssid
from wifimgrd.domain.reservation import ReservationRule, Reservations, reservations_of
from wifimgrd.manager._entry import DeviceEntry


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

    def same_network(self, device: Device) -> tuple[str, ...]:
        """A warning where another device has the network of a device, too."""
        for other_id in self._by_ssid.get(device.ssid, ())[:2]:
            if other_id != device.id:
                other = self._entries[other_id].device
                return (sentences.same_network(device.ssid, other.id, other.name),)
        return ()

    def reservations(self, rules: Sequence[ReservationRule]) -> Reservations:
        """The reservations of the configuration's rules and of the devices' own pins."""
        devices = [entry.device for entry in self._entries.values()]
        pins = {one.id: one.pin for one in devices if one.pin}
        return reservations_of(rules, {one.id: one.name for one in devices}, pins)
