"""The manager with the simulated world, in one process, on a clock that jumps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pytest

from tests.daemon.manager.story import Story
from tests.store_in_memory import StoreInMemory
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.config import catalog
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import Clock, HubState
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import (
    AdapterListener,
    AddressRoutes,
    BackendListener,
    BluetoothListener,
    CameraSockets,
    HostClock,
    LinkEvidence,
)
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.recovery import RecoveryRules, RecoveryStep
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator import SimulatedWorld, load_scenario


@dataclass
class Bench:
    """A hub, the world around it and its events."""

    hub: Hub
    world: SimulatedWorld
    store: StoreInMemory
    story: Story
    clock: Clock
    """The host's."""

    async def create(self, number: int = 1, **fields: object) -> DeviceId:
        return await self.hub.create(
            {
                "codename": "generic-wifi-camera",
                "connection_type": "wifi",
                "ssid": f"SIM-CAM-{number}",
                "password": f"camera-pass-{number}",
            }
            | fields
        )

    async def connected(self, number: int = 1) -> DeviceId:
        device = await self.create(number)
        await self.hub.connections.connect(device, wait=True)
        self.story.forget()
        return device

    @property
    def backend_events(self) -> BackendListener:
        """The hub, as the backend sees it."""
        assert self.world.backend.listener is not None, "the hub is not started"
        return self.world.backend.listener

    @property
    def adapter_events(self) -> AdapterListener:
        """The hub, as the source of adapters sees it."""
        assert self.world.adapters.listener is not None, "the hub is not started"
        return self.world.adapters.listener

    @property
    def bluetooth_events(self) -> BluetoothListener:
        """The hub, as Bluetooth sees it."""
        assert self.world.bluetooth.listener is not None, "the hub is not started"
        return self.world.bluetooth.listener

    @property
    def hub_state(self) -> HubState:
        """What the parts of the hub share, for what no client can see or bring about."""
        return self.hub._state

    def entry(self, device_id: DeviceId) -> DeviceEntry:
        """What the hub remembers of a device."""
        return self.hub_state.entries[device_id]

    @property
    def chance(self) -> Random:
        """What makes the pauses between searches unequal."""
        return self.hub._reconnecting._chance

    def learn(self, interface: str, facts: BackendFacts) -> None:
        """The backend has new facts of an interface."""
        self.backend_events.interface_facts(interface, facts)

    async def recover_by(self, *steps: RecoveryStep) -> None:
        """Take these steps and no others from now on."""
        rules = RecoveryRules(frozenset(steps))
        await self.hub.reconfigure(replace(self.hub_state.settings, recovery=rules))

    def state(self, device_id: DeviceId) -> DeviceState:
        return self.story.devices[device_id].state

    def code(self, device_id: DeviceId) -> str | None:
        failure = self.story.devices[device_id].device.failure
        return None if failure is None else failure.code.value


def make_bench(
    settings: HubSettings | None = None,
    store: StoreInMemory | None = None,
    sockets: CameraSockets | None = None,
    scenario: Path | None = None,
    routes: AddressRoutes | None = None,
    control: CameraControl | None = None,
    host_clock: HostClock | None = None,
    world: SimulatedWorld | None = None,
    evidence: LinkEvidence | None = None,
) -> Bench:
    """A hub that is not started yet."""
    world, story, store = world or SimulatedWorld(load_scenario(scenario)), Story(), store or StoreInMemory()
    ticks = count(1)
    hub = Hub(
        settings or HubSettings(models=catalog.load()),
        world.backend,
        world.adapters,
        store,
        [story],
        lambda: bench.clock(),  # noqa: PLW0108 - a test may give it another one
        sockets or world.sockets,
        world.contact,
        Tasks("test"),
        routes,
        world.bluetooth,
        control,
        host_clock,
        evidence,
    )
    bench = Bench(hub, world, store, story, lambda: next(ticks))
    return bench


class RunOnBench(Protocol):
    """Run a coroutine function on a started hub, in the default world or in one of a scenario."""

    def __call__(
        self, test: Callable[[Bench], Coroutine[Any, Any, None]], scenario: Path | None = None
    ) -> None: ...


@pytest.fixture
def on_bench() -> Iterator[RunOnBench]:
    """Run a coroutine function on a started hub, and stop it after."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:

        def run(test: Callable[[Bench], Coroutine[Any, Any, None]], scenario: Path | None = None) -> None:
            async def whole() -> None:
                bench = make_bench(scenario=scenario)
                await bench.hub.start()
                for status in bench.hub.interface_statuses():
                    bench.story.interfaces[status.interface.name] = status
                bench.story.forget()
                await test(bench)
                bench.story.agrees()
                await bench.hub.stop()

            runner.run(whole())

        yield run
