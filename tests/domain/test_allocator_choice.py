"""Which interface is chosen, against the rule for it written out over all interfaces."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.domain import worlds
from tests.soak import examples
from wifimgrd.domain.adapter import Adapter, AdapterIdentity
from wifimgrd.domain.allocator import AllocationRules, Allocator, Claim
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import NoInterfaceAvailable
from wifimgrd.domain.interface import BackendFacts, Interface, natural_key

NAMES = ["wlan0", "wlan1", "wlan01", "wlan2", "wlan10", "wlx02", "wlx2"]
"""Two pairs of them are alike in natural order."""


@dataclass(frozen=True)
class Place:
    """An interface, and what stands in its way."""

    adapter: Adapter
    facts: BackendFacts
    trouble: str
    suspect: bool
    in_use: bool
    in_but: bool


SELDOM = st.sampled_from([True, False, False, False])


@st.composite
def places(draw: st.DrawFn) -> list[Place]:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=len(NAMES)))
    return [
        Place(
            Adapter(name, draw(worlds.identities), usb_vendor_id="0bda", rfkill=draw(worlds.rfkills)),
            draw(worlds.facts),
            draw(worlds.troubles),
            draw(st.booleans()),
            draw(SELDOM),
            draw(SELDOM),
        )
        for name in names
    ]


def kept_for(rules: AllocationRules, interface: Interface) -> DeviceId | None:
    """The device of the first reservation for an adapter."""
    identity = interface.adapter.identity
    for one in rules.reservations.ordered:
        if (one.pin.mac or one.pin.usb_port) in (identity.mac, identity.usb_port):
            return one.device
    return None


def rank(claim: Claim, rules: AllocationRules, interface: Interface) -> tuple[object, ...]:
    identity = interface.adapter.identity
    if kept_for(rules, interface) == claim.device_id:
        return (0,)
    strength = identity.match_strength(claim.last_adapter) if claim.last_adapter else 0
    return (2 if interface.suspect else 1, -strength)


def is_for(claim: Claim, rules: AllocationRules, interface: Interface) -> bool:
    if kept_for(rules, interface) not in (None, claim.device_id):
        return False
    return not (claim.bands and interface.facts.bands and not claim.bands & interface.facts.bands)


def choice(claim: Claim, allocator: Allocator, but: frozenset[str]) -> str | None:
    """As the documentation has it."""
    return min(
        (
            name
            for name, interface in allocator.interfaces.items()
            if name not in allocator.holders
            and name not in but
            and not interface.obstacle
            and is_for(claim, allocator.rules, interface)
        ),
        key=lambda name: (
            rank(claim, allocator.rules, allocator.interfaces[name]),
            natural_key(name),
            name,
        ),
        default=None,
    )


def place(name: str, mac: str = "", port: str = "1-1", **marks: bool) -> Place:
    flags = {"suspect": False, "in_use": False, "in_but": False} | marks
    return Place(Adapter(name, AdapterIdentity(mac, port)), BackendFacts(), "", **flags)


@settings(max_examples=examples(200))
@given(worlds.rules, places(), worlds.claims())
@example(
    AllocationRules(),
    [place("wlan0", worlds.MACS[0], "1-1.4"), place("wlan1", "", "1-1"), place("wlan2", worlds.MACS[1])],
    Claim(DeviceId(1), last_adapter=AdapterIdentity(worlds.MACS[2], "1-1")),
).via("an adapter without an address, in the port of the last one")
@example(
    AllocationRules(),
    [place("wlan0", worlds.MACS[1]), place("wlan1", "", "2-1")],
    Claim(DeviceId(1), last_adapter=AdapterIdentity(worlds.MACS[0], "1-1")),
).via("an adapter without an address, which may be the last one and is not")
@example(
    AllocationRules(),
    [place("wlan0", worlds.MACS[0], suspect=True), place("wlan1", worlds.MACS[1])],
    Claim(DeviceId(1), last_adapter=AdapterIdentity(worlds.MACS[0], "1-1")),
).via("a suspect last adapter")
@example(
    AllocationRules(), [place("wlan01", worlds.MACS[0]), place("wlan1", worlds.MACS[1])], Claim(DeviceId(1))
).via("names that are alike in natural order")
def test_the_choice_is_what_the_rule_says(rules: AllocationRules, world: list[Place], claim: Claim) -> None:
    allocator = Allocator(rules)
    for number, one in enumerate(world, 100):
        allocator = allocator.add(one.adapter, one.facts)
        allocator = allocator.mark(one.adapter.name, one.trouble, suspect=one.suspect)
        if one.in_use and one.adapter.name in allocator.interfaces:
            allocator = allocator.adopt(DeviceId(number), one.adapter.name)
    but = frozenset(one.adapter.name for one in world if one.in_but)
    assert allocator.would_get(claim, but=but) == choice(claim, allocator, but)
    chosen = choice(claim, allocator, frozenset())
    assert allocator.would_get(claim) == chosen
    if chosen is None:
        with pytest.raises(NoInterfaceAvailable):
            allocator.assign(claim)
    else:
        assert allocator.assign(claim) == (allocator.adopt(claim.device_id, chosen), chosen)
