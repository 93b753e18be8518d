"""Which interface a device gets: a pure state machine over interfaces and assignments.

An `Allocator` is a value. Each operation returns the next one, so a refused operation leaves
no trace. Invariants, held by construction and tested as a rule-based state machine:

- no interface has two devices, no device has two interfaces;
- an interface is in use if and only if it is assigned;
- only a listed interface without obstacle, not reserved for another device, is ever assigned;
- an operation on one device never changes another device's assignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Band
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import InterfaceNotFound, NoInterfaceAvailable
from wifimgrd.domain.interface import (
    BackendFacts,
    Interface,
    InterfaceState,
    InterfaceStatus,
    natural_key,
)

_SHOWN_REASONS = 8
"""A refusal's sentence names this many interfaces; all of them are in its `reasons`."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Pins an adapter, named by MAC address or USB port, to a device, named by id or name."""

    device: DeviceId | str
    mac: str = ""
    usb_port: str = ""

    def pins(self, identity: AdapterIdentity) -> bool:
        """Whether this is the adapter meant."""
        if self.mac:
            return identity.mac == self.mac.lower()
        return bool(self.usb_port) and identity.usb_port == self.usb_port


@dataclass(frozen=True, slots=True)
class AllocationRules:
    """What the configuration says of interfaces."""

    usb_only: bool = True
    """List adapters on USB alone (`[interfaces] match = "usb"`), or every Wi-Fi interface."""
    exclude: tuple[str, ...] = ()
    """Globs of interface names that are listed and never taken."""
    reservations: tuple[Reservation, ...] = ()

    def lists(self, adapter: Adapter) -> bool:
        """Whether the adapter is one of the hub's at all."""
        return adapter.is_usb or not self.usb_only

    def exclusion(self, name: str) -> str:
        """Why the configuration excludes an interface; empty where it does not."""
        for glob in self.exclude:
            if fnmatchcase(name, glob):
                return f'excluded by the configuration ("{glob}")'
        return ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A device that asks for an interface."""

    device: DeviceId
    name: str = ""
    """The device's name, by which a reservation may know it."""
    last_adapter: AdapterIdentity | None = None
    bands: frozenset[Band] = frozenset()
    """Those that its access point is known to use; an interface must be able to use one of them. Empty
    where they are not known."""

    def holds(self, reservation: Reservation) -> bool:
        """Whether `reservation` was made for this device."""
        return reservation.device in (self.device, self.name)


