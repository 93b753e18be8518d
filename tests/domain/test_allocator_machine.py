"""The allocator against a naive model of it: whatever happens, in whatever order."""

from __future__ import annotations

from contextlib import suppress
from fnmatch import fnmatchcase

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.domain import worlds
from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Band
from wifimgrd.domain.allocator import AllocationRules, Allocator, Claim, Reservation
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import InterfaceNotFound, NoInterfaceAvailable
from wifimgrd.domain.interface import BackendFacts, InterfaceState


class AllocatorMachine(RuleBasedStateMachine):
    """Keeps what is plugged in, what the backend said and who has what in plain dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted = AllocationRules()
        self.allocator = Allocator()
        self.plugged: dict[str, Adapter] = {}
        self.facts: dict[str, BackendFacts] = {}
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

    # What the model says

    def listed(self, adapter: Adapter) -> bool:
        on_usb = adapter.usb_vendor_id != "" or adapter.identity.usb_port != ""
        return on_usb or not self.wanted.usb_only

    def blocked(self, name: str) -> bool:
        excluded = any(fnmatchcase(name, glob) for glob in self.wanted.exclude)
        return excluded or self.plugged[name].rfkill != "" or self.facts[name].obstacle != ""

    def pins_on(self, name: str) -> list[Reservation]:
        identity = self.plugged[name].identity
        return [
            pin
            for pin in self.wanted.reservations
            if (pin.mac and pin.mac.lower() == identity.mac)
            or (not pin.mac and pin.usb_port and pin.usb_port == identity.usb_port)
        ]

    def reserved_for(self, claim: Claim, name: str) -> bool:
        return any(pin.device in {claim.device, claim.name} for pin in self.pins_on(name))

    def fit(self, claim: Claim) -> list[str]:
        return [
            name
            for name, facts in self.facts.items()
            if name not in self.assigned.values()
            and not self.blocked(name)
            and (not self.pins_on(name) or self.reserved_for(claim, name))
            and (not claim.bands or not facts.bands or claim.bands & facts.bands)
        ]

    # What can happen

    @rule(adapter=worlds.adapters, facts=st.none() | worlds.facts)
    def plug(self, adapter: Adapter, facts: BackendFacts | None) -> None:
        before = self.plugged.get(adapter.name)
        if before is not None and not self.listed(adapter):
            return  # what is listed is pulled out before something else has its name
        self.allocator = self.allocator.plug(adapter, facts)
        if self.listed(adapter):
            self.plugged[adapter.name] = adapter
            self.facts[adapter.name] = facts or self.facts.get(adapter.name, BackendFacts())

    @rule(name=worlds.names, facts=worlds.facts)
    def learn(self, name: str, facts: BackendFacts) -> None:
        self.allocator = self.allocator.learn(name, facts)
        if name in self.plugged:
            self.facts[name] = facts

    @rule(name=worlds.names)
    def unplug(self, name: str) -> None:
        self.allocator = self.allocator.unplug(name)
        self.plugged.pop(name, None)
        self.facts.pop(name, None)
        self.assigned = {device: held for device, held in self.assigned.items() if held != name}

    @rule(old=worlds.names, new=worlds.names)
    def rename(self, old: str, new: str) -> None:
        """As an adapter source tells it: gone, then present under another name."""
        adapter = self.plugged.get(old)
        if adapter is None or new in self.plugged:
            return
        self.unplug(old)
        self.plug(
            Adapter(new, adapter.identity, usb_vendor_id=adapter.usb_vendor_id, rfkill=adapter.rfkill), None
        )

    @rule(claim=worlds.claims())
    def assign(self, claim: Claim) -> None:
        before = self.allocator
        fit = self.fit(claim)
        if claim.device in self.assigned:
            assert before.assign(claim) == (before, self.assigned[claim.device])
            return
        if not fit:
            with pytest.raises(NoInterfaceAvailable) as refused:
                before.assign(claim)
            reasons = refused.value.reasons
            assert reasons.keys() == self.plugged.keys()
            assert all(reasons.values())
            assert refused.value.message.startswith("no Wi-Fi interface is available: ")
            for name, device in ((name, device) for device, name in self.assigned.items()):
                assert reasons[name] == f"in use by device {device}"
            return
        self.allocator, name = before.assign(claim)
        assert name in fit
        self.assert_fittest(claim, name, fit)
        self.assigned[claim.device] = name

    def assert_fittest(self, claim: Claim, name: str, fit: list[str]) -> None:
        pinned = [other for other in fit if self.reserved_for(claim, other)]
        last = claim.last_adapter or AdapterIdentity()
        strength = {other: self.plugged[other].identity.match_strength(last) for other in fit}
        surest = [other for other in fit if strength[other] == max(strength.values())]
        assert name == min(pinned or surest, key=worlds.NAMES.index)

    @rule(claim=worlds.claims())
    def a_device_gets_its_last_adapter_back_when_that_is_free(self, claim: Claim) -> None:
        """Whatever that adapter is called by now and wherever it is plugged in."""
        if claim.device in self.assigned:
            return
        for name in self.fit(claim):
            identity = self.plugged[name].identity
            twins = [other for other in self.fit(claim) if self.plugged[other].identity.mac == identity.mac]
            pinned = any(self.reserved_for(claim, other) for other in self.fit(claim))
            if identity.mac and twins == [name] and not pinned:
                known_as = AdapterIdentity(identity.mac, "9-9", "other")
                _, got = self.allocator.assign(Claim(claim.device, claim.name, known_as, claim.bands))
                assert got == name

    @rule(device=worlds.device_ids)
    def release(self, device: DeviceId) -> None:
        self.allocator = self.allocator.release(device)
        self.assigned.pop(device, None)

    @rule(device=worlds.device_ids, name=worlds.names)
    def adopt(self, device: DeviceId, name: str) -> None:
        if name not in self.plugged:
            with pytest.raises(InterfaceNotFound):
                self.allocator.adopt(device, name)
        elif self.assigned.get(device, name) != name or any(
            held == name and other != device for other, held in self.assigned.items()
        ):
            with pytest.raises(NoInterfaceAvailable):
                self.allocator.adopt(device, name)
        else:
            self.allocator = self.allocator.adopt(device, name)
            self.assigned[device] = name

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
            assert status.device == holders.get(name)
            assert (status.state is InterfaceState.IN_USE) == (name in holders)
            if name not in holders:
                assert (status.state is InterfaceState.UNAVAILABLE) == self.blocked(name)
            assert bool(status.reason) == (status.state is InterfaceState.UNAVAILABLE)

    @invariant()
    def a_band_is_served_by_whatever_does_not_say_otherwise(self) -> None:
        for band in Band:
            able = [name for name, facts in self.facts.items() if band in (facts.bands or set(Band))]
            assert self.allocator.serves(band) == bool(able)

    @invariant()
    def interfaces_are_told_in_the_order_in_which_people_count(self) -> None:
        told = [status.interface.name for status in self.allocator.statuses()]
        assert told == [name for name in worlds.NAMES if name in self.plugged]

    @rule(claim=worlds.claims())
    def values_do_not_change_under_those_who_hold_them(self, claim: Claim) -> None:
        before = self.allocator
        held, listed = dict(before.assignments), dict(before.interfaces)
        for name in worlds.NAMES:
            before.unplug(name)
            before.learn(name, BackendFacts(obstacle="other"))
        before.release(claim.device)
        before.plug(Adapter("wlan0", AdapterIdentity(usb_port="7-7")))
        with suppress(NoInterfaceAvailable):
            before.assign(claim)
        assert (before.assignments, before.interfaces) == (held, listed)


TestAllocator = AllocatorMachine.TestCase
TestAllocator.settings = settings(max_examples=200, stateful_step_count=40)
