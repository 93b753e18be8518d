"""The life cycle of a connection, and that a hub which follows it never has an interface too many."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.domain import worlds
from wifimgrd.domain.adapter import Adapter
from wifimgrd.domain.allocator import AllocationRules, Allocator, Claim
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import Busy, NoInterfaceAvailable
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.lifecycle import (
    ConnectMeans,
    DisconnectMeans,
    IllegalStep,
    Phase,
    Step,
    can_follow,
    connect_means,
    disconnect_means,
    follow,
)

DISCONNECTED, CONNECTING = DeviceState.DISCONNECTED, DeviceState.CONNECTING
CONNECTED, DISCONNECTING = DeviceState.CONNECTED, DeviceState.DISCONNECTING

LEGAL = {
    (DISCONNECTED, Step.BEGIN, CONNECTING),
    (DISCONNECTED, Step.ADOPT, CONNECTED),
    (CONNECTING, Step.SUCCEED, CONNECTED),
    (CONNECTING, Step.FAIL, DISCONNECTED),
    (CONNECTING, Step.RELEASE, DISCONNECTING),
    (CONNECTING, Step.LOSE, DISCONNECTED),
    (CONNECTED, Step.INTERRUPT, CONNECTING),
    (CONNECTED, Step.RECOVER, CONNECTING),
    (CONNECTED, Step.RELEASE, DISCONNECTING),
    (CONNECTED, Step.LOSE, DISCONNECTED),
    (DISCONNECTING, Step.RELEASED, DISCONNECTED),
    (DISCONNECTING, Step.LOSE, DISCONNECTED),
}
"""Part 2 of the contract, written down a second time."""


UNSEEN = {
    (Phase.JOINING, Step.ARRIVE, Phase.ARRIVING),
    (Phase.INTERRUPTED, Step.ARRIVE, Phase.ARRIVING),
    (Phase.UP, Step.PULL, Phase.PULLED),
    (Phase.RECOVERING, Step.BEGIN, Phase.JOINING),
    (Phase.RECOVERING, Step.GIVE_UP, Phase.GIVING_UP),
    (Phase.JOINING, Step.GIVE_UP, Phase.GIVING_UP),
    (Phase.ARRIVING, Step.GIVE_UP, Phase.GIVING_UP),
    (Phase.INTERRUPTED, Step.GIVE_UP, Phase.GIVING_UP),
}
"""Within a state, so that clients see nothing of them."""
STEPS = [(phase, step) for phase, step in itertools.product(Phase, Step) if can_follow(phase, step)]


@pytest.mark.parametrize(("phase", "step"), STEPS)
def test_each_step_is_one_of_the_contract_or_is_not_seen(phase: Phase, step: Step) -> None:
    after = follow(phase, step)
    assert (phase.state, step, after.state) in LEGAL or (phase, step, after) in UNSEEN


def test_each_step_of_the_contract_can_happen() -> None:
    seen = {(phase.state, step, follow(phase, step).state) for phase, step in STEPS}
    assert seen >= LEGAL
    assert {(phase, step, follow(phase, step)) for phase, step in STEPS} >= UNSEEN


@pytest.mark.parametrize(
    ("phase", "step"), [one for one in itertools.product(Phase, Step) if one not in STEPS]
)
def test_no_other_step_can_happen(phase: Phase, step: Step) -> None:
    with pytest.raises(IllegalStep, match=step.name):
        follow(phase, step)


def test_connected_is_reached_only_by_success_and_adoption() -> None:
    ways = {step for phase, step in STEPS if phase is not Phase.UP and follow(phase, step) is Phase.UP}
    assert ways == {Step.SUCCEED, Step.ADOPT}


def test_a_link_that_is_being_taken_down_does_not_come_back() -> None:
    for phase in (Phase.GIVING_UP, Phase.LEAVING, Phase.PULLED, Phase.RECOVERING):
        assert not {Step.SUCCEED, Step.ARRIVE} & {step for one, step in STEPS if one is phase}


def test_a_recovery_step_takes_down_what_is_up_and_joins_again_and_a_disconnect_ends_it() -> None:
    assert [phase for phase, step in STEPS if step is Step.RECOVER] == [Phase.UP]
    ways = {step: follow(phase, step) for phase, step in STEPS if phase is Phase.RECOVERING}
    assert ways == {
        Step.BEGIN: Phase.JOINING,
        Step.GIVE_UP: Phase.GIVING_UP,
        Step.RELEASE: Phase.LEAVING,
        Step.LOSE: Phase.IDLE,
    }


@pytest.mark.parametrize("phase", Phase)
def test_a_pulled_adapter_ends_everything_at_once(phase: Phase) -> None:
    assert can_follow(phase, Step.LOSE) == (phase is not Phase.IDLE)
    if phase is not Phase.IDLE:
        assert follow(phase, Step.LOSE) is Phase.IDLE


def test_what_a_command_means() -> None:
    assert connect_means(DISCONNECTED) is ConnectMeans.START
    assert connect_means(CONNECTING) is ConnectMeans.JOIN
    assert connect_means(CONNECTED) is ConnectMeans.NOTHING
    with pytest.raises(Busy):
        connect_means(DISCONNECTING)
    assert disconnect_means(DISCONNECTED) is DisconnectMeans.NOTHING
    assert disconnect_means(CONNECTING) is DisconnectMeans.RELEASE
    assert disconnect_means(CONNECTED) is DisconnectMeans.RELEASE
    assert disconnect_means(DISCONNECTING) is DisconnectMeans.WAIT


class HubOnPaper(RuleBasedStateMachine):
    """Allocator and life cycles together, used as the hub uses them, with commands and mishaps."""

    def __init__(self) -> None:
        super().__init__()
        self.allocator = Allocator()
        self.phases = dict.fromkeys(worlds.DEVICES, Phase.IDLE)
        self.away: set[DeviceId] = set()
        """The devices whose interface a recovery step has taken, to reset its USB port."""

    @initialize(rules=worlds.rules, adapters=st.lists(worlds.adapters, max_size=5))
    def plug_in(self, rules: AllocationRules, adapters: list[Adapter]) -> None:
        self.allocator = Allocator(rules)
        for adapter in adapters:
            self.allocator = self.allocator.add(adapter)

    def step(self, device_id: DeviceId, step: Step) -> bool:
        """Take a step where it can follow; a device that ends up disconnected gives its interface back."""
        if not can_follow(self.phases[device_id], step):
            return False
        others = {other: phase for other, phase in self.phases.items() if other != device_id}
        held = {other: name for other, name in self.allocator.assignments.items() if other != device_id}
        self.phases[device_id] = follow(self.phases[device_id], step)
        if self.phases[device_id] is Phase.IDLE:
            self.away.discard(device_id)
            self.allocator = self.allocator.release(device_id)
        assert {other: self.phases[other] for other in others} == others
        assert {other: self.allocator.assignments[other] for other in held} == held
        return True

    @rule(claim=worlds.claims())
    def connect(self, claim: Claim) -> None:
        before = self.allocator, dict(self.phases)
        try:
            means = connect_means(self.phases[claim.device_id].state)
        except Busy:
            assert self.phases[claim.device_id] is Phase.LEAVING
            return
        if means is not ConnectMeans.START:
            assert claim.device_id in self.allocator.assignments.keys() | self.away
            return
        try:
            self.allocator, _ = self.allocator.assign(claim)
        except NoInterfaceAvailable:
            assert (self.allocator, self.phases) == before
            return
        assert self.step(claim.device_id, Step.BEGIN)

    @rule(device_id=worlds.device_ids)
    def disconnect(self, device_id: DeviceId) -> None:
        if disconnect_means(self.phases[device_id].state) is DisconnectMeans.RELEASE:
            assert self.step(device_id, Step.RELEASE)

    @rule(device_id=worlds.device_ids)
    def reset_the_port(self, device_id: DeviceId) -> None:
        if self.phases[device_id] is Phase.RECOVERING:
            self.allocator = self.allocator.release(device_id)
            self.away.add(device_id)

    @rule(claim=worlds.claims(), elsewhere=st.booleans())
    def join_again(self, claim: Claim, elsewhere: bool) -> None:
        device_id = claim.device_id
        if self.phases[device_id] is not Phase.RECOVERING:
            return
        if elsewhere and (name := self.allocator.elsewhere(claim)) is not None:
            self.allocator = self.allocator.move(device_id, name)
        try:
            self.allocator, _ = self.allocator.assign(claim)
        except NoInterfaceAvailable:
            assert device_id in self.away
            assert self.step(device_id, Step.GIVE_UP)
            return
        self.away.discard(device_id)
        assert self.step(device_id, Step.BEGIN)

    @rule(
        device_id=worlds.device_ids,
        step=st.sampled_from([step for step in Step if step not in (Step.BEGIN, Step.ADOPT, Step.RELEASE)]),
    )
    def something_happens(self, device_id: DeviceId, step: Step) -> None:
        self.step(device_id, step)

    @rule(adapter=worlds.adapters)
    def plug(self, adapter: Adapter) -> None:
        self.allocator = self.allocator.add(adapter)

    @rule(name=worlds.names)
    def pull(self, name: str) -> None:
        holder = self.allocator.holders.get(name)
        self.allocator = self.allocator.remove(name)
        if holder is not None:
            assert self.step(holder, Step.LOSE)

    @rule(device_id=worlds.device_ids, name=worlds.names)
    def adopt(self, device_id: DeviceId, name: str) -> None:
        free = name in self.allocator.interfaces and name not in self.allocator.holders
        if self.phases[device_id] is Phase.IDLE and free:
            self.allocator = self.allocator.adopt(device_id, name)
            assert self.step(device_id, Step.ADOPT)

    @invariant()
    def a_device_has_an_interface_if_and_only_if_it_is_not_disconnected(self) -> None:
        busy = {device for device, phase in self.phases.items() if phase is not Phase.IDLE} - self.away
        assert self.allocator.assignments.keys() == busy
        in_use = {
            status.device_id for status in self.allocator.statuses() if status.state is InterfaceState.IN_USE
        }
        assert in_use == busy

    @invariant()
    def every_life_can_end(self) -> None:
        for phase in self.phases.values():
            if phase is not Phase.IDLE:
                assert can_follow(phase, Step.LOSE)


TestHubOnPaper = HubOnPaper.TestCase
TestHubOnPaper.settings = settings(max_examples=100, stateful_step_count=40)