@dataclass(frozen=True, slots=True)
class Allocator:
    """Interfaces, and who has which."""

    rules: AllocationRules = AllocationRules()
    interfaces: Mapping[str, Interface] = field(default_factory=lambda: MappingProxyType({}))
    assignments: Mapping[DeviceId, str] = field(default_factory=lambda: MappingProxyType({}))
    """The interface of each device that has one."""
    holders: Mapping[str, DeviceId] = field(default_factory=lambda: MappingProxyType({}))
    """The same, seen from the interfaces."""

    def follow(self, rules: AllocationRules) -> Allocator:
        """Other rules from here on; assignments stay as they are, also where they would not be made now."""
        interfaces = {
            name: replace(interface, exclusion=rules.exclusion(name))
            for name, interface in self.interfaces.items()
        }
        return replace(self, rules=rules, interfaces=MappingProxyType(interfaces))

    def plug(self, adapter: Adapter, facts: BackendFacts | None = None) -> Allocator:
        """An adapter appeared or is described anew; one that the rules do not list is left out."""
        if not self.rules.lists(adapter):
            return self
        known = self.interfaces.get(adapter.name)
        if facts is None:
            facts = known.facts if known else BackendFacts()
        exclusion = self.rules.exclusion(adapter.name)
        interface = (
            Interface(adapter, exclusion, facts)
            if known is None
            else replace(known, adapter=adapter, exclusion=exclusion, facts=facts)
        )
        return replace(self, interfaces=_with(self.interfaces, adapter.name, interface))

    def learn(self, name: str, facts: BackendFacts) -> Allocator:
        """The backend said what it knows of an interface; of an unlisted one it is dropped."""
        known = self.interfaces.get(name)
        if known is None or known.facts == facts:
            return self
        return replace(self, interfaces=_with(self.interfaces, name, replace(known, facts=facts)))

    def mark(self, name: str, trouble: str, *, suspect: bool) -> Allocator:
        """An interface does not work (`trouble`), may not, or does; of an unlisted one it is dropped."""
        known = self.interfaces.get(name)
        if known is None or (known.trouble, known.suspect) == (trouble, suspect):
            return self
        marked = replace(known, trouble=trouble, suspect=suspect)
        return replace(self, interfaces=_with(self.interfaces, name, marked))

    def unplug(self, name: str) -> Allocator:
        """An adapter went away; whoever had it has nothing now."""
        holder = self.holders.get(name)
        freed = self if holder is None else self.release(holder)
        return replace(freed, interfaces=_without(freed.interfaces, name))

    def assign(self, claim: Claim) -> tuple[Allocator, str]:
        """Give the claimant the fittest interface: reserved, else its last, else any, in natural
        order of names; a suspect one where there is no other.

        A device that has an interface keeps it. Raises NoInterfaceAvailable, with the reason
        for each interface.
        """
        if (held := self.assignments.get(claim.device)) is not None:
            return self, held
        fit = [
            (self._rank(claim, interface), natural_key(name), name)
            for name, interface in self.interfaces.items()
            if name not in self.holders and not self.refusal(claim, interface)
        ]
        if not fit:
            refusals = {name: self.refusal(claim, one) for name, one in self.interfaces.items()}
            raise NoInterfaceAvailable(_sentence(refusals), refusals)
        name = min(fit)[2]
        return self.adopt(claim.device, name), name

    def would_get(self, claim: Claim) -> str | None:
        """The interface that `assign` would give now, or None."""
        try:
            return self.assign(claim)[1]
        except NoInterfaceAvailable:
            return None

    def adopt(self, device: DeviceId, name: str) -> Allocator:
        """Record an assignment that already stands, whatever the rules say of it now.

        Raises InterfaceNotFound where the interface is not listed, NoInterfaceAvailable where
        it or the device is taken.
        """
        if name not in self.interfaces:
            raise InterfaceNotFound(f"there is no interface {name}")
        if self.holders.get(name, device) != device or self.assignments.get(device, name) != name:
            raise NoInterfaceAvailable(f"{name} or device {device} is assigned otherwise")
        return replace(
            self,
            assignments=MappingProxyType({**self.assignments, device: name}),
            holders=MappingProxyType({**self.holders, name: device}),
        )

    def release(self, device: DeviceId) -> Allocator:
        """The device has nothing any more; of one that had nothing, nothing changes."""
        name = self.assignments.get(device)
        if name is None:
            return self
        assignments, holders = dict(self.assignments), dict(self.holders)
        del assignments[device], holders[name]
        return replace(self, assignments=MappingProxyType(assignments), holders=MappingProxyType(holders))

    def refusal(self, claim: Claim, interface: Interface) -> str:
        """Why `interface` is not for the claimant now; empty where it is."""
        holder = self.holders.get(interface.name)
        if holder is not None:
            return f"in use by device {holder}"
        if interface.obstacle:
            return interface.obstacle
        pins = [pin for pin in self.rules.reservations if pin.pins(interface.adapter.identity)]
        if pins and not any(claim.holds(pin) for pin in pins):
            return f"reserved for device {pins[0].device}"
        bands = interface.facts.bands
        if claim.bands and bands and not claim.bands & bands:
            return f"cannot use the {' or '.join(sorted(claim.bands))} band"
        return ""

    def serves(self, band: Band) -> bool:
        """Whether some listed interface can use a band, or does not say that it cannot."""
        return any(not one.facts.bands or band in one.facts.bands for one in self.interfaces.values())

    def status(self, name: str) -> InterfaceStatus:
        """An interface as clients see it; raises InterfaceNotFound."""
        interface = self.interfaces.get(name)
        if interface is None:
            raise InterfaceNotFound(f"there is no interface {name}")
        holder = self.holders.get(name)
        if holder is not None:
            return InterfaceStatus(interface, InterfaceState.IN_USE, device=holder)
        if interface.obstacle:
            return InterfaceStatus(interface, InterfaceState.UNAVAILABLE, interface.obstacle)
        return InterfaceStatus(interface, InterfaceState.AVAILABLE)

    def statuses(self) -> Iterable[InterfaceStatus]:
        """Every listed interface, in natural order of names."""
        return (self.status(name) for name in sorted(self.interfaces, key=natural_key))

    def _rank(self, claim: Claim, interface: Interface) -> tuple[int, int]:
        """Lower is fitter."""
        identity = interface.adapter.identity
        pins = self.rules.reservations
        if pins and any(claim.holds(pin) and pin.pins(identity) for pin in pins):
            return (0, 0)
        strength = identity.match_strength(claim.last_adapter) if claim.last_adapter else 0
        return (1 + interface.suspect, -strength)


def _sentence(refusals: Mapping[str, str]) -> str:
    prefix = "no Wi-Fi interface is available: "
    if not refusals:
        return prefix + "no USB Wi-Fi adapter is plugged in"
    names = sorted(refusals, key=natural_key)
    told = [f"{name} ({refusals[name]})" for name in names[:_SHOWN_REASONS]]
    if len(names) > _SHOWN_REASONS:
        told.append(f"and {len(names) - _SHOWN_REASONS} more")
    return prefix + ", ".join(told)


def _with(interfaces: Mapping[str, Interface], name: str, value: Interface) -> Mapping[str, Interface]:
    return MappingProxyType({**interfaces, name: value})


def _without(interfaces: Mapping[str, Interface], name: str) -> Mapping[str, Interface]:
    return MappingProxyType({key: value for key, value in interfaces.items() if key != name})
