"""Whatever people and the world do, in whatever order, the hub's story stays true."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.daemon.manager.conftest import Bench, make_bench
from tests.soak import examples
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.adapter import AdapterPin
from wifimgrd.domain.dead_links import Asked, Counters
from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.interface import InterfaceCounts, InterfaceState
from wifimgrd.domain.link_steps import LinkRules, LinkStep
from wifimgrd.domain.records import interface_record
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.domain.reservation import ReservationRule

ADAPTERS = st.sampled_from(["wlan0", "wlan1", "wlan2"])
CAMERAS = st.sampled_from([b"SIM-CAM-1", b"SIM-CAM-2", b"SIM-CAM-3", b"SIM-CAM-OFF"])
USUALLY = st.sampled_from([True, True, True, False])
DEVICES = st.integers(1, 4).map(DeviceId)
PINS = st.sampled_from(
    [{}, {"usb_port": "1-1.1"}, {"usb_port": "1-1.2"}, {"mac": "02:00:00:00:00:01"}, {"usb_port": "9-9"}]
)
BEFORE = (ReservationRule("name 2", AdapterPin(usb_port="1-1.3")),)
RULES = st.builds(
    ReservationRule,
    DEVICES | st.sampled_from(["SIM-CAM-1", "name 1", "name 2"]),
    st.builds(AdapterPin, usb_port=st.sampled_from(["1-1.1", "1-1.2", "9-9"])),
)
MOMENTS = st.sampled_from([0.0, 0.001, 0.05, 0.2, 0.21, 1.0, 9.0, 15.0])


LINKS = LinkRules(silent_link_s=10.0, power_ports=frozenset({"1-1.1"}))


class Dead:
    """Implements LinkEvidence; each camera that is silent has a dead adapter."""

    async def counters(self, interface: str) -> Counters:
        now_s = asyncio.get_running_loop().time()
        return Counters(now_s, int(now_s) + 1, 100_000, 1)

    async def asked(self, interface: str, address: str, within_s: float) -> Asked:
        await asyncio.sleep(5)
        return Asked.SILENT


def as_clients_see(status: DeviceStatus) -> DeviceStatus:
    """Without the field that is not published: whether the hub would reconnect the device."""
    return replace(status, device=replace(status.device, wanted=False))


class AnyLife(RuleBasedStateMachine):
    """Commands run on while the next things happen."""

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self.accidents: list[dict[str, Any]] = []
        self.runner.get_loop().set_exception_handler(lambda _, context: self.accidents.append(context))
        self.commands: set[asyncio.Task[None]] = set()
        self.bench: Bench = make_bench(HubSettings(reserve=BEFORE, link_recovery=LINKS), evidence=Dead())
        self.runner.run(self.bench.hub.start())
        for status in self.bench.hub.interface_statuses():
            self.bench.story.interfaces[status.interface.name] = status
        for number in (1, 2):
            self.runner.run(self.bench.connected(number))

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        self.runner.run(self.rest())
        self.bench.story.agrees()
        self.bench.story.rests()
        for status in self.bench.story.devices.values():
            assert status.state in (DeviceState.CONNECTED, DeviceState.DISCONNECTED)
        for command in self.commands:
            command.result()
        self.runner.run(self.bench.hub.stop())
        self.runner.close()
        assert self.accidents == []

    async def rest(self) -> None:
        """Long enough for every command; then to a moment in which no attempt runs by itself."""
        await asyncio.sleep(120)
        for _ in range(120):
            if not self.bench.story.steps and all(
                status.state in (DeviceState.CONNECTED, DeviceState.DISCONNECTED)
                for status in self.bench.story.devices.values()
            ):
                return
            await asyncio.sleep(1)

    def send(self, command: Awaitable[Any], seconds: float) -> None:
        async def quietly() -> None:
            try:
                await command
            except WifimgrdError:
                return

        async def whole() -> None:
            self.commands.add(asyncio.create_task(quietly()))
            await asyncio.sleep(seconds)

        self.runner.run(whole())

    def act(self, action: Any, *arguments: Any) -> None:
        async def whole() -> None:
            try:
                action(*arguments)
            except WifimgrdError:
                return

        self.runner.run(whole())

    @rule(number=st.integers(1, 4), right=USUALLY, seconds=MOMENTS)
    def create(self, number: int, right: bool, seconds: float) -> None:
        password = {} if right else {"password": "something-else"}
        self.send(self.bench.create(number, **password), seconds)

    @rule(device_id=DEVICES, wait=st.booleans(), seconds=MOMENTS)
    def connect(self, device_id: DeviceId, wait: bool, seconds: float) -> None:
        self.send(self.bench.hub.connections.connect(device_id, wait=wait), seconds)

    @rule(device_id=DEVICES, seconds=MOMENTS)
    def disconnect(self, device_id: DeviceId, seconds: float) -> None:
        self.send(self.bench.hub.connections.disconnect(device_id), seconds)

    @rule(device_id=DEVICES, seconds=MOMENTS)
    def remove(self, device_id: DeviceId, seconds: float) -> None:
        self.send(self.bench.hub.remove(device_id), seconds)

    @rule(device_id=DEVICES, number=st.integers(1, 4), seconds=MOMENTS)
    def update(self, device_id: DeviceId, number: int, seconds: float) -> None:
        fields = {"ssid": f"SIM-CAM-{number}", "password": f"camera-pass-{number}", "name": f"name {number}"}
        self.send(self.bench.hub.update(device_id, fields), seconds)

    @rule(device_id=DEVICES, pin=PINS, seconds=MOMENTS)
    def pin(self, device_id: DeviceId, pin: dict[str, str], seconds: float) -> None:
        self.send(self.bench.hub.update(device_id, {"pin": pin}), seconds)

    @rule(reserve=st.lists(RULES, max_size=2).map(tuple))
    def reload(self, reserve: tuple[ReservationRule, ...]) -> None:
        settings = HubSettings(reserve=reserve, link_recovery=LINKS)
        self.runner.run(self.bench.hub.reconfigure(settings))

    @rule(adapter=ADAPTERS)
    def pull(self, adapter: str) -> None:
        self.act(self.bench.world.unplug_adapter, adapter)

    @rule(adapter=ADAPTERS)
    def plug(self, adapter: str) -> None:
        self.act(self.bench.world.plug_adapter, adapter)

    @rule(camera=CAMERAS, orderly=st.booleans())
    def switch_off(self, camera: bytes, orderly: bool) -> None:
        self.act(self.bench.world.power_off_camera, camera, orderly)

    @rule(camera=CAMERAS)
    def switch_on(self, camera: bytes) -> None:
        self.act(self.bench.world.power_on_camera, camera)

    @rule(
        kind=st.sampled_from(["backend-gone", "dhcp-dead", "refuse-association", "slow-join", "slow-leave"]),
        off=USUALLY,
    )
    def fault(self, kind: str, off: bool) -> None:
        self.act(self.bench.world.set_fault, kind, {"off": off})

    @rule(adapter=ADAPTERS, off=USUALLY)
    def block(self, adapter: str, off: bool) -> None:
        self.act(self.bench.world.set_fault, "rfkill", {"interface": adapter, "off": off})

    @rule(adapter=ADAPTERS, heals=st.sampled_from(RecoveryStep), crashed=st.booleans())
    def stick(self, adapter: str, heals: RecoveryStep, crashed: bool) -> None:
        how = {"interface": adapter, "heals": heals.value, "crashed": crashed}
        self.act(self.bench.world.set_fault, "adapter-stuck", how)

    @rule(camera=CAMERAS, off=USUALLY)
    def hang(self, camera: bytes, off: bool) -> None:
        self.act(self.bench.world.set_fault, "silent", {"ssid": camera, "off": off})

    @rule(device_id=DEVICES, wait=st.booleans(), step=st.none() | st.sampled_from(LinkStep), seconds=MOMENTS)
    def recover(self, device_id: DeviceId, wait: bool, step: str | None, seconds: float) -> None:
        self.send(self.bench.hub.device_commands["recover"](device_id, wait=wait, step=step), seconds)

    @rule(camera=CAMERAS, seconds=st.sampled_from([10.0, 40.0, 120.0]))
    def live_through_a_silence(self, camera: bytes, seconds: float) -> None:
        """It connects all who can be, hangs, and is seen to be dead."""
        self.hang(camera, False)
        self.wait(seconds)
        self.hang(camera, True)

    @rule(seconds=MOMENTS)
    def wait(self, seconds: float) -> None:
        self.runner.run(asyncio.sleep(seconds))

    @invariant()
    def clients_see_a_consistent_hub(self) -> None:
        if hasattr(self, "bench"):
            self.bench.story.agrees()

    @invariant()
    def the_story_is_the_truth(self) -> None:
        if hasattr(self, "bench"):
            reported = self.bench.story.devices
            assert [as_clients_see(status) for status in self.bench.hub.device_statuses()] == [
                as_clients_see(reported[device]) for device in sorted(reported)
            ]

    @invariant()
    def the_interfaces_that_clients_see_are_those_of_now(self) -> None:
        if hasattr(self, "bench"):
            reported = self.bench.story.interfaces
            assert [interface_record(status) for status in self.bench.hub.interface_statuses()] == [
                interface_record(reported[name]) for name in sorted(reported)
            ]
            for status in reported.values():
                assert status.interface.reserved_for in (None, *self.bench.story.devices)

    @invariant()
    def the_counts_equal_a_recount(self) -> None:
        if hasattr(self, "bench"):
            hub = self.bench.hub
            devices = list(hub.device_statuses())
            interfaces = [status.state for status in hub.interface_statuses()]
            connected = [status for status in devices if status.state is DeviceState.CONNECTED]
            assert self.bench.hub_state.connected_count == len(connected)
            assert hub.interface_counts == InterfaceCounts(
                len(interfaces),
                interfaces.count(InterfaceState.AVAILABLE) - len(self.bench.hub_state.allocator.kept),
                interfaces.count(InterfaceState.IN_USE),
            )
            assert list(hub.assigned_statuses()) == [
                status for status in devices if status.interface is not None
            ]

    @invariant()
    def the_backend_holds_no_link_that_nobody_has(self) -> None:
        if hasattr(self, "bench"):
            held = {link.interface for link in self.runner.run(self.bench.world.backend.links())}
            assert held <= {one.interface for one in self.bench.story.devices.values() if one.interface}

    @invariant()
    def what_is_held_against_adapters_is_shown(self) -> None:
        if hasattr(self, "bench"):
            self.runner.run(asyncio.sleep(0))
            health = self.bench.hub._recovering._health
            for status in self.bench.hub.interface_statuses():
                shown, identity = status.interface, status.interface.adapter.identity
                links = self.bench.hub._links.value
                held = (
                    links.obstacle(identity) or health.obstacle(identity),
                    links.is_suspect(identity) or health.is_suspect(identity),
                )
                assert (shown.trouble, shown.suspect) == held


TestAnyLife = AnyLife.TestCase
TestAnyLife.settings = settings(max_examples=examples(50), stateful_step_count=50)
