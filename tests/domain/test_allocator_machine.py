"""The allocator against a naive model of it: whatever happens, in whatever order."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.domain import worlds
from tests.soak import examples
from wifimgrd.domain._interface_index import InterfaceIndex
from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Band, Mode
from wifimgrd.domain.allocator import AllocationRules, Allocator, Claim
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import InterfaceNotFound, NoInterfaceAvailable
from wifimgrd.domain.interface import BackendFacts, InterfaceCounts, InterfaceState
from wifimgrd.domain.records import interface_record


class AllocatorMachine(RuleBasedStateMachine):
    """Keeps the adapters, the backend's facts and the assignments in plain dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted = AllocationRules()
        self.allocator = Allocator()
        self.plugged: dict[str, Adapter] = {}
        self.facts: dict[str, BackendFacts] = {}
        self.marks: dict[str, tuple[str, bool]] = {}
        self.assigned: dict[DeviceId, str] = {}

    @initialize(
        rules=worlds.rules,
        adapters=st.lists(st.tuples(worlds.adapters, worlds.facts), min_size=2, max_size=5),
    )
    def configure(self, rules: AllocationRules, adapters: list[tuple[Adapter, BackendFacts]]) -> None:
        self.wanted = rules
        self.allocator = Allocator(rules)
        for adapter, facts in adapters:
            self.plug(adapter, facts)

    # The state of the model

    def listed(self, adapter: Adapter) -> bool:
        on_usb = adapter.usb_vendor_id != "" or adapter.identity.usb_port != ""
        return on_usb or not self.wanted.usb_only

    def blocked(self, name: str) -> bool:
        adapter = self.plugged[name]
        stuck = self.facts[name].obstacle != "" or self.marks.get(name, ("", False))[0] != ""
        unfit = adapter.rfkill != "" or adapter.mode is not Mode.STATION
        shares = any(
            self.plugged[one].is_active and one not in self.assigned.values()
            for one in self.sharers(name)
            if one != name
        )
        return self.excluded(name) or unfit or stuck or self.leader(name) != name or shares

    def excluded(self, name: str) -> bool:
        return any(fnmatchcase(name, glob) for glob in self.wanted.exclude)

    def sharers(self, name: str) -> list[str]:
        radio = self.plugged[name].radio
        return [one for one in worlds.NAMES if self.is_on(one, radio)] if radio else [name]

    def is_on(self, name: str, radio: str) -> bool:
        return name in self.plugged and self.plugged[name].radio == radio

    def leader(self, name: str) -> str:
        """Which interface of a radio may be used, where any of them may."""
        sharers = self.sharers(name)
        held = [one for one in sharers if one in self.assigned.values()]
        used = [one for one in sharers if self.plugged[one].is_active]
        stations = [one for one in sharers if self.plugged[one].mode is Mode.STATION]
        wanted = [one for one in stations or sharers if not self.excluded(one)] or stations or sharers
        able = [one for one in wanted if not self.facts[one].obstacle] or wanted
        if held or used:
            able = [one for one in held or used if one in used] or held
            able = [one for one in able if one in stations] or able
            able = [one for one in able if not self.excluded(one)] or able
            able = [one for one in able if not self.facts[one].obstacle] or able
        return min(able, key=lambda one: (self.plugged[one].index, worlds.NAMES.index(one)))

    def suspect(self, name: str) -> bool:
        return self.marks.get(name, ("", False))[1]

    def kept_for(self, name: str) -> DeviceId | None:
        identities = [self.plugged[one].identity for one in self.sharers(name)]
        words = {word for identity in identities for word in (identity.mac, identity.usb_port)}
        for one in self.wanted.reservations.ordered:
            if (one.pin.mac or one.pin.usb_port) in words:
                return one.device
        return None

    def reserved_for(self, claim: Claim, name: str) -> bool:
        return self.kept_for(name) == claim.device_id

    def fit(self, claim: Claim) -> list[str]:
        return [
            name
            for name, facts in self.facts.items()
            if name not in self.assigned.values()
            and not self.blocked(name)
            and self.kept_for(name) in (None, claim.device_id)
            and (not claim.bands or not facts.bands or claim.bands & facts.bands)
        ]

    # What can happen

    @rule(adapter=worlds.adapters, facts=st.none() | worlds.facts)
    def plug(self, adapter: Adapter, facts: BackendFacts | None) -> None:
        before = self.plugged.get(adapter.name)
        if before is not None and not self.listed(adapter):
            return  # what is listed is pulled out before something else has its name
        self.allocator = self.allocator.add(adapter, facts)
        if self.listed(adapter):
            self.plugged[adapter.name] = adapter
            self.facts[adapter.name] = facts or self.facts.get(adapter.name, BackendFacts())

    @rule(name=worlds.names, facts=worlds.facts)
    def learn(self, name: str, facts: BackendFacts) -> None:
        self.allocator = self.allocator.update_facts(name, facts)
        if name in self.plugged:
            self.facts[name] = facts

    @rule(name=worlds.names, trouble=worlds.troubles, suspect=st.booleans())
    def mark(self, name: str, trouble: str, suspect: bool) -> None:
        self.allocator = self.allocator.mark(name, trouble, suspect=suspect)
        if name in self.plugged:
            self.marks[name] = (trouble, suspect)

    @rule(rules=worlds.rules)
    def follow(self, rules: AllocationRules) -> None:
        """Other rules, which list the same kinds of adapters."""
        self.wanted = replace(rules, usb_only=self.wanted.usb_only)
        self.allocator = self.allocator.with_rules(self.wanted)

    @rule(name=worlds.names)
    def unplug(self, name: str) -> None:
        self.allocator = self.allocator.remove(name)
        self.marks.pop(name, None)
        self.plugged.pop(name, None)
        self.facts.pop(name, None)
        self.assigned = {device: held for device, held in self.assigned.items() if held != name}

    @rule(old=worlds.names, new=worlds.names)
    def rename(self, old: str, new: str) -> None:
        """As an adapter source reports it: gone, then present under another name."""
        adapter = self.plugged.get(old)
        if adapter is None or new in self.plugged:
            return
        self.unplug(old)
        self.plug(replace(adapter, name=new), None)

    @rule(claim=worlds.claims())
    def assign(self, claim: Claim) -> None:
        before = self.allocator
        fit = self.fit(claim)
        if claim.device_id in self.assigned:
            assert before.assign(claim) == (before, self.assigned[claim.device_id])
            return
        if not fit:
            with pytest.raises(NoInterfaceAvailable) as refused:
                before.assign(claim)
            reasons = refused.value.reasons
            assert reasons.keys() == self.plugged.keys()
            assert all(reasons.values())
            assert refused.value.message.startswith("no Wi-Fi interface is available: ")
            for name, device in ((name, device) for device, name in self.assigned.items()):
                assert reasons[name] == f"in use by camera {device}"
            return
        self.allocator, name = before.assign(claim)
        assert name in fit
        self.assert_fittest(claim, name, fit)
        self.assigned[claim.device_id] = name

    @rule(claim=worlds.claims())
    def move(self, claim: Claim) -> None:
        """As `assign`, if the USB device of the adapter that it has did not exist."""
        before, held = self.allocator, self.assigned.get(claim.device_id)
        name = before.elsewhere(claim)
        if held is None:
            assert name is None
            return
        port = self.plugged[held].identity.usb_port
        shared = [one for one in self.plugged if port and self.plugged[one].identity.usb_port == port]
        fit = [one for one in self.fit(claim) if one not in (shared or self.sharers(held))]
        assert (name is None) == (not fit)
        if name is None:
            return
        assert name in fit
        self.assert_fittest(claim, name, fit)
        self.allocator = before.move(claim.device_id, name)
        self.assigned[claim.device_id] = name

    @rule(device_id=worlds.device_ids, name=worlds.names)
    def nobody_is_moved_to_what_another_one_has(self, device_id: DeviceId, name: str) -> None:
        if any(held == name and other != device_id for other, held in self.assigned.items()):
            before = self.allocator
            with pytest.raises(NoInterfaceAvailable):
                before.move(device_id, name)
            assert self.allocator is before

    def assert_fittest(self, claim: Claim, name: str, fit: list[str]) -> None:
        pinned = [other for other in fit if self.reserved_for(claim, other)]
        fit = [other for other in fit if not self.suspect(other)] or fit
        last = claim.last_adapter or AdapterIdentity()
        strength = {other: self.plugged[other].identity.match_strength(last) for other in fit}
        surest = [other for other in fit if strength[other] == max(strength.values())]
        assert name == min(pinned or surest, key=worlds.NAMES.index)

    @rule(claim=worlds.claims())
    def a_device_gets_its_last_adapter_back_when_that_is_free(self, claim: Claim) -> None:
        """Whatever that adapter is called by now and wherever it is plugged in, if nothing is held against
        it or there is no other."""
        if claim.device_id in self.assigned:
            return
        clean = [name for name in self.fit(claim) if not self.suspect(name)]
        for name in clean or self.fit(claim):
            identity = self.plugged[name].identity
            twins = [other for other in self.fit(claim) if self.plugged[other].identity.mac == identity.mac]
            pinned = any(self.reserved_for(claim, other) for other in self.fit(claim))
            if identity.mac and twins == [name] and not pinned:
                known_as = AdapterIdentity(identity.mac, "9-9", "other")
                _, got = self.allocator.assign(Claim(claim.device_id, known_as, claim.bands))
                assert got == name

    @rule(device_id=worlds.device_ids)
    def release(self, device_id: DeviceId) -> None:
        self.allocator = self.allocator.release(device_id)
        self.assigned.pop(device_id, None)

    @rule(device_id=worlds.device_ids, name=worlds.names)
    def adopt(self, device_id: DeviceId, name: str) -> None:
        if name not in self.plugged:
            with pytest.raises(InterfaceNotFound):
                self.allocator.adopt(device_id, name)
        elif self.assigned.get(device_id, name) != name or any(
            held == name and other != device_id for other, held in self.assigned.items()
        ):
            with pytest.raises(NoInterfaceAvailable):
                self.allocator.adopt(device_id, name)
        else:
            self.allocator = self.allocator.adopt(device_id, name)
            self.assigned[device_id] = name

    # What holds at all times

    @invariant()
    def everybody_has_what_the_model_says_and_nobody_else_was_touched(self) -> None:
        assert self.allocator.assignments == self.assigned
        assert {name: one.adapter for name, one in self.allocator.interfaces.items()} == self.plugged
        assert {name: one.facts for name, one in self.allocator.interfaces.items()} == self.facts

    @invariant()
    def no_interface_has_two_devices_and_no_device_two_interfaces(self) -> None:
        held = list(self.allocator.assignments.values())
        assert len(held) == len(set(held))
        assert self.allocator.holders == {name: device for device, name in self.allocator.assignments.items()}
        assert self.allocator.holders.keys() <= self.allocator.interfaces.keys()

    @invariant()
    def an_interface_is_in_use_if_and_only_if_it_is_assigned(self) -> None:
        holders = {name: device for device, name in self.assigned.items()}
        for status in self.allocator.statuses():
            name = status.interface.name
            assert status.device_id == holders.get(name)
            assert (status.state is InterfaceState.IN_USE) == (name in holders)
            if name not in holders:
                assert (status.state is InterfaceState.UNAVAILABLE) == self.blocked(name)
            assert bool(status.reason) == (status.state is InterfaceState.UNAVAILABLE)

    @invariant()
    def what_saves_a_walk_equals_a_recount(self) -> None:
        statuses = list(self.allocator.statuses())
        states = [status.state for status in statuses]
        assert list(self.allocator.available) == [
            status.interface.name for status in statuses if status.state is InterfaceState.AVAILABLE
        ]
        kept = [name for name in self.allocator.available if self.kept_for(name) is not None]
        assert list(self.allocator.kept) == kept
        free = states.count(InterfaceState.AVAILABLE) - len(kept)
        radios = {tuple(self.sharers(name)) for name in self.plugged}
        assert self.allocator.counts == InterfaceCounts(
            len(radios), free, states.count(InterfaceState.IN_USE)
        )
        assert self.allocator.index == InterfaceIndex.of(self.allocator.interfaces.values())
        for interface in self.allocator.interfaces.values():
            identity = interface.adapter.identity
            twins = [name for name in self.plugged if self.plugged[name].identity == identity]
            named = {one for name in twins for one in self.sharers(name)}
            assert self.allocator.named(identity) == [name for name in worlds.NAMES if name in named]
            like = self.allocator.index.like(identity)
            assert like >= {
                name for name, one in self.plugged.items() if one.identity.match_strength(identity)
            }

    @invariant()
    def what_the_rules_say_of_an_interface_is_kept_with_it(self) -> None:
        for name, interface in self.allocator.interfaces.items():
            assert interface.exclusion == self.wanted.exclusion(name)
            assert interface.reserved_for == self.kept_for(name)
            assert (interface.trouble, interface.suspect) == self.marks.get(name, ("", False))

    @invariant()
    def what_is_free_is_for_anybody_and_what_is_reserved_for_its_device_alone(
        self,
    ) -> None:
        stranger = Claim(DeviceId(99))
        for status in self.allocator.statuses():
            record = interface_record(status)
            interface, kept_for = status.interface, record.reserved_device_id
            assert (not self.allocator.refusal(stranger, interface)) == record.is_free
            for device in worlds.DEVICES:
                refused = bool(self.allocator.refusal(Claim(device), interface))
                if record.is_free:
                    assert not refused
                elif kept_for is not None and kept_for != device:
                    assert refused
                elif record.is_kept:
                    assert not refused

    @invariant()
    def a_reservation_that_keeps_no_adapter_is_reported(self) -> None:
        unmet = dict(self.allocator.unmet())
        for one in self.wanted.reservations.ordered:
            word = one.pin.mac or one.pin.usb_port
            named = [
                name
                for name, adapter in self.plugged.items()
                if word in (adapter.identity.mac, adapter.identity.usb_port)
            ]
            holders = {self.kept_for(name) for name in named}
            assert (one in unmet) == (one.device not in holders)
            if one in unmet:
                assert unmet[one] in (holders or {None})

    @invariant()
    def a_radio_is_one_adapter(self) -> None:
        for name in self.plugged:
            free = [one for one in self.sharers(name) if one in self.allocator.available]
            foreign = [one for one in self.sharers(name) if self.plugged[one].is_active]
            held = [one for one in self.sharers(name) if one in self.assigned.values()]
            assert len(free) <= 1
            assert not (free and held)
            assert not (free and set(foreign) - set(free)), "another program uses the radio"

    @invariant()
    def a_band_is_served_by_whatever_does_not_say_otherwise(self) -> None:
        for band in Band:
            able = [name for name, facts in self.facts.items() if band in (facts.bands or set(Band))]
            assert self.allocator.serves(band) == bool(able)

    @invariant()
    def interfaces_are_reported_in_the_order_in_which_people_count(self) -> None:
        reported = [status.interface.name for status in self.allocator.statuses()]
        assert reported == [name for name in worlds.NAMES if name in self.plugged]

    @rule(claim=worlds.claims())
    def values_do_not_change_under_those_who_hold_them(self, claim: Claim) -> None:
        before = self.allocator
        held, listed = dict(before.assignments), dict(before.interfaces)
        available, index = before.available, InterfaceIndex.of(before.interfaces.values())
        for name in worlds.NAMES:
            before.remove(name)
            before.update_facts(name, BackendFacts(obstacle="other"))
        before.release(claim.device_id)
        before.add(Adapter("wlan0", AdapterIdentity(usb_port="7-7")))
        with suppress(NoInterfaceAvailable):
            before.assign(claim)
        assert (dict(before.assignments), dict(before.interfaces)) == (held, listed)
        assert (before.available, before.index) == (available, index)


TestAllocator = AllocatorMachine.TestCase
TestAllocator.settings = settings(max_examples=examples(100), stateful_step_count=40)
