"""What the backend is told of the cameras of devices whose networks have one name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, Link, Sighting

BSSIDS = {1: "02:00:00:00:00:0a", 2: "02:00:00:00:00:0b"}


class Backend:
    """It joins an access point of its own for each device, and keeps what it was told of the others."""

    def __init__(self, bench: Bench) -> None:
        self.joins: list[tuple[DeviceId, Mapping[str, DeviceId]]] = []
        self.searches: list[Mapping[str, DeviceId]] = []
        self._bench = bench
        bench.world.backend.join = self.join  # type: ignore[method-assign]
        bench.world.backend.is_visible = self.is_visible  # type: ignore[method-assign]

    async def join(self, request: JoinRequest) -> Link:
        self.joins.append((request.device_id, dict(request.others)))
        return Link("192.168.42.10", "192.168.42.1", 70, Sighting(BSSIDS[request.device_id], 2412))

    async def is_visible(self, *asked: object, **_: object) -> bool:
        others = asked[-1]
        assert isinstance(others, Mapping)
        self.searches.append(dict(others))
        return True


def test_an_attempt_knows_the_cameras_of_the_other_devices_of_its_network(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        backend = Backend(bench)
        first = await bench.connected(1)
        second = await bench.connected(1)
        await bench.hub.connections.disconnect(first)
        await bench.hub.connections.connect(first, wait=True)
        assert backend.joins == [(first, {}), (second, {BSSIDS[1]: first}), (first, {BSSIDS[2]: second})]

    on_bench(test)


def test_the_search_for_a_lost_device_knows_them_too(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        backend = Backend(bench)
        first, second = await bench.connected(1), await bench.connected(1)
        bench.world.unplug_adapter(bench.story.devices[first].interface or "")
        await asyncio.sleep(5)
        assert backend.searches == [{BSSIDS[2]: second}]

    on_bench(test)


def test_a_camera_that_two_devices_have_is_no_others(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        other = await bench.connected(1)
        registry = bench.hub_state.registry
        assert registry.cameras_of_others(bench.story.devices[device].device) == {}
        assert registry.cameras_of_others(bench.story.devices[other].device) == {}

    on_bench(test)
