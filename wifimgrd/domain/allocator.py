"""Assign interfaces to devices: a pure state machine over interfaces and assignments.

An `Allocator` is a value. Each operation returns a new one, so a refused operation has no effect.
Invariants, which hold by construction and are tested as a rule-based state machine:

- no interface has two devices, no device has two interfaces;
- an interface is in use if and only if it is assigned;
- of the interfaces of one radio at most one is available, and none while another one uses the radio;
- only a listed interface that has no obstacle, and is neither reserved for nor promised to another device, is
  assigned;
- an operation on one device never changes another device's assignment;
- `available`, `kept`, `index` and `counts`, which avoid iterating over all interfaces, equal a recount.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from wifimgrd.domain import sentences
from wifimgrd.domain._frozen import Frozen, empty, minus, plus, sorted_minus, sorted_plus
from wifimgrd.domain._interface_index import InterfaceIndex
from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Band, Mode
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import InterfaceNotFound, NoInterfaceAvailable
from wifimgrd.domain.interface import (
    BackendFacts,
    Interface,
    InterfaceCounts,
    InterfaceState,
    InterfaceStatus,
    has_plain_name,
    natural_key,
)
from wifimgrd.domain.recovery import Health
from wifimgrd.domain.reservation import Reservation, Reservations

_SHOWN_REASONS = 8
"""The message of NoInterfaceAvailable names this many interfaces; its `reasons` has all of them."""
_NO_PREFERENCE: Final = (1, 0)
"""The rank of an interface without preference."""


@dataclass(frozen=True, slots=True)
class AllocationRules:
    """The settings of interfaces from the configuration."""

    usb_only: bool = True
    """List only adapters on USB (`[interfaces] match = "usb"`), or every Wi-Fi interface."""
    exclude: tuple[str, ...] = ()
    """Globs of interface names that are listed but never assigned."""
    reservations: Reservations = field(default_factory=Reservations)
    """They follow from the devices, too."""

    def lists(self, adapter: Adapter) -> bool:
        """Whether the hub lists the adapter at all."""
        return adapter.is_usb or not self.usb_only

    def exclusion(self, name: str) -> str:
        """Why an interface is excluded, by the configuration or by its name; empty where it is not."""
        if not has_plain_name(name):
            return "its name has signs other than letters, digits, and `_.-`: rename it"
        for glob in self.exclude:
            if fnmatchcase(name, glob):
                return f'excluded by the configuration ("{glob}")'
        return ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A device's request for an interface."""

    device_id: DeviceId
    last_adapter: AdapterIdentity | None = None
    bands: frozenset[Band] = frozenset()
    """The known bands of its access point; an interface must support one of them. Empty where they are not
    known."""


NameOf = Callable[[DeviceId], str]
"""A device's name; empty if it is not known."""


