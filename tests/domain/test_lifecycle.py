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
    (CONNECTED, Step.RELEASE, DISCONNECTING),
    (CONNECTED, Step.LOSE, DISCONNECTED),
    (DISCONNECTING, Step.RELEASED, DISCONNECTED),
    (DISCONNECTING, Step.LOSE, DISCONNECTED),
}
"""Part 2 of the contract, written down a second time."""


@pytest.mark.parametrize(("state", "step"), list(itertools.product(DeviceState, Step)))
def test_each_step_in_each_state(state: DeviceState, step: Step) -> None:
    after = [after for before, how, after in LEGAL if (before, how) == (state, step)]
    assert can_follow(state, step) == bool(after)
    if after:
        assert follow(state, step) is after[0]
    else:
        with pytest.raises(IllegalStep, match=step.name):
            follow(state, step)


def test_connected_is_reached_by_success_and_adoption_alone() -> None:
    ways = {
        step
        for state, step in itertools.product(DeviceState, Step)
        if can_follow(state, step) and follow(state, step) is CONNECTED
    }
    assert ways == {Step.SUCCEED, Step.ADOPT}


@pytest.mark.parametrize("state", DeviceState)
def test_a_pulled_adapter_ends_everything_at_once(state: DeviceState) -> None:
    assert can_follow(state, Step.LOSE) == (state is not DISCONNECTED)
    if state is not DISCONNECTED:
        assert follow(state, Step.LOSE) is DISCONNECTED


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
        self.states = dict.fromkeys(worlds.DEVICES, DISCONNECTED)

    @initialize(rules=worlds.rules, adapters=st.lists(worlds.adapters, max_size=5))
    def plug_in(self, rules: AllocationRules, adapters: list[Adapter]) -> None:
        self.allocator = Allocator(rules)
        for adapter in adapters:
            self.allocator = self.allocator.add(adapter)

    def step(self, device_id: DeviceId, step: Step) -> bool:
        """Take a step where it can follow; a device that ends up disconnected gives its interface back."""
        if not can_follow(self.states[device_id], step):
            return False
        others = {other: state for other, state in self.states.items() if other != device_id}
        held = {other: name for other, name in self.allocator.assignments.items() if other != device_id}
        self.states[device_id] = follow(self.states[device_id], step)
        if self.states[device_id] is DISCONNECTED:
            self.allocator = self.allocator.release(device_id)
        assert {other: self.states[other] for other in others} == others
        assert {other: self.allocator.assignments[other] for other in held} == held
        return True

    @rule(claim=worlds.claims())
    def connect(self, claim: Claim) -> None:
        before = self.allocator, dict(self.states)
        try:
            means = connect_means(self.states[claim.device_id])
        except Busy:
            assert self.states[claim.device_id] is DISCONNECTING
            return
        if means is not ConnectMeans.START:
            assert claim.device_id in self.allocator.assignments
            return
        try:
            self.allocator, _ = self.allocator.assign(claim)
        except NoInterfaceAvailable:
            assert (self.allocator, self.states) == before
            return
        assert self.step(claim.device_id, Step.BEGIN)

    @rule(device_id=worlds.device_ids)
    def disconnect(self, device_id: DeviceId) -> None:
        if disconnect_means(self.states[device_id]) is DisconnectMeans.RELEASE:
            assert self.step(device_id, Step.RELEASE)

    @rule(
        device_id=worlds.device_ids,
        step=st.sampled_from([Step.SUCCEED, Step.FAIL, Step.INTERRUPT, Step.RELEASED, Step.LOSE]),
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
        if self.states[device_id] is DISCONNECTED and free:
            self.allocator = self.allocator.adopt(device_id, name)
            assert self.step(device_id, Step.ADOPT)

    @invariant()
    def a_device_has_an_interface_if_and_only_if_it_is_not_disconnected(self) -> None:
        busy = {device for device, state in self.states.items() if state is not DISCONNECTED}
        assert self.allocator.assignments.keys() == busy
        in_use = {
            status.device_id for status in self.allocator.statuses() if status.state is InterfaceState.IN_USE
        }
        assert in_use == busy

    @invariant()
    def every_life_can_end(self) -> None:
        for state in self.states.values():
            if state is not DISCONNECTED:
                assert can_follow(state, Step.LOSE)


TestHubOnPaper = HubOnPaper.TestCase
TestHubOnPaper.settings = settings(max_examples=100, stateful_step_count=40)
