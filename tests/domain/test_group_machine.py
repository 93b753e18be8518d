"""The decision for a group against all other decisions that there are, whatever the hub's state is."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.domain import worlds
from tests.soak import examples
from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Band
from wifimgrd.domain.allocator import AllocationRules, Allocator, Claim
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import NoInterfaceAvailable
from wifimgrd.domain.group import GroupPlan, Holder, Member, plan_group
from wifimgrd.domain.interface import BackendFacts

DEVICES = [DeviceId(number) for number in range(1, 7)]
device_ids = st.sampled_from(DEVICES)
last_adapters = st.none() | worlds.identities
plain_adapters = st.builds(
    Adapter, name=worlds.names, identity=worlds.identities, usb_vendor_id=st.just("0bda")
)
plain_facts = st.builds(BackendFacts, bands=worlds.band_sets)
adapters = st.one_of(plain_adapters, plain_adapters, worlds.adapters)
facts = st.one_of(plain_facts, plain_facts, worlds.facts)
rules = st.one_of(st.just(AllocationRules()), worlds.rules)


def nameless(_: DeviceId) -> str:
    return ""


class GroupMachine(RuleBasedStateMachine):
    """A hub with few adapters and many devices, some of which are members of a group."""

    def __init__(self) -> None:
        super().__init__()
        self.allocator = Allocator()
        self.claims = {one: Claim(one) for one in DEVICES}
        self.priorities = dict.fromkeys(DEVICES, 0)
        self.automatic: set[DeviceId] = set()
        self.leaving: set[DeviceId] = set()

    @initialize(
        rules=rules,
        adapters=st.lists(
            st.tuples(adapters, facts), min_size=3, max_size=5, unique_by=lambda one: one[0].name
        ),
    )
    def configure(self, rules: AllocationRules, adapters: list[tuple[Adapter, BackendFacts]]) -> None:
        self.allocator = Allocator(rules)
        for adapter, facts in adapters:
            self.allocator = self.allocator.add(adapter, facts)

    @rule(adapter=adapters, facts=facts)
    def plug(self, adapter: Adapter, facts: BackendFacts) -> None:
        self.allocator = self.allocator.remove(adapter.name).add(adapter, facts)

    @rule(name=worlds.names, trouble=worlds.troubles, suspect=st.booleans())
    def mark(self, name: str, trouble: str, suspect: bool) -> None:
        self.allocator = self.allocator.mark(name, trouble, suspect=suspect)

    @rule(rules=rules)
    def follow(self, rules: AllocationRules) -> None:
        self.allocator = self.allocator.with_rules(rules)

    @rule(device_id=device_ids, last=last_adapters, bands=worlds.band_sets, priority=st.integers(-1, 2))
    def describe(
        self, device_id: DeviceId, last: AdapterIdentity | None, bands: frozenset[Band], priority: int
    ) -> None:
        self.claims[device_id] = Claim(device_id, last, bands)
        self.priorities[device_id] = priority

    @rule(device_id=device_ids, automatic=st.booleans())
    def connect(self, device_id: DeviceId, automatic: bool) -> None:
        if self.allocator.would_get(self.claims[device_id]) is not None:
            self.allocator, _ = self.allocator.assign(self.claims[device_id])
            (self.automatic.add if automatic else self.automatic.discard)(device_id)

    @rule(free=device_ids)
    def fill(self, free: DeviceId) -> None:
        """All but one are to be connected."""
        for one in DEVICES:
            if one != free:
                self.connect(one, automatic=False)

    @rule(device_id=device_ids)
    def start_leaving(self, device_id: DeviceId) -> None:
        if device_id in self.allocator.assignments:
            self.leaving.add(device_id)

    @rule(device_id=device_ids)
    def free(self, device_id: DeviceId) -> None:
        self.allocator = self.allocator.release(device_id)

    # -- the decision

    @rule(group=st.frozensets(device_ids, min_size=1), partial=st.booleans(), order=st.permutations(DEVICES))
    def connect_group(self, group: frozenset[DeviceId], partial: bool, order: list[DeviceId]) -> None:
        self.leaving &= self.allocator.assignments.keys()
        held = self.allocator.assignments
        seeking = {one for one in group if one not in held or one in self.leaving}
        rivals = {one for one in held if one not in group or one in self.leaving}
        before = dict(held), dict(self.allocator.promises)
        most = max(map(len, self.servable_sets(seeking, rivals)))
        try:
            plan = self.decide(seeking, rivals, partial=partial)
        except NoInterfaceAvailable as error:
            refused = error
        else:
            self.check_served(plan, seeking, rivals, most, partial=partial)
            self.check_freed(plan, rivals)
            self.check_preferred(plan, rivals)
            self.carry_out(plan, group, order)
            return
        assert not partial
        assert most < len(seeking), "refused, though all can be served"
        assert refused.reasons.keys() == self.allocator.interfaces.keys()
        assert all(refused.reasons.values())
        assert (dict(self.allocator.assignments), dict(self.allocator.promises)) == before

    def decide(self, seeking: set[DeviceId], rivals: set[DeviceId], *, partial: bool) -> GroupPlan:
        members = [Member(self.claims[one], self.priorities[one]) for one in seeking]
        return plan_group(self.allocator, members, map(self.holder, rivals), nameless, partial=partial)

    def holder(self, one: DeviceId) -> Holder:
        return Holder(
            one,
            self.priorities[one],
            is_commanded=one not in self.automatic,
            is_leaving=one in self.leaving,
        )

    def without(self, devices: set[DeviceId]) -> Allocator:
        rest = self.allocator
        for one in devices:
            rest = rest.release(one)
        return rest

    def fit(self, rest: Allocator, one: DeviceId) -> list[str]:
        return [name for name in rest.available if not rest.refusal(self.claims[one], rest.interfaces[name])]

    def servable_sets(self, seeking: set[DeviceId], freed: set[DeviceId]) -> list[tuple[DeviceId, ...]]:
        """All sets of members that can have interfaces at once, if the devices of `freed` give theirs up."""
        rest = self.without(freed)
        return [
            some
            for size in range(len(seeking) + 1)
            for some in combinations(sorted(seeking), size)
            if self.can_serve(rest, some)
        ]

    def can_serve(self, rest: Allocator, some: tuple[DeviceId, ...]) -> bool:
        fits = [set(self.fit(rest, one)) for one in some]
        return any(
            all(name in fit for name, fit in zip(names, fits, strict=True))
            for names in permutations(rest.available, len(some))
        )

    def check_served(
        self, plan: GroupPlan, seeking: set[DeviceId], rivals: set[DeviceId], most: int, *, partial: bool
    ) -> None:
        """As many as can be, those of higher priority first, each with an interface of its own."""
        assert plan.interfaces.keys() | plan.refusals.keys() == seeking
        assert not plan.interfaces.keys() & plan.refusals.keys()
        assert len(plan.interfaces) == most
        assert partial or not plan.refusals
        order = sorted(seeking, key=lambda one: (-self.priorities[one], one))
        served = [order.index(one) for one in order if one in plan.interfaces]
        others = [some for some in self.servable_sets(seeking, rivals) if len(some) == most]
        assert all(served <= sorted(map(order.index, other)) for other in others)
        assert len(set(plan.interfaces.values())) == len(plan.interfaces)

    def check_freed(self, plan: GroupPlan, rivals: set[DeviceId]) -> None:
        """Nobody is disconnected needlessly, and of those who are, none has a higher priority than one who
        could be instead."""
        leaving = rivals & self.leaving
        candidates = rivals - leaving
        assert set(plan.freed) <= candidates
        served = tuple(plan.interfaces)
        enough = [
            some
            for size in range(len(candidates) + 1)
            for some in combinations(sorted(candidates), size)
            if self.can_serve(self.without({*some, *leaving}), served)
        ]
        assert tuple(sorted(plan.freed)) in enough
        assert len(plan.freed) == min(map(len, enough))

        def costs(some: tuple[DeviceId, ...]) -> list[tuple[object, ...]]:
            return sorted((self.priorities[one], one not in self.automatic, -one) for one in some)

        mine = costs(plan.freed)
        assert [self.holder(one).cost[1:] for one in plan.freed] == mine
        for other in (some for some in enough if len(some) == len(mine)):
            assert all(one <= its for one, its in zip(mine, costs(other), strict=True))

    def check_preferred(self, plan: GroupPlan, rivals: set[DeviceId]) -> None:
        """Nobody could have a better one of the same interfaces without taking it from somebody before."""
        rest = self.without(rivals)
        order = sorted(plan.interfaces, key=lambda one: (-self.priorities[one], one))

        def ranks(names: tuple[str, ...]) -> list[tuple[tuple[int, int], int]]:
            return [
                (rest.rank(self.claims[one], name), worlds.NAMES.index(name))
                for one, name in zip(order, names, strict=True)
            ]

        fits = [set(self.fit(rest, one)) for one in order]
        assert all(plan.interfaces[one] in fit for one, fit in zip(order, fits, strict=True))
        assert ranks(tuple(plan.interfaces[one] for one in order)) == min(
            ranks(names)
            for names in permutations(plan.interfaces.values())
            if all(name in fit for name, fit in zip(names, fits, strict=True))
        )

    def carry_out(self, plan: GroupPlan, group: frozenset[DeviceId], order: list[DeviceId]) -> None:
        """In any order, with others who want what becomes free."""
        kept = {
            one: name
            for one, name in self.allocator.assignments.items()
            if one in group and one not in self.leaving
        }
        for one, name in plan.interfaces.items():
            self.allocator = self.allocator.promise(one, name)
        for one in (*plan.freed, *self.leaving):
            self.allocator = self.allocator.release(one)
        self.leaving.clear()
        for one in order:
            if one in plan.interfaces:
                self.allocator, got = self.allocator.assign(self.claims[one])
                interfaces = self.allocator.interfaces
                assert interfaces[got].radio == interfaces[plan.interfaces[one]].radio
            elif one not in group and one not in self.allocator.assignments:
                self.connect(one, automatic=True)
        assert kept.items() <= self.allocator.assignments.items(), "a member lost its adapter"
        assert plan.interfaces.keys() <= self.allocator.assignments.keys()

    @invariant()
    def no_promise_outlives_its_command(self) -> None:
        assert not self.allocator.promises

    @rule(device_id=device_ids, name=worlds.names, other=device_ids)
    def a_promised_radio_is_for_nobody_else(self, device_id: DeviceId, name: str, other: DeviceId) -> None:
        if name not in self.allocator.interfaces:
            return
        promised = self.allocator.promise(device_id, name)
        radio = promised.interfaces[name].radio
        got = promised.would_get(self.claims[other])
        if other != device_id and got is not None and other not in promised.assignments:
            assert promised.interfaces[got].radio != radio
        assert promised.without_promise(device_id) == self.allocator
        assert self.allocator.without_promise(device_id) is self.allocator
        with pytest.raises(KeyError):
            promised.promise(device_id, "nosuch0")


TestGroup = GroupMachine.TestCase
TestGroup.settings = settings(max_examples=examples(75), stateful_step_count=30)