def _nameless(_: DeviceId) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Allocator:
    """The interfaces, and their assignments to devices."""

    rules: AllocationRules = AllocationRules()
    interfaces: Frozen[str, Interface] = field(default_factory=empty)
    assignments: Frozen[DeviceId, str] = field(default_factory=empty)
    """The interface of each device that has one."""
    holders: Frozen[str, DeviceId] = field(default_factory=empty)
    """The device of each interface that is assigned: the inverse of `assignments`."""
    available: tuple[str, ...] = ()
    """The interfaces that are AVAILABLE, in natural order of names."""
    kept: tuple[str, ...] = ()
    """Those of them that are reserved, each for a device: all others are free."""
    index: InterfaceIndex = field(default_factory=InterfaceIndex)
    """Of all interfaces."""
    promises: Frozen[str, DeviceId] = field(default_factory=empty)
    """The radios that are being freed for a device: nobody else gets them."""

    def with_rules(self, rules: AllocationRules) -> Allocator:
        """Replace the rules; assignments are kept, also those that the new rules would not allow."""
        updated = replace(self, rules=rules)
        for interface in self.interfaces.values():
            updated = updated._with(interface)
        return updated

    def add(self, adapter: Adapter, facts: BackendFacts | None = None) -> Allocator:
        """An adapter appeared or its description changed; one that the rules do not list is ignored."""
        if not self.rules.lists(adapter):
            return self
        known = self.interfaces.get(adapter.name, Interface(adapter))
        return self._with(replace(known, adapter=adapter, facts=known.facts if facts is None else facts))

    def update_facts(self, name: str, facts: BackendFacts) -> Allocator:
        """The backend's facts of an interface changed; those of an unlisted one are ignored."""
        known = self.interfaces.get(name)
        if known is None or known.facts == facts:
            return self
        return self._with(replace(known, facts=facts))

    def mark(
        self, name: str, trouble: str, *, suspect: bool, health: Health | None = None, health_reason: str = ""
    ) -> Allocator:
        """Mark an interface as not working (`trouble`), suspect, or working, and what clients are told of it;
        an unlisted one is ignored."""
        known = self.interfaces.get(name)
        if known is None:
            return self
        marked = replace(known, trouble=trouble, suspect=suspect, health=health, health_reason=health_reason)
        return self if marked == known else self._with(marked)

    def remove(self, name: str) -> Allocator:
        """An adapter was removed; its assignment ends."""
        known = self.interfaces.get(name)
        if known is None:
            return self
        holder = self.holders.get(name)
        freed = self if holder is None else self.release(holder)
        rest = replace(
            freed, interfaces=minus(freed.interfaces, name), index=freed.index.minus(freed.interfaces[name])
        )
        return rest._listed_again(name)._share(known.radio)

    def assign(self, claim: Claim, name_of: NameOf = _nameless) -> tuple[Allocator, str]:
        """Assign the best interface: a promised one, else a reserved one, else the device's last one, else
        any, in natural order of names; a suspect one only where there is no other.

        A device that has an interface keeps it. Raises NoInterfaceAvailable, with the reason
        for each interface, which names devices by `name_of`.
        """
        if (held := self.assignments.get(claim.device_id)) is not None:
            return self, held
        name = self._best_for(claim, ())
        if name is None:
            refusals = {name: self.refusal(claim, one, name_of) for name, one in self.interfaces.items()}
            raise NoInterfaceAvailable(refusal_message(refusals), refusals)
        return self.adopt(claim.device_id, name), name

    def would_get(self, claim: Claim, *, but: Container[str] = ()) -> str | None:
        """The interface that `assign` would return if those of `but` were in use, or None."""
        return self.assignments.get(claim.device_id) or self._best_for(claim, but)

    def elsewhere(self, claim: Claim) -> str | None:
        """The interface of another USB device that a device that has one would get besides, by the rules of
        `assign`, or None: of a device that shares its radio or its port, the fault may be the same."""
        held = self.assignments.get(claim.device_id)
        return None if held is None else self._best_for(claim, self.of_usb_device(held))

    def move(self, device_id: DeviceId, name: str) -> Allocator:
        """Assign another interface to a device that has one, so that nobody else gets it in between; raises
        as `adopt`."""
        return self.release(device_id).adopt(device_id, name)

    def adopt(self, device_id: DeviceId, name: str) -> Allocator:
        """Record an assignment that already exists, without applying the rules.

        Raises InterfaceNotFound where the interface is not listed, NoInterfaceAvailable where
        it or the device is taken.
        """
        if name not in self.interfaces:
            raise InterfaceNotFound.of(name)
        if self.holders.get(name, device_id) != device_id or self.assignments.get(device_id, name) != name:
            raise NoInterfaceAvailable(f"{name} or device {device_id} is assigned otherwise")
        assigned = replace(
            self,
            assignments=plus(self.assignments, {device_id: name}),
            holders=plus(self.holders, {name: device_id}),
        )
        return assigned.without_promise(device_id)._listed_again(name)._share(self.interfaces[name].radio)

    def release(self, device_id: DeviceId) -> Allocator:
        """End the device's assignment; nothing changes for a device without one."""
        name = self.assignments.get(device_id)
        if name is None:
            return self
        freed = replace(
            self, assignments=minus(self.assignments, device_id), holders=minus(self.holders, name)
        )
        return freed._listed_again(name)._share(self.interfaces[name].radio)

    def promise(self, device_id: DeviceId, name: str) -> Allocator:
        """Keep the radio of a listed interface for a device until it is assigned one, or
        `without_promise`."""
        radio = self.interfaces[name].radio
        return replace(self, promises=plus(self.without_promise(device_id).promises, {radio: device_id}))

    def without_promise(self, device_id: DeviceId) -> Allocator:
        """End the promise to a device, if there is one."""
        kept = {radio: one for radio, one in self.promises.items() if one != device_id}
        return self if len(kept) == len(self.promises) else replace(self, promises=Frozen(kept))

    def refusal(self, claim: Claim, interface: Interface, name_of: NameOf = _nameless) -> str:
        """Why `interface` cannot be assigned for the claim now; empty where it can."""
        holder = self.holders.get(interface.name)
        if holder is not None:
            return sentences.in_use_by(holder, name_of(holder))
        if interface.obstacle:
            return interface.obstacle
        kept_for = interface.reserved_for
        if kept_for is not None and kept_for != claim.device_id:
            return sentences.reserved_for(kept_for, name_of(kept_for))
        promised_to = self.promises.get(interface.radio)
        if promised_to is not None and promised_to != claim.device_id:
            return sentences.needed_for(promised_to, name_of(promised_to))
        bands = interface.facts.bands
        if claim.bands and bands and not claim.bands & bands:
            return f"cannot use the {' or '.join(sorted(claim.bands))} band"
        return ""

    def serves(self, band: Band) -> bool:
        """Whether some listed interface supports a band, or its bands are not known."""
        return any(not bands or band in bands for bands in self.index.by_bands)

    def named(self, identity: AdapterIdentity) -> list[str]:
        """The interfaces of the radios of the adapters with exactly this identity, in natural order of
        names."""
        names = self.index.by_mac.get(identity.mac, ())
        matching = [name for name in names if self.interfaces[name].adapter.identity == identity]
        return sorted({one for name in matching for one in self.of_radio(name)}, key=position)

    def of_radio(self, name: str) -> frozenset[str]:
        """The interfaces of the radio of a listed interface: itself, mostly."""
        return self.index.by_radio[self.interfaces[name].radio]

    def of_usb_device(self, name: str) -> frozenset[str]:
        """The interfaces of the USB device of a listed interface, of all of its radios."""
        port = self.interfaces[name].adapter.identity.usb_port
        return self.index.by_usb_port[port] if port else self.of_radio(name)

    def in_usb_port(self, port: str) -> frozenset[str]:
        """The listed interfaces of the USB device in a port; none for the empty string."""
        return self.index.by_usb_port.get(port, frozenset()) if port else frozenset()

    def unmet(self) -> Iterator[tuple[Reservation, DeviceId | None]]:
        """The reservations that keep no adapter: each with the device that the adapter is kept for instead,
        or None where no such adapter is listed."""
        for one in self.rules.reservations.ordered:
            kept = self.index.by_reservation.get(one.device, frozenset())
            if not any(one.pin.is_of(self.interfaces[name].adapter.identity) for name in kept):
                others = (
                    interface.reserved_for
                    for interface in self.interfaces.values()
                    if one.pin.is_of(interface.adapter.identity)
                )
                yield one, next(others, None)

    def status(self, name: str) -> InterfaceStatus:
        """An interface's status for clients; raises InterfaceNotFound."""
        interface = self.interfaces.get(name)
        if interface is None:
            raise InterfaceNotFound.of(name)
        holder = self.holders.get(name)
        if holder is not None:
            return InterfaceStatus(interface, InterfaceState.IN_USE, device_id=holder)
        if interface.obstacle:
            return InterfaceStatus(interface, InterfaceState.UNAVAILABLE, interface.obstacle)
        return InterfaceStatus(interface, InterfaceState.AVAILABLE)

    def statuses(self) -> Iterable[InterfaceStatus]:
        """Every listed interface, in natural order of names."""
        return (self.status(name) for name in sorted(self.interfaces, key=natural_key))

    @property
    def counts(self) -> InterfaceCounts:
        """How many radios there are, and how many interfaces are free and in use."""
        free = len(self.available) - len(self.kept)
        return InterfaceCounts(len(self.index.by_radio), free, len(self.holders))

    def _best_for(self, claim: Claim, but: Container[str]) -> str | None:
        """The suitable interface with the lowest rank, the first in natural order, that is not in `but`: a
        preferred one, or else the first suitable one."""
        fit = [name for name in self._preferred(claim) if self._is_suitable(claim, name, but)]
        if not any(self.rank(claim, name) < _NO_PREFERENCE for name in fit):
            fit.extend(self._first_suitable(claim, but))
        return min(fit, key=lambda name: (self.rank(claim, name), position(name)), default=None)

    def _preferred(self, claim: Claim) -> frozenset[str]:
        """All interfaces that may rank before others for a claim."""
        index = self.index
        reserved = index.by_reservation.get(claim.device_id, frozenset())
        for radio, device_id in self.promises.items():
            if device_id == claim.device_id:
                reserved |= index.by_radio.get(radio, frozenset())
        return reserved | index.like(claim.last_adapter) if claim.last_adapter else reserved

    def _first_suitable(self, claim: Claim, but: Container[str]) -> Iterator[str]:
        """The first suitable one in natural order; a suspect one only where there is no other."""
        for suspect in (False, True):
            for name in self.available:
                if self.interfaces[name].suspect is suspect and self._is_suitable(claim, name, but):
                    yield name
                    return

    def _is_suitable(self, claim: Claim, name: str, but: Container[str]) -> bool:
        return name not in but and not self.refusal(claim, self.interfaces[name])

    def rank(self, claim: Claim, name: str) -> tuple[int, int]:
        """The rank of an interface for a claim; lower is better."""
        interface = self.interfaces[name]
        if self.promises.get(interface.radio) == claim.device_id:
            return (-1, 0)
        if interface.reserved_for == claim.device_id:
            return (0, 0)
        last = claim.last_adapter
        strength = interface.adapter.identity.match_strength(last) if last else 0
        return (1 + interface.suspect, -strength)

    def _with(self, interface: Interface) -> Allocator:
        """Add or replace an interface, and apply the rules to it and to the others of its radio."""
        name, rules = interface.name, self.rules
        known = self.interfaces.get(name)
        updated = self._put(
            replace(
                interface,
                exclusion=rules.exclusion(name),
                sharing="",
                reserved_for=rules.reservations.device_for([interface.adapter.identity]),
            )
        )._share(interface.radio)
        return updated if known is None or known.radio == interface.radio else updated._share(known.radio)

    def _share(self, radio: str) -> Allocator:
        """Apply that a radio is one adapter: one interface leads it, and it is reserved as a whole."""
        interfaces = [self.interfaces[name] for name in self.index.by_radio.get(radio, ())]
        if not interfaces:
            return self
        leader, *others = sorted(interfaces, key=self._order_of_leading)
        is_foreign = leader.adapter.is_active and leader.name not in self.holders
        reserved_for = self.rules.reservations.device_for([one.adapter.identity for one in interfaces])
        updated = self
        for one in interfaces:
            sharing = "" if one is leader else sentences.shares_radio(leader.adapter, is_foreign=is_foreign)
            if one is leader and is_foreign and others and others[0].adapter.is_active:  # which are two then
                sharing = sentences.shares_radio(others[0].adapter, is_foreign=True)
            shared = replace(one, sharing=sharing, reserved_for=reserved_for)
            updated = updated if shared == one else updated._put(shared)
        return updated

    def _order_of_leading(self, interface: Interface) -> tuple[object, ...]:
        """Which interface of a radio leads it: the one with an assignment, else the one by which another
        program uses the radio, else the first that the kernel has made of those that the hub may use.

        Trouble does not count: it is the radio's.
        """
        adapter = interface.adapter
        return (
            interface.name not in self.holders,
            not adapter.is_active,
            adapter.mode is not Mode.STATION,
            bool(interface.exclusion),
            bool(interface.facts.obstacle),
            adapter.index,
            position(interface.name),
        )

    def _put(self, interface: Interface) -> Allocator:
        name = interface.name
        known = self.interfaces.get(name)
        updated = replace(
            self,
            interfaces=plus(self.interfaces, {name: interface}),
            index=(self.index if known is None else self.index.minus(known)).plus(interface),
        )
        return updated._listed_again(name)

    def _listed_again(self, name: str) -> Allocator:
        """With an interface that changed in exactly those of `available` and `kept` in which it belongs."""
        interface = self.interfaces.get(name)
        is_available = interface is not None and name not in self.holders and not interface.obstacle
        is_kept = is_available and interface is not None and interface.reserved_for is not None
        available = sorted_minus(self.available, name, position)
        kept = sorted_minus(self.kept, name, position)
        return replace(
            self,
            available=sorted_plus(available, name, position) if is_available else available,
            kept=sorted_plus(kept, name, position) if is_kept else kept,
        )


def refusal_message(refusals: Mapping[str, str]) -> str:
    """Why no interface serves, from the reason of each."""
    prefix = "no Wi-Fi interface is available: "
    if not refusals:
        return prefix + "no USB Wi-Fi adapter is plugged in"
    names = sorted(refusals, key=natural_key)
    shown = [f"{name} ({refusals[name]})" for name in names[:_SHOWN_REASONS]]
    if len(names) > _SHOWN_REASONS:
        shown.append(f"and {len(names) - _SHOWN_REASONS} more")
    return prefix + ", ".join(shown)


def position(name: str) -> tuple[object, str]:
    """A sort key: natural order of names, and a defined order of names that are equal in it."""
    return natural_key(name), name
