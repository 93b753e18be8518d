"""The registered devices in memory, and values derived from all: taken names, shared networks,
reservations."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.domain import sentences
from wifimgrd.domain.adapter import AdapterPin
from wifimgrd.domain.device import Device, DeviceId, Ssid
from wifimgrd.domain.reservation import ReservationRule, Reservations, reservations_of


class Registry:
    """Entries by id, and what is looked up among all devices, so that each of many costs the same."""

    def __init__(self) -> None:
        self._entries: dict[DeviceId, DeviceEntry] = {}
        self._by_ssid: dict[Ssid, list[DeviceId]] = {}
        """The devices of a network, in order of id."""
        self._by_name: dict[str, list[DeviceId]] = {}
        """One each, but for files of earlier versions."""
        self._by_address: dict[str, list[DeviceId]] = {}
        self._pins: dict[DeviceId, AdapterPin] = {}
        self.last_address = ""
        """The address that was assigned last, also if its device was removed since."""

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
        if device.id in self._entries and _keys(before) != _keys(device):
            self._unindex(before)
            self._index(device)

    def _index(self, device: Device) -> None:
        for index, key in self._indexes(device):
            insort(index.setdefault(key, []), device.id)
        if device.pin:
            self._pins[device.id] = device.pin
        self.last_address = device.address or self.last_address

    def _unindex(self, device: Device) -> None:
        for index, key in self._indexes(device):
            index[key].remove(device.id)
            if not index[key]:
                del index[key]
        self._pins.pop(device.id, None)

    def _indexes(self, device: Device) -> Iterator[tuple[dict[Any, list[DeviceId]], object]]:
        return zip((self._by_ssid, self._by_name, self._by_address), _keys(device)[:3], strict=True)

    @property
    def names(self) -> Collection[str]:
        """The names that are taken."""
        return self._by_name.keys()

    @property
    def addresses(self) -> Collection[str]:
        """The addresses that are taken; with the empty one if a device has none."""
        return self._by_address.keys()

    def is_taken(self, name: str, but: DeviceId | None = None) -> bool:
        """Whether a device, another one than `but`, has a name."""
        return any(one != but for one in self._by_name.get(name, ()))

    def named(self, references: Iterable[DeviceId | str]) -> dict[DeviceId, str]:
        """The names of the devices that are meant by an id or a name."""
        found = dict[DeviceId, str]()
        for one in references:
            for device_id in self._by_name.get(one, ())[-1:] if isinstance(one, str) else (one,):
                if device_id in self._entries:
                    found[device_id] = self._entries[device_id].device.name
        return found

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
        return reservations_of(rules, self.named(rule.device for rule in rules), self._pins)


def _keys(device: Device) -> tuple[Ssid, str, str, AdapterPin]:
    return device.ssid, device.name, device.address, device.pin
