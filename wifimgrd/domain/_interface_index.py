"""Indexes of the listed interfaces by shared properties, which avoid iterating over all interfaces.

An `InterfaceIndex` is a value that depends only on the interfaces in it: after any order of additions and
removals it equals `InterfaceIndex.of` the remaining ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from wifimgrd.domain._frozen import Frozen, empty, minus, plus
from wifimgrd.domain.adapter import AdapterIdentity, Band
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.interface import Interface

_K = TypeVar("_K")


@dataclass(frozen=True, slots=True)
class InterfaceIndex:
    """Names of interfaces; keys without any are removed."""

    by_radio: Frozen[str, frozenset[str]] = field(default_factory=empty)
    by_usb_port: Frozen[str, frozenset[str]] = field(default_factory=empty)
    """By the USB device of their radios, empty where it is not known."""
    by_mac: Frozen[str, frozenset[str]] = field(default_factory=empty)
    """By permanent MAC address, empty where it is not known."""
    by_bands: Frozen[frozenset[Band], frozenset[str]] = field(default_factory=empty)
    """By the bands that they support, empty where these are not known."""
    by_reservation: Frozen[DeviceId | None, frozenset[str]] = field(default_factory=empty)
    """By the device for which they are reserved, None where there is none."""

    @classmethod
    def of(cls, interfaces: Iterable[Interface]) -> InterfaceIndex:
        """The index of some interfaces."""
        index = cls()
        for interface in interfaces:
            index = index.plus(interface)
        return index

    def plus(self, interface: Interface) -> InterfaceIndex:
        """A copy with an interface that is not in it."""
        name = interface.name
        return InterfaceIndex(
            _plus(self.by_radio, [interface.radio], name),
            _plus(self.by_usb_port, [interface.adapter.identity.usb_port], name),
            _plus(self.by_mac, [interface.adapter.identity.mac], name),
            _plus(self.by_bands, [interface.facts.bands], name),
            _plus(self.by_reservation, [interface.reserved_for], name),
        )

    def minus(self, interface: Interface) -> InterfaceIndex:
        """A copy without an interface, which must be in it."""
        name = interface.name
        return InterfaceIndex(
            _minus(self.by_radio, [interface.radio], name),
            _minus(self.by_usb_port, [interface.adapter.identity.usb_port], name),
            _minus(self.by_mac, [interface.adapter.identity.mac], name),
            _minus(self.by_bands, [interface.facts.bands], name),
            _minus(self.by_reservation, [interface.reserved_for], name),
        )

    def like(self, identity: AdapterIdentity) -> frozenset[str]:
        """A superset of the interfaces whose adapter has a match strength above 0 with `identity`."""
        if not identity.mac:
            return frozenset[str]().union(*self.by_mac.values())
        return self.by_mac.get(identity.mac, frozenset()) | self.by_mac.get("", frozenset())


def _plus(index: Frozen[_K, frozenset[str]], keys: Iterable[_K], name: str) -> Frozen[_K, frozenset[str]]:
    return plus(index, {key: index.get(key, frozenset()) | {name} for key in keys})


def _minus(index: Frozen[_K, frozenset[str]], keys: Iterable[_K], name: str) -> Frozen[_K, frozenset[str]]:
    for key in dict.fromkeys(keys):
        rest = index[key] - {name}
        index = plus(index, {key: rest}) if rest else minus(index, key)
    return index
