"""Whatever is done to the world in whatever order, the events are consistent."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.soak import examples
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.adapter import Adapter
from wifimgrd.domain.device import DeviceId, Link, Passphrase, Ssid
from wifimgrd.domain.errors import InterfaceLost, WifimgrdError
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.simulator import SimulatedWorld, parse_scenario

T = TypeVar("T")

ADAPTERS = ("wlan0", "wlan1", "wlan2")
SCENARIO = parse_scenario("adapter_count = 3\ncamera_count = 2")
USUALLY = st.sampled_from([True, True, True, False])
SSIDS = tuple(SCENARIO.cameras)


class Story:
    """Both listeners: they refuse an event that cannot follow on the earlier ones."""

    def __init__(self) -> None:
        self.present: set[str] = set()
        self.facts: set[str] = set()
        self.links: dict[str, str] = {}
        self.state: BackendState | None = None

    def adapter_present(self, adapter: Adapter) -> None:
        assert adapter.name in self.facts or self.state is not BackendState.READY
        assert self.state is not BackendState.READY or adapter.name in self.facts
        self.present.add(adapter.name)

    def adapter_gone(self, name: str) -> None:
        assert name in self.present
        self.present.discard(name)
        self.facts.discard(name)

    def adapter_firmware_failed(self, name: str) -> None:
        assert name in self.present

    def adapters_recounted(self) -> None:
        raise AssertionError("nothing is lost here")

    def interface_facts(self, name: str, facts: BackendFacts | None) -> None:
        self.facts.add(name)

    def backend_changed(self, status: BackendStatus) -> None:
        assert status.state is not self.state
        assert bool(status.reason) == (status.state is not BackendState.READY)
        assert status.state is not BackendState.READY or self.present <= self.facts
        self.state = status.state

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        assert self.links[interface] == "up"
        self.links[interface] = "interrupted"

    def link_restored(self, interface: str, link: Link) -> None:
        assert self.links[interface] == "interrupted"
        self.links[interface] = "up"

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        sudden = interface not in self.present or self.state is not BackendState.READY
        assert self.links[interface] == "interrupted" or sudden or isinstance(error, InterfaceLost)
        del self.links[interface]

    def link_changed(self, interface: str, link: Link) -> None:
        assert self.links[interface] == "up"


class WorldMachine(RuleBasedStateMachine):
    """Random control sequences, on a clock that jumps."""

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self.accidents: list[dict[str, Any]] = []
        self.runner.get_loop().set_exception_handler(lambda _, context: self.accidents.append(context))
        self.story = Story()
        self.world = SimulatedWorld(SCENARIO)
        self.attempts: dict[str, asyncio.Task[Link]] = {}
        self.plugged = set(ADAPTERS)
        self.run(self.world.adapters.start(self.story))
        self.run(self.world.backend.start(self.story))
        for number, adapter in enumerate(ADAPTERS):
            self.join(adapter, SSIDS[number // 2], right=True, seconds=1)

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.run(self.world.backend.stop())
            self.runner.close()

    def run(self, wanted: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(wanted)

    def do(self, act: Any, *arguments: Any) -> None:
        async def doing() -> None:
            act(*arguments)

        self.run(doing())

    async def attempt(self, request: JoinRequest) -> Link:
        link = await self.world.backend.join(request)
        assert request.interface not in self.story.links
        self.story.links[request.interface] = "up"
        return link

    @rule(
        adapter=st.sampled_from(ADAPTERS),
        ssid=st.sampled_from(SSIDS),
        right=USUALLY,
        seconds=st.sampled_from([0, 0.1, 1]),
    )
    def join(self, adapter: str, ssid: bytes, right: bool, seconds: float) -> None:
        if adapter in self.attempts or adapter in self.story.links:
            return
        passphrase = SCENARIO.cameras[ssid].passphrase if right else Passphrase("something-else")
        request = JoinRequest(DeviceId(1), adapter, Ssid(ssid), passphrase, 20)

        async def begin() -> None:
            self.attempts[adapter] = asyncio.create_task(self.attempt(request))
            await asyncio.sleep(seconds)

        self.run(begin())

    @rule(adapter=st.sampled_from(ADAPTERS))
    def cancel(self, adapter: str) -> None:
        attempt = self.attempts.pop(adapter, None)
        if attempt is not None:
            attempt.cancel()
            self.run(self.settled(attempt))

    @rule(adapter=st.sampled_from(ADAPTERS))
    def leave(self, adapter: str) -> None:
        if adapter in self.attempts:
            return
        self.story.links.pop(adapter, None)
        self.run(self.world.backend.leave(adapter))

    @rule(adapter=st.sampled_from(ADAPTERS))
    def pull_or_plug(self, adapter: str) -> None:
        if adapter in self.plugged:
            self.do(self.world.unplug_adapter, adapter)
        else:
            self.do(self.world.plug_adapter, adapter)
        self.plugged ^= {adapter}

    @rule(ssid=st.sampled_from(SSIDS), on=st.booleans(), orderly=st.booleans())
    def switch(self, ssid: bytes, on: bool, orderly: bool) -> None:
        if on:
            self.do(self.world.power_on_camera, ssid)
        else:
            self.do(self.world.power_off_camera, ssid, orderly)

    @rule(
        ssid=st.sampled_from(SSIDS),
        orderly=st.booleans(),
        gaps=st.lists(st.sampled_from([0.0, 0.1, 0.3, 1.2]), min_size=1, max_size=4),
    )
    def flicker(self, ssid: bytes, orderly: bool, gaps: list[float]) -> None:
        for gap in gaps:
            self.do(self.world.power_off_camera, ssid, orderly)
            self.run(asyncio.sleep(gap))
            self.do(self.world.power_on_camera, ssid)
            self.run(asyncio.sleep(gap))

    @rule(
        kind=st.sampled_from(["backend-gone", "dhcp-dead", "refuse-association", "slow-join"]),
        off=st.booleans(),
    )
    def fault(self, kind: str, off: bool) -> None:
        self.do(self.world.set_fault, kind, {"off": off})

    @rule(adapter=st.sampled_from(ADAPTERS), off=USUALLY)
    def block(self, adapter: str, off: bool) -> None:
        if adapter in self.plugged:
            self.do(self.world.set_fault, "rfkill", {"interface": adapter, "off": off})

    @rule(seconds=st.integers(0, 3))
    def brief_outage(self, seconds: int) -> None:
        self.do(self.world.set_fault, "backend-gone", {"seconds": seconds})

    @rule(ssid=st.sampled_from(SSIDS), percent=st.integers(0, 100))
    def signal(self, ssid: bytes, percent: int) -> None:
        self.do(self.world.set_fault, "signal", {"ssid": ssid, "percent": percent})

    @rule(seconds=st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 1.1, 5.0, 15.0, 20.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    @precondition(lambda self: self.story.links)
    @rule()
    def no_trouble_lasts(self) -> None:
        self.run(asyncio.sleep(60))
        assert "interrupted" not in self.story.links.values()
        assert all(attempt.done() for attempt in self.attempts.values())

    @invariant()
    def links_are_as_reported(self) -> None:
        if not hasattr(self, "story"):
            return
        assert self.accidents == []
        for adapter, attempt in tuple(self.attempts.items()):
            if attempt.done():
                del self.attempts[adapter]
                self.run(self.settled(attempt))
        event(f"{len(self.story.links)} links")
        held = {held.interface: held.up for held in self.run(self.world.backend.links())}
        assert held == {name: state == "up" for name, state in self.story.links.items()}
        assert set(self.story.links) <= self.plugged
        assert self.story.present == self.plugged
        assert self.world.backend.status.state is self.story.state

    @staticmethod
    async def settled(attempt: asyncio.Task[Link]) -> None:
        (outcome,) = await asyncio.gather(attempt, return_exceptions=True)
        assert isinstance(outcome, Link | WifimgrdError | asyncio.CancelledError), outcome


TestStory = WorldMachine.TestCase
TestStory.settings = settings(max_examples=examples(100), stateful_step_count=30)
